"""`missing-content`: what stands for the content of a turn of nothing but calls."""

from __future__ import annotations

from typing import Any

import pytest
from tests.rules.runs import facts, run, sent

from dragoman.profiles.profile import Layer, Profiles
from dragoman.rules.shape.missing_content import missing_content

CALL: dict[str, Any] = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
RESULT: dict[str, Any] = {"role": "tool", "tool_call_id": "a", "content": "1"}


def asked(**content: Any) -> dict[str, Any]:
    turn = {"role": "assistant", **content, "tool_calls": [CALL]}
    return {"model": "m", "messages": [{"role": "user", "content": "Hi"}, turn, RESULT]}


LISTED: dict[str, Any] = {"content": []}
FORMS: dict[str, dict[str, Any]] = {"absent": {}, "null": {"content": None}, "empty": {"content": ""}}
DID = {
    "absent": "left out its content, which held nothing",
    "null": "wrote null for its content",
    "empty": "wrote an empty text for its content",
}


@pytest.mark.parametrize("content", [{}, {"content": None}, {"content": ""}, LISTED], ids=str)
def test_a_turn_that_does_not_call_either(content: dict[str, Any]) -> None:
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", **content}, {"role": "user", "content": "Hm"}]
    done = run(missing_content, {"messages": messages}, facts(absent_content="refuses"))
    if content:
        assert done.untouched
        return
    assert done.json["messages"][1] == {"role": "assistant", "content": None}
    assert done.changes == [("/messages/1", "nothing", False)]
    assert sent({"messages": messages}, "llamacpp/some-model").json["messages"][1]["content"] is None


@pytest.mark.parametrize("wanted", FORMS)
@pytest.mark.parametrize("given", FORMS)
def test_every_form_becomes_the_one_that_is_wanted(wanted: str, given: str) -> None:
    known = facts(call_content=wanted)
    done = run(missing_content, asked(**FORMS[given]), known)
    if wanted == given:
        assert done.untouched
        return
    assert done.json["messages"] == asked(**FORMS[wanted])["messages"]
    assert done.changes == [("/messages/1", "nothing", False)]
    assert done.did == [DID[wanted]]
    assert run(missing_content, done.json, known).untouched


@pytest.mark.parametrize("wanted", FORMS)
def test_an_empty_list_is_no_content(wanted: str) -> None:
    done = run(missing_content, asked(**LISTED), facts(call_content=wanted))
    assert done.json["messages"] == asked(**FORMS[wanted])["messages"]
    assert run(missing_content, done.json, facts(call_content=wanted)).untouched
    assert run(missing_content, asked(**LISTED), facts()).untouched


def test_thinking_is_no_content() -> None:
    done = run(missing_content, asked(reasoning_content="Hm."), facts(call_content="empty"))
    assert done.json["messages"][1]["content"] == ""
    assert done.json["messages"][1]["reasoning_content"] == "Hm."


def test_untouched() -> None:
    assert run(missing_content, asked(content="One moment."), facts(call_content="empty")).untouched
    assert run(missing_content, "user: Hi\nassistant: Hello.", facts(call_content="empty")).untouched
    assert run(missing_content, asked(content=None), facts()).untouched


def test_adapt_for_a_template_that_reads_the_content() -> None:
    profiles = Profiles(layers=(Layer("test", {"call_content": "empty"}),))
    done = sent(asked(content=None), "openai-compatible-lenient/m", profiles=profiles)
    assert done.json["messages"] == asked(content="")["messages"]
    assert done.changes == [("missing-content", "/messages/1", "nothing", False)]
    blocks = [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]
    answer = [{"type": "tool_result", "tool_use_id": "a", "content": "1"}]
    claude = {
        "max_tokens": 9,
        "messages": [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": blocks},
            {"role": "user", "content": answer},
        ],
    }
    translated = sent(claude, "openai-compatible-lenient/m", source="anthropic", profiles=profiles)
    assert translated.json["messages"] == asked(content="")["messages"]
    assert translated.changes == []
