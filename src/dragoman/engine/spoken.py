"""The four dialects on the way back, by name. A dialect's modules are loaded when a stream first needs them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module

import msgspec

from dragoman.conversation.events import Event
from dragoman.conversation.failures import Failure
from dragoman.conversation.parts import Origin
from dragoman.conversation.replies import Reply, Stop, Usage
from dragoman.dialects.answering import AnswerContext, StreamParser, StreamRenderer
from dragoman.errors import TargetError, near_match

_PACKAGES: Mapping[str, str] = {
    "openai-chat": "dragoman.dialects.openai_chat",
    "openai-responses": "dragoman.dialects.openai_responses",
    "anthropic": "dragoman.dialects.anthropic",
    "gemini": "dragoman.dialects.gemini",
}

DIALECTS = tuple(_PACKAGES)

# What a dialect's readers want to be told: `seed`, what ids of calls are made from where the answer has none;
# `think_tags`, that thinking stands in the text between tags.
_ASKS: Mapping[str, frozenset[str]] = {
    "openai-chat": frozenset({"seed", "think_tags"}),
    "gemini": frozenset({"seed"}),
}


Glance = tuple[Usage | None, Stop]
"""What an answer that goes through as it is tells of itself."""


class Spoken(msgspec.Struct, frozen=True):
    """How one dialect reads and writes answers, streams and errors."""

    name: str
    parser: Callable[..., StreamParser]
    renderer: Callable[[AnswerContext], StreamRenderer]
    parse_reply: Callable[..., list[Event]]
    render_reply: Callable[[Reply, AnswerContext], bytes]
    parse_error: Callable[[int, Mapping[str, str], bytes], Failure]
    render_error: Callable[[Failure, AnswerContext], tuple[int, dict[str, str], bytes]]
    glance: Callable[[bytes], Glance | None]

    def options(self, origin: Origin | None, seed: str, think_tags: bool) -> dict[str, object]:
        """The keyword arguments of this dialect's readers."""
        asked = _ASKS.get(self.name, frozenset())
        known: dict[str, object] = {"seed": seed, "think_tags": think_tags}
        return {"origin": origin or Origin(self.name)} | {key: known[key] for key in asked}


@cache
def spoken(name: str) -> Spoken:
    """The dialect of this name."""
    if name not in _PACKAGES:
        raise TargetError(f'no dialect is called "{name}"', hint=near_match(name, DIALECTS))
    package = _PACKAGES[name]
    reply, stream, errors = (import_module(f"{package}.{module}") for module in ("reply", "stream", "errors"))
    return Spoken(
        name,
        stream.Parser,
        stream.Renderer,
        reply.parse_reply,
        reply.render_reply,
        errors.parse_error,
        errors.render_error,
        getattr(reply, "glance", _unread),
    )


def _unread(_: bytes) -> None:
    """For dialects whose answers are always read."""
