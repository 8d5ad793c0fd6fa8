"""`call-id-form`: call ids that the target's form does not allow."""

from __future__ import annotations

import re

import pytest
from tests.rules.runs import Run, facts, leaves_alone, run, sent

from dragoman.conversation.parts import Call
from dragoman.engine.compile.compiler import compile_ask
from dragoman.engine.library.adapt import BUILTIN, read
from dragoman.profiles.facts import Facts
from dragoman.profiles.profile import Layer, patch_target
from dragoman.rules.name.call_id_form import call_id_form

NINE = facts(call_id_pattern="[a-zA-Z0-9]{9}", call_id_length=9)
SHORT = facts(call_id_pattern=".{1,40}")
SAID = "user: Hi\ncall f(a) {}\ncall f(123456789) {}\nresult a: 1\nresult 123456789: 2"


def ids(done: Run) -> list[str]:
    return [part.id for message in done.conversation.messages for part in message.parts if isinstance(part, Call)]


def test_the_call_and_its_result_get_an_id_of_the_right_form() -> None:
    done = run(call_id_form, SAID, NINE)
    new, same = ids(done)
    assert re.fullmatch("[a-zA-Z0-9]{9}", new)
    assert same == "123456789"
    assert done.script == SAID.replace("f(a)", f"f({new})").replace("result a", f"result {new}")
    assert done.changes == [("/messages/1/tool_calls/0", "nothing", False)]
    assert done.undo.ids == {new: "a"}
    assert done.conversation.messages[0] is done.ask.conversation.messages[0]


def test_the_same_id_is_made_on_every_turn() -> None:
    longer = run(call_id_form, f"{SAID}\ncall f(b) {{}}\nresult b: 3\ncall f(a) {{}}\nresult a: 4", NINE)
    assert ids(longer)[0] == ids(run(call_id_form, SAID, NINE))[0] == ids(longer)[3]
    assert len(set(ids(longer))) == 3


def test_an_id_that_is_made_twice_is_made_again() -> None:
    taken = ids(run(call_id_form, SAID, NINE))[0]
    done = run(call_id_form, f"call f(a) {{}}\ncall f({taken}) {{}}", NINE)
    assert ids(done)[1] == taken
    assert ids(done)[0] not in (taken, "a")


@pytest.mark.parametrize("odd", ["x" * 41, "é" * 41])
def test_a_form_that_takes_every_common_id_still_finds_the_odd_ones(odd: str) -> None:
    done = run(call_id_form, f"user: Hi\ncall f({odd}) {{}}\nresult {odd}: 1", SHORT)
    assert len(ids(done)[0]) == 24
    assert done.undo.ids == {ids(done)[0]: odd}


def test_a_result_without_its_call_is_renamed_too() -> None:
    done = run(call_id_form, "user: Hi\nresult a: 1", NINE)
    new = ids(run(call_id_form, SAID, NINE))[0]
    assert done.script == f"user: Hi\nresult {new}: 1"
    assert done.changes == [("/messages/1", "nothing", False)]


UNTOUCHED: dict[str, tuple[str, Facts]] = {
    "ids of the right form": ("call f(123456789) {}\nresult 123456789: 1", NINE),
    "ids that a common form takes": ("call f(call_abc-1) {}\nresult call_abc-1: 1", SHORT),
    "a target that takes another form": (SAID, facts(call_id_pattern="[a-zA-Z0-9]{9}", odd_call_id="accepts")),
    "a target without a form": (SAID, facts(call_id_pattern="")),
}


test_untouched = leaves_alone(call_id_form, UNTOUCHED)


def test_adapt_maps_the_ids_back() -> None:
    call = {"id": "toolu_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "x", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "toolu_1", "content": "1"},
    ]
    done = sent({"messages": messages}, "mistral/mistral-large-latest")
    new = done.json["messages"][2]["tool_call_id"]
    assert re.fullmatch("[a-zA-Z0-9]{9}", new)
    assert done.json["messages"][1]["tool_calls"] == [{**call, "id": new}]
    assert done.changes == [("call-id-form", "/messages/1/tool_calls/0", "nothing", False)]
    assert done.undo.ids == {new: "toolu_1"}
    assert sent({"messages": messages}, "openai/gpt-4o").changes == []


@pytest.mark.parametrize(
    ("target", "length", "kept"),
    [("openai/gpt-5.6", 64, True), ("openai/gpt-5.6", 65, False), ("openai/gpt-5.4", 41, False)],
)
def test_newer_models_take_longer_ids(target: str, length: int, kept: bool) -> None:
    call = {"id": "c" * length, "type": "function", "function": {"name": "f", "arguments": "{}"}}
    asked = {"role": "user", "content": "Hi"}
    answer = {"role": "tool", "tool_call_id": call["id"], "content": "1"}
    done = sent({"messages": [asked, {"role": "assistant", "tool_calls": [call]}, answer]}, target)
    assert (done.json["messages"][1]["tool_calls"] == [call]) is kept is (done.changes == [])


def test_a_legacy_call_has_no_id_to_write() -> None:
    """It is not changed, so it is not reported either, and a second run finds nothing more."""
    call = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}}
    answer = {"role": "function", "name": "f", "content": "x"}
    body = {"messages": [{"role": "user", "content": "Hi"}, call, answer], "functions": [{"name": "f"}]}
    known = {
        "call_id_pattern": "[a-zA-Z0-9]{9}",
        "call_id_length": 9,
        "odd_call_id": "refuses",
        "legacy_calls": "accepts",
    }
    target = patch_target(BUILTIN.target("openai-compatible-lenient/some-model"), Layer("test", known))
    done = compile_ask(read(body, source="openai-chat"), target)
    assert (done.changes, done.json["messages"]) == ((), body["messages"])
