"""Anthropic's list of models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dragoman.dialects.dialect import ListedModel, ModelListing
from dragoman.dialects.raw_json import encode

_CREATED = "2025-01-01T00:00:00Z"
"""The SDK wants a date, and a configured model has none."""


def _model(model: ListedModel) -> dict[str, Any]:
    return {"type": "model", "id": model.name, "display_name": model.description or model.name, "created_at": _CREATED}


def _render_model(model: ListedModel) -> bytes:
    return encode(_model(model))


def _render_models(models: Sequence[ListedModel]) -> bytes:
    first, last = (models[0].name, models[-1].name) if models else (None, None)
    shown = [_model(model) for model in models]
    return encode({"data": shown, "has_more": False, "first_id": first, "last_id": last})


ANTHROPIC_MODELS = ModelListing(_render_model, _render_models)
