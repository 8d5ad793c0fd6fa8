"""How Claude is told to think: the same object in Messages and in Converse."""

from __future__ import annotations

from typing import Any

from dragoman.conversation.literals import unquote
from dragoman.conversation.parts import Json
from dragoman.conversation.settings import Thinking
from dragoman.dialects.shared.top_level import ParsedMember, decode_whole
from dragoman.errors import Unrepresentable
from dragoman.wire.json_reader import split_members

_DISPLAYS = {b'"summarized"': True, b'"omitted"': False}
"""What `thinking.display` says → whether the thoughts are shown."""


def parse_claude_thinking(raw: Json) -> ParsedMember:
    """The fields of our thinking, and what else stands there. Raises ValueError or KeyError if it has another form."""
    wire = {key: bytes(value) for key, value in split_members(raw, "/thinking").items()}
    kind = unquote(wire.pop("type"))
    found: dict[str, Any] = {"thinking.on": kind != "disabled"}
    if kind == "adaptive":
        found["thinking.adaptive"] = True
    elif kind == "enabled":
        found["thinking.budget"] = decode_whole(wire.pop("budget_tokens"))
    elif kind != "disabled":
        raise ValueError(kind)
    if wire.get("display") in _DISPLAYS:
        found["thinking.visible"] = _DISPLAYS[wire.pop("display")]
    return found, wire


def render_claude_thinking(thinking: Thinking, dialect: str) -> dict[str, Json]:
    """The members; none if there is only an effort, which stands elsewhere."""
    if thinking.on is False:
        wire: dict[str, Json] = {"type": b'"disabled"'}
    elif thinking.budget is not None:
        wire = {"type": b'"enabled"', "budget_tokens": b"%d" % thinking.budget}
    else:
        wire = {"type": b'"adaptive"'} if thinking.adaptive or thinking.on else {}
    if thinking.visible is not None:
        if not wire:
            raise Unrepresentable(f"thoughts to be shown without thinking in a request of {dialect}", key="thinking")
        wire["display"] = b'"summarized"' if thinking.visible else b'"omitted"'
    return wire
