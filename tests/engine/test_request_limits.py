"""What one request may hold: refused with the number that was found, the limit, and the key that changes it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from dragoman import adapt
from dragoman.engine.compile.request_limits import DEFAULT_LIMITS, RequestLimits, check_body
from dragoman.engine.library.policy import Policy
from dragoman.errors import LimitExceeded, MalformedRequest
from dragoman.wire.json_size import count_values

HI = {"role": "user", "content": "Hi"}
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}


def parts(count: int) -> list[dict[str, Any]]:
    return [{"role": "user", "content": [{"type": "text", "text": "a"}] * count}]


def calls(count: int) -> list[dict[str, Any]]:
    return [HI, {"role": "assistant", "content": None, "tool_calls": [CALL] * count}]


LIMITED: list[tuple[RequestLimits, dict[str, Any], str]] = [
    (RequestLimits(messages=2), {"messages": [HI] * 3}, "3 messages; the limit is 2 (limits.messages changes it)"),
    (RequestLimits(parts=4), {"messages": parts(5)}, "5 parts; the limit is 4 (limits.parts changes it)"),
    (RequestLimits(calls=4), {"messages": calls(5)}, "5 tool calls; the limit is 4 (limits.calls changes it)"),
    (RequestLimits(tools=1), {"messages": [HI], "tools": [TOOL] * 2}, "2 tools; the limit is 1 (limits.tools"),
    (RequestLimits(values=9), {"messages": [HI] * 4}, "limit is 9 (limits.values changes it)"),
    (
        RequestLimits(escapes=3),
        {"messages": [{"role": "user", "content": "a\n" * 4}]},
        "4 escapes; the limit is 3 (limits.escapes changes it)",
    ),
]


@pytest.mark.parametrize(("limits", "request_", "says"), LIMITED)
def test_what_is_beyond_a_limit_is_413_and_names_it(limits: RequestLimits, request_: Any, says: str) -> None:
    with pytest.raises(LimitExceeded) as caught:
        adapt({"model": "m", **request_}, target="openai/gpt-4o", policy=Policy(limits=limits))
    assert says in str(caught.value)
    assert caught.value.status == 413


@pytest.mark.parametrize(("limits", "request_", "says"), LIMITED)
def test_what_is_within_the_limits_is_compiled(limits: RequestLimits, request_: Any, says: str) -> None:
    assert adapt({"model": "m", **request_}, target="openai/gpt-4o").body


def test_a_long_name_of_a_tool_is_400() -> None:
    tool = {"type": "function", "function": {"name": "f" * 1025}}
    with pytest.raises(MalformedRequest, match=r"1025 characters; the limit is 1024 \(limits.tool_name\)"):
        adapt({"model": "m", "messages": [HI], "tools": [tool]}, target="openai/gpt-4o")


@pytest.mark.sampled(5)
@pytest.mark.parametrize("dialect", ["openai-chat", "openai-responses", "anthropic", "gemini", "auto"])
def test_a_million_parts_are_refused_before_any_is_built(dialect: str) -> None:
    for body in (
        b'{"model":"m","messages":[{"role":"user","content":[' + b",".join([b"{}"] * 1_000_000) + b"]}]}",
        b'{"model":"m","messages":[' + b"0," * 1_000_000 + b"0]}",
        b'{"contents":[{"parts":[' + b'{"text":""},' * 1_000_000 + b"{}]}]}",
        b"[" * 1_000_000,
    ):
        with pytest.raises(LimitExceeded):
            adapt(body, source=dialect, target="openai/gpt-4o")


def test_commas_and_brackets_in_texts_do_not_count() -> None:
    text = json.dumps({"model": "m", "messages": [{"role": "user", "content": ', {[ \\" ' * 100_000}]}).encode()
    check_body(text)
    with pytest.raises(LimitExceeded):
        check_body(text, replace(DEFAULT_LIMITS, values=2))


@pytest.mark.parametrize("text", ["", "a", "\\", '"', '\\"', ",", "[{,", '","', "\\\\", "a" * 1000, "\\" * 201])
def test_values_are_counted_outside_of_strings_however_the_text_is_cut(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    value = {"k": [text, {text: [text, text]}, 1]}
    document = json.dumps(value).encode()
    for window in (1, 2, 3, 7, 1 << 20):
        monkeypatch.setattr("dragoman.wire.json_size._WINDOW", window)
        assert count_values(document, 0) in range(1, 9)
        assert count_values(document, 7) == 7, "four brackets and three commas"
