"""`empty-tools`: an empty list of tools."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace
from tests.rules.runs import facts, leaves_alone, run, sent

from dragoman.conversation.tools import Tool
from dragoman.rules.tools.empty_tools import empty_tools

REFUSES = facts(empty_tools="refuses")
HI: dict[str, Any] = {"role": "user", "content": "Hi"}
EMPTY: dict[str, Any] = {"messages": [HI], "tools": []}
TOOL = {"type": "function", "function": {"name": "f"}}


def test_the_list_is_left_out() -> None:
    done = run(empty_tools, EMPTY, REFUSES)
    assert "tools" not in done.json
    assert done.json["messages"] == [HI]
    assert done.changes == [("/tools", "nothing", False)]


def test_tools_that_another_rule_put_there_stay_without_a_word() -> None:
    filled = replace(run(empty_tools, EMPTY, facts(empty_tools="accepts")).conversation, tools=(Tool("f"),))
    done = run(empty_tools, filled, REFUSES)
    assert done.conversation.tools == (Tool("f"),)
    assert not done.conversation.empty_tools
    assert done.changes == []


UNTOUCHED = {
    "no list": ({"messages": [HI]}, REFUSES),
    "a list of one": ({"messages": [HI], "tools": [TOOL]}, REFUSES),
    "a target that takes it": (EMPTY, facts(empty_tools="accepts")),
}


test_untouched = leaves_alone(empty_tools, UNTOUCHED)


def test_adapt_for_real_providers() -> None:
    done = sent(EMPTY, "openai/gpt-4o")
    assert "tools" not in done.json
    assert done.changes == [("empty-tools", "/tools", "nothing", False)]
    assert sent(EMPTY, "llamacpp/m").json["tools"] == []


def test_the_older_list_goes_too() -> None:
    function = {"name": "f", "parameters": {"type": "object", "properties": {}}}
    tool = {"type": "function", "function": function}
    for given, left in (
        ({"functions": []}, {}),
        ({"functions": [], "tools": []}, {}),
        ({"functions": [], "tools": [tool]}, {"tools": [tool]}),
        ({"functions": [function], "tools": []}, {"functions": [function]}),
    ):
        done = sent({"messages": [{"role": "user", "content": "Hi"}], **given}, "openai/gpt-4o").json
        assert {key: value for key, value in done.items() if key in ("tools", "functions")} == left
