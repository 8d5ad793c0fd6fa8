"""Several answers as the choices of one: in the order in which they are written, with one head and one end."""

from __future__ import annotations

import json
from typing import Any

from dragoman.conversation.events import Ended, Event, Failed, Started, Stopped, TextDelta, Used
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.conversation.replies import Stop, Usage
from dragoman.dialects.dialect import AnswerContext
from dragoman.engine.answer.joined_answers import JoinedAnswers

CONTEXT = AnswerContext(model="m", created=1, id="req_1", include_usage=True)
BUSY = Failure(FailureKind.OVERLOADED, "Overloaded", 529)


def text(word: str) -> Event:
    return TextDelta(0, 0, json.dumps(word).encode())


def end(output: int) -> list[Event]:
    return [Stopped(0, Stop.END), Used(Usage(10, output)), Ended()]


def frames(data: bytes) -> list[Any]:
    found = [line.removeprefix("data: ") for line in data.decode().split("\n\n") if line]
    return [line if line == "[DONE]" else json.loads(line) for line in found]


def test_a_stream_has_every_choice_in_the_order_of_writing_and_one_end() -> None:
    joined = JoinedAnswers("openai-chat", "req_1", 2, stream=True)
    one, other = joined.begin(0, CONTEXT), joined.begin(1, CONTEXT)
    other.render([Started("b", "m"), text("B")])
    one.render([Started("a", "m"), text("A"), *end(1)])
    other.render(end(2))
    told = frames(joined.take())
    words = [(chunk["choices"][0]["index"], chunk["choices"][0]["delta"].get("content")) for chunk in told[:-2]]
    assert [word for word in words if word[1]] == [(1, "B"), (0, "A")]
    assert {chunk["id"] for chunk in told[:-1]} == {"b"}
    assert told[-2]["usage"]["prompt_tokens"] == 20
    assert told[-2]["usage"]["completion_tokens"] == 3
    assert told[-1] == "[DONE]"
    assert joined.has_ended
    assert joined.take() == b""


def test_one_that_fails_before_its_first_word_leaves_no_trace() -> None:
    joined = JoinedAnswers("openai-chat", "req_1", 1, stream=True)
    first = joined.begin(0, CONTEXT)
    assert first.render([Started("a", "m"), text("Wrong"), Failed(BUSY)]) == b""
    assert not first.has_begun
    joined.begin(0, CONTEXT).render([Started("b", "m"), text("Right"), *end(1)])
    told = joined.take()
    assert b"Right" in told
    assert b"Wrong" not in told
    assert b"error" not in told


def test_nothing_follows_a_failure_after_the_first_word() -> None:
    joined = JoinedAnswers("openai-chat", "req_1", 2, stream=True)
    one, other = joined.begin(0, CONTEXT), joined.begin(1, CONTEXT)
    one.render([Started("a", "m"), text("A")])
    one.render([Failed(BUSY)])
    other.render([Started("b", "m"), text("B"), *end(1)])
    told = frames(joined.take())
    assert told[-2]["error"]["message"] == "Overloaded"
    assert b"B" not in joined.take()
    assert joined.fail(BUSY) == b""


def test_whole_answers_are_gathered_by_their_number() -> None:
    joined = JoinedAnswers("gemini", "req_1", 2, stream=False)
    one, other = joined.begin(0, CONTEXT), joined.begin(1, CONTEXT)
    other.render([Started("b", "m"), text("B"), *end(2)])
    one.render([Started("a", "m"), text("A"), *end(1)])
    whole = json.loads(joined.whole())
    assert [(one["index"], one["content"]["parts"][0]["text"]) for one in whole["candidates"]] == [(0, "A"), (1, "B")]
    assert whole["usageMetadata"]["promptTokenCount"] == 20
