"""What health checks found about the models of routes, and a round on demand."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from dragoman.gateway.http.outbound import Outbound
from dragoman.gateway.models.health_checks import CheckResult
from dragoman.gateway.served_request import ServedRequest


async def status(request: ServedRequest) -> None:
    """The results of the last round. Reading asks no provider: another site can have a browser read anything."""
    await _show(request.outbound, request.services.models.checks.results)


async def check(request: ServedRequest) -> None:
    """A round now."""
    await _show(request.outbound, await request.services.models.checks.check_all())


async def _show(outbound: Outbound, results: Iterable[CheckResult]) -> None:
    found = list(results)
    healthy = sum(one.healthy for one in found)
    state = "unknown" if not found else "ok" if healthy == len(found) else "degraded" if healthy else "down"
    await outbound.whole(200, msgspec.json.encode({"status": state, "healthy": healthy, "models": found}))
