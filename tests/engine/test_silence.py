"""What a client's silence means, row by row of docs/guide/silence.md: a silent request between every two dialects."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from dragoman.engine.library.adapt import AdaptedRequest, adapt

Wire = dict[str, Any]
PAGE = Path(__file__).parents[2] / "docs" / "guide" / "silence.md"
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}, "unit": {"type": "string"}}}
HI = [{"role": "user", "content": "Hi"}]
SILENT: dict[str, Wire] = {
    "openai-chat": {
        "model": "m",
        "messages": HI,
        "tools": [{"type": "function", "function": {"name": "look", "parameters": SCHEMA}}],
    },
    "openai-responses": {
        "model": "m",
        "input": "Hi",
        "tools": [{"type": "function", "name": "look", "parameters": SCHEMA}],
    },
    "anthropic": {
        "model": "m",
        "max_tokens": 5000,
        "messages": HI,
        "tools": [{"name": "look", "input_schema": SCHEMA}],
    },
    "gemini": {
        "contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
        "tools": [{"functionDeclarations": [{"name": "look", "parameters": SCHEMA}]}],
    },
}
TARGETS = {
    "openai-chat": "openai/gpt-5",
    "openai-responses": "openai-responses/gpt-5",
    "anthropic": "anthropic/claude-opus-4-7",
    "gemini": "gemini/gemini-2.5-flash",
}
PAIRS = list(product(SILENT, TARGETS))


def compiled(source: str, target: str, **more: Any) -> AdaptedRequest:
    stream = more.pop("stream", None)
    body = {**SILENT[source], **more}
    if stream and source != "gemini":
        body["stream"] = True
    return adapt(body, source=source, target=TARGETS[target], stream=stream)


def settings(body: Wire) -> Wire:
    """The top level, and what Gemini has in an object of its own."""
    return {**body, **body.get("generationConfig", {})}


def absent(*names: str) -> Callable[[str, str], None]:
    def check(source: str, target: str) -> None:
        assert settings(compiled(source, target).json).keys().isdisjoint(names)

    return check


def stored(source: str, target: str) -> None:
    told = compiled(source, target).json.get("store")
    assert told is (False if target == "openai-responses" != source else None)
    if source == "openai-chat" and target == "openai-responses":
        assert compiled(source, target, store=True).json["store"] is True


def strict(source: str, target: str) -> None:
    (tool,) = compiled(source, target).json["tools"]
    translated = target == "openai-responses" != source
    assert tool.get("strict", "unsaid") is (False if translated else "unsaid")
    if translated:
        assert tool["parameters"] == SCHEMA


def limit(source: str, target: str) -> None:
    done = compiled(source, target)
    told = [settings(done.json).get(name) for name in LIMITS if name in settings(done.json)]
    if source == "anthropic":
        assert told == [5000]
    elif target == "anthropic":
        assert told == [8192]
        assert "required-setting" in [change.rule for change in done.changes]
    else:
        assert told == []


LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens")


def shown(source: str, target: str) -> None:
    body = compiled(source, target).json
    assert {"reasoning", "thinking"}.isdisjoint(body)
    assert "thinkingConfig" not in body.get("generationConfig", {})


def state(source: str, target: str) -> None:
    done = compiled(source, target)
    asked = target == "openai-responses" != source
    assert done.json.get("include") == (["reasoning.encrypted_content"] if asked else None)
    assert ("reasoning-asked" in [change.rule for change in done.changes]) is asked


def usage(source: str, target: str) -> None:
    body = compiled(source, target, stream=True).json
    asked = target == "openai-chat" != source
    assert body.get("stream_options") == ({"include_usage": True} if asked else None)


ROWS: dict[str, Callable[[str, str], None]] = {
    "stored answers": stored,
    "strict tools": strict,
    "parallel calls": absent("parallel_tool_calls", "disable_parallel_tool_use"),
    "truncation": absent("truncation"),
    "candidates": absent("n", "candidateCount"),
    "temperature": absent("temperature", "top_p", "topP", "top_k", "topK"),
    "token limit": limit,
    "thinking": absent("thinking", "reasoning", "reasoning_effort", "thinkingConfig"),
    "shown thoughts": shown,
    "state of thinking": state,
    "usage of streams": usage,
    "tool choice": absent("tool_choice", "toolConfig"),
    "answer format": absent("response_format", "text", "output_config", "responseMimeType"),
}


@pytest.mark.parametrize(("source", "target"), PAIRS)
@pytest.mark.parametrize("row", ROWS)
def test_silence_means_what_the_page_says(row: str, source: str, target: str) -> None:
    ROWS[row](source, target)


@pytest.mark.parametrize("source", SILENT)
def test_in_its_own_dialect_a_silent_request_stays_silent(source: str) -> None:
    done = compiled(source, source)
    sent = {key: value for key, value in done.json.items() if key != "model"}
    assert sent == {key: value for key, value in SILENT[source].items() if key != "model"}
    assert done.changes == ()


def test_every_row_of_the_page_has_its_test() -> None:
    rows = re.findall(r"^\| ([^|]+?) \|", PAGE.read_text("utf-8"), re.MULTILINE)
    assert rows[0] == "setting"
    assert rows[1:] == list(ROWS)
