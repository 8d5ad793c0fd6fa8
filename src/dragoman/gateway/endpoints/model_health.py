"""What health checks found about the models of routes, and a round on demand."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from dragoman.gateway.callers.callers import Caller
from dragoman.gateway.http.inbound import Inbound
from dragoman.gateway.http.outbound import Outbound
from dragoman.gateway.models.health_checks import CheckResult
from dragoman.gateway.services import Services


async def status(services: Services, inbound: Inbound, outbound: Outbound, caller: Caller) -> None:
    """The results of the last round. Reading asks no provider: a page of elsewhere can have a browser read anything."""
    await _show(outbound, services.checks.results)


async def check(services: Services, inbound: Inbound, outbound: Outbound, caller: Caller) -> None:
    """A round now."""
    await _show(outbound, await services.checks.check_all())


async def _show(outbound: Outbound, results: Iterable[CheckResult]) -> None:
    found = list(results)
    healthy = sum(one.healthy for one in found)
    state = "unknown" if not found else "ok" if healthy == len(found) else "degraded" if healthy else "down"
    await outbound.whole(200, msgspec.json.encode({"status": state, "healthy": healthy, "models": found}))
