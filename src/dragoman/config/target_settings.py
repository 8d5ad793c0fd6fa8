"""How a target is treated: what the file, its provider and its model say, merged."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from dragoman.config.model_lookup import ConfiguredTarget, match_pattern
from dragoman.config.schema.config_file import Config
from dragoman.config.schema.models import ModelOverride, ModelRateLimits, ReasoningMode
from dragoman.config.schema.repairs import CacheChoice, MaxLoss, RuleChoice, Synthetic
from dragoman.engine.exchange.destination import AnswerMembers, AnswerModel, ShownReasoning
from dragoman.engine.history.compaction import CompactPolicy
from dragoman.engine.history.trim_policy import Trim
from dragoman.profiles.doubts import Doubt
from dragoman.profiles.profile import merge


class TargetSettings(Struct, frozen=True, kw_only=True):
    """The settings for one target, merged from file, provider and model."""

    options: dict[str, Any]
    omit: tuple[str, ...]
    facts: dict[str, Any]
    rules: dict[str, RuleChoice]
    max_loss: MaxLoss
    synthetic: Synthetic
    cache: CacheChoice | None
    doubt: Doubt
    passthrough_fields: tuple[str, ...]
    context_window: int | None
    answer_model: AnswerModel | None
    answers: AnswerMembers
    shows_model: bool
    shown_reasoning: ShownReasoning
    trim: Trim | None
    compact: CompactPolicy | None
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
        cache=(entry and entry.cache) or provider.cache or config.cache,
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
