"""What OpenAI's two dialects serve alike, beside conversations.

Requests of some paths are passed on as they are. The headers of limits and the list of models are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dragoman.dialects.dialect import ListedModel, ModelListing
from dragoman.dialects.families.openai_completions import COMPLETIONS_PATH
from dragoman.dialects.shared.raw_json import encode

FORWARDED_PATHS = (
    *("/embeddings", "/audio/transcriptions", "/audio/translations", "/audio/speech"),
    *("/images/generations", "/images/edits", "/images/variations", "/moderations"),
)
RELAYED_PATHS = frozenset({*FORWARDED_PATHS, COMPLETIONS_PATH})
LIMIT_HEADER = "x-ratelimit-{figure}-{what}"


def _show_model(model: ListedModel) -> dict[str, Any]:
    shown: dict[str, Any] = {"id": model.name, "object": "model", "created": model.created, "owned_by": "dragoman"}
    if model.metadata is not None:
        shown |= {"context_length": model.context_window, "metadata": model.metadata}
    return shown


def _render_models(models: Sequence[ListedModel], more: bool | None) -> bytes:
    """OpenAI lists all models at once. A page of them has the members that OpenAI's other lists have."""
    shown: dict[str, Any] = {"object": "list", "data": [_show_model(model) for model in models]}
    if more is not None:
        first, last = (models[0].name, models[-1].name) if models else (None, None)
        shown |= {"first_id": first, "last_id": last, "has_more": more}
    return encode(shown)


OPENAI_MODELS = ModelListing(_show_model, _render_models)
