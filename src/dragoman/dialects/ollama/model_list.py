"""Ollama's list of models, and what it shows of one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from dragoman.dialects.dialect import ListedModel, ModelListing
from dragoman.dialects.raw_json import encode

_ARCHITECTURE = "dragoman"
_DETAILS = {
    "parent_model": "",
    "format": _ARCHITECTURE,
    "family": _ARCHITECTURE,
    "families": [_ARCHITECTURE],
    "parameter_size": "",
    "quantization_level": "",
}
_NO_DIGEST = "0" * 64


def _time(model: ListedModel) -> str:
    return datetime.fromtimestamp(model.created, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _entry(model: ListedModel) -> dict[str, Any]:
    """A model as `/api/tags` lists it. The sizes of models that others run are not known."""
    return {
        "name": model.name,
        "model": model.name,
        "modified_at": _time(model),
        "size": 0,
        "digest": _NO_DIGEST,
        "details": _DETAILS,
        "capabilities": model.capabilities,
    }


def _render_model(model: ListedModel) -> bytes:
    """A model as `/api/show` shows it."""
    known: dict[str, Any] = {"general.architecture": _ARCHITECTURE}
    if model.context_window:
        known[f"{_ARCHITECTURE}.context_length"] = model.context_window
    shown = {
        "modelfile": f"FROM {model.name}",
        "parameters": "",
        "template": "",
        "license": "",
        "details": _DETAILS,
        "model_info": known,
        "capabilities": model.capabilities,
        "modified_at": _time(model),
    }
    return encode(shown | ({"description": model.description} if model.description else {}))


def _render_models(models: Sequence[ListedModel]) -> bytes:
    return encode({"models": [_entry(model) for model in models]})


OLLAMA_MODELS = ModelListing(_render_model, _render_models, shows_abilities=True)
