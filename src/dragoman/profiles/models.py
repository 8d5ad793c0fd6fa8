"""The catalogue of models: what a model can do, whoever runs it.

A profile says how a provider is spoken to; the catalogue says what its models are able to do: think, answer by a
schema, take pictures, and how much they hold. A model is found by patterns. They match from the start of a name or from
any word in it, so that `anthropic/claude-sonnet-4.5`, `us.anthropic.claude-sonnet-4-5-20250929-v1:0` and a deployment
called `team-gpt-4o` are found too. The pattern with the most letters wins, and of two the later one.
"""

from __future__ import annotations

import datetime
import tomllib
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import msgspec

from dragoman.profiles.data_files import DATA
from dragoman.profiles.facts import ACCEPTS, REFUSES, UNKNOWN, Need, Stance, ThinkingForm
from dragoman.profiles.model_patterns import ModelPatterns


class ModelThinking(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a model thinks."""

    asked: Stance = ACCEPTS
    """Can a request tell it how much? The rest says in which form its maker's API is told."""
    form: ThinkingForm | None = None
    efforts: tuple[str, ...] = ()
    budget_min: int = 0
    budget_max: int = 0
    dynamic: Stance = REFUSES
    """Is a budget of -1 taken, by which the model decides?"""
    off: Stance = ACCEPTS
    """Can it be turned off?"""
    default: bool = False
    """Whether it thinks unless it is told not to."""
    history: Need = Need.NEVER
    """When its thinking must come back."""


class ModelEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry."""

    match: str | tuple[str, ...]
    vendor: str = ""
    thinking: ModelThinking = ModelThinking(asked=UNKNOWN)
    formats: tuple[str, ...] = ("text", "json", "schema")
    """Text, any JSON, JSON by a schema."""
    format_with_tools: Stance = ACCEPTS
    """The two latter beside tools."""
    tools: Stance = ACCEPTS
    input: tuple[str, ...] = ("text",)
    """What it reads."""
    context_window: int = 0
    """In tokens, 0 if not known."""
    output_limit: int = 0
    """In tokens, 0 if not known."""
    seen: datetime.date | None = None
    sources: tuple[str, ...] = ()

    @property
    def globs(self) -> tuple[str, ...]:
        return (self.match,) if isinstance(self.match, str) else self.match

    @property
    def name(self) -> str:
        return self.globs[0]


class CatalogueUse(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a profile takes from the catalogue."""

    thinking: str = ""
    """`form`, all of it, as on the maker's own API; `ability`, whether a model can be told, and its bounds; `hint`, the
    same if the provider ignores what a model cannot do."""
    formats: tuple[str, ...] = ()
    """Those that the endpoint has a field for, of which a model's own are taken."""
    limits: bool = False
    """Whether the sizes are taken from it."""


@lru_cache(maxsize=1)
def catalogue() -> tuple[ModelEntry, ...]:
    """Every entry, in the order of the files."""
    files = sorted((DATA / "models").glob("*.toml"), key=lambda file: file.name)
    return tuple(model for file in files for model in read_models(file.read_text("utf-8")))


def read_models(text: str) -> list[ModelEntry]:
    """The entries of one file. What stands above them holds for all."""
    table = tomllib.loads(text)
    shared = {key: value for key, value in table.items() if key != "models"}
    return [msgspec.convert({**shared, **entry}, ModelEntry) for entry in table.get("models", [])]


@lru_cache(maxsize=1)
def _patterns() -> ModelPatterns[ModelEntry]:
    return ModelPatterns((glob, model) for model in reversed(catalogue()) for glob in model.globs)


@lru_cache(maxsize=4096)
def find_model(name: str) -> ModelEntry | None:
    """The entry that speaks of a model, the most precise one, or None."""
    return _patterns().find(name)


def find_window(name: str, stated: int) -> int:
    """The context window that is stated of a model, else the one that its maker gives it; 0 if nobody knows.

    A host may cut a model's window and never widens it."""
    if stated:
        return stated
    found = find_model(name)
    return found.context_window if found is not None else 0


def find_output_limit(name: str, stated: int) -> int:
    """The greatest token limit of an answer, in the same way."""
    found = None if stated else find_model(name)
    return found.output_limit if found is not None else stated


def facts_from(model: ModelEntry, use: CatalogueUse) -> Mapping[str, Any]:
    """The facts that a profile takes from an entry."""
    facts: dict[str, Any] = _thinking_facts(model.thinking, use.thinking) if use.thinking else {}
    if use.formats:
        taken = tuple(name for name in use.formats if name in model.formats)
        facts |= {"response_formats": taken, "format_with_tools": model.format_with_tools.value}
        if model.tools is REFUSES:
            facts["tools"] = REFUSES.value
    if use.limits:
        facts |= {"context_window": model.context_window, "output_limit": model.output_limit}
    return facts


def _thinking_facts(thinking: ModelThinking, use: str) -> dict[str, Any]:
    asked = UNKNOWN if use == "hint" and thinking.asked is REFUSES else thinking.asked
    facts: dict[str, Any] = {"thinking": asked.value}
    if thinking.asked is ACCEPTS:
        facts |= {
            "budget_min": thinking.budget_min,
            "budget_max": thinking.budget_max,
            "thinking_off": thinking.off.value,
        }
    if use != "form":
        return facts
    if thinking.asked is REFUSES:
        facts["thinking_form"] = ThinkingForm.NONE.value
    facts |= {"reasoning_default": thinking.default, "reasoning_required": thinking.history.value}
    if thinking.form is not None:
        facts |= {
            "thinking_form": thinking.form.value,
            "efforts": thinking.efforts,
            "dynamic_budget": thinking.dynamic.value,
        }
    return facts
