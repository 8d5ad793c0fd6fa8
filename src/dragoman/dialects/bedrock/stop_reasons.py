"""Why a Converse answer stopped, both ways."""

from __future__ import annotations

from collections.abc import Mapping

from dragoman.conversation.replies import Stop

STOPS: Mapping[str, Stop] = {
    "end_turn": Stop.END,
    "tool_use": Stop.CALLS,
    "max_tokens": Stop.LENGTH,
    "stop_sequence": Stop.STOP_SEQUENCE,
    "guardrail_intervened": Stop.FILTER,
    "content_filtered": Stop.FILTER,
    "malformed_model_output": Stop.ERROR,
    "malformed_tool_use": Stop.BROKEN_CALL,
    "model_context_window_exceeded": Stop.CONTEXT,
}

WORDS: Mapping[Stop, str] = {
    Stop.END: "end_turn",
    Stop.PAUSE: "end_turn",
    Stop.CALLS: "tool_use",
    Stop.LENGTH: "max_tokens",
    Stop.STOP_SEQUENCE: "stop_sequence",
    Stop.FILTER: "content_filtered",
    Stop.REFUSAL: "content_filtered",
    Stop.ERROR: "malformed_model_output",
    Stop.BROKEN_CALL: "malformed_tool_use",
    Stop.CONTEXT: "model_context_window_exceeded",
}


def parse_stop(word: str, called: bool) -> Stop:
    """Our reason for a word. An answer with a tool call stops for the call, whatever a server says."""
    reason = STOPS.get(word, Stop.END)
    return Stop.CALLS if called and reason is Stop.END else reason


def render_stop(reason: Stop, word: str) -> str:
    """The word for our reason: the provider's own word where this dialect has it and it means the same."""
    return word if STOPS.get(word) is reason else WORDS[reason]
