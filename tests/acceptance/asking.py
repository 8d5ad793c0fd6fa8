"""Small requests and what becomes of them, for the tests by id: in the library, and the same in the gateway."""

from __future__ import annotations

import asyncio
from functools import cache
from typing import Any

import httpx
import msgspec

from dragoman.config.load import Loaded
from dragoman.config.schema.config_file import Config
from dragoman.config.schema.providers import Provider
from dragoman.config.schema.store import StoreConfig, StoreKind
from dragoman.engine.library.adapt import AdaptedRequest, adapt
from dragoman.engine.library.policy import Policy
from dragoman.errors import RequestError
from dragoman.gateway.app import Gateway
from dragoman.gateway.services import Services
from dragoman.profiles.profile import Profiles

GEMINI = "openrouter/google/gemini-2.5-flash"
CLAUDE = "anthropic/claude-sonnet-4-5"
NEW_CLAUDE = "anthropic/claude-opus-4-8"
OPENAI = "openai/gpt-4o"
NATIVE = "gemini/gemini-2.5-flash"
PROXY = "gemini-compatible/gemini-2.5-flash"
STRICT = "strict-template/local"

Wire = dict[str, Any]


def says(role: str, content: Any, **more: Any) -> Wire:
    return {"role": role, "content": content, **more}


def called(identity: str = "call_1", name: str = "look", arguments: str = "{}", **more: Any) -> Wire:
    call = {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}
    return {"role": "assistant", "content": None, "tool_calls": [call], **more}


def answered(identity: str = "call_1", content: Any = "ok") -> Wire:
    return {"role": "tool", "tool_call_id": identity, "content": content}


def ask(*messages: Wire, **more: Any) -> Wire:
    return {"model": "m", "messages": list(messages), **more}


def sent(request: Wire, target: str, source: str = "openai-chat", **options: Any) -> AdaptedRequest:
    """What the library compiles by a policy. The gateway compiles the same, or refuses it too."""
    try:
        adapted = adapt(request, source=source, target=target, policy=Policy(**options))
    except RequestError as fault:
        status = compiled_by_gateway(request, target, source, **options).status_code
        assert status == fault.status  # noqa: PT017 - the test itself expects the error, too
        raise
    answer = compiled_by_gateway(request, target, source, **options)
    assert answer.status_code == 200, answer.text
    assert answer.json()["body"] == adapted.json
    assert answer.json()["changes"] == list(msgspec.to_builtins(adapted.changes))
    return adapted


def compiled_by_gateway(request: Wire, target: str, source: str = "openai-chat", **options: Any) -> httpx.Response:
    """The answer of a gateway that has a provider for each profile, and sends nothing."""
    asked = {"request": request, "from": source, "to": target, **options}

    async def post() -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(_gateway()), base_url="http://localhost") as client:
            return await client.post("/dragoman/adapt", json=asked)

    return asyncio.run(post())


@cache
def _gateway() -> Gateway:
    nowhere = {name: Provider(profile=name, base_url="http://127.0.0.1:9/v1") for name in Profiles().names()}
    config = Config(providers=nowhere, store=StoreConfig(kind=StoreKind.MEMORY))
    return Gateway(Services(Loaded(config=config)), watch=False)


def rules(adapted: AdaptedRequest) -> list[str]:
    return [change.rule for change in adapted.changes]


def roles(adapted: AdaptedRequest) -> list[str]:
    return [message["role"] for message in adapted.json["messages"]]
