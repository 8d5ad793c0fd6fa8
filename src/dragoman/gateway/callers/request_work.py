"""Where the work for a request of a caller is done."""

from __future__ import annotations

from dragoman.gateway.callers.callers import Refused
from dragoman.gateway.services import Services
from dragoman.upstream.heavy_work import BUSY, RequestWork
from dragoman.wire.json_size import is_heavy


def begin_work(services: Services, caller: str, body: bytes) -> RequestWork:
    """Beside the event loop if the body is a heavy one. Raises Refused if it is, and too many of them wait already."""
    heavy = services.dispatcher.heavy
    work = RequestWork(heavy, caller, is_heavy(body))
    if work.is_large and heavy.is_full:
        raise Refused(BUSY)
    return work
