"""`list-content`: text content written as a list of parts."""

from __future__ import annotations

from typing import Any

import pytest
from tests.rules.runs import facts, run, sent

from dragoman.engine.library.adapt import adapt
from dragoman.rules.shape.list_content import list_content

REFUSES = facts(list_content="refuses")
ONE: list[dict[str, Any]] = [{"type": "text", "text": "A"}]
TWO: list[dict[str, Any]] = [*ONE, {"type": "text", "text": "B"}]
CALL: dict[str, Any] = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
ASKED: dict[str, Any] = {"role": "assistant", "content": "x", "tool_calls": [CALL]}


def turn(role: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


REPAIRS: dict[str, tuple[list[dict[str, Any]], list[dict[str, Any]], str]] = {
    "one text": ([turn("user", ONE)], [turn("user", "A")], "/messages/0"),
    "two texts": (
        [turn("user", "Hi"), turn("assistant", TWO)],
        [turn("user", "Hi"), turn("assistant", "A\nB")],
        "/messages/1",
    ),
    "a system text": ([turn("system", TWO)], [turn("system", "A\nB")], "/messages/0"),
    "beside calls": (
        [turn("assistant", TWO, tool_calls=[CALL])],
        [turn("assistant", "A\nB", tool_calls=[CALL])],
        "/messages/0",
    ),
    "an empty list beside thoughts": (
        [turn("assistant", [], reasoning_content="Hm.")],
        [turn("assistant", None, reasoning_content="Hm.")],
        "/messages/0",
    ),
    "an empty list beside calls": (
        [turn("assistant", [], tool_calls=[CALL])],
        [turn("assistant", None, tool_calls=[CALL])],
        "/messages/0",
    ),
    "an empty list alone": ([turn("assistant", [])], [turn("assistant", "")], "/messages/0"),
    "a result": (
        [ASKED, turn("tool", TWO, tool_call_id="a")],
        [ASKED, turn("tool", "A\nB", tool_call_id="a")],
        "/messages/1",
    ),
    "an empty result": (
        [ASKED, turn("tool", [], tool_call_id="a")],
        [ASKED, turn("tool", "", tool_call_id="a")],
        "/messages/1",
    ),
}


@pytest.mark.parametrize("name", REPAIRS)
def test_the_list_becomes_a_string(name: str) -> None:
    before, after, at = REPAIRS[name]
    done = run(list_content, {"messages": before}, REFUSES)
    assert done.json["messages"] == after
    assert done.changes == [(at, "nothing", False)]


def test_thinking_stays_before_and_calls_after_the_words() -> None:
    done = run(list_content, "~ Hm\nassistant: A\n+ B\ncall f(a) {}", REFUSES)
    assert done.script == "~ Hm\nassistant: A\\nB\ncall f(a) {}"


IMAGE = {"type": "image_url", "image_url": {"url": "https://a/b.png"}}
UNTOUCHED = {
    "strings": ([turn("system", "S"), turn("user", "A"), ASKED, turn("tool", "1", tool_call_id="a")], REFUSES),
    "a list with media": ([turn("user", [*ONE, IMAGE])], REFUSES),
    "a target that takes lists": ([turn("user", TWO)], facts(list_content="accepts")),
}


@pytest.mark.parametrize("name", UNTOUCHED)
def test_untouched(name: str) -> None:
    messages, known = UNTOUCHED[name]
    assert run(list_content, {"messages": messages}, known).untouched


def test_adapt_for_real_providers() -> None:
    body = {"messages": [turn("user", TWO)]}
    done = sent(body, "strict-template/m")
    assert done.json["messages"] == [turn("user", "A\nB")]
    assert done.changes == [("list-content", "/messages/0", "nothing", False)]
    assert sent(body, "openai/gpt-4o").json["messages"] == body["messages"]


def pieces(*texts: str, role: str = "assistant") -> dict[str, Any]:
    return turn(role, [{"type": "text", "text": text} for text in texts])


@pytest.mark.parametrize(
    ("given", "whole"),
    [
        (("Grass is ", "green", "."), "Grass is green."),
        (("It rains", " in Brest"), "It rains in Brest"),
        (("I will look.", "It rains."), "I will look.\nIt rains."),
        (("A", "", "B"), "A\n\nB"),
    ],
)
def test_c7_pieces_of_an_answer_are_put_together_as_they_were_said(given: tuple[str, ...], whole: str) -> None:
    done = run(list_content, {"messages": [turn("user", "Hi"), pieces(*given)]}, REFUSES)
    assert done.json["messages"][1]["content"] == whole


def test_what_a_user_wrote_in_two_texts_has_a_line_break() -> None:
    done = run(list_content, {"messages": [pieces("Look: ", "here", role="user")]}, REFUSES)
    assert done.json["messages"][0]["content"] == "Look: \nhere"


def test_the_plan_beside_an_answer_of_cohere_is_a_text_of_the_same_string() -> None:
    turn = {"role": "assistant", "content": "It rains.", "tool_plan": "I look again."}
    hi = {"role": "user", "content": "Hi"}
    done = sent({"messages": [hi, turn, hi]}, "openai/gpt-4o", source="cohere")
    assert done.json["messages"][1] == {"role": "assistant", "content": "It rains.\nI look again."}


def test_an_empty_text_at_the_end_of_a_stream_adds_no_line() -> None:
    """Streams of Gemini 3 end with one, which holds the signature."""
    turns = [("user", [{"text": "Hi"}]), ("model", [{"text": "Hello"}, {"text": ""}]), ("user", [{"text": "More"}])]
    body = {"contents": [{"role": role, "parts": parts} for role, parts in turns]}
    for target in ("openai/gpt-4o", "deepseek/deepseek-chat", "ollama/llama3.1", "vllm/some-model"):
        assert adapt(body, source="gemini", target=target).json["messages"][1]["content"] == "Hello"
