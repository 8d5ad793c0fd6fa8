"""The connections to all destinations."""

from __future__ import annotations

from dragoman.upstream.destinations import HttpDestination
from dragoman.upstream.transport.limits import TransportLimits
from dragoman.upstream.transport.tls import Tls
from dragoman.upstream.transport.transport import Transport


class Transports(dict[tuple[str | None, int], Transport]):
    """The connections to all destinations: those of one trust and one bound are shared."""

    def __missing__(self, key: tuple[str | None, int]) -> Transport:
        made = self[key] = Transport(TransportLimits(per_origin=key[1]), Tls(key[0]))
        return made

    def of(self, destination: HttpDestination) -> Transport:
        return self[destination.ca_file, destination.connections]
