"""`undeclared-tools`: calls in the history while no tools are declared."""

from __future__ import annotations

from typing import Any

import pytest
from tests.rules.runs import facts, leaves_alone, run, sent

from dragoman.rules.tools.undeclared_tools import undeclared_tools

REFUSES = facts(undeclared_tools="refuses")
HISTORY = "user: Hi\ncall f(a) {}\ncall g(b) {}\nresult a: 1\nresult b: 2\ncall f(c) {}\nresult c: 3"
ANY = '{"type":"object","properties":{}}'


def test_each_tool_that_was_called_is_declared_once() -> None:
    done = run(undeclared_tools, HISTORY, REFUSES)
    assert done.script == f"@tool f {ANY}\n@tool g {ANY}\n{HISTORY}"
    assert done.changes == [("/tools", "nothing", True)]
    assert done.did == ["declared f, g"]
    assert done.conversation.messages is done.ask.conversation.messages


def test_an_empty_list_of_tools_is_none() -> None:
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "x", "tool_calls": [call]}]
    done = run(undeclared_tools, {"messages": messages, "tools": []}, REFUSES)
    assert [tool["function"]["name"] for tool in done.json["tools"]] == ["f"]
    assert not done.conversation.empty_tools


UNTOUCHED = {
    "tools are declared": (f"@tool h {ANY}\n{HISTORY}", REFUSES),
    "no calls": ("user: Hi", REFUSES),
    "a target that does not mind": (HISTORY, facts(undeclared_tools="accepts")),
}


test_untouched = leaves_alone(undeclared_tools, UNTOUCHED)


def test_adapt_for_real_providers() -> None:
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "x", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a", "content": "1"},
    ]
    done = sent({"messages": messages}, "vertex/gemini-2.5-flash", source="openai-chat")
    assert [tool["name"] for tool in done.json["tools"][0]["functionDeclarations"]] == ["f"]
    assert done.changes == [("undeclared-tools", "/tools", "nothing", True)]
    assert sent({"messages": messages}, "openai/gpt-4o").changes == []


@pytest.mark.parametrize(
    ("choice", "left"),
    [
        ("required", None),
        ({"type": "function", "function": {"name": "g"}}, None),
        ("none", "NONE"),
        ("auto", None),
    ],
)
def test_nobody_is_made_to_call_what_the_client_did_not_declare(choice: Any, left: str | None) -> None:
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a", "content": "1"},
    ]
    body = {"messages": messages, "tool_choice": choice}
    there = sent(body, "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0", source="openai-chat").json["toolConfig"]
    assert there.keys() <= {"tools", "toolChoice"}
    assert there.get("toolChoice", {"auto": {}}) == {"auto": {}}
    assert sent(body, "cohere/command-a-03-2025", source="openai-chat").json.get("tool_choice") == left
