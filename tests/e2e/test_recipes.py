"""The recipes of the cookbook for agents with a terminal, run with the real programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.docs.test_cookbook import Kitchen, kitchen
from tests.docs.test_examples import run_shell
from tests.e2e.installed import asked_for, npm

from dragoman.testing import when

QUIET = {"DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
READ = "cat notes.txt"


def cooked(one: Kitchen, provider: str, tool: str, arguments: dict[str, Any]) -> list[Any]:
    """Follow the page with a model that reads the notes and then answers; what it was sent with a result."""
    (one.folder / "notes.txt").write_text("Buy oranges.")
    calls = {"reasoning": "I should look.", "calls": [{"name": tool, "arguments": arguments}]}
    one.providers[provider].script(
        when(calls, tool=tool, results=0), when("The notes say: buy oranges.", tool=tool, results=1)
    )
    for block in one.page:
        if block.file not in (None, "dragoman.yaml"):
            one.write(block)
    [shell] = [block for block in one.page if block.in_e2e]
    said = run_shell(
        one.here(shell.text), shell.place, npm() / "node_modules" / ".bin", one.folder, HOME=str(one.folder), **QUIET
    )
    assert "buy oranges" in said
    sent = [request for request in one.providers[provider].requests if "Buy oranges." in str(request.body)]
    assert [request.verdict for request in sent] == ["accepted"]
    return [request.body for request in sent]


@asked_for
def test_claude_code_on_gemini(tmp_path: Path) -> None:
    with kitchen("claude-code-on-gemini", tmp_path, signatures="strict") as one:
        [body] = cooked(one, "google", "Bash", {"command": READ, "description": "Read the notes"})
    assert "thoughtSignature" in str(body)


@asked_for
def test_codex_on_claude(tmp_path: Path) -> None:
    with kitchen("codex-on-claude", tmp_path, signatures="strict") as one:
        [body] = cooked(one, "claude", "exec_command", {"cmd": READ})
    assert "signature" in str(body["messages"])
