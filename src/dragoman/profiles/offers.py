"""Models that providers run: the names, with what the catalogue and the prices know about each.

The names are dated data with their sources. What a model can do is found in the catalogue, what it costs in the prices:
nothing is written down twice.
"""

from __future__ import annotations

import datetime
import tomllib
from functools import lru_cache

import msgspec

from dragoman.profiles.data_files import DATA
from dragoman.profiles.facts import ACCEPTS, REFUSES
from dragoman.profiles.models import ModelEntry, find_model
from dragoman.profiles.prices import TokenPrice, find_price


class Offer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Names that a provider was seen to answer to."""

    profile: str
    seen: datetime.date
    source: str
    models: tuple[str, ...]


class OfferedModel(msgspec.Struct, frozen=True):
    """One model of one provider. Sizes are in tokens, prices in US dollars for a million tokens; null: not known."""

    provider: str
    model: str
    context_window: int | None
    output_limit: int | None
    input: tuple[str, ...]
    thinking: bool | None
    """Can a request tell it how much to think?"""
    input_price: float | None
    output_price: float | None
    cached_price: float | None
    seen: datetime.date
    source: str


@lru_cache(maxsize=1)
def list_offers() -> tuple[Offer, ...]:
    text = (DATA / "offers" / "offers.toml").read_text("utf-8")
    return tuple(msgspec.convert(tomllib.loads(text)["offers"], list[Offer]))


def list_offered_names(profile: str) -> tuple[str, ...]:
    """The names that a provider of this profile is known to run."""
    return tuple(name for offer in list_offers() if offer.profile == profile for name in offer.models)


def list_offered_models(profile: str | None = None) -> list[OfferedModel]:
    """All models of a profile, or of all of them."""
    return [_offer(offer, name) for offer in list_offers() if profile in (None, offer.profile) for name in offer.models]


def _offer(offer: Offer, name: str) -> OfferedModel:
    known, price = find_model(name) or _UNKNOWN, find_price(offer.profile, name) or _NO_PRICE
    return OfferedModel(
        provider=offer.profile,
        model=name,
        context_window=known.context_window or None,
        output_limit=known.output_limit or None,
        input=known.input,
        thinking=_ASKED.get(known.thinking.asked),
        input_price=price.input if price is not _NO_PRICE else None,
        output_price=price.output if price is not _NO_PRICE else None,
        cached_price=price.cached,
        seen=offer.seen,
        source=offer.source,
    )


_UNKNOWN = ModelEntry(match=(), input=())
_NO_PRICE = TokenPrice(0, 0)
_ASKED = {ACCEPTS: True, REFUSES: False}
