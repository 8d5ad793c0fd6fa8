"""Counting tokens before a request is sent.

Where the target's own dialect is the client's, its provider counts. Otherwise we estimate, and say so in a header.
"""

from __future__ import annotations

import time

import msgspec

from dragoman.dialects import registry
from dragoman.engine.adapt import compile_ask
from dragoman.engine.token_estimate import estimate
from dragoman.errors import RequestError
from dragoman.gateway.callers import Known, Refused, Slot, admit, may_ask
from dragoman.gateway.endpoints.generate import unknown_model
from dragoman.gateway.inbound import Inbound
from dragoman.gateway.outbound import Outbound, header
from dragoman.gateway.services import Services
from dragoman.upstream.destinations import Destination
from dragoman.upstream.transport import Outgoing, TransportFailure


async def count(
    services: Services, inbound: Inbound, outbound: Outbound, known: Known, dialect: str, model: str | None = None
) -> None:
    with Slot(services, known):
        body = await inbound.body(services.config.server.max_body)
        counts = registry.token_count(dialect)
        ask = registry.dialect(dialect).requests.parse(counts.parse_question(body), headers=inbound.headers)
        name = model or ask.model or services.config.default_model or ""
        may_ask(known, name)
        route = services.routes.find(name)
        if not route:
            raise Refused(unknown_model(name))
        admit(services, known, 0, time.time())
        named = header(b"x-dragoman-model", route[0].name)
        if route[0].target.dialect == dialect and (counted := await _counted(services, route[0], body)) is not None:
            await outbound.whole(200, counted, [named])
            return
        shown = msgspec.json.encode({counts.figure: estimate(ask.source)})
        await outbound.whole(200, shown, [named, (b"x-dragoman-estimate", b"true")])


async def _counted(services: Services, destination: Destination, body: bytes) -> bytes | None:
    """The provider's own figure, or None where it gives none."""
    dialect, model = destination.target.dialect, destination.target.model
    counts = registry.token_count(dialect)
    try:
        asked = registry.dialect(dialect).requests.parse(counts.parse_question(body))
        adapted = compile_ask(asked, services.lessons.corrected(destination))
        outgoing = Outgoing(
            "POST",
            destination.url(counts.path.format(model=model)),
            (*adapted.headers.items(), *services.signed(destination)),
            counts.render_question(adapted.body, model),
        )
        incoming = await services.transport(destination).send(outgoing, destination.timeouts)
        answer = await incoming.read(1 << 20)
    except (TransportFailure, RequestError):
        return None
    return answer if incoming.status == 200 else None
