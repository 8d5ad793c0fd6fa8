"""What a route chose for one request."""

from __future__ import annotations

import msgspec

from dragoman.engine.exchange.destination import TargetRoute
from dragoman.engine.routing.candidates import Decision
from dragoman.upstream.destinations import HttpDestination


class RoutedRequest(msgspec.Struct, frozen=True):
    """Where a request goes, why, and under which keys the next turn finds its model again."""

    route: TargetRoute[HttpDestination]
    decision: Decision
    session: str
    turn: str
