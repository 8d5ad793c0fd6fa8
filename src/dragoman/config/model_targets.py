"""The provider and model for a model name of the configuration."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Any

from msgspec import Struct

from dragoman.config.name_patterns import PatternMatch, is_pattern, match_pattern
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
        rules=prefix | config.rules | provider.rules | _rules(override) | (entry.rules if entry else {}),
        max_loss=(entry and entry.max_loss) or provider.max_loss or config.max_loss,
        synthetic=(entry and entry.synthetic) or provider.synthetic or config.synthetic,
        doubt=entry.doubt if entry else Doubt.FAITHFUL,
        passthrough_fields=provider.passthrough_fields + (entry.passthrough_fields if entry else ()),
        context_window=entry.context_window if entry else None,
        answer_model=entry.answer_model if entry else None,
        answers=entry.answers if entry else AnswerMembers.WHOLE,
        shows_model=shows_model,
        shown_reasoning=entry.reasoning if entry else ShownReasoning.ASKED,
        trim=((entry and entry.history) or config.history).trim,
        compact=((entry and entry.history) or config.history).compact,
        rate_limits=_rate_limits(config, found),
    )


def _rate_limits(config: Config, found: ConfiguredTarget) -> ModelRateLimits | None:
    """Those of the model, else of another name for the same target: a second name must not lead around them."""
    if found.entry is not None and found.entry.rate_limits is not None:
        return found.entry.rate_limits
    limited = {one.target: one.rate_limits for one in reversed(config.models.values()) if one.rate_limits is not None}
    match = match_pattern(limited, found.target)
    return limited.get(found.target) or (limited[match.pattern] if match is not None else None)


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
    if override.reasoning is ReasoningMode.OMIT:
        facts["thinking_form"] = "none"
    return facts


def _rules(override: ModelOverride) -> dict[str, RuleChoice]:
    if override.reasoning in (ReasoningMode.ENABLE, ReasoningMode.DISABLE):
        return {"thinking-switch": override.reasoning.value}
    return {}


def find_target(config: Config, name: str) -> ConfiguredTarget | None:
    """The target of a public model name, of a name that fits a pattern, or of `PROVIDER/MODEL`; None if unknown.

    Names of the file come first, then its patterns, then providers, then the pattern `*`.
    """
    found = find_entry(config, name)
    if found is not None:
        return _target(config, found.target, found.entry)
    return _target(config, name, None) if not is_pattern(name) else None


def _target(config: Config, target: str, entry: Model | None) -> ConfiguredTarget | None:
    provider_name, slash, model = target.partition("/")
    provider = config.providers.get(provider_name)
    if not slash or not model or provider is None:
        return None
    return ConfiguredTarget(provider_name, provider, model, entry)


class NamedEntry(Struct, frozen=True):
    """A model of the file that a name leads to, by itself or by a pattern."""

    entry: Model
    match: PatternMatch | None = None

    @property
    def target(self) -> str:
        return self.fill(self.entry.target)

    def fill(self, target: str) -> str:
        return target if self.match is None else self.match.fill(target)


def find_entry(config: Config, name: str) -> NamedEntry | None:
    """The model of the file that a name leads to; None where it names a provider itself, or nothing."""
    if is_pattern(name):
        return None
    entry = config.models.get(name) or config.models.get(known_as(config, name))
    if entry is not None:
        return NamedEntry(entry)
    match = match_pattern(config.models, name)
    if match is None or (match.is_catch_all and _target(config, name, None) is not None):
        return None
    return NamedEntry(config.models[match.pattern], match)


def known_as(config: Config, name: str) -> str:
    """The model of this file that a name means: itself, or the one whose provider calls it so.

    Where several would do, none is meant.
    """
    if name in config.models or "/" in name:
        return name
    same = [alias for alias, model in _named(config) if _provider_name(model) == name]
    return same[0] if len(same) == 1 else name


def begun_as(config: Config, name: str) -> str:
    """The model of this file whose name begins so, else the one whose provider's name for it does; empty if there is
    none, or several."""
    if not name or "/" in name:
        return ""
    own = [alias for alias, _ in _named(config) if alias.startswith(name)]
    theirs = [alias for alias, model in _named(config) if _provider_name(model).startswith(name)]
    found = own or theirs
    return found[0] if len(found) == 1 else ""


def _named(config: Config) -> list[tuple[str, Model]]:
    return [(alias, model) for alias, model in config.models.items() if not is_pattern(alias)]


def _provider_name(model: Model) -> str:
    return model.target.partition("/")[2]


def listed_names(config: Config) -> tuple[str, ...]:
    """The names of the file that are shown: neither hidden ones nor patterns."""
    return tuple(name for name, model in config.models.items() if not model.hidden and not is_pattern(name))


AUTO = "auto"


def find_candidates(config: Config, name: str) -> tuple[str, ...] | None:
    """The models that a route chooses from; None where the name is no route.

    `auto` chooses from all, `PREFIX/auto` from those whose provider or name begins so.
    """
    route = config.routes.get(name)
    if (route is None and not name.endswith(AUTO)) or name in config.models:
        return None
    listed = listed_names(config)
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
    known = find_entry(config, name)
    if known is None:
        return
    entry = known.entry
    first: tuple[str, ...] = getattr(entry.fallbacks_on, reason.value) if reason is not None else ()
    seen = {known.target}
    for other in (*first, *entry.fallbacks):
        found = find_target(config, known.fill(other))
        if found is not None and found.target not in seen:
            seen.add(found.target)
            yield found
