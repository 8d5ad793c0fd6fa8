"""One request to the gateway, as every endpoint gets it."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from dragoman.gateway.callers.caller import Caller, begin_work
from dragoman.gateway.http.inbound import Inbound, ReadInbound
from dragoman.gateway.http.outbound import Outbound
from dragoman.gateway.services import Services
from dragoman.upstream.heavy_work import RequestWork


class ServedRequest(msgspec.Struct, frozen=True):
    """Who asks for what, and where the answer goes."""

    services: Services
    """The gateway that serves it."""
    inbound: Inbound
    """What the client sent."""
    outbound: Outbound
    """Where its answer goes."""
    caller: Caller
    """Who asks, and may do so."""

    async def body(self) -> bytes:
        """Its body, as long as the configuration allows."""
        config = self.services.live.config
        return await self.inbound.body(config.server.max_body, config.limits.encodings)

    def work(self, body: bytes) -> RequestWork:
        """Where the work for its body is done. Raises Refused."""
        return begin_work(self.services.dispatcher.heavy, self.caller.name, body)

    def with_body(self, body: bytes) -> ServedRequest:
        """The same request with another body: the one that was read, or what it stands for."""
        return replace(self, inbound=ReadInbound(self.inbound, body))
