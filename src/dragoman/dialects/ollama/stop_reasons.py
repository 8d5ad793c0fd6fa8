"""Why an Ollama answer stopped, both ways. Calls show in their message: the word is the ordinary one."""

from __future__ import annotations

from collections.abc import Mapping

from dragoman.conversation.replies import Stop

STOPS: Mapping[str, Stop] = {
    "stop": Stop.END,
    "length": Stop.LENGTH,
    "load": Stop.END,
    "unload": Stop.END,
    "content_filter": Stop.FILTER,
    "refusal": Stop.REFUSAL,
    "error": Stop.ERROR,
}
WORDS: Mapping[Stop, str] = {
    Stop.END: "stop",
    Stop.STOP_SEQUENCE: "stop",
    Stop.CALLS: "stop",
    Stop.PAUSE: "stop",
    Stop.LENGTH: "length",
    Stop.CONTEXT: "length",
    # Ollama's own models never end so. Its clients take any word but show `stop` as a success.
    Stop.FILTER: "content_filter",
    Stop.REFUSAL: "refusal",
    Stop.BROKEN_CALL: "error",
    Stop.ERROR: "error",
}


def parse_stop(word: str, called: bool) -> Stop:
    """Our reason for a word. An answer with a tool call stops for the call."""
    reason = STOPS.get(word, Stop.END)
    return Stop.CALLS if called and reason is Stop.END else reason


def render_stop(reason: Stop, word: str) -> str:
    """The word for our reason: the provider's own word where this dialect has it and it means the same."""
    return word if STOPS.get(word) is reason else WORDS[reason]
