"""Codex over a WebSocket: as its built-in provider at another address, and as a provider of its configuration."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.e2e.installed import asked_for, run
from tests.gateway.running import gateway, provider

from dragoman.store.ledger_entry import Viewer
from dragoman.testing import emulator

pytestmark = asked_for

BUILT_IN = 'openai_base_url = "{url}/v1"\n'
CUSTOM = (
    'model_provider = "dragoman"\n[model_providers.dragoman]\nname = "dragoman"\nbase_url = "{url}/v1"\n'
    'env_key = "DRAGOMAN_KEY"\nwire_api = "responses"\nsupports_websockets = true\n'
)
UPSTREAMS = {
    "anthropic": "claude-sonnet-4-5",
    "gemini": "gemini-2.5-flash",
    "openai": "gpt-4o",
    "openai-responses": "gpt-5.6",
    "bedrock": "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
}
COMPLAINTS = ("Falling back", "Reconnecting", "stream disconnected", "retrying")


@pytest.mark.parametrize("upstream", UPSTREAMS)
@pytest.mark.parametrize("settings", [BUILT_IN, CUSTOM], ids=["built-in", "custom"])
def test_turns_go_over_one_socket_by_the_ids_of_answers(
    npm: Path, tmp_path: Path, settings: str, upstream: str
) -> None:
    model = UPSTREAMS[upstream]
    with emulator(upstream) as behind:
        call = {"calls": [{"name": "exec_command", "arguments": {"cmd": "echo fox | tee ran.txt"}}]}
        behind.script({"reasoning": "I look.", **call}, "It is a fox.")
        config = {"providers": {"p": provider(upstream, behind.base_url)}, "models": {"m": {"target": f"p/{model}"}}}
        with gateway(config, tmp_path) as running:
            said = _codex(npm, tmp_path / "home", f'model = "m"\n{settings.format(url=running.url)}')
            page = running.do(lambda: running.services.store.ledger.recent(Viewer("", True)))
    assert not [words for words in COMPLAINTS if words in said]
    items = [json.loads(line).get("item", {}) for line in said.splitlines() if line.startswith("{")]
    assert [item["text"] for item in items if item.get("type") == "agent_message"] == ["It is a fox."]
    assert (tmp_path / "home" / "room" / "ran.txt").read_text() == "fox\n"
    assert [(one.socket, one.status) for one in reversed(page.entries)] == [
        ("prepared", 200),
        ("continued", 200),
        ("continued", 200),
    ]


SUMMARY = (
    "## Task\nFind what is there.\n## Decisions\nNone.\n## Facts\nA fox.\n## Work done\nLooked.\n## Open\nSay it.\n"
)


def test_a_conversation_is_compacted_over_its_socket(npm: Path, tmp_path: Path) -> None:
    with emulator("anthropic") as behind:
        much = {"calls": [{"name": "exec_command", "arguments": {"cmd": "head -c 30000 /dev/zero | tr '\\0' x"}}]}
        behind.script(much, much, SUMMARY, "It is a fox.")
        config = {
            "providers": {"p": provider("anthropic", behind.base_url)},
            "models": {"m": {"target": "p/claude-sonnet-4-5"}},
        }
        with gateway(config, tmp_path) as running:
            settings = f'model = "m"\nmodel_auto_compact_token_limit = 10000\n{BUILT_IN.format(url=running.url)}'
            said = _codex(npm, tmp_path / "home", settings)
            page = running.do(lambda: running.services.store.ledger.recent(Viewer("", True)))
        last = str(behind.requests[-1].body["messages"])
    assert not [words for words in COMPLAINTS if words in said]
    assert '"text":"It is a fox."' in said
    assert "A fox." in last
    assert "'tool_use'" not in last, "the calls are in the summary alone"
    turns = [one.socket for one in reversed(page.entries) if one.socket]
    assert turns[:3] == ["prepared", "continued", "continued"]
    assert len(turns) >= 5, "one for the summary, and one after it"


def _codex(npm: Path, home: Path, settings: str) -> str:
    (home / ".codex").mkdir(parents=True)
    (home / "room").mkdir()
    (home / ".codex" / "config.toml").write_text(settings)
    (home / ".codex" / "auth.json").write_text(json.dumps({"OPENAI_API_KEY": "any", "auth_mode": "apikey"}))
    command = [str(npm / "node_modules" / ".bin" / "codex"), "exec", "--json", "--skip-git-repo-check"]
    command += ["--dangerously-bypass-approvals-and-sandbox", "What is there?"]
    return run(command, home, 120, cwd=home / "room", DRAGOMAN_KEY="any", OPENAI_API_KEY="any")
