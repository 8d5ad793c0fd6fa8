"""Which agent calls is found out from its headers."""

from __future__ import annotations

import pytest

from dragoman.dialects.shared.client_agents import USUAL_AGENT, find_agent


@pytest.mark.parametrize(
    "headers",
    [
        {"originator": "codex_cli_rs"},
        {"user-agent": "codex_exec/0.166.0 (Debian 12)"},
        {"originator": "an-editor", "user-agent": "an-editor/1.0 (0.166.0)", "x-codex-window-id": "01a1:0"},
    ],
    ids=["originator", "user agent", "an editor that runs Codex"],
)
def test_codex_is_known(headers: dict[str, str]) -> None:
    assert find_agent(headers).repeats_incomplete


@pytest.mark.parametrize("headers", [{}, {"originator": "an-editor"}, {"user-agent": "OpenAI/Python 3.3.0"}])
def test_others_are_usual(headers: dict[str, str]) -> None:
    assert find_agent(headers) is USUAL_AGENT
