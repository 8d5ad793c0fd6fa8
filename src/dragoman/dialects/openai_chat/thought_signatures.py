"""`extra_content.google.thought_signature`: where Google's compatible endpoint puts the state of a call or a text."""

from __future__ import annotations

import msgspec

from dragoman.conversation import reasoning_states
from dragoman.conversation.literals import quote
from dragoman.conversation.parts import Json, Opaque, Origin
from dragoman.dialects.openai_chat import NAME
from dragoman.dialects.ownership import own_or_sealed
from dragoman.dialects.parsing import parse_state


class _Google(msgspec.Struct, gc=False):
    thought_signature: str | None = None


class _ExtraContent(msgspec.Struct, gc=False):
    google: _Google | None = None


_decode = msgspec.json.Decoder(_ExtraContent).decode


def parse_signature(extra_content: bytes, origin: Origin) -> Opaque | None:
    """The state in `extra_content`, if any."""
    try:
        google = _decode(extra_content).google
    except (msgspec.DecodeError, RecursionError):
        return None
    if google is None or not google.thought_signature:
        return None
    return parse_state(reasoning_states.THOUGHT, quote(google.thought_signature), origin)


def render_signature(held: Opaque) -> Json:
    """The member `extra_content` that holds this state."""
    return b'{"google":{"thought_signature":' + own_or_sealed(held, reasoning_states.THOUGHT, NAME) + b"}}"
