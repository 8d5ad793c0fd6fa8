"""`legacy-function-call`: functions in the old Chat form."""

from __future__ import annotations

from typing import Any

import pytest
from tests.rules.runs import CHAT, facts, leaves_alone, run, sent

from dragoman.profiles.facts import Facts
from dragoman.rules.clean.legacy_function_call import legacy_function_call

HI: dict[str, Any] = {"role": "user", "content": "Hi"}
OLD: list[dict[str, Any]] = [
    HI,
    {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": '{"a":1}'}},
    {"role": "function", "name": "f", "content": "ok"},
]
FUNCTION: dict[str, Any] = {"name": "f", "description": "d", "parameters": {"type": "object"}}
OLD_BODY: dict[str, Any] = {"messages": OLD, "functions": [FUNCTION], "function_call": {"name": "f"}}
REFUSES = facts(legacy_calls="refuses")


def test_calls_results_tools_and_the_choice_are_written_the_new_way() -> None:
    done = run(legacy_function_call, OLD_BODY, REFUSES)
    hi, asked, answer = done.json["messages"]
    (call,) = asked["tool_calls"]
    assert hi == HI
    assert (call["type"], call["function"]) == ("function", {"name": "f", "arguments": '{"a":1}'})
    assert answer == {"role": "tool", "tool_call_id": call["id"], "content": "ok", "name": "f"}
    assert call["id"]
    assert done.json["tools"] == [{"type": "function", "function": FUNCTION}]
    assert done.json["tool_choice"] == {"type": "function", "function": {"name": "f"}}
    assert not {"functions", "function_call"} & done.json.keys()
    assert done.changes == [
        ("/messages/1/function_call", "nothing", False),
        ("/messages/2", "nothing", False),
        ("/functions/0", "nothing", False),
        ("/function_call", "nothing", False),
    ]


def test_each_call_keeps_its_own_result() -> None:
    done = run(legacy_function_call, {"messages": [*OLD, *OLD]}, REFUSES)
    ids = [turn["tool_calls"][0]["id"] for turn in done.json["messages"] if turn["role"] == "assistant"]
    assert [turn["tool_call_id"] for turn in done.json["messages"] if turn["role"] == "tool"] == ids
    assert len(set(ids)) == 2


@pytest.mark.parametrize("target", ["vllm/a", "sglang/a", "lmstudio/a"])
def test_servers_that_do_not_read_functions_get_tools(target: str) -> None:
    done = sent(OLD_BODY, target)
    assert [tool["function"]["name"] for tool in done.json["tools"]] == ["f"]
    assert not {"functions", "function_call"} & done.json.keys()
    assert [turn["role"] for turn in done.json["messages"]] == ["user", "assistant", "tool"]


def test_a_call_in_both_forms_stays_once() -> None:
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}
    asked = {**OLD[1], "tool_calls": [call]}
    answer = {"role": "tool", "tool_call_id": "a", "content": "ok"}
    done = run(legacy_function_call, {"messages": [HI, asked, answer]}, REFUSES)
    assert done.json["messages"] == [HI, {"role": "assistant", "content": None, "tool_calls": [call]}, answer]
    assert done.changes == [("/messages/1/function_call", "nothing", False)]


@pytest.mark.parametrize(
    ("body", "at"),
    [
        ({"messages": OLD[:2]}, "/messages/1/function_call"),
        ({"messages": [HI], "functions": [FUNCTION]}, "/functions/0"),
        ({"messages": [HI], "functions": [FUNCTION], "function_call": "auto"}, "/function_call"),
    ],
)
def test_each_kind_by_itself(body: dict[str, Any], at: str) -> None:
    assert (at, "nothing", False) in run(legacy_function_call, body, REFUSES).changes


NEW: dict[str, Any] = {
    "messages": [HI],
    "tools": [{"type": "function", "function": FUNCTION}],
    "tool_choice": "auto",
}
UNTOUCHED: dict[str, tuple[dict[str, Any], Facts]] = {
    "the new form": (NEW, REFUSES),
    "a target that takes both": (OLD_BODY, facts(legacy_calls="accepts")),
}


test_untouched = leaves_alone(legacy_function_call, UNTOUCHED)


def test_a_target_that_wants_signatures_wants_the_new_form() -> None:
    assert not run(legacy_function_call, OLD_BODY, facts(legacy_calls="accepts", call_signature="refuses")).untouched


def test_adapt_reports_it_in_the_same_dialect_alone() -> None:
    done = sent({"messages": [HI], "functions": [FUNCTION]}, "deepseek/deepseek-chat")
    assert done.json["tools"] == NEW["tools"]
    assert done.changes == [("legacy-function-call", "/functions/0", "nothing", False)]
    elsewhere = sent({**OLD_BODY, "max_tokens": 9}, "anthropic/claude-opus-4-8", source=CHAT)
    assert [block["type"] for turn in elsewhere.json["messages"][1:] for block in turn["content"]] == [
        "tool_use",
        "tool_result",
    ]
    assert elsewhere.changes == []


@pytest.mark.parametrize("target", ["perplexity/sonar", "strict-template/some-model"])
def test_an_older_call_beside_a_newer_one(target: str) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    newer = {"role": "assistant", "content": None, "tool_calls": [call]}
    turns = sent({"messages": [HI, newer, OLD[1]]}, target).json["messages"]
    assert sum(len(turn.get("tool_calls", ())) for turn in turns) == 2
    assert "function_call" not in str(turns)
