"""What a model answered, whole."""

from __future__ import annotations

from collections.abc import Iterable
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


def clamp_tokens(value: object) -> int:
    """A number that a provider gave as a count of tokens, within bounds; 0 if it is none."""
    if type(value) is int and 0 <= value <= MOST_TOKENS:
        return value  # nearly always
    if isinstance(value, str) and len(value) < 20 and value.isdecimal():
        value = int(value)
    if not isinstance(value, (int, float)) or not value > 0:
        return 0
    return int(min(value, MOST_TOKENS))


class Usage(msgspec.Struct, frozen=True, gc=False, repr_omit_defaults=True):
    """Tokens."""

    input: int = 0
    """All tokens of the request, cached and newly cached ones included."""
    output: int = 0
    """All tokens of the answer, reasoning included."""
    cached: int = 0
    """Tokens of the request that came from the provider's cache."""
    cache_written: int = 0
    """Tokens of the request that were put into the provider's cache."""
    reasoning: int = 0
    extras: Extras | None = None
    kept_long: int = 0
    """Those of `cache_written` that are kept longer than usual, if the provider charges more for that."""
    kept_short: int = 0
    """Those of `cache_written` of which the provider says that they are kept as long as usual."""
    audio: int = 0
    """Those of `input` that are sound, and did not come from the cache."""
    others: tuple[tuple[str, Usage], ...] = ()
    """What other models took that the answer asked for advice, by their names. It is not among these tokens."""

    @property
    def total(self) -> int:
        return self.input + self.output


def sum_usage(usages: Iterable[Usage]) -> Usage:
    """The tokens of several answers. What one provider adds to them stays if there is one answer only."""
    found = tuple(usages)
    if len(found) == 1:
        return found[0]
    names = ("input", "output", "cached", "cache_written", "reasoning", "kept_long", "kept_short", "audio")
    others = tuple([one for usage in found for one in usage.others])
    return Usage(**{name: sum(getattr(usage, name) for usage in found) for name in names}, others=others)


class Choice(msgspec.Struct, frozen=True, repr_omit_defaults=True):
    """One answer."""

    parts: tuple[Part, ...]
    stop: Stop | None = None
    word: str = ""
    """The provider's own word for the stop."""
    sequence: str | None = None
    """The stop string that was hit."""
    logprobs: Json | None = None
    extras: Extras | None = None


class Reply(msgspec.Struct, frozen=True, repr_omit_defaults=True):
    """A whole answer."""

    id: str = ""
    model: str = ""
    choices: tuple[Choice, ...] = ()
    usage: Usage | None = None
    created: int | None = None
    """Seconds since 1970."""
    fingerprint: str | None = None
    service_tier: str | None = None
    extras: Extras | None = None
