"""How a target is treated: what the file, its provider and its model say, merged."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from dragoman.config.model_lookup import ConfiguredTarget, match_pattern
from dragoman.config.schema.config_file import Config
from dragoman.config.schema.models import Model, ModelOverride, ModelRateLimits, ReasoningMode
from dragoman.config.schema.repairs import RuleChoice
from dragoman.profiles.profile import merge

_STANCES = {True: "accepts", False: "refuses"}


def settings_for(config: Config, found: ConfiguredTarget) -> Model:
    """The model's entry of the file, with what the file and its provider say where it does not."""
    provider, override = found.provider, _override(config, found.model)
    entry = found.entry or Model(target=found.target)
    is_shown = any(
        one.show_model_prefix for one in config.models.values()
    )  # a conversation may come from another model
    prefix: dict[str, RuleChoice] = {"model-prefix": "strip"} if is_shown else {}
    return replace(
        entry,
        options=merge(override.options, entry.options),
        omit=tuple(dict.fromkeys(override.omit + entry.omit)),
        facts=provider.facts | _facts(override) | entry.facts,
        rules=prefix | config.rules | provider.rules | _rules(override) | entry.rules,
        max_loss=entry.max_loss or provider.max_loss or config.max_loss,
        synthetic=entry.synthetic or provider.synthetic or config.synthetic,
        cache=entry.cache or provider.cache or config.cache,
        passthrough_fields=provider.passthrough_fields + entry.passthrough_fields,
        history=entry.history or config.history,
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
