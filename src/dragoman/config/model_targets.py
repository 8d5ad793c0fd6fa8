"""The provider and model for a model name of the configuration."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Any

from msgspec import Struct

from dragoman.config.schema import (
    Compact,
    Config,
    MaxLoss,
    Model,
    ModelOverride,
    ModelRateLimits,
    Provider,
    ReasoningMode,
    RuleChoice,
    Synthetic,
    Trim,
)
from dragoman.engine.destination import AnswerMembers, AnswerModel, ShownReasoning
from dragoman.profiles.facts import Doubt
from dragoman.profiles.profile import merge


class FallbackReason(StrEnum):
    """A reason of failure for which the file may name its own fallbacks."""

    CONTEXT_LENGTH = "context_length"
    CONTENT_FILTER = "content_filter"
    RATE_LIMIT = "rate_limit"


class ConfiguredTarget(Struct, frozen=True):
    """A provider and one of its models. `entry` is the model of the file that names them, if any."""

    provider_name: str
    provider: Provider
    model: str
    entry: Model | None = None

    @property
    def target(self) -> str:
        return f"{self.provider_name}/{self.model}"


class TargetSettings(Struct, frozen=True, kw_only=True):
    """The settings for one target, merged from file, provider and model."""

    options: dict[str, Any]
    omit: tuple[str, ...]
    facts: dict[str, Any]
    rules: dict[str, RuleChoice]
    max_loss: MaxLoss
    synthetic: Synthetic
    doubt: Doubt
    passthrough_fields: tuple[str, ...]
    context_window: int | None
    answer_model: AnswerModel | None
    answers: AnswerMembers
    shows_model: bool
    reasoning: ReasoningMode | None
    shown_reasoning: ShownReasoning
    trim: Trim | None
    compact: Compact | None
    rate_limits: ModelRateLimits | None


_STANCES = {True: "accepts", False: "refuses"}


def settings_for(config: Config, found: ConfiguredTarget) -> TargetSettings:
    """The settings for a target: those of the file, then of the provider, then of the model."""
    provider, entry = found.provider, found.entry
    override = _override(config, found.model)
    shows_model = bool(entry and entry.show_model_prefix)
    prefix: dict[str, RuleChoice] = {"model-prefix": "strip"} if shows_model else {}
    return TargetSettings(
        options=merge(override.options, entry.options if entry else {}),
        omit=tuple(dict.fromkeys(override.omit + (entry.omit if entry else ()))),
        facts=provider.facts | _facts(override) | (entry.facts if entry else {}),
        rules=prefix | config.rules | provider.rules | (entry.rules if entry else {}),
        max_loss=(entry and entry.max_loss) or provider.max_loss or config.max_loss,
        synthetic=(entry and entry.synthetic) or provider.synthetic or config.synthetic,
        doubt=entry.doubt if entry else Doubt.FAITHFUL,
        passthrough_fields=provider.passthrough_fields + (entry.passthrough_fields if entry else ()),
        context_window=entry.context_window if entry else None,
        answer_model=entry.answer_model if entry else None,
        answers=entry.answers if entry else AnswerMembers.WHOLE,
        shows_model=shows_model,
        reasoning=override.reasoning,
        shown_reasoning=entry.reasoning if entry else ShownReasoning.ASKED,
        trim=((entry and entry.history) or config.history).trim,
        compact=((entry and entry.history) or config.history).compact,
        rate_limits=_rate_limits(config, found),
    )


def _rate_limits(config: Config, found: ConfiguredTarget) -> ModelRateLimits | None:
    """Those of the model, else of another name for the same target: a second name must not lead around them."""
    if found.entry is not None and found.entry.rate_limits is not None:
        return found.entry.rate_limits
    same = (one.rate_limits for one in config.models.values() if one.target == found.target)
    return next((limits for limits in same if limits is not None), None)


def _override(config: Config, model: str) -> ModelOverride:
    """The first of the file's overrides that speaks of this model."""
    lowered = model.lower()
    return next((one for one in config.overrides if one.match.lower() in lowered), _NO_OVERRIDE)


_NO_OVERRIDE = ModelOverride(match="")


def _facts(override: ModelOverride) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    if override.cache_control is not None:
        facts["cache_hints"] = _STANCES[override.cache_control]
    if override.strict_tools is not None:
        facts["strict_tools"] = _STANCES[override.strict_tools]
    if override.reasoning is not None:
        facts["thinking_form"] = "none"
    return facts


def find_target(config: Config, name: str) -> ConfiguredTarget | None:
    """The target of a public model name or of `PROVIDER/MODEL`; None if unknown."""
    entry = config.models.get(name) or config.models.get(known_as(config, name))
    provider_name, slash, model = (entry.target if entry else name).partition("/")
    provider = config.providers.get(provider_name)
    if not slash or not model or provider is None:
        return None
    return ConfiguredTarget(provider_name, provider, model, entry)


def known_as(config: Config, name: str) -> str:
    """The model of this file that a name means: itself, the one whose provider calls it so, or whose name begins so.

    Where several would do, none is meant.
    """
    if name in config.models or "/" in name:
        return name
    models = config.models.items()
    same = [alias for alias, model in models if model.target.partition("/")[2] == name]
    begun = [alias for alias in config.models if alias.startswith(name)] if name else []
    return next((found[0] for found in (same, begun) if len(found) == 1), name)


AUTO = "auto"


def find_candidates(config: Config, name: str) -> tuple[str, ...] | None:
    """The models that a route chooses from; None where the name is no route.

    `auto` chooses from all, `PREFIX/auto` from those whose provider or name begins so.
    """
    route = config.routes.get(name)
    if (route is None and not name.endswith(AUTO)) or name in config.models:
        return None
    listed = tuple(alias for alias, model in config.models.items() if not model.hidden)
    if route is not None:
        return route.models or listed
    prefix, slash, last = name.rpartition("/")
    if last != AUTO or not listed:
        return None
    if not slash:
        return listed
    some = tuple(one for one in listed if one.startswith(prefix) or config.models[one].target.startswith(f"{prefix}/"))
    return some or None


def find_fallbacks(config: Config, name: str, reason: FallbackReason | None = None) -> tuple[ConfiguredTarget, ...]:
    """The targets to try after a model's own, those for the reason first, each once.

    A fallback to another model of the file uses that model's options, but not its fallbacks: a chain is written in one
    place.
    """
    return tuple(_fallbacks(config, name, reason))


def _fallbacks(config: Config, name: str, reason: FallbackReason | None) -> Iterator[ConfiguredTarget]:
    entry = config.models.get(name)
    if entry is None:
        return
    first: tuple[str, ...] = getattr(entry.fallbacks_on, reason.value) if reason is not None else ()
    seen = {entry.target}
    for other in (*first, *entry.fallbacks):
        found = find_target(config, other)
        if found is not None and found.target not in seen:
            seen.add(found.target)
            yield found
