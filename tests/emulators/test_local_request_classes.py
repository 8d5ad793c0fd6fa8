"""What the request classes of vLLM and SGLang refuse (August 2026), and what is sent to them instead."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from tests.judges import judge

from dragoman.engine.library.adapt import adapt

Wire = dict[str, Any]
USER: Wire = {"role": "user", "content": "Hi"}
TOOLS: Wire = {"tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]}
CALL: Wire = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
RESULT: Wire = {"role": "tool", "tool_call_id": "c1", "content": "ok"}
CUSTOM: Wire = {"id": "c1", "type": "custom", "custom": {"name": "f", "input": "words"}}


def called(call: Wire) -> Wire:
    return {"messages": [USER, {"role": "assistant", "content": None, "tool_calls": [call]}, RESULT, USER], **TOOLS}


def without(key: str) -> Wire:
    return {name: value for name, value in CALL.items() if name != key}


REFUSED: Wire = {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]}
PICTURE: Wire = {"type": "image_url", "image_url": "https://example.com/a.png"}
CASES: list[tuple[str, Wire]] = [
    ("sglang", {"messages": [USER, REFUSED, USER]}),
    ("sglang", called(CUSTOM)),
    ("sglang", {"messages": [{"role": "user", "content": [{"type": "text", "text": "Look"}, PICTURE]}]}),
    ("sglang", {"messages": [{"role": "user", "content": [{"text": "Look"}]}]}),
    ("sglang", {"messages": [USER], "tool_choice": "any", **TOOLS}),
    ("vllm", called(CUSTOM)),
    ("vllm", called(without("type"))),
    ("vllm", called(without("id"))),
]


@pytest.mark.parametrize(("server", "body"), CASES)
def test_it_is_refused_as_it_is_and_accepted_as_compiled(server: str, body: Wire) -> None:
    wire = orjson.dumps({"model": "m", **body})
    assert judge(server, "m", "/v1/chat/completions", {}, wire) is not None
    sent = adapt(wire, source="openai-chat", target=f"{server}/m")
    assert judge(server, "m", sent.path, sent.headers, sent.body) is None
    assert sent.changes


def test_what_they_take_stays() -> None:
    """vLLM reads refusal parts and a bare URL, SGLang a call without id and type and arguments as an object."""
    bare = {"messages": [USER, REFUSED, {"role": "user", "content": [{"type": "text", "text": "Look"}, PICTURE]}]}
    assert judge("vllm", "m", "/v1/chat/completions", {}, orjson.dumps({"model": "m", **bare})) is None
    loose = called({"function": {"name": "f", "arguments": {}}})
    assert judge("sglang", "m", "/v1/chat/completions", {}, orjson.dumps({"model": "m", **loose})) is None
