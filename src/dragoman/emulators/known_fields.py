"""Servers that ignore fields which they do not know: their judge sees a request without them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from dragoman.emulators.provider import ReceivedRequest

Known = Callable[[str], bool]


def without_unknown_fields(request: ReceivedRequest, turns: str, in_request: Known, in_turn: Known) -> ReceivedRequest:
    """The request with only those fields of its own and of its turns that are known. `store` is no such field: servers
    that ignore others refuse it."""
    body = request.body
    if not isinstance(body, dict):
        return request
    kept = {key: value for key, value in body.items() if in_request(key) or key == "store"}
    if isinstance(kept.get(turns), list):
        kept[turns] = [
            {key: value for key, value in turn.items() if in_turn(key)} if isinstance(turn, dict) else turn
            for turn in kept[turns]
        ]
    return replace(request, body=kept)
