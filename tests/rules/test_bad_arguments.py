"""`bad-arguments`: arguments that are not a JSON object."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.rules.runs import CHAT, facts, leaves_alone, run, sent

from dragoman.rules.clean.bad_arguments import bad_arguments

REFUSES = facts(bad_arguments="refuses")


@pytest.mark.parametrize(
    ("arguments", "wrapped"),
    [
        ('"outside"', '{"arguments":"outside"}'),
        ('["a",1]', '{"arguments":["a",1]}'),
        ("7", '{"arguments":7}'),
        ('"{\\"a\\": "', '{"arguments":"{\\"a\\": "}'),
        ('""', "{}"),
        ("null", "{}"),
    ],
)
def test_an_object_is_made_of_what_was_said(arguments: str, wrapped: str) -> None:
    done = run(bad_arguments, f"user: Hi\ncall look(c1) {{}}\ncall look(c2) {arguments}", REFUSES)
    assert done.script == f"user: Hi\ncall look(c1) {{}}\ncall look(c2) {wrapped}"
    assert done.changes == [("/messages/1/tool_calls/1", "nothing", False)]
    assert done.did == ["wrapped the arguments of look into an object"]
    assert done.conversation.messages[1].parts[0] is done.ask.conversation.messages[1].parts[0]


UNTOUCHED = {
    "an object": ('user: Hi\ncall look(c1) {"a":1}', REFUSES),
    "a custom tool's text": ('user: Hi\ncall run(c1) !custom "ls"', REFUSES),
    "a target that does not parse them": ('user: Hi\ncall look(c1) "outside"', facts(bad_arguments="accepts")),
}


test_untouched = leaves_alone(bad_arguments, UNTOUCHED)


def chat(arguments: Any) -> dict[str, Any]:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}}
    result = {"role": "tool", "tool_call_id": "c", "content": "ok"}
    return {
        "messages": [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "x", "tool_calls": [call]},
            result,
        ]
    }


@pytest.mark.parametrize(
    ("arguments", "sent_as"),
    [
        ("outside", {"arguments": "outside"}),
        ('{"a": ', {"arguments": '{"a": '}),
        ("null", {"arguments": "null"}),
        ("[1]", {"arguments": "[1]"}),
    ],
)
def test_adapt_for_a_provider_that_wants_an_object(arguments: str, sent_as: Any) -> None:
    done = sent({**chat(arguments), "max_tokens": 9}, "anthropic/claude-opus-4-8", source=CHAT)
    assert done.json["messages"][1]["content"][1]["input"] == sent_as
    assert done.changes == [("bad-arguments", "/messages/1/tool_calls/0", "nothing", False)]


@pytest.mark.parametrize("nothing", ["", None])
def test_no_arguments_at_all_are_an_empty_object_and_no_defect(nothing: Any) -> None:
    done = sent({**chat(nothing), "max_tokens": 9}, "anthropic/claude-opus-4-8", source=CHAT)
    assert done.json["messages"][1]["content"][1]["input"] == {}
    assert {change[0] for change in done.changes} == {"off-schema"}  # it is no JSON text, so it is reported as such


def test_adapt_leaves_them_to_a_provider_that_does_not_check() -> None:
    done = sent(chat("outside"), "openai/gpt-4o")
    assert done.json["messages"] == chat("outside")["messages"]
    assert done.changes == []


def test_the_text_is_not_lost() -> None:
    done = run(bad_arguments, 'call look(c1) "caf\\u00e9"', REFUSES)
    (call,) = done.conversation.messages[0].parts
    assert msgspec.json.decode(call.arguments) == {"arguments": "café"}  # type: ignore[attr-defined]


def test_c10_blank_arguments_become_an_empty_object() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": " \n"}}
    turns = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "12"},
    ]
    done = sent({"messages": turns}, "openai-compatible-strict/m")
    assert done.json["messages"][1]["tool_calls"][0]["function"]["arguments"] == "{}"
    assert [rule for rule, *_ in done.changes] == ["bad-arguments"]
