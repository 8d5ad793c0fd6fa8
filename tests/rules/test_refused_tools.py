"""`refused-tools`: a model that takes no tools."""

from __future__ import annotations

from typing import Any

import pytest
from tests.rules.runs import facts, leaves_alone, run

from dragoman.engine.library.adapt import adapt
from dragoman.profiles.profile import Layer, Profiles
from dragoman.rules.tools.refused_tools import refused_tools

REFUSES = facts(tools="refuses")
CALL = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
MESSAGES: list[dict[str, Any]] = [
    {"role": "user", "content": "Hi"},
    {"role": "assistant", "content": "x", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "a", "content": "1"},
]
TOOL = {"type": "function", "function": {"name": "f"}}
BODY: dict[str, Any] = {
    "messages": MESSAGES,
    "tools": [TOOL, {"type": "web_search"}],
    "tool_choice": "required",
    "parallel_tool_calls": False,
    "temperature": 1,
}


def test_all_tools_go_and_the_history_stays() -> None:
    done = run(refused_tools, BODY, REFUSES)
    assert done.json["messages"] == MESSAGES
    assert done.json["temperature"] == 1
    assert not {"tools", "tool_choice", "parallel_tool_calls"} & done.json.keys()
    assert done.changes == [
        ("/tools", "content", False),
        ("/tool_choice", "metadata", False),
        ("/parallel_tool_calls", "nothing", False),
    ]
    assert done.conversation.messages is done.ask.conversation.messages


@pytest.mark.parametrize("tool", BODY["tools"])
def test_a_tool_of_either_kind(tool: dict[str, Any]) -> None:
    assert run(refused_tools, {"messages": MESSAGES, "tools": [tool]}, REFUSES).conversation.tools == ()


UNTOUCHED = {
    "no tools": ({"messages": MESSAGES}, REFUSES),
    "a model that takes them": (BODY, facts(tools="accepts")),
}


test_untouched = leaves_alone(refused_tools, UNTOUCHED)


def test_adapt_if_the_user_says_so() -> None:
    profiles = Profiles(layers=[Layer("configuration", {"tools": "refuses"})])
    done = adapt({"messages": MESSAGES[:1], "tools": [TOOL]}, target="ollama-openai/some-model", profiles=profiles)
    assert "tools" not in done.json
    assert [(change.rule, change.at, change.loses) for change in done.changes] == [
        ("refused-tools", "/tools", "content")
    ]


@pytest.mark.parametrize("target", ["ollama/gemma3:4b", "ollama-openai/gemma3:4b"])
def test_adapt_and_a_model_that_either_api_of_ollama_refuses_tools_for(target: str) -> None:
    done = adapt({"messages": MESSAGES[:1], "tools": [TOOL]}, target=target)
    assert "tools" not in done.json
