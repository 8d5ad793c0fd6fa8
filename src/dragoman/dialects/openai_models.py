"""OpenAI's list of models, the same in its two dialects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from dragoman.dialects.dialect import ListedModel, ModelListing

_encode = msgspec.json.Encoder().encode


def _model(model: ListedModel) -> dict[str, Any]:
    return {"id": model.name, "object": "model", "created": model.created, "owned_by": "dragoman"}


def _render_model(model: ListedModel) -> bytes:
    return _encode(_model(model))


def _render_models(models: Sequence[ListedModel]) -> bytes:
    return _encode({"object": "list", "data": [_model(model) for model in models]})


OPENAI_MODELS = ModelListing(_render_model, _render_models)
