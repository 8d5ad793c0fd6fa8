"""Why a Gemini answer stopped, both ways."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from dragoman.conversation.replies import Stop

FINISHES: Mapping[str, Stop] = {
    "STOP": Stop.END,
    "FINISH_REASON_UNSPECIFIED": Stop.END,
    "MAX_TOKENS": Stop.LENGTH,
    "SAFETY": Stop.FILTER,
    "RECITATION": Stop.FILTER,
    "LANGUAGE": Stop.FILTER,
    "BLOCKLIST": Stop.FILTER,
    "PROHIBITED_CONTENT": Stop.FILTER,
    "SPII": Stop.FILTER,
    "MODEL_ARMOR": Stop.FILTER,
    "IMAGE_SAFETY": Stop.FILTER,
    "IMAGE_PROHIBITED_CONTENT": Stop.FILTER,
    "IMAGE_RECITATION": Stop.FILTER,
    "MALFORMED_FUNCTION_CALL": Stop.BROKEN_CALL,
    "UNEXPECTED_TOOL_CALL": Stop.BROKEN_CALL,
    "TOO_MANY_TOOL_CALLS": Stop.BROKEN_CALL,
    "CONTINUATION": Stop.PAUSE,
    "OTHER": Stop.ERROR,
    "MALFORMED_RESPONSE": Stop.ERROR,
    "IMAGE_OTHER": Stop.ERROR,
    "NO_IMAGE": Stop.ERROR,
}

WORDS: Mapping[Stop, str] = {
    Stop.END: "STOP",
    Stop.STOP_SEQUENCE: "STOP",
    # A tool call shows in its part. The finish reason is the ordinary one.
    Stop.CALLS: "STOP",
    Stop.LENGTH: "MAX_TOKENS",
    Stop.CONTEXT: "MAX_TOKENS",
    Stop.FILTER: "SAFETY",
    Stop.REFUSAL: "SAFETY",
    Stop.BROKEN_CALL: "MALFORMED_FUNCTION_CALL",
    Stop.PAUSE: "CONTINUATION",
    Stop.ERROR: "OTHER",
}

_NUMBERED = (
    "FINISH_REASON_UNSPECIFIED",
    "STOP",
    "MAX_TOKENS",
    "SAFETY",
    "RECITATION",
    "OTHER",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "SPII",
    "MALFORMED_FUNCTION_CALL",
    "LANGUAGE",
    "IMAGE_SAFETY",
    "UNEXPECTED_TOOL_CALL",
    "TOO_MANY_TOOL_CALLS",
)
"""The enum in its order, for servers that write enums as numbers (`$alt=json;enum-encoding=int`)."""


_any = msgspec.json.decode


def finish_word(raw: bytes) -> str:
    """The finish reason as its word; empty where there is none."""
    value = _any(raw) if raw else None
    if isinstance(value, int):
        return _NUMBERED[value] if 0 <= value < len(_NUMBERED) else "OTHER"
    return value if isinstance(value, str) else ""


def parse_stop(word: str, called: bool, has_content: bool = True) -> Stop:
    """Our reason for a word. A tool call ends with STOP, so only the parts show it.

    An unknown word is a normal end where the answer has content, and an error where it has none. A malformed call
    without other content is an error too.
    """
    reason = FINISHES.get(word, Stop.END if has_content or not word else Stop.ERROR)
    if reason is Stop.BROKEN_CALL and not has_content:
        return Stop.ERROR
    return Stop.CALLS if called and reason is Stop.END else reason


def render_stop(reason: Stop, word: str) -> str:
    """The word for our reason: the provider's own word where this dialect has it and it means the same."""
    known = FINISHES.get(word)
    same = known is reason or (known is Stop.BROKEN_CALL and reason is Stop.ERROR)
    return word if same else WORDS[reason]
