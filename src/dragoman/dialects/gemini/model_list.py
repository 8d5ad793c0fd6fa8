"""Gemini's list of models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dragoman.dialects.dialect import ListedModel, ModelListing
from dragoman.dialects.raw_json import encode

_METHODS = ("generateContent", "streamGenerateContent", "countTokens")


def _model(model: ListedModel) -> dict[str, Any]:
    shown = {
        "name": f"models/{model.name}",
        "displayName": model.description or model.name,
        "supportedGenerationMethods": _METHODS,
    }
    return shown | ({"inputTokenLimit": model.context_window} if model.context_window else {})


def _render_model(model: ListedModel) -> bytes:
    return encode(_model(model))


def _render_models(models: Sequence[ListedModel]) -> bytes:
    return encode({"models": [_model(model) for model in models]})


GEMINI_MODELS = ModelListing(_render_model, _render_models)
