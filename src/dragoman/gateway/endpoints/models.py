"""The models that a caller may ask for, in the shape that its SDK reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from dragoman.gateway.callers import Known, Refused, may_ask
from dragoman.gateway.endpoints.generate import unknown_model
from dragoman.gateway.inbound import Inbound
from dragoman.gateway.outbound import Outbound
from dragoman.gateway.services import Services

_METHODS = ("generateContent", "streamGenerateContent", "countTokens")


async def models(services: Services, inbound: Inbound, outbound: Outbound, known: Known) -> None:
    """All that are not hidden and that the caller may use."""
    show, gather = _SHAPES[dialect_of(inbound)]
    listed = [show(name, services) for name in visible(services, known)]
    await outbound.whole(200, msgspec.json.encode(gather(listed)))


async def model(services: Services, inbound: Inbound, outbound: Outbound, known: Known, name: str) -> None:
    """One model, hidden or not."""
    may_ask(known, name)
    if not services.routes.find(name):
        raise Refused(unknown_model(name))
    show, _ = _SHAPES[dialect_of(inbound)]
    await outbound.whole(200, msgspec.json.encode(show(name, services)))


def dialect_of(inbound: Inbound) -> str:
    """Known by the path and the headers: Gemini's has its own, Anthropic's SDK says so."""
    if inbound.path.startswith(("/v1beta/", "/v1alpha/")) or "x-goog-api-key" in inbound.headers:
        return "gemini"
    return "anthropic" if "anthropic-version" in inbound.headers else "openai-chat"


def visible(services: Services, known: Known) -> list[str]:
    """Names that are not hidden and that the caller may use."""
    client = known.client
    listed = [name for name, model in services.config.models.items() if not model.hidden]
    return [name for name in listed if client is None or client.may_ask(name)]


def _openai(name: str, services: Services) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": int(services.started), "owned_by": "dragoman"}


def _openai_list(listed: list[dict[str, Any]]) -> dict[str, Any]:
    return {"object": "list", "data": listed}


def _anthropic(name: str, services: Services) -> dict[str, Any]:
    shown = _described(name, services)
    return {"type": "model", "id": name, "display_name": shown, "created_at": "2025-01-01T00:00:00Z"}


def _anthropic_list(listed: list[dict[str, Any]]) -> dict[str, Any]:
    first, last = (listed[0]["id"], listed[-1]["id"]) if listed else (None, None)
    return {"data": listed, "has_more": False, "first_id": first, "last_id": last}


def _gemini(name: str, services: Services) -> dict[str, Any]:
    configured = services.config.models.get(name)
    shown = {
        "name": f"models/{name}",
        "displayName": _described(name, services),
        "supportedGenerationMethods": _METHODS,
    }
    window = configured.context_window if configured is not None else None
    return shown | ({"inputTokenLimit": window} if window else {})


def _gemini_list(listed: list[dict[str, Any]]) -> dict[str, Any]:
    return {"models": listed}


_SHAPES: Mapping[
    str,
    tuple[Callable[[str, Services], dict[str, Any]], Callable[[list[dict[str, Any]]], dict[str, Any]]],
] = {
    "openai-chat": (_openai, _openai_list),
    "anthropic": (_anthropic, _anthropic_list),
    "gemini": (_gemini, _gemini_list),
}


def _described(name: str, services: Services) -> str:
    configured = services.config.models.get(name)
    return (configured.description if configured is not None else None) or name
