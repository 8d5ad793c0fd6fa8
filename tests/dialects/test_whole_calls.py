"""Calls of a whole Chat answer that is passed on: clients can tell them apart and read their arguments."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman.dialects.dialect import AnswerContext
from dragoman.dialects.openai_chat.answer_render import complete_answer

CONTEXT = AnswerContext(model="m", id="seed")


def answer(*calls: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": None, "refusal": None, "tool_calls": list(calls)}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "tool_calls"}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}


def call(arguments: Any = "{}", **more: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": "f", "arguments": arguments}, **more}


def completed(body: dict[str, Any]) -> Any:
    return json.loads(complete_answer(json.dumps(body).encode(), CONTEXT))


@pytest.mark.parametrize("ids", [{}, {"id": None}, {"id": ""}, {"id": "same"}])
def test_each_call_has_an_id_of_its_own(ids: dict[str, Any]) -> None:
    calls = completed(answer(call(**ids), call(**ids)))["choices"][0]["message"]["tool_calls"]
    found = [one.pop("id") for one in calls]
    assert all(found)
    assert len(set(found)) == 2
    assert calls == [call(), call()]


def test_arguments_as_an_object_become_a_text() -> None:
    assert completed(answer(call({"a": [1]}, id="x"))) == answer(call('{"a":[1]}', id="x"))


def test_missing_arguments_become_an_empty_object() -> None:
    nothing = call(id="x") | {"function": {"name": "f"}}
    assert completed(answer(call(None, id="x"))) == completed(answer(nothing)) == answer(call("{}", id="x"))


@pytest.mark.parametrize("calls", [(call(id="a"), call(id="b")), (), (7,), ("x", None)])
def test_every_other_answer_stays_as_it_is(calls: tuple[Any, ...]) -> None:
    assert completed(answer(*calls)) == answer(*calls)
