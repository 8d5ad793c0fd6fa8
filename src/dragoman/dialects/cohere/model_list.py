"""Cohere's list of models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dragoman.dialects.dialect import ListedModel, ModelListing
from dragoman.dialects.raw_json import encode


def _model(model: ListedModel) -> dict[str, Any]:
    shown: dict[str, Any] = {"name": model.name, "endpoints": ["chat"], "finetuned": False, "is_deprecated": False}
    if model.context_window is not None:
        shown["context_length"] = model.context_window
    return shown


def _render_model(model: ListedModel) -> bytes:
    return encode(_model(model))


def _render_models(models: Sequence[ListedModel]) -> bytes:
    return encode({"models": [_model(model) for model in models]})


COHERE_MODELS = ModelListing(_render_model, _render_models)
