"""The models that a caller may ask for, in the shape that its SDK reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from dragoman.gateway import outbound
from dragoman.gateway.callers import Known
from dragoman.gateway.inbound import Inbound, Send
from dragoman.gateway.services import Services


async def models(services: Services, inbound: Inbound, send: Send, known: Known) -> None:
    """The dialect is known by the path and the headers: Gemini's has its own, Anthropic's SDK says so."""
    names = visible(services, known)
    if "beta/models" in inbound.path or "x-goog-api-key" in inbound.headers:
        shape: Callable[[list[str], Services], Any] = _gemini
    elif "anthropic-version" in inbound.headers:
        shape = _anthropic
    else:
        shape = _openai
    await outbound.whole(send, 200, msgspec.json.encode(shape(names, services)), [])


def visible(services: Services, known: Known) -> list[str]:
    """Names that are not hidden and that the caller may use."""
    client = known.client
    listed = [name for name, model in services.config.models.items() if not model.hidden]
    return [name for name in listed if client is None or client.may_ask(name)]


def _openai(names: list[str], services: Services) -> Any:
    created = int(services.started)
    data = [{"id": name, "object": "model", "created": created, "owned_by": "dragoman"} for name in names]
    return {"object": "list", "data": data}


def _anthropic(names: list[str], services: Services) -> Any:
    data = [
        {"type": "model", "id": name, "display_name": _described(name, services), "created_at": "2025-01-01T00:00:00Z"}
        for name in names
    ]
    first, last = (names[0], names[-1]) if names else (None, None)
    return {"data": data, "has_more": False, "first_id": first, "last_id": last}


def _gemini(names: list[str], services: Services) -> Any:
    methods = ["generateContent", "streamGenerateContent", "countTokens"]
    return {
        "models": [
            {
                "name": f"models/{name}",
                "displayName": _described(name, services),
                "supportedGenerationMethods": methods,
                "inputTokenLimit": services.config.models[name].context_window or 0,
            }
            for name in names
        ]
    }


def _described(name: str, services: Services) -> str:
    return services.config.models[name].description or name
