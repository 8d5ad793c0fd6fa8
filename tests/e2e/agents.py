"""Command-line agents: each runs in a home of its own, and tells in its own JSON lines what it ended up with."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.e2e.installed import run
from tests.e2e.matrix import ClientReport
from tests.e2e.plot import Case
from tests.e2e.upstreams import ANTHROPIC_INPUT

_SECONDS = 120


@dataclass(frozen=True)
class Agent:
    """How an agent is started, and how its lines are read."""

    title: str
    start: Callable[[Case, Path, str, Path], str]
    read: Callable[[list[Any]], tuple[str, list[str] | None, tuple[int, int] | None]]
    """The last text, the thoughts and the tokens; None for what it does not tell."""
    shows_thoughts: bool = True


def hear(agent: Agent, case: Case, home: Path, url: str, npm: Path) -> ClientReport:
    """One loop. What the shell ran is read from the trace that its commands leave."""
    room = home / "room"
    room.mkdir()
    said = agent.start(case, home, url, npm / "node_modules" / ".bin")
    text, thoughts, usage = agent.read([json.loads(line) for line in said.splitlines() if line.startswith("{")])
    trace = room / "ran.txt"
    ran = trace.read_text().splitlines() if trace.exists() else []
    return ClientReport(text, ran, thoughts, usage)


def _claude_code(case: Case, home: Path, url: str, programs: Path) -> str:
    command = [str(programs / "claude"), "-p", case.question, "--model", case.upstream.model]
    command += ["--allowedTools", "Bash", "WebSearch", "--output-format", "stream-json", "--verbose"]
    return run(
        command,
        home,
        _SECONDS,
        cwd=home / "room",
        ANTHROPIC_BASE_URL=url,
        ANTHROPIC_API_KEY="any",
        DISABLE_AUTOUPDATER="1",
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
    )


def _read_claude_code(lines: list[Any]) -> tuple[str, list[str] | None, tuple[int, int] | None]:
    blocks = [block for one in lines if one["type"] == "assistant" for block in one["message"]["content"]]
    thoughts = [block["thinking"] for block in blocks if block["type"] == "thinking" and block["thinking"]]
    result = next(one for one in lines if one["type"] == "result")
    usage = result["usage"]
    read = sum(usage.get(name) or 0 for name in ANTHROPIC_INPUT)
    return result["result"], thoughts, (read, usage["output_tokens"])


def _codex(case: Case, home: Path, url: str, programs: Path) -> str:
    (home / ".codex").mkdir()
    (home / ".codex" / "config.toml").write_text(
        f'model = "{case.upstream.model}"\nmodel_provider = "dragoman"\n'
        'model_reasoning_effort = "medium"\nmodel_reasoning_summary = "auto"\n'
        f'[model_providers.dragoman]\nname = "dragoman"\nbase_url = "{url}/v1"\nenv_key = "DRAGOMAN_KEY"\n'
        'wire_api = "responses"\n'
    )
    command = [str(programs / "codex"), "exec", "--json", "--skip-git-repo-check"]
    command += ["--dangerously-bypass-approvals-and-sandbox", case.question]
    return run(command, home, _SECONDS, cwd=home / "room", DRAGOMAN_KEY="any")


def _read_codex(lines: list[Any]) -> tuple[str, list[str] | None, tuple[int, int] | None]:
    items = [one["item"] for one in lines if one["type"] == "item.completed"]
    thoughts = [item["text"] for item in items if item["type"] == "reasoning"]
    said = [item["text"] for item in items if item["type"] == "agent_message"]
    usage = next(one["usage"] for one in lines if one["type"] == "turn.completed")
    return said[-1], thoughts, (usage["input_tokens"], usage["output_tokens"])


def _gemini_cli(case: Case, home: Path, url: str, programs: Path) -> str:
    (home / ".gemini").mkdir()
    model = case.upstream.model
    thinking = {"includeThoughts": True, "thinkingBudget": 8192}
    # the CLI knows its own models, and asks them to think by itself
    asked = {} if case.upstream.profile == "gemini" else {"generateContentConfig": {"thinkingConfig": thinking}}
    settings = {
        "modelConfigs": {"customOverrides": [{"match": {"model": model}, "modelConfig": asked}]},
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"enableAutoUpdate": False},
    }
    (home / ".gemini" / "settings.json").write_text(json.dumps(settings))
    command = [str(programs / "gemini"), "-m", model, "--yolo", "-p", case.question]
    command += ["--output-format", "stream-json"]
    return run(
        command,
        home,
        _SECONDS,
        cwd=home / "room",
        GEMINI_API_KEY="any",
        GOOGLE_GEMINI_BASE_URL=url,
        GEMINI_CLI_TRUST_WORKSPACE="true",
    )


def _read_gemini_cli(lines: list[Any]) -> tuple[str, list[str] | None, tuple[int, int] | None]:
    last = max((at for at, one in enumerate(lines) if one["type"] == "tool_result"), default=-1)
    said = [one for one in lines[last + 1 :] if one["type"] == "message" and one["role"] == "assistant"]
    stats = next(one for one in lines if one["type"] == "result")["stats"]
    read = stats["input_tokens"]
    return "".join(one["content"] for one in said), None, (read, stats["total_tokens"] - read)


AGENTS: Mapping[str, Agent] = {
    "claude-code": Agent("Claude Code", _claude_code, _read_claude_code),
    "codex": Agent("Codex", _codex, _read_codex),
    "gemini-cli": Agent("Gemini CLI", _gemini_cli, _read_gemini_cli, shows_thoughts=False),
}
