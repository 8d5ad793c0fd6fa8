"""`lost-reference`: a block that names a tool which is not declared."""

from __future__ import annotations

from typing import Any

import pytest
from tests.rules.runs import facts, run

from dragoman.rules.tools.lost_reference import lost_reference

CLAUDE = "anthropic"
KNOWN = facts(CLAUDE, tool_references={"tool_reference": "tool_name"})
FIND = {"name": "find", "input_schema": {"type": "object"}}


def reference(name: str) -> dict[str, Any]:
    return {"type": "tool_reference", "tool_name": name}


def found(*blocks: dict[str, Any], tools: tuple[dict[str, Any], ...] = (FIND,)) -> dict[str, Any]:
    call = {"type": "tool_use", "id": "c1", "name": "find", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": list(blocks)}
    turns = [("user", "Hi"), ("assistant", [call]), ("user", [result])]
    messages = [{"role": role, "content": content} for role, content in turns]
    return {"messages": messages, "max_tokens": 9, "tools": list(tools)}


def test_the_name_of_a_tool_that_is_gone_becomes_words() -> None:
    done = run(lost_reference, found(reference("find"), reference("look")), KNOWN, source=CLAUDE)
    said = {"type": "text", "text": "[tool_reference]\nlook"}
    assert done.json["messages"][2]["content"][0]["content"] == [reference("find"), said]
    assert done.changes == [("/messages/2/content/0", "metadata", False)]


LEFT = {
    "a declared tool": found(reference("find")),
    "a deferred tool": found(reference("look"), tools=(FIND, {**FIND, "name": "look", "defer_loading": True})),
    "tools of a server": found(reference("look"), tools=(FIND, {"type": "mcp_toolset", "mcp_server_name": "s"})),
}


@pytest.mark.parametrize("body", LEFT.values(), ids=LEFT)
def test_what_may_be_declared_stays(body: dict[str, Any]) -> None:
    assert run(lost_reference, body, KNOWN, source=CLAUDE).untouched
