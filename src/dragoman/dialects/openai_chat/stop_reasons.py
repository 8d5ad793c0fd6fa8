"""Why an answer ended: the dialect's words, and what the answer itself says."""

from __future__ import annotations

from collections.abc import Mapping

from dragoman.conversation.replies import Stop

# The dialect's own words, and those that servers which speak it have been seen or are documented to use.
REASONS: Mapping[str, Stop] = {
    "stop": Stop.END,
    "eos": Stop.END,
    "stop_sequence": Stop.STOP_SEQUENCE,
    "length": Stop.LENGTH,
    "max_tokens": Stop.LENGTH,
    "max_output_tokens": Stop.LENGTH,
    "model_length": Stop.CONTEXT,
    "model_context_window_exceeded": Stop.CONTEXT,
    "tool_calls": Stop.CALLS,
    "function_call": Stop.CALLS,
    "tool_use": Stop.CALLS,
    "content_filter": Stop.FILTER,
    "sensitive": Stop.FILTER,
    "safety": Stop.FILTER,
    "recitation": Stop.FILTER,
    "prohibited_content": Stop.FILTER,
    "refusal": Stop.FILTER,
    "error": Stop.ERROR,
    "abort": Stop.ERROR,
    "network_error": Stop.ERROR,
    "insufficient_system_resource": Stop.ERROR,
    "malformed_function_call": Stop.ERROR,
}

BREAKDOWNS = frozenset(word for word, reason in REASONS.items() if reason is Stop.ERROR)
"""Words of an answer that is none."""

WORDS: Mapping[Stop, bytes] = {
    Stop.END: b"stop",
    Stop.STOP_SEQUENCE: b"stop",
    Stop.LENGTH: b"length",
    Stop.CONTEXT: b"length",
    Stop.CALLS: b"tool_calls",
    Stop.FILTER: b"content_filter",
    Stop.REFUSAL: b"content_filter",
    Stop.BROKEN_CALL: b"stop",
    Stop.PAUSE: b"stop",
    Stop.ERROR: b"error",
}


def parse_stop(said: str, calls: bool, refused: bool) -> Stop:
    """The reason, corrected by what was answered: a call ends in CALLS whatever word the server chose."""
    reason = REASONS.get(said) or REASONS.get(said.lower(), Stop.END)
    if reason is Stop.END and calls:
        return Stop.CALLS
    if reason is Stop.CALLS and not calls:
        reason = Stop.END
    if reason is Stop.END and refused:
        return Stop.REFUSAL
    return reason


def render_stop(reason: Stop, legacy: bool, refused: bool) -> bytes:
    """The dialect's word. A refusal that the message itself holds is a normal end."""
    if reason is Stop.REFUSAL and refused:
        return b"stop"
    if reason is Stop.CALLS and legacy:
        return b"function_call"
    return WORDS[reason]
