"""From the name a client asks for to the provider and model behind it."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from msgspec import Struct

from dragoman.config.schema import Config, Model, Provider


class Reason(StrEnum):
    """Why a target failed, where the file may name other targets for it."""

    CONTEXT_LENGTH = "context_length"
    CONTENT_FILTER = "content_filter"
    RATE_LIMIT = "rate_limit"


class Place(Struct, frozen=True):
    """One provider and one of its models; `entry` is the file's model that led there, if one did."""

    provider_name: str
    provider: Provider
    model: str
    entry: Model | None = None

    @property
    def target(self) -> str:
        return f"{self.provider_name}/{self.model}"


def place(config: Config, name: str) -> Place | None:
    """Where a public model name or a `PROVIDER/MODEL` leads; None when it leads nowhere."""
    entry = config.models.get(name)
    provider_name, slash, model = (entry.target if entry else name).partition("/")
    provider = config.providers.get(provider_name)
    if not slash or not model or provider is None:
        return None
    return Place(provider_name, provider, model, entry)


def fallbacks(config: Config, name: str, reason: Reason | None = None) -> tuple[Place, ...]:
    """The places to try after a model's own, those for the reason first, each once.

    A fallback that names another model of the file takes that model's options, not its fallbacks: a chain is what
    is written in one line.
    """
    return tuple(_fallbacks(config, name, reason))


def _fallbacks(config: Config, name: str, reason: Reason | None) -> Iterator[Place]:
    entry = config.models.get(name)
    if entry is None:
        return
    first: tuple[str, ...] = getattr(entry.fallbacks_on, reason.value) if reason is not None else ()
    seen = {entry.target}
    for other in (*first, *entry.fallbacks):
        found = place(config, other)
        if found is not None and found.target not in seen:
            seen.add(found.target)
            yield found
