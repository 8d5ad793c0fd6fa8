"""The dialect `ollama`: Ollama's own chat. A stream is one JSON object a line, and is what a client gets unasked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from dragoman.conversation.conversation import Conversation
from dragoman.dialects.dialect import (
    TEXT,
    Dialect,
    Endpoint,
    Framing,
    Job,
    Likeness,
    ListedModel,
    ModelListing,
    RequestAdapter,
    UnservedPath,
    fixed_path,
    turns,
)
from dragoman.dialects.ollama import NAME
from dragoman.dialects.request_glance import RequestGlance
from dragoman.dialects.shared.raw_json import encode

_ARCHITECTURE = "dragoman"
_DETAILS = {
    "parent_model": "",
    "format": _ARCHITECTURE,
    "family": _ARCHITECTURE,
    "families": [_ARCHITECTURE],
    "parameter_size": "",
    "quantization_level": "",
}


def _time(model: ListedModel) -> str:
    return datetime.fromtimestamp(model.created, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _entry(model: ListedModel) -> dict[str, Any]:
    """A model as `/api/tags` lists it. The sizes and digests of models that others run are not known; clients take
    models of one digest for one, so each name has its own."""
    return {
        "name": model.name,
        "model": model.name,
        "modified_at": _time(model),
        "size": 0,
        "digest": sha256(model.name.encode()).hexdigest(),
        "details": _DETAILS,
        "capabilities": model.capabilities,
    }


def _show_model(model: ListedModel) -> dict[str, Any]:
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
    return shown | ({"description": model.description} if model.description else {})


def _render_models(models: Sequence[ListedModel], more: bool | None) -> bytes:
    return encode({"models": [_entry(model) for model in models]})


OLLAMA_MODELS = ModelListing(_show_model, _render_models, shows_abilities=True)


_OWN = frozenset({"options", "keep_alive", "think", "format"})
"""Members that no other dialect has."""


def _recognise(seen: RequestGlance) -> Likeness:
    return Likeness.HINTED if seen.has(_OWN) else Likeness.NONE


def _asks_for_reasoning(conversation: Conversation) -> bool:
    thinking = conversation.settings.thinking
    return thinking is not None and thinking.on is not False


def _ndjson(query: Mapping[str, str]) -> Framing:
    return Framing.NDJSON


def _prompt_form() -> RequestAdapter:
    from dragoman.dialects.ollama.endpoints.prompt_form import PROMPT_FORM

    return PROMPT_FORM


def _embedding_form() -> RequestAdapter:
    from dragoman.dialects.ollama.endpoints.embedding_form import EMBEDDING_FORM

    return EMBEDDING_FORM


def _older_embedding_form() -> RequestAdapter:
    from dragoman.dialects.ollama.endpoints.embedding_form import OLDER_EMBEDDING_FORM

    return OLDER_EMBEDDING_FORM


_NONE = b'{"models":[]}'
_VERSION = b'{"version":"0.12.0"}'
"""Of the server whose API this is: clients ask before they use what older ones do not have."""

_REQUIRED = {"model": TEXT, "messages": turns("system", "user", "assistant", "tool")}

_CONFIGURED = "the models are those of the configuration; GET /api/tags lists them"
_UNSERVED = (
    UnservedPath("/api/pull", _CONFIGURED, ("POST",)),
    UnservedPath("/api/push", _CONFIGURED, ("POST",)),
    UnservedPath("/api/create", _CONFIGURED, ("POST",)),
    UnservedPath("/api/copy", _CONFIGURED, ("POST",)),
    UnservedPath("/api/delete", _CONFIGURED, ("DELETE",)),
)

DIALECT = Dialect(
    name=NAME,
    title="Ollama",
    endpoints=(
        Endpoint(Job.GENERATE, "/api/chat", "Ollama's chat; a stream unless `stream` is false", required=_REQUIRED),
        Endpoint(
            Job.PROMPT,
            "/api/generate",
            "Ollama, one prompt; a stream unless `stream` is false",
            required={"model": TEXT, "prompt": TEXT},
            load_form=_prompt_form,
        ),
        Endpoint(
            Job.EMBED,
            "/api/embed",
            "Ollama's embeddings",
            required={"model": TEXT, "input": TEXT},
            load_form=_embedding_form,
        ),
        Endpoint(
            Job.EMBED,
            "/api/embeddings",
            "Ollama's older embeddings, of one prompt",
            required={"model": TEXT, "prompt": TEXT},
            load_form=_older_embedding_form,
        ),
        Endpoint(Job.ABOUT, "/api/ps", "Loaded models: none, as nothing is loaded here", method="GET", answer=_NONE),
        Endpoint(Job.LIST_MODELS, "/api/tags", "Models, as Ollama lists them", method="GET"),
        Endpoint(Job.SHOW_MODEL, "/api/show", "One model, as Ollama shows it", required={"model": TEXT}),
        Endpoint(Job.ABOUT, "/api/version", "The version of Ollama's API", method="GET", answer=_VERSION),
    ),
    unserved=_UNSERVED,
    prefixes=("",),
    caller_prefixes=("/api/",),
    request_path=fixed_path("/api/chat"),
    framing=Framing.NDJSON,
    client_framing=_ndjson,
    recognise=_recognise,
    optional_ids=True,
    asks_for_reasoning=_asks_for_reasoning,
    models_path="/api/tags",
    show_path="/api/show",
    relayed_paths=frozenset({"/embeddings"}),
    relay_root="/v1",
    greeting=b"Ollama is running",
    client_agents=("ollama",),
    model_listing=OLLAMA_MODELS,
)
