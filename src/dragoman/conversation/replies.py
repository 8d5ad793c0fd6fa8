"""What a model answered, whole."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from dragoman.conversation.parts import Extras, Json, Part


class Stop(StrEnum):
    """Why the model stopped."""

    END = "end"
    STOP_SEQUENCE = "stop-sequence"
    LENGTH = "length"
    CONTEXT = "context"
    CALLS = "calls"
    FILTER = "filter"
    REFUSAL = "refusal"
    BROKEN_CALL = "broken-call"
    PAUSE = "pause"
    ERROR = "error"

    @property
    def reduced(self) -> str:
        """One of four words: `end_turn`, `tool_use`, `max_tokens`, `stop_sequence`."""
        return _REDUCED.get(self, "end_turn")


_REDUCED = {
    Stop.CALLS: "tool_use",
    Stop.BROKEN_CALL: "tool_use",
    Stop.LENGTH: "max_tokens",
    Stop.CONTEXT: "max_tokens",
    Stop.STOP_SEQUENCE: "stop_sequence",
}


MOST_TOKENS = 1_000_000_000
"""Of one answer. A provider may claim any number; sums over all answers must fit into 64 bits."""


def token_count(value: object) -> int:
    """A number that a provider gave as a count of tokens, within bounds; 0 where it is none."""
    if not isinstance(value, int | float) or not value > 0:
        return 0
    return int(min(value, MOST_TOKENS))


class Usage(msgspec.Struct, frozen=True, gc=False):
    """Tokens. `input` holds all of them, cached and newly cached included; `output` all, reasoning included.

    `kept_long` are those of `cache_written` that are kept longer than usual, where the provider charges more for that.
    """

    input: int = 0
    output: int = 0
    cached: int = 0
    cache_written: int = 0
    reasoning: int = 0
    extras: Extras | None = None
    kept_long: int = 0

    @property
    def total(self) -> int:
        return self.input + self.output


class Choice(msgspec.Struct, frozen=True):
    """One answer. `word` is the provider's own word for the stop, `sequence` the stop string that was hit."""

    parts: tuple[Part, ...]
    stop: Stop | None = None
    word: str = ""
    sequence: str | None = None
    logprobs: Json | None = None
    extras: Extras | None = None


class Reply(msgspec.Struct, frozen=True):
    """A whole answer. `created` is in seconds since 1970."""

    id: str = ""
    model: str = ""
    choices: tuple[Choice, ...] = ()
    usage: Usage | None = None
    created: int | None = None
    fingerprint: str | None = None
    service_tier: str | None = None
    extras: Extras | None = None
