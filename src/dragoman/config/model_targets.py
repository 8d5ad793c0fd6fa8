"""From the name a client asks for to the provider and model behind it."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Any

from msgspec import Struct

from dragoman.config.schema import Config, MaxLoss, Model, Provider, RuleChoice, Synthetic
from dragoman.profiles.facts import Doubt


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


class Treatment(Struct, frozen=True, kw_only=True):
    """How requests for one place are treated: the file's layers laid over one another, the nearest on top."""

    options: dict[str, Any]
    omit: tuple[str, ...]
    facts: dict[str, Any]
    rules: dict[str, RuleChoice]
    max_loss: MaxLoss
    synthetic: Synthetic
    doubt: Doubt
    passthrough_fields: tuple[str, ...]
    context_window: int | None


def treatment(config: Config, found: Place) -> Treatment:
    """What the file says for a place: all targets, then the provider, then the model."""
    provider, entry = found.provider, found.entry
    return Treatment(
        options=entry.options if entry else {},
        omit=entry.omit if entry else (),
        facts=provider.facts | (entry.facts if entry else {}),
        rules=config.rules | provider.rules | (entry.rules if entry else {}),
        max_loss=(entry and entry.max_loss) or provider.max_loss or config.max_loss,
        synthetic=(entry and entry.synthetic) or provider.synthetic or config.synthetic,
        doubt=entry.doubt if entry else Doubt.FAITHFUL,
        passthrough_fields=provider.passthrough_fields + (entry.passthrough_fields if entry else ()),
        context_window=entry.context_window if entry else None,
    )


def merged(request: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """A request with a model's options merged in deeply. What the file says wins; neither argument is changed."""
    both = {
        name: merged(request[name], value) if isinstance(value, dict) and isinstance(request.get(name), dict) else value
        for name, value in options.items()
    }
    return {**request, **both}


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
