"""Many at once: each gets its own answer, once, and nothing is left when they are gone."""

from __future__ import annotations

import asyncio
import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.gateway.asking import PATHS, path
from tests.gateway.running import gateway, provider, wait_for

from dragoman.testing import emulator

MODELS = {"openai": "gpt-4o", "anthropic": "claude-sonnet-4-5", "gemini": "gemini-2.5-flash"}
COUNT = 160


def question(dialect: str, model: str, words: str, stream: bool) -> tuple[str, dict[str, Any]]:
    where = path(dialect, model)
    if dialect == "gemini":
        where = where.replace("generateContent", "streamGenerateContent") + "?alt=sse" if stream else where
        return where, {"contents": [{"role": "user", "parts": [{"text": words}]}]}
    said = {"input": words} if dialect == "openai-responses" else {"messages": [{"role": "user", "content": words}]}
    return where, {"model": model, "max_tokens": 100, "stream": stream, **said}


async def ask_all(url: str) -> list[str]:
    limits = httpx.Limits(max_connections=COUNT)
    async with httpx.AsyncClient(base_url=url, limits=limits, timeout=30) as client:

        async def one(number: int) -> str:
            dialect = list(PATHS)[number % len(PATHS)]
            model = list(MODELS)[number // len(PATHS) % len(MODELS)]
            where, body = question(dialect, model, f"number-{number}-", stream=number % 2 == 0)
            body.pop("max_tokens", None) if dialect == "openai-responses" else None
            answered = await client.post(where, json=body)
            assert answered.status_code == 200, answered.text
            return spoken(answered.text)

        return list(await asyncio.gather(*[one(number) for number in range(COUNT)]))


def spoken(text: str) -> str:
    """All texts of an answer, streamed or not, one after the other."""
    found: list[str] = []

    def look(value: Any) -> None:
        if isinstance(value, dict):
            for key, item in value.items():
                if key in ("text", "content", "delta", "thinking") and isinstance(item, str):
                    found.append(item)
                else:
                    look(item)
        elif isinstance(value, list):
            for item in value:
                look(item)

    lines = [line.removeprefix("data:").strip() for line in text.splitlines() if line.startswith("data:")] or [text]
    for line in lines:
        if line.startswith(("{", "[")) and line != "[DONE]":
            look(json.loads(line))
    return "".join(found)


@pytest.mark.slow
def test_each_gets_its_own_answer_once(tmp_path: Path) -> None:
    with ExitStack() as stack:
        emulators = {name: stack.enter_context(emulator(name)) for name in MODELS}
        config = {
            "providers": {name: provider(name, one.base_url) for name, one in emulators.items()},
            "models": {name: {"target": f"{name}/{model}"} for name, model in MODELS.items()},
        }
        running = stack.enter_context(gateway(config, tmp_path))
        running.get("/health")
        before = running.tasks()
        answers = asyncio.run(ask_all(running.url))
        for number, answer in enumerate(answers):
            assert f"number-{number}-" in answer
            assert not [other for other in range(COUNT) if other != number and f"number-{other}-" in answer]
        assert sum(len(one.requests) for one in emulators.values()) == COUNT
        wait_for(lambda: running.busy() == (0, 0))
        wait_for(lambda: running.tasks() <= before)
