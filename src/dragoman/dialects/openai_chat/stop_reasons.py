"""Why a Chat answer stopped, both ways."""

from __future__ import annotations

from collections.abc import Mapping

from dragoman.conversation.replies import Stop

# The words of the API itself, and those that compatible servers are seen or documented to use.
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

FAILURES = frozenset(word for word, reason in REASONS.items() if reason is Stop.ERROR)
"""Words of an answer that failed."""

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


def parse_stop(word: str, calls: bool, refused: bool) -> Stop:
    """Our reason for a word, corrected by the answer: one with calls stops for them, whatever word the server sent."""
    reason = REASONS.get(word) or REASONS.get(word.lower(), Stop.END)
    if reason is Stop.END and calls:
        return Stop.CALLS
    if reason is Stop.CALLS and not calls:
        reason = Stop.END
    if reason is Stop.END and refused:
        return Stop.REFUSAL
    return reason


def render_stop(reason: Stop, legacy: bool, refused: bool) -> bytes:
    """The word for our reason. A refusal that the message itself holds is a normal stop."""
    if reason is Stop.REFUSAL and refused:
        return b"stop"
    if reason is Stop.CALLS and legacy:
        return b"function_call"
    return WORDS[reason]
