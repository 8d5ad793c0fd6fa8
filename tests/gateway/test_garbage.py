"""Requests bent out of shape at random: whatever a client sends, it is answered, and what goes upstream is JSON."""

from __future__ import annotations

import copy
import io
import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.gateway.upstream import GOOD

from dragoman.gateway.app import Gateway
from dragoman.gateway.services import Services, open_services

TARGETS = {
    "openai": "gpt-4o",
    "anthropic": "claude-opus-4-8",
    "gemini": "gemini-3-pro-preview",
    "openai-responses": "gpt-5.6",
    "deepseek": "deepseek-v4-flash",
    "mistral": "mistral-large",
    "openrouter": "google/gemini-3-pro",
    "gemini-compatible": "gemini-2.5-flash",
    "strict-template": "any",
}
SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": ["integer", "null"], "anyOf": [{"type": "string"}], "$ref": "#/$defs/x"}},
    "required": ["a"],
    "$defs": {"x": {"type": "string"}},
}
CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}
PICTURE = "data:image/png;base64,AAAA"
PDF = {"type": "base64", "media_type": "application/pdf", "data": "AAAA"}
REQUESTS: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {
        "messages": [
            {"role": "system", "content": "s"},
            {
                "role": "user",
                "content": [{"type": "text", "text": "hi"}, {"type": "image_url", "image_url": {"url": PICTURE}}],
            },
            {"role": "assistant", "content": None, "tool_calls": [CALL], "reasoning_content": "r"},
            {"role": "tool", "tool_call_id": "c1", "content": "ok"},
            {"role": "user", "content": "x"},
        ],
        "tools": [{"type": "function", "function": {"name": "f", "parameters": SCHEMA, "strict": True}}],
        "tool_choice": {"type": "function", "function": {"name": "f"}},
        "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}},
        "temperature": 0.5,
        "max_tokens": 10,
        "stop": ["x"],
        "stream_options": {"include_usage": True},
        "reasoning_effort": "low",
    },
    "/v1/messages": {
        "max_tokens": 100,
        "system": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}],
        "messages": [
            {"role": "user", "content": "hi"},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "t", "signature": "AAAA"},
                    {"type": "tool_use", "id": "t1", "name": "f", "input": {"a": 1}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "ok"}]},
                    {"type": "document", "source": PDF},
                ],
            },
        ],
        "tools": [{"name": "f", "input_schema": SCHEMA}],
        "tool_choice": {"type": "tool", "name": "f"},
        "thinking": {"type": "enabled", "budget_tokens": 1024},
    },
    "/v1/responses": {
        "instructions": "i",
        "input": [
            {
                "role": "user",
                "content": [{"type": "input_text", "text": "hi"}, {"type": "input_image", "image_url": PICTURE}],
            },
            {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "s"}]},
            {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": "ok"},
        ],
        "tools": [{"type": "function", "name": "f", "parameters": SCHEMA, "strict": False}, {"type": "web_search"}],
        "text": {"format": {"type": "json_schema", "name": "n", "schema": SCHEMA}},
        "reasoning": {"effort": "high", "summary": "auto"},
    },
    "/v1beta/models/MODEL:generateContent": {
        "systemInstruction": {"parts": [{"text": "s"}]},
        "contents": [
            {"role": "user", "parts": [{"text": "hi"}, {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]},
            {
                "role": "model",
                "parts": [
                    {"thought": True, "text": "t"},
                    {"functionCall": {"name": "f", "args": {"a": 1}, "id": "c1"}},
                ],
            },
            {"role": "user", "parts": [{"functionResponse": {"name": "f", "id": "c1", "response": {"is": "ok"}}}]},
        ],
        "tools": [{"functionDeclarations": [{"name": "f", "parametersJsonSchema": SCHEMA}]}],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}},
        "generationConfig": {"maxOutputTokens": 5, "thinkingConfig": {"thinkingBudget": 100}},
    },
}
JUNK: list[Any] = [
    None,
    True,
    0,
    -1,
    1.5,
    2**70,
    "",
    "x",
    "user",
    "tool",
    "\ud800",
    "\x00\r\n",
    "{",
    "http://[",
    [],
    {},
]
JUNK += [[None], [[]], {"type": "x"}, {"text": 1}, "data:", "data:image/png;base64,!!"]


def bent(request: Any, chance: Random) -> Any:
    """The request with one to three of its values taken out, replaced, repeated or joined by a stranger."""
    request = copy.deepcopy(request)
    for _ in range(chance.choice((1, 1, 2, 3))):
        holder, key = chance.choice(list(places(request)))
        what = chance.random()
        if what < 0.25:
            del holder[key]
        elif what < 0.8:
            holder[key] = copy.deepcopy(chance.choice(JUNK))
        elif isinstance(holder, list):
            holder.insert(0, copy.deepcopy(chance.choice(holder)))
        else:
            holder[chance.choice(["x", "type", "role", "content", ""])] = copy.deepcopy(chance.choice(JUNK))
        if not list(places(request)):
            break
    return request


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield value, key
        yield from places(value[key])


class Echo:
    """A transport that answers at once, and sees that it was sent JSON."""

    status = 200
    headers = (("content-type", "application/json"),)
    sends = 0

    async def send(self, outgoing: Any, timeouts: Any, may_resend: Any = None) -> Echo:
        assert isinstance(json.loads(outgoing.body), dict)
        Echo.sends += 1
        return self

    def header(self, name: str) -> str | None:
        return dict(self.headers).get(name)

    async def read(self, limit: int) -> bytes:
        return json.dumps(GOOD).encode()

    async def close(self) -> None:
        return


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Services:
    file: Path = tmp_path_factory.mktemp("garbage") / "dragoman.yaml"
    line = (
        '  {0}: {{profile: {0}, base_url: "http://x.test", api_key: k, max_connections: 7, retries: {{attempts: 1}}}}\n'
    )
    providers = "".join(line.format(name) for name in TARGETS)
    file.write_text(
        f"providers:\n{providers}log: {{level: error, provider_errors: {{path: null}}}}\nmedia: {{fetch: false}}\n"
    )
    opened = open_services(file)
    opened.records.lines.stream = io.StringIO()
    opened.dispatcher.transports[None, 7] = Echo()  # type: ignore[assignment]
    return opened


async def status_of(services: Services, path: str, body: bytes) -> int:
    told: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        told.append(message)

    scope = {"type": "http", "path": path, "method": "POST", "headers": [], "query_string": b"", "root_path": ""}
    await Gateway(services)(scope, receive, send)
    return int(told[0]["status"])


@pytest.mark.sampled(5)
@pytest.mark.parametrize("where", REQUESTS)
@pytest.mark.parametrize("target", TARGETS)
async def test_no_request_breaks_the_gateway(services: Services, where: str, target: str) -> None:
    chance = Random(f"{where} {target}")
    model = f"{target}/{TARGETS[target]}"
    sent_before = Echo.sends
    for _ in range(25):
        body = json.dumps(
            {"model": model, **bent(REQUESTS[where], chance)} if "MODEL" not in where else bent(REQUESTS[where], chance)
        )
        await status_of(services, where.replace("MODEL", model), body.encode())
        services.records.lines.flush()
        log = services.records.lines.stream
        assert isinstance(log, io.StringIO)
        assert '"crash"' not in log.getvalue(), body
    assert Echo.sends > sent_before + 5, "few requests got as far as the provider"
