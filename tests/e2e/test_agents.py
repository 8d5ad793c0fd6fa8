"""Command-line agents, each with a home of its own: they run a command because another house's model says so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.installed import asked_for, run
from tests.gateway.stage import Stage

pytestmark = asked_for
TEXT = "The folder holds a lighthouse."
MARK = "lighthouse-4711.txt"
CLAUDE_CODE = ("gemini", "gpt", "thinker", "deepseek", "mistral")
CODEX = ("claude", "gemini", "deepseek", "mistral")
GEMINI_CLI = ("claude", "gpt", "thinker", "deepseek")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home, and in it a folder to look at."""
    (tmp_path / "room").mkdir()
    (tmp_path / "room" / MARK).write_text("light")
    return tmp_path


def order(world: Stage, model: str, name: str, arguments: dict[str, Any]) -> None:
    """The model wants a command to be run, and then has a word to say."""
    thinks = {} if model in ("gpt", "mistral") else {"reasoning": "I must look."}
    world.script(model, {**thinks, "text": "I look.", "calls": [{"name": name, "arguments": arguments}]}, TEXT)


def check(world: Stage, model: str, said: str) -> None:
    """The agent gave the model's words, and the model got what the command had shown."""
    assert TEXT in said
    asked = world.check(model, at_least=2)
    assert MARK in json.dumps(asked[1].body)


@pytest.mark.parametrize("model", CLAUDE_CODE)
def test_claude_code(world: Stage, npm: Path, home: Path, model: str) -> None:
    order(world, model, "Bash", {"command": "ls", "description": "List files"})
    command = [str(npm / "node_modules/.bin/claude"), "-p", "What is in this folder?", "--model", model]
    said = run(
        [*command, "--allowedTools", "Bash"],
        home,
        cwd=home / "room",
        ANTHROPIC_BASE_URL=world.url,
        ANTHROPIC_API_KEY="any",
        DISABLE_AUTOUPDATER="1",
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
    )
    check(world, model, said)


@pytest.mark.parametrize("model", CODEX)
def test_codex(world: Stage, npm: Path, home: Path, model: str) -> None:
    order(world, model, "exec_command", {"cmd": "ls"})
    (home / ".codex").mkdir()
    (home / ".codex" / "config.toml").write_text(
        f'model = "{model}"\nmodel_provider = "dragoman"\n[model_providers.dragoman]\nname = "dragoman"\n'
        f'base_url = "{world.url}/v1"\nenv_key = "DRAGOMAN_KEY"\nwire_api = "responses"\n'
    )
    command = [str(npm / "node_modules/.bin/codex"), "exec", "--skip-git-repo-check"]
    command += ["--dangerously-bypass-approvals-and-sandbox", "What is in this folder?"]
    check(world, model, run(command, home, cwd=home / "room", DRAGOMAN_KEY="any"))


@pytest.mark.parametrize("model", GEMINI_CLI)
def test_gemini_cli(world: Stage, npm: Path, home: Path, model: str) -> None:
    order(world, model, "run_shell_command", {"command": "ls", "description": "List files"})
    (home / ".gemini").mkdir()
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"enableAutoUpdate": False},
    }
    (home / ".gemini" / "settings.json").write_text(json.dumps(settings))
    command = [str(npm / "node_modules/.bin/gemini"), "-m", model, "--yolo", "-p", "What is in this folder?"]
    said = run(
        command,
        home,
        cwd=home / "room",
        GEMINI_API_KEY="any",
        GOOGLE_GEMINI_BASE_URL=world.url,
        GEMINI_CLI_TRUST_WORKSPACE="true",
    )
    check(world, model, said)
