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
LOOK = {"reasoning": "Clouds.", "text": "Let me look.", "calls": [{"name": "weather", "arguments": {"city": "Köln"}}]}
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


def hold(world: Stage, command: list[str], model: str, home: Path) -> None:
    """The tool loop: the client's own words, the tool that it ran, and no request refused."""
    thinks = {} if model in ("gpt", "mistral") else {"reasoning": LOOK["reasoning"]}
    world.script(model, {**{key: LOOK[key] for key in ("text", "calls")}, **thinks}, TEXT)
    heard = told(command, home)
    assert heard["text"].endswith(TEXT)
    assert heard["asked"] == ["Köln"]
    asked = world.check(model, at_least=2)
    assert len(asked) == 2
    assert "It pours in Köln." in json.dumps(asked[1].body, ensure_ascii=False)


@pairs
@each_way
def test_npm_sdks(world: Stage, scripts: Path, tmp_path: Path, kind: str, model: str, way: str) -> None:
    hold(world, ["node", str(scripts / NPM[kind]), world.url, model, way], model, tmp_path)


@pairs
@each_way
def test_vercel_ai_sdk(world: Stage, scripts: Path, tmp_path: Path, kind: str, model: str, way: str) -> None:
    hold(world, ["node", str(scripts / "vercel.mjs"), world.url, model, way, kind], model, tmp_path)


@pytest.mark.parametrize("framework", ["with_langchain.py", "with_pydantic_ai.py"])
@pairs
@each_way
def test_python_frameworks(
    world: Stage, frameworks: Path, tmp_path: Path, framework: str, kind: str, model: str, way: str
) -> None:
    hold(world, [str(frameworks), str(CLIENTS / framework), world.url, model, way, kind], model, tmp_path)
