"""What tokens cost: published prices by the name of a model, with date and source.

A price is found as a model is in the catalogue: by patterns that match from the start of a name or from any word in it,
and of which the one with the most letters wins. The name is `PROFILE/MODEL`, so that a pattern may name the provider
if its price is its own (`groq/llama-3.3-70b*`). What nobody has published here has no price: a wrong price looks
like the truth, a missing one does not.
"""

from __future__ import annotations

import datetime
import tomllib
from functools import lru_cache
from math import inf

import msgspec

from dragoman.conversation.replies import MOST_TOKENS, Usage
from dragoman.profiles.data_files import DATA
from dragoman.profiles.model_patterns import ModelPatterns

PER_MILLION = 1e-6


class LongPrice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What every token of a long request costs."""

    above: int
    """It has more tokens of input than this."""
    input: float
    output: float
    cached: float | None = None
    written: float | None = None


class TokenPrice(msgspec.Struct, frozen=True):
    """What a million tokens cost. None: cached and newly cached tokens cost what other input costs."""

    input: float
    output: float
    cached: float | None = None
    written: float | None = None
    long: LongPrice | None = None
    kept_long: float | None = None
    """Newly cached tokens that are kept longer than usual; None: as the others."""
    stored: float | None = None
    """What a provider takes for keeping them an hour under a name; None: nobody knows, and none are kept so."""
    audio: float | None = None
    """Input that is sound; None: as other input."""

    @property
    def resending(self) -> float:
        """What a million tokens cost more that are sent anew instead of read from the cache."""
        if self.cached is None:
            return 0.0
        return (self.input if self.written is None else self.written) - self.cached

    @property
    def break_even(self) -> float:
        """How many times the price of reading a token from the cache it costs more to send it anew; 0: not known."""
        if self.cached is None:
            return 0.0
        return self.resending / self.cached if self.cached else inf

    def saving(self, usage: Usage) -> float:
        """What reading from the cache saved, less what writing to it cost."""
        price = self.long if self.long is not None and usage.input > self.long.above else self
        read = 0.0 if price.cached is None else usage.cached * (price.input - price.cached)
        written = 0.0 if price.written is None else usage.cache_written * (price.written - price.input)
        return (read - written) * PER_MILLION

    def cost(self, usage: Usage) -> float:
        """What tokens cost. `usage.input` holds cached and newly cached ones, `usage.output` the reasoning."""
        if (
            not (usage.cached or usage.cache_written or usage.audio or self.long)
            and 0 <= usage.input < MOST_TOKENS > usage.output >= 0
        ):
            return (usage.input * self.input + usage.output * self.output) * PER_MILLION
        # A provider may count anything.
        sent = min(max(usage.input, 0), MOST_TOKENS)
        cached = min(max(usage.cached, 0), sent)
        written = min(max(usage.cache_written, 0), sent - cached)
        price = self.long if self.long is not None and sent > self.long.above else self
        amount = (sent - cached - written) * price.input + min(max(usage.output, 0), MOST_TOKENS) * price.output
        amount += cached * (price.input if price.cached is None else price.cached)
        amount += written * (price.input if price.written is None else price.written)
        if self.kept_long is not None and self.written is not None:
            amount += min(max(usage.kept_long, 0), written) * (self.kept_long - self.written)
        if self.audio is not None:
            amount += min(max(usage.audio, 0), sent - cached - written) * (self.audio - price.input)
        return amount * PER_MILLION


class PriceEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of the list: which models, what they cost, who says so, and when that was seen."""

    match: tuple[str, ...]
    seen: datetime.date
    source: str
    input: float
    output: float
    cached: float | None = None
    written: float | None = None
    long: LongPrice | None = None
    kept_long: float | None = None
    audio: float | None = None

    def price(self) -> TokenPrice:
        prices = (self.input, self.output, self.cached, self.written, self.long, self.kept_long)
        return TokenPrice(*prices, audio=self.audio)


@lru_cache(maxsize=1)
def price_list() -> tuple[PriceEntry, ...]:
    """Every entry, in the order of the file."""
    text = (DATA / "prices" / "prices.toml").read_text("utf-8")
    return tuple(msgspec.convert(tomllib.loads(text)["prices"], list[PriceEntry]))


@lru_cache(maxsize=1)
def _patterns() -> ModelPatterns[PriceEntry]:
    return ModelPatterns((glob, entry) for entry in reversed(price_list()) for glob in entry.match)


@lru_cache(maxsize=4096)
def find_price(profile: str, model: str) -> TokenPrice | None:
    """The published price of a model, or None if it is not known."""
    entry = _patterns().find(f"{profile}/{model}")
    return entry.price() if entry is not None else None
