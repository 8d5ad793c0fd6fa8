"""Why Gemini finished: this dialect's words and ours."""

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
    # A tool call is told by its part; the finish is an ordinary one.
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
"""The order of the enum, for servers asked to write enums as numbers (`$alt=json;enum-encoding=int`)."""


_any = msgspec.json.decode


def finish_word(raw: bytes) -> str:
    """The finish reason as its word; empty where there is none."""
    value = _any(raw) if raw else None
    if isinstance(value, int):
        return _NUMBERED[value] if 0 <= value < len(_NUMBERED) else "OTHER"
    return value if isinstance(value, str) else ""


def parse_stop(said: str, called: bool, spoke: bool = True) -> Stop:
    """Our word for a finish. A tool call ends with STOP: that it is one shows in the parts. A word that we do not know
    is an end where something was said, and a breakdown where nothing was; so is a call that could not be written."""
    reason = FINISHES.get(said, Stop.END if spoke or not said else Stop.ERROR)
    if reason is Stop.BROKEN_CALL and not spoke:
        return Stop.ERROR
    return Stop.CALLS if called and reason is Stop.END else reason


def render_stop(reason: Stop, said: str) -> str:
    """This dialect's word: the provider's own where it is one and means the same."""
    known = FINISHES.get(said)
    same = known is reason or (known is Stop.BROKEN_CALL and reason is Stop.ERROR)
    return said if same else WORDS[reason]
