"""Why an Anthropic answer stopped, both ways."""

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
    # This dialect has no word for a model that failed. A refusal is the one stop that no client takes for success.
    Stop.BROKEN_CALL: "refusal",
    Stop.ERROR: "refusal",
    Stop.CONTEXT: "model_context_window_exceeded",
}

_BREAKDOWNS = frozenset({Stop.BROKEN_CALL, Stop.ERROR})


def parse_stop(word: str, called: bool) -> Stop:
    """Our reason for a word. An answer with a tool call stops for the call, even where a server says `end_turn`."""
    reason = STOPS.get(word, Stop.END)
    return Stop.CALLS if called and reason is Stop.END else reason


def render_stop(reason: Stop, word: str) -> str:
    """The word for our reason: the provider's own word where this dialect has it and it means the same."""
    return word if STOPS.get(word) is reason else WORDS[reason]


def render_stop_details(reason: Stop, word: str) -> Json | None:
    """`stop_details` for a failure of the model, with the word of the provider that reported it."""
    if reason not in _BREAKDOWNS:
        return None
    explanation = f"The model broke off: {word or reason.value}."
    return encode({"type": "refusal", "category": None, "explanation": explanation})
