"""State of another provider's calls and texts, which travels in a block of its own.

Dialects of blocks have no place for the signature of a call or a text. So it is handed out as thinking without text,
before its call or its text, and is put back where it belongs when it returns.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from dragoman.conversation.parts import Call, Part, Reasoning, StateKind, Text


def reattach(parts: list[Part]) -> tuple[Part, ...]:
    """The parts with each state put back. One with no call or text after it belongs to the text before."""
    if not any(_is_carrier(part) for part in parts):
        return tuple(parts)
    attached: list[Part] = []
    carried: Part | None = None
    for part in parts:
        if carried is not None and isinstance(part, (Call, Text)):
            part, carried = replace(part, signature=carried.state), None  # type: ignore[attr-defined]
        if carried is not None:
            _attach_late(carried, attached)
            carried = None
        if _is_carrier(part):
            carried = part
        else:
            attached.append(part)
    if carried is not None:
        _attach_late(carried, attached)
    return tuple(attached)


def _attach_late(carrier: Any, attached: list[Part]) -> None:
    last = attached[-1] if attached else None
    if isinstance(last, Text) and last.signature is None:
        attached[-1] = replace(last, signature=carrier.state)
    else:
        attached.append(carrier)


def _is_carrier(part: Part) -> bool:
    return (
        type(part) is Reasoning
        and part.text is None
        and part.state is not None
        and part.state.kind == StateKind.THOUGHT
    )
