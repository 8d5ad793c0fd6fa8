"""Codex finds a tool of an MCP server by its own tool search, on models of vendors that have none of the kind.

Codex runs the search itself (`tool_search` with `execution: client`) and declares what was found on the next turn. Only
the server, that of the protocol's own project, knows what the model ends with.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.e2e.installed import asked_for, run
from tests.gateway.running import gateway, provider

from dragoman.testing import emulator

pytestmark = asked_for
QUESTION = 'Use the get-sum tool of the everything server to get the "sum" of the numbers 1234 and 4321.'
KNOWN = "gpt-5.5"
"""A name by which Codex knows that the model takes a search of tools."""
SETUP = """
model = "{model}"
model_provider = "dragoman"
[model_providers.dragoman]
name = "dragoman"
base_url = "{url}/v1"
env_key = "DRAGOMAN_KEY"
wire_api = "responses"
[mcp_servers.everything]
command = "node"
args = ["{program}", "stdio"]
startup_timeout_sec = 120
required = true
default_tools_approval_mode = "approve"
"""
"""A server that is not `required` is left out of the first turn if it does not start at once."""
OPTIONS = ("--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox")


@pytest.mark.parametrize(
    ("upstream", "model"), [("anthropic", "claude-sonnet-4-5"), ("gemini", "gemini-3-flash-preview")]
)
def test_codex_finds_a_tool_and_calls_it(upstream: str, model: str, npm: Path, tmp_path: Path) -> None:
    for name in ("room", ".codex", "gateway"):
        (tmp_path / name).mkdir()
    program = npm / "node_modules/@modelcontextprotocol/server-everything/dist/index.js"
    with emulator(upstream) as behind:
        models = {KNOWN: {"target": f"p/{model}"}}
        config = {"providers": {"p": provider(upstream, behind.base_url)}, "models": models}
        with gateway(config, tmp_path / "gateway") as served:
            setup = SETUP.format(model=KNOWN, url=served.url, program=program)
            (tmp_path / ".codex/config.toml").write_text(setup)
            codex = str(npm / "node_modules/.bin/codex")
            command = [codex, "exec", *OPTIONS, QUESTION]
            out = run(command, tmp_path, 300, cwd=tmp_path / "room", DRAGOMAN_KEY="any")
        bodies = [str(one.body.get("tools")) for one in behind.requests]
    assert "The sum of 1234 and 4321 is 5555" in out
    assert "get_sum" not in bodies[0]
    assert "mcp__everything__get_sum" in bodies[-1]
