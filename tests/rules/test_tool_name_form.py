"""`tool-name-form`: tool names that the target's form does not allow."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tests.rules.runs import CHAT, Run, facts, leaves_alone, run, sent

from dragoman.conversation.parts import Call
from dragoman.conversation.tools import Tool
from dragoman.profiles.facts import Facts
from dragoman.rules.name.tool_name_form import tool_name_form

FORM = facts(tool_name_pattern="[a-zA-Z0-9_-]+", tool_name_length=64)
SHORT = facts(tool_name_pattern="[a-zA-Z_][a-zA-Z0-9_-]*", tool_name_length=16)


def declared(done: Run) -> list[str]:
    return [tool.name for tool in done.conversation.tools if isinstance(tool, Tool)]


def called(done: Run) -> list[str]:
    return [part.name for message in done.conversation.messages for part in message.parts if isinstance(part, Call)]


def body(*names: str, **more: Any) -> dict[str, Any]:
    calls = [
        {"id": f"c{index}", "type": "function", "function": {"name": name, "arguments": "{}"}}
        for index, name in enumerate(names)
    ]
    return {
        "tools": [{"type": "function", "function": {"name": name}} for name in names],
        "messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "x", "tool_calls": calls}],
        **more,
    }


def test_tools_calls_and_the_choice_agree() -> None:
    choice = {"type": "function", "function": {"name": "a.b"}}
    done = run(tool_name_form, body("a.b", "plain", tool_choice=choice), FORM)
    assert declared(done) == called(done) == ["a_b", "plain"]
    assert done.json["tool_choice"] == {"type": "function", "function": {"name": "a_b"}}
    assert done.changes == [
        ("/tools/0", "nothing", False),
        ("/messages/1/tool_calls/0", "nothing", False),
        ("/tool_choice", "nothing", False),
    ]
    assert done.undo.names == {"a_b": "a.b"}
    assert done.conversation.tools[1] is done.ask.conversation.tools[1]
    assert done.conversation.messages[0] is done.ask.conversation.messages[0]


def test_the_name_of_a_result_follows_its_call() -> None:
    contents = [
        {"role": "model", "parts": [{"functionCall": {"name": "a b", "args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "a b", "response": {"ok": 1}}}]},
    ]
    done = run(tool_name_form, {"contents": contents}, facts("gemini", tool_name_pattern="[a-z_]+"), source="gemini")
    assert done.json["contents"][0]["parts"][0]["functionCall"]["name"] == "a_b"
    assert done.json["contents"][1]["parts"][0]["functionResponse"]["name"] == "a_b"


@pytest.mark.parametrize(("name", "made"), [("a.b c/d", "a_b_c_d"), ("1st", "_1st"), ("é", "_")])
def test_what_is_not_allowed_becomes_an_underscore(name: str, made: str) -> None:
    assert declared(run(tool_name_form, body(name), SHORT)) == [made]


def test_a_name_that_is_taken_ends_in_a_hash() -> None:
    done = run(tool_name_form, body("a.b", "a_b", "a/b"), FORM)
    first, second, third = declared(done)
    assert second == "a_b"
    assert re.fullmatch(r"a_b_[0-9A-Za-z]{8}", first)
    assert re.fullmatch(r"a_b_[0-9A-Za-z]{8}", third)
    assert first != third
    assert done.undo.names == {first: "a.b", third: "a/b"}
    assert declared(run(tool_name_form, body("a.b", "a/b"), FORM))[0] == "a_b"


def test_a_name_that_is_too_long_ends_in_a_hash() -> None:
    done = run(tool_name_form, body("abcdefghijklmnop", "abcdefghijklmnopq"), SHORT)
    fits, long = declared(done)
    assert fits == "abcdefghijklmnop"
    assert re.fullmatch(r"abcdefg_[0-9A-Za-z]{8}", long)
    assert done.undo.names == {long: "abcdefghijklmnopq"}


def test_a_name_that_is_only_called_counts_too() -> None:
    done = run(tool_name_form, "user: Hi\ncall a.b(c) {}\nresult c: 1", FORM)
    assert called(done) == ["a_b"]
    assert done.changes == [("/messages/1/tool_calls/0", "nothing", False)]


UNTOUCHED: dict[str, tuple[dict[str, Any], Facts]] = {
    "names of the right form": (body("a_b", "c-d"), FORM),
    "a target without a form": (body("a.b"), facts(tool_name_pattern="")),
    "no tools": ({"messages": [{"role": "user", "content": "Hi"}]}, FORM),
}


test_untouched = leaves_alone(tool_name_form, UNTOUCHED)


def test_a_providers_own_tool_keeps_its_name() -> None:
    own = {"type": "web.search"}
    done = run(tool_name_form, {**body("a.b"), "tools": [own]}, FORM)
    assert done.json["tools"] == [own]
    assert called(done) == ["a_b"]


def test_A20_adapt_maps_the_names_back() -> None:
    asked = {"tools": body("a.b")["tools"], "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 9}
    done = sent(asked, "anthropic/claude-opus-4-8", source=CHAT)
    assert done.json["tools"][0]["name"] == "a_b"
    assert done.changes == [("tool-name-form", "/tools/0", "nothing", False)]
    assert done.undo.names == {"a_b": "a.b"}
    assert sent(asked, "gemini/gemini-2.5-flash", source=CHAT).changes == []


def test_a_dash_goes_if_the_target_takes_none() -> None:
    tool = {"type": "function", "function": {"name": "mcp-a.b", "parameters": {"type": "object", "properties": {}}}}
    done = sent(
        {"messages": [{"role": "user", "content": "Hi"}], "tools": [tool]}, "cohere/command-a-03-2025", source=CHAT
    )
    assert done.json["tools"][0]["function"]["name"] == "mcp_a_b"
    assert done.undo.names == {"mcp_a_b": "mcp-a.b"}


def test_blocks_that_name_a_tool_follow() -> None:
    search, found = {"name": "find", "input_schema": {"type": "object"}}, {"type": "tool_reference", "tool_name": "a/b"}
    server = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "tool_search_tool_bm25", "input": {"query": "b"}}
    listed = {"type": "tool_search_tool_search_result", "tool_references": [found]}
    turns = [
        {"role": "user", "content": "Hi"},
        {
            "role": "assistant",
            "content": [
                server,
                {"type": "tool_search_tool_result", "tool_use_id": "srvtoolu_1", "content": listed},
                {"type": "tool_use", "id": "c", "name": "find", "input": {}},
            ],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": [found]}]},
    ]
    tools = [
        {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"},
        *(search, {**search, "name": "a/b", "defer_loading": True}),
    ]
    done = sent({"max_tokens": 9, "messages": turns, "tools": tools}, "anthropic/claude-sonnet-4-6")
    renamed = {**found, "tool_name": "a_b"}
    assert done.json["messages"][2]["content"][0]["content"] == [renamed]
    assert done.json["messages"][1]["content"][1]["content"]["tool_references"] == [renamed]
    assert [change[:2] for change in done.changes] == [
        ("tool-name-form", "/tools/2"),
        ("tool-name-form", "/messages/1/content/1"),
        ("tool-name-form", "/messages/2/content/0"),
    ]
