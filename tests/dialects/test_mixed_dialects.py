"""Conversations whose messages have the forms of all dialects at once are valid and whole everywhere (K29, K33)."""

from __future__ import annotations

import random
from typing import Any

import pytest
from tests.judges import judge

from dragoman.engine.library.adapt import adapt

LISTS = {"openai-chat": "messages", "openai-responses": "input", "anthropic": "messages", "gemini": "contents"}
TARGETS = [
    "openai/gpt-4o",
    "openai-responses/gpt-5",
    "anthropic/claude-sonnet-4-5",
    "gemini/gemini-2.5-flash",
    "mistral/mistral-large-latest",
    "openrouter/openai/gpt-4o",
    "openai-compatible-strict/m",
]
SCHEMA = {"type": "object", "properties": {"q": {"type": "string"}}}
TOOLS: list[Any] = [
    {"type": "function", "function": {"name": "f", "parameters": SCHEMA}},
    {"type": "function", "name": "f", "parameters": None},
    {"name": "f", "input_schema": SCHEMA},
    {
        "functionDeclarations": [
            {"name": "f", "parameters": {"type": "OBJECT", "properties": {"q": {"type": "STRING"}}}}
        ]
    },
]


def questions(word: str) -> list[Any]:
    image = {"type": "image_url", "image_url": {"url": "https://e.test/a.png"}}
    return [
        word,
        {"content": word},
        {"role": "user", "content": word},
        {"role": "USER", "parts": word},
        {"role": "user", "parts": [{"text": word, "index": 0}]},
        {"role": "human", "content": [{"text": word}]},
        {"role": "user", "content": {"text": word}},
        {"role": "user", "content": [word, image]},
        {"role": "user", "content": [{"type": "input_text", "text": word}]},
        {"type": "message", "role": "user", "content": [{"type": "text", "text": word}]},
        {
            "role": "user",
            "content": [{"text": word}, {"inline_data": {"mime_type": "image/png", "data": "iVBORw0KGgo="}}],
        },
    ]


def answers(word: str) -> list[Any]:
    return [
        {"role": "assistant", "content": word},
        {"role": "model", "parts": [{"text": word}]},
        {"role": "ai", "content": [{"type": "output_text", "text": word}]},
        {"role": "assistant", "content": [{"type": "text", "text": word, "index": 3}]},
    ]


def calls(identity: str, word: str) -> list[Any]:
    given = {"q": word}
    return [
        {
            "role": "assistant",
            "tool_calls": [{"id": identity, "type": "function", "function": {"name": "f", "arguments": given}}],
        },
        {"role": "assistant", "tool_calls": [{"id": identity, "name": "f", "args": given}]},
        {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "f", "arguments": given}}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": identity, "name": "f", "input": given}]},
        {
            "role": "assistant",
            "content": [{"type": "tool-call", "toolCallId": identity, "toolName": "f", "args": given}],
        },
        {"role": "model", "parts": [{"functionCall": {"name": "f", "args": given, "id": identity}}]},
        {"type": "function_call", "call_id": identity, "name": "f", "arguments": given},
    ]


def results(identity: str, word: str) -> list[Any]:
    return [
        {"role": "tool", "content": word},
        {"role": "tool", "name": "f", "content": {"v": word}},
        {"role": "tool", "tool_call_id": identity, "content": word},
        {"role": "tool", "content": [{"type": "tool-result", "toolCallId": identity, "toolName": "f", "result": word}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": identity, "content": [{"text": word}]}]},
        {"role": "function", "parts": [{"functionResponse": {"name": "f", "id": identity, "response": word}}]},
        {"type": "function_call_output", "call_id": identity, "output": {"v": word}},
    ]


def mixed(seed: int) -> tuple[str, dict[str, Any], list[str]]:
    """A client's dialect, a request in it, and the words that must not be lost."""
    chance = random.Random(seed)
    name = chance.choice(list(LISTS))
    messages: list[Any] = []
    words: list[str] = []

    def add(word: str, forms: list[Any]) -> None:
        words.append(word)
        messages.append(chance.choice(forms))

    for turn in range(chance.randint(1, 4)):
        add(f"asked{turn}", questions(f"asked{turn}"))
        if chance.random() < 0.5:
            add(f"given{turn}", calls(f"id{turn}", f"given{turn}"))
            add(f"found{turn}", results(f"id{turn}", f"found{turn}"))
        if chance.random() < 0.7:
            add(f"answer{turn}", answers(f"answer{turn}"))
    add("last", [{"role": "user", "content": "last"}])
    body: dict[str, Any] = {LISTS[name]: messages, "tools": [chance.choice(TOOLS)]}
    return name, body | ({"max_tokens": 100} if name == "anthropic" else {}), words


@pytest.mark.sampled(4)
@pytest.mark.parametrize("target", TARGETS)
def test_nothing_is_refused_or_lost_for_its_wrapper(target: str) -> None:
    """K29, K33."""
    profile, _, model = target.partition("/")
    for seed in range(60):
        name, body, words = mixed(seed)
        done = adapt(body, source=name, target=target)
        assert judge(profile, model, done.path, done.headers, done.body) is None, seed
        assert [word for word in words if word not in done.body.decode()] == [], seed
        again = adapt(done.body, source=done.dialect, target=target)
        assert (again.body, again.changes) == (done.body, ()), seed
