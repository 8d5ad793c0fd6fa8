"""Why Claude stopped: this dialect's words and ours."""

from __future__ import annotations

from collections.abc import Mapping

from dragoman.conversation.parts import Json
from dragoman.conversation.replies import Stop
from dragoman.dialects.raw_json import encode

STOPS: Mapping[str, Stop] = {
    "end_turn": Stop.END,
    "max_tokens": Stop.LENGTH,
    "stop_sequence": Stop.STOP_SEQUENCE,
    "tool_use": Stop.CALLS,
    "pause_turn": Stop.PAUSE,
    "compaction": Stop.PAUSE,
    "refusal": Stop.REFUSAL,
    "model_context_window_exceeded": Stop.CONTEXT,
}

WORDS: Mapping[Stop, str] = {
    Stop.END: "end_turn",
    Stop.LENGTH: "max_tokens",
    Stop.STOP_SEQUENCE: "stop_sequence",
    Stop.CALLS: "tool_use",
    Stop.PAUSE: "pause_turn",
    Stop.REFUSAL: "refusal",
    Stop.FILTER: "refusal",
    # This dialect has no word for a model that broke down. A refusal is the one stop that nobody takes for success.
    Stop.BROKEN_CALL: "refusal",
    Stop.ERROR: "refusal",
    Stop.CONTEXT: "model_context_window_exceeded",
}

_BREAKDOWNS = frozenset({Stop.BROKEN_CALL, Stop.ERROR})


def parse_stop(said: str, called: bool) -> Stop:
    """Our word for a stop. A turn that calls a tool has not simply ended, whatever a server says."""
    reason = STOPS.get(said, Stop.END)
    return Stop.CALLS if called and reason is Stop.END else reason


def render_stop(reason: Stop, said: str) -> str:
    """This dialect's word: the provider's own where it is one and means the same."""
    return said if STOPS.get(said) is reason else WORDS[reason]


def render_stop_details(reason: Stop, said: str) -> Json | None:
    """`stop_details` for a breakdown that came from elsewhere: the provider's word for it."""
    if reason not in _BREAKDOWNS:
        return None
    explanation = f"The model broke off: {said or reason.value}."
    return encode({"type": "refusal", "category": None, "explanation": explanation})
