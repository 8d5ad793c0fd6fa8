"""SDKs of other languages and client frameworks, each against providers of other dialects than its own."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.e2e.installed import CLIENTS, asked_for, told
from tests.gateway.stage import Stage

pytestmark = asked_for
TEXT = "Take an umbrella, Köln is wet."
LOOK = {"text": "Let me look.", "calls": [{"name": "weather", "arguments": {"city": "Köln"}}]}
FOREIGN = {
    "chat": ("claude", "gemini", "thinker"),
    "responses": ("claude", "gemini", "deepseek"),
    "anthropic": ("gpt", "gemini", "deepseek"),
    "google": ("claude", "thinker", "mistral"),
}
NPM = {
    "chat": "openai_chat.mjs",
    "responses": "openai_responses.mjs",
    "anthropic": "anthropic_messages.mjs",
    "google": "genai.mjs",
}
pairs = pytest.mark.parametrize(("kind", "model"), [(kind, model) for kind, them in FOREIGN.items() for model in them])
each_way = pytest.mark.parametrize("way", ["whole", "streamed"])


@pytest.fixture
def scripts(npm: Path) -> Path:
    """The scripts where node finds the packages."""
    shutil.copytree(CLIENTS, npm / "clients", dirs_exist_ok=True)
    return npm / "clients"


def hold(world: Stage, command: list[str], model: str, home: Path, times: int = 1) -> list[bool]:
    """The tool loop: the client's own words, the tool that it ran, and no request refused. Which were streams?"""
    thinks = {} if model in ("gpt", "mistral") else {"reasoning": "Clouds."}
    world.script(model, *[{**LOOK, **thinks}, TEXT] * times)
    heard = told(command, home)
    assert len(heard) == times
    for one in heard:
        assert one["text"].endswith(TEXT)
        assert one["asked"] == ["Köln"]
    asked = world.check(model)
    assert len(asked) == 2 * times
    assert all("It pours in K" in json.dumps(one.body) for one in asked[1::2])
    return [one.stream for one in asked]


@pairs
@each_way
def test_npm_sdks(world: Stage, scripts: Path, tmp_path: Path, kind: str, model: str, way: str) -> None:
    streamed = hold(world, ["node", str(scripts / NPM[kind]), world.url, model, way], model, tmp_path)
    assert streamed == [way == "streamed"] * 2


@pairs
@each_way
def test_vercel_ai_sdk(world: Stage, scripts: Path, tmp_path: Path, kind: str, model: str, way: str) -> None:
    streamed = hold(world, ["node", str(scripts / "vercel.mjs"), world.url, model, way, kind], model, tmp_path)
    assert streamed == [way == "streamed"] * 2


@pytest.mark.parametrize("framework", ["with_langchain.py", "with_pydantic_ai.py"])
@pytest.mark.parametrize(("kind", "model"), [(kind, model) for kind, them in FOREIGN.items() for model in them[:2]])
def test_python_frameworks(
    world: Stage, frameworks: Path, tmp_path: Path, framework: str, kind: str, model: str
) -> None:
    """Both ways in one process: these are slow to load."""
    command = [str(frameworks), str(CLIENTS / framework), world.url, model, "whole+streamed", kind]
    assert hold(world, command, model, tmp_path, times=2) == [False, False, True, True]
