"""Long tasks of real agents: each compacts by its own setting, and the provider changes while it works.

The providers go in a ring, so that each dialect is left once and reached once. The agents' own logs tell of no retry
and no fallback. What they need the internet for, and do without, is not about the gateway.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.codex_talk import talking
from tests.e2e.installed import asked_for, hear
from tests.e2e.long_tasks import Worker, last_words, write_steps
from tests.gateway.running import Running, gateway, provider

from dragoman.emulators.serving.background_server import RunningEmulator
from dragoman.store.contracts.ledger import LedgerQuery
from dragoman.store.ledger_entry import Viewer
from dragoman.testing import emulator

pytestmark = asked_for

MODELS = {
    "anthropic": "claude-sonnet-4-5",
    "gemini": "gemini-2.5-flash",
    "openai": "gpt-4o",
    "openai-responses": "gpt-5.6",
    "bedrock": "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "cohere": "command-a-03-2025",
    "ollama": "qwen3:8b",
}
"""An upstream of each dialect."""
RING = list(zip(MODELS, [*list(MODELS)[1:], next(iter(MODELS))], strict=True))
TASK = "Do all steps, and tell their words."
COMPLAINTS = re.compile(r"(?i:falling back|reconnecting|disconnected|retry|\battempt [2-9])|\b(?:WARN|ERROR)\b")
NOT_OURS = re.compile(
    r"codex_core_plugins|codex_models_manager|ENOTFOUND|telemetry|event logging|Bootstrap|config with lock|rg error"
    r"|[Rr]ipgrep|sink initialized|failed to flush rollout"
)
"""Lines of logs about what no gateway answers: services of the vendor, models that the client does not know, and the
files in which it writes down its own turns."""
_SECONDS = 600.0


@dataclass(frozen=True)
class LongClient:
    """One agent, with the setting that makes it compact."""

    tool: str
    argument: str
    model: str
    """The name that it asks for."""
    steps: int
    lines: int
    """Of output of each step."""
    start: Callable[[Path, str, Path, str, bool, str], tuple[str, str]]
    """Works in a home, at an address, with the programs of a folder, on a prompt, going on or not, with the value of
    its setting for compaction. Returns what it said and its log."""
    read: Callable[[list[Any]], str]
    """Its last words."""
    setting: str
    """When it compacts by itself."""
    pause: int = 0
    """Steps after which the user must speak again: some compact only between two words of the user."""


def prepare_codex(home: Path, settings: str) -> None:
    (home / ".codex").mkdir(exist_ok=True)
    (home / ".codex" / "config.toml").write_text(f'model = "m"\n{settings}')
    (home / ".codex" / "auth.json").write_text(json.dumps({"OPENAI_API_KEY": "any", "auth_mode": "apikey"}))


def _codex(settings: str) -> Callable[[Path, str, Path, str, bool, str], tuple[str, str]]:
    def start(home: Path, url: str, programs: Path, prompt: str, again: bool, setting: str) -> tuple[str, str]:
        prepare_codex(home, f"model_auto_compact_token_limit = {setting}\n{settings.format(url=url)}")
        command = [str(programs / "codex"), "exec", "--json", "--skip-git-repo-check"]
        command += ["--dangerously-bypass-approvals-and-sandbox", prompt]
        named = {"DRAGOMAN_KEY": "any", "OPENAI_API_KEY": "any", "RUST_LOG": "warn"}
        return hear(command, home, _SECONDS, cwd=home / "room", **named)

    return start


def _read_codex(lines: list[Any]) -> str:
    items = [one["item"] for one in lines if one["type"] == "item.completed"]
    return str([item["text"] for item in items if item["type"] == "agent_message"][-1])


def _claude_code(home: Path, url: str, programs: Path, prompt: str, again: bool, setting: str) -> tuple[str, str]:
    log = home / "debug.txt"
    command = [str(programs / "claude"), "-p", prompt, "--model", "anthropic/via/m", "--allowedTools", "Bash"]
    command += ["--output-format", "stream-json", "--verbose", "--debug-file", str(log)]
    named = {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "any", "DISABLE_AUTOUPDATER": "1"}
    named["CLAUDE_CODE_ENABLE_GATEWAY_MODEL_DISCOVERY"] = "1"
    said, _ = hear(command, home, _SECONDS, cwd=home / "room", CLAUDE_CODE_AUTO_COMPACT_WINDOW=setting, **named)
    return said, log.read_text()


def _read_claude_code(lines: list[Any]) -> str:
    return str(next(one for one in lines if one["type"] == "result")["result"])


def _gemini_cli(home: Path, url: str, programs: Path, prompt: str, again: bool, setting: str) -> tuple[str, str]:
    (home / ".gemini").mkdir(exist_ok=True)
    settings: dict[str, Any] = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"enableAutoUpdate": False},
        "model": {"compressionThreshold": float(setting)},
    }
    (home / ".gemini" / "settings.json").write_text(json.dumps(settings))
    command = [str(programs / "gemini"), "-m", "gemini-2.5-flash", "--yolo", "-p", prompt]
    command += ["--output-format", "stream-json", *(["--resume", "latest"] if again else [])]
    named = {"GEMINI_API_KEY": "any", "GOOGLE_GEMINI_BASE_URL": url, "GEMINI_CLI_TRUST_WORKSPACE": "true"}
    return hear(command, home, _SECONDS, cwd=home / "room", **named)


def _read_gemini_cli(lines: list[Any]) -> str:
    last = max((at for at, one in enumerate(lines) if one["type"] == "tool_result"), default=-1)
    said = [one for one in lines[last + 1 :] if one["type"] == "message" and one["role"] == "assistant"]
    return "".join(one["content"] for one in said)


BUILT_IN = 'openai_base_url = "{url}/v1"\n'
CUSTOM = (
    'model_provider = "dragoman"\n[model_providers.dragoman]\nname = "dragoman"\nbase_url = "{url}/v1"\n'
    'env_key = "DRAGOMAN_KEY"\nwire_api = "responses"\nsupports_websockets = true\n'
)
CLIENTS: Mapping[str, LongClient] = {
    "codex-built-in": LongClient("exec_command", "cmd", "m", 12, 300, _codex(BUILT_IN), _read_codex, "14000"),
    "codex-custom": LongClient("exec_command", "cmd", "m", 12, 300, _codex(CUSTOM), _read_codex, "14000"),
    "claude-code": LongClient("Bash", "command", "m", 200, 70, _claude_code, _read_claude_code, "100000"),
    "gemini-cli": LongClient(
        "run_shell_command", "command", "gemini-2.5-flash", 16, 200, _gemini_cli, _read_gemini_cli, "0.02", pause=4
    ),
}


@dataclass(frozen=True)
class LongRun:
    """An agent at work: its gateway, both providers, and their model."""

    client: LongClient
    worker: Worker
    running: Running
    behind: tuple[RunningEmulator, RunningEmulator]
    home: Path
    programs: Path

    def work(self, setting: str) -> tuple[str, str]:
        """The last words, and the log. The user speaks again whenever the model pauses."""
        said, log = self.say(TASK, setting)
        for _ in range((self.client.steps - 1) // self.client.pause if self.client.pause else 0):
            said, more = self.say("Go on.", setting, again=True)
            log += more
        return said, log

    def say(self, prompt: str, setting: str, again: bool = False) -> tuple[str, str]:
        """One prompt of the user, in a new session or `again` in the last one."""
        said, log = self.client.start(self.home, self.running.url, self.programs, prompt, again, setting)
        return self.client.read([json.loads(line) for line in said.splitlines() if line.startswith("{")]), log

    def asked(self) -> list[Any]:
        return [one for each in self.behind for one in each.requests]


@contextmanager
def at_work(client: LongClient, first: str, second: str, folder: Path, npm: Path, **options: Any) -> Iterator[LongRun]:
    """Two providers with one model behind a gateway, whose alias leads to the first. `options` are the emulators'."""
    worker = Worker(client.steps, client.tool, client.argument, client.pause)
    (folder / "home" / "room").mkdir(parents=True)
    write_steps(folder / "home" / "room", client.lines)
    with (
        emulator(first, script=worker.script(), **options) as a,
        emulator(second, script=worker.script(), **options) as b,
    ):
        providers = {"a": provider(first, a.base_url), "b": provider(second, b.base_url)}

        def config(target: str) -> dict[str, Any]:
            return {"providers": providers, "models": {client.model: {"target": target}}}

        with gateway(config(f"a/{MODELS[first]}"), folder) as running:

            def move() -> None:
                running.write(config(f"b/{MODELS[second]}"))
                running.do(running.services.live.reload_now)

            # What a provider compacts by itself, only that provider can read: it is left before.
            worker.before[2 if first == "openai-responses" else client.steps // 2] = move
            yield LongRun(client, worker, running, (a, b), folder / "home", npm / "node_modules" / ".bin")


@pytest.mark.parametrize(("first", "second"), RING, ids=lambda one: one)
@pytest.mark.parametrize("name", CLIENTS)
def test_a_long_task_ends_with_the_right_text(name: str, first: str, second: str, npm: Path, tmp_path: Path) -> None:
    client = CLIENTS[name]
    with at_work(client, first, second, tmp_path, npm) as run:
        said, log = run.work(client.setting)
        page = run.running.do(
            lambda: run.running.services.store.ledger.recent(Viewer("", True), LedgerQuery(limit=500))
        )
    assert said == last_words(client.steps)
    assert run.worker.asked == list(range(1, client.steps + 1)), "each step was asked for once"
    assert len(set(run.worker.summaries)) >= 2, "two compactions, by the client's own setting"
    assert all(each.requests for each in run.behind), "the provider changed"
    assert {one.verdict for one in run.asked()} == {"accepted"}
    assert {one.status for one in page.entries} == {200}
    assert [line for line in log.splitlines() if COMPLAINTS.search(line) and not NOT_OURS.search(line)] == []
    if name.startswith("codex"):
        turns = [one.socket for one in reversed(page.entries) if not one.id.endswith("-summary-0")]
        assert turns[0] == "prepared"
        assert set(turns) == {"prepared", "new", "continued"}, "all over the socket"
        assert turns.count("continued") >= client.steps // 2
    if name == "codex-built-in":
        own = [one for one in run.asked() if "compaction_trigger" in str(one.body)]
        ours = [one for one in page.entries if one.id.endswith("-summary-0")]
        assert len(own) + len(ours) == len(run.worker.summaries), "each was asked for with a compaction_trigger"
    if name == "claude-code":
        found = json.loads((tmp_path / "home" / ".claude" / "cache" / "gateway-models.json").read_text())
        assert "anthropic/via/m" in [one["id"] for one in found["models"]]


def test_claude_code_compacts_and_repeats_when_the_window_is_full(npm: Path, tmp_path: Path) -> None:
    """Its request for a summary is longer than the one that was refused: it leaves out the oldest turns by itself."""
    client = replace(CLIENTS["claude-code"], steps=12, lines=600)
    with at_work(client, "openai", "anthropic", tmp_path, npm, window=60_000) as run:
        run.worker.forgets = True
        said, _ = run.work("1000000")
    assert run.worker.asked == list(range(1, 13)), "each step was asked for once"
    assert run.worker.summaries
    assert said.startswith("All words: ")
    assert last_words(12).endswith(said.rpartition(" ")[2])


@pytest.mark.parametrize("settings", [BUILT_IN, CUSTOM], ids=["built-in", "custom"])
def test_codex_compacts_at_its_next_turn_when_the_window_is_full(settings: str, npm: Path, tmp_path: Path) -> None:
    client = replace(CLIENTS["codex-custom"], steps=8)
    with at_work(client, "anthropic", "gemini", tmp_path, npm, window=20_000) as run:
        limit = "model_auto_compact_token_limit = 100000\n"  # it needs one for models that it does not know
        prepare_codex(run.home, limit + settings.format(url=run.running.url))
        with talking([str(run.programs / "codex"), "app-server"], run.home, DRAGOMAN_KEY="any") as codex:
            first = codex.turn(TASK)
            done, before = len(run.worker.asked), list(run.worker.summaries)
            second = codex.turn("Go on.")
    assert first["turn"]["error"]["codexErrorInfo"] == "contextWindowExceeded"
    assert (done < 8, before) == (True, [])
    assert run.worker.summaries[:1] == [done], "the next turn compacts first"
    assert second["turn"]["status"] == "completed"
    assert run.worker.asked == list(range(1, 9))


def test_gemini_cli_says_clearly_that_the_window_is_full(npm: Path, tmp_path: Path) -> None:
    client = replace(CLIENTS["gemini-cli"], pause=0)
    with (
        at_work(client, "anthropic", "openai", tmp_path, npm, window=30_000) as run,
        pytest.raises(AssertionError, match=r"input token count \(\d+\) exceeds the maximum number of tokens allowed"),
    ):
        run.work(client.setting)
    assert [one.verdict for one in run.asked()].count("refused") == 1, "it is not repeated"
