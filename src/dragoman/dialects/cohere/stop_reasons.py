"""Why a Cohere answer stopped, both ways."""

from __future__ import annotations

from collections.abc import Mapping

from dragoman.conversation.replies import Stop

REASONS: Mapping[str, Stop] = {
    "COMPLETE": Stop.END,
    "STOP_SEQUENCE": Stop.STOP_SEQUENCE,
    "MAX_TOKENS": Stop.LENGTH,
    "TOOL_CALL": Stop.CALLS,
    "ERROR": Stop.ERROR,
    "TIMEOUT": Stop.ERROR,
}

WORDS: Mapping[Stop, str] = {
    Stop.END: "COMPLETE",
    Stop.STOP_SEQUENCE: "STOP_SEQUENCE",
    Stop.LENGTH: "MAX_TOKENS",
    Stop.CONTEXT: "MAX_TOKENS",
    Stop.CALLS: "TOOL_CALL",
    Stop.PAUSE: "COMPLETE",
    # This dialect has no word for an answer that was withheld. ERROR is the one that no client takes for success.
    Stop.FILTER: "ERROR",
    Stop.REFUSAL: "ERROR",
    Stop.BROKEN_CALL: "ERROR",
    Stop.ERROR: "ERROR",
}


def parse_stop(word: str, called: bool) -> Stop:
    """Our reason for a word. An answer with a tool call stops for the call, whatever word the server sent."""
    reason = REASONS.get(word, Stop.END)
    if reason is Stop.CALLS and not called:
        return Stop.END
    return Stop.CALLS if called and reason is Stop.END else reason


def render_stop(reason: Stop, word: str) -> str:
    """The word for our reason: the provider's own word where this dialect has it and it means the same."""
    return word if REASONS.get(word) is reason else WORDS[reason]
