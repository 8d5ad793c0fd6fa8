"""Streams that never come to a point: what is held of them is bounded, and each event costs the same."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest
from tests.counted_work import count_calls
from tests.hostile.bodies import DIALECTS
from tests.hostile.table import delta, sse

from dragoman.conversation.failures import FailureKind
from dragoman.dialects.anthropic.endpoints import stored_answers
from dragoman.dialects.dialect import AnswerContext
from dragoman.dialects.families.reasoning_forms import ThinkTags
from dragoman.engine.answer.translation import Translation
from dragoman.wire.sse import SseDecoder

BLANKS = 5_000
MOST_HELD = 2_000


def translation(upstream: str, client: str, **more: Any) -> Translation:
    return Translation(upstream, client, context=AnswerContext(model="m", id="x"), **more)


def chunk(**delta: Any) -> bytes:
    head = {"id": "a", "object": "chat.completion.chunk", "model": "m"}
    return sse(json.dumps({**head, "choices": [{"index": 0, "delta": delta}]}).encode())


def called(arguments: str, **named: str) -> bytes:
    call = {
        "index": 0,
        "type": "function",
        **({"id": "c"} if named else {}),
        "function": {"arguments": arguments, **named},
    }
    return chunk(tool_calls=[call])


# What waits for what follows it.


@pytest.mark.parametrize(("opening", "blank"), [("", " "), ("<think>a", "\n")])
def test_blanks_do_not_wait_for_ever_for_a_tag(opening: str, blank: str) -> None:
    tags = ThinkTags()
    pieces = [piece for text in (opening, *[blank] * BLANKS) for piece in tags.feed(text)]
    assert sum([len(text) for _, text in pieces]) > BLANKS - MOST_HELD


@pytest.mark.parametrize("opening", ["", "{"])
def test_blanks_do_not_wait_for_ever_for_arguments(opening: str) -> None:
    stream = translation("openai-chat", "anthropic")
    stream.feed(called(opening, name="f"))
    out = b"".join([stream.feed(called(" ")) for _ in range(BLANKS)])
    assert out.count(b" ") > BLANKS - MOST_HELD


def test_lines_of_one_event_take_what_they_say() -> None:
    decoder, count = SseDecoder(), 50_000
    tracemalloc.start()
    try:
        for _ in range(count // 100):
            decoder.feed(b"data:x\n" * 100)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 8 * count
    (frame,) = decoder.feed(b"\n")
    assert frame.data == b"x\n" * (count - 1) + b"x"


# What comes in pieces.


def ends(count: int) -> Iterator[bytes]:
    """Ends of a message, each with members of its own."""
    yield sse(b'{"type":"message_start","message":{"id":"a","content":[]}}')
    for at in range(count):
        end = {"type": "message_delta", "delta": {f"y{at}": 1}, "usage": {"output_tokens": at, f"x{at}": 1}}
        yield sse(json.dumps(end).encode())


@pytest.mark.parametrize("client", ["openai-chat", "openai-responses"])
def test_members_that_come_in_pieces_cost_in_proportion(client: str) -> None:
    def work(count: int) -> int:
        frames, stream = list(ends(count)), translation("anthropic", client)
        return count_calls(lambda: [stream.feed(frame) for frame in frames])

    work(10)
    assert work(1_000) < 12 * work(100)


def test_counts_are_read_after_too_many_members() -> None:
    stream = translation("anthropic", "openai-chat")
    for frame in ends(500):
        stream.feed(frame)
    assert stream.usage is not None
    assert stream.usage.output == 499


# The sum.


@pytest.mark.parametrize("client", DIALECTS)
@pytest.mark.parametrize("upstream", DIALECTS)
def test_text_without_end_ends_with_an_error(upstream: str, client: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.engine.answer.translation.MOST_WEIGHT", 200_000)
    stream = translation(upstream, client)
    out = b"".join([stream.feed(delta(upstream, "a" * 1_000)) for _ in range(400)])
    if upstream == client:  # relayed, and nothing is held
        assert stream.failure is None
    else:
        assert stream.failure is not None
        assert stream.failure.kind is FailureKind.ANSWER_TOO_LARGE
        assert b"more than can be translated" in out
        assert len(out) < 400_000


def note(at: int) -> dict[str, Any]:
    place = {"url": f"http://a/{at}", "title": "t", "start_index": 0, "end_index": 1}
    return {"type": "url_citation", "url_citation": place}


PARTS = {
    "calls": lambda at: called("{}", name="f").replace(b'"index": 0, "type"', b'"index": %d, "type"' % at),
    "notes": lambda at: chunk(content="a", annotations=[note(at)]),
    "parts": lambda at: chunk(**{"content" if at % 2 else "reasoning_content": "a"}),
}


@pytest.mark.parametrize("client", ["openai-responses", "anthropic", "gemini"])
@pytest.mark.parametrize("what", PARTS)
def test_parts_without_end_end_with_an_error(what: str, client: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.engine.answer.translation.MOST_WEIGHT", 200_000)
    stream = translation("openai-chat", client)
    for at in range(400):
        stream.feed(PARTS[what](at))
    assert stream.failure is not None
    assert stream.failure.kind is FailureKind.ANSWER_TOO_LARGE


def test_a_long_text_is_no_failure() -> None:
    stream = translation("openai-chat", "openai-responses")
    for _ in range(5_000):
        stream.feed(chunk(content="word "))
    assert stream.failure is None


@pytest.mark.parametrize("keep", [False, True])
def test_state_is_sought_in_the_beginning_of_a_relayed_stream(keep: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.engine.answer.translation._MOST_CAPTURED", 10_000)
    stream = translation("openai-chat", "openai-chat", keep=keep)
    frames = [chunk(reasoning_content="a" * 100) for _ in range(200)]
    assert b"".join([stream.feed(frame) for frame in frames]) == b"".join(frames)
    calls = count_calls(lambda: stream.feed(frames[0]))
    assert calls < 60  # nothing is parsed any more


def test_a_long_answer_of_a_thread_is_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_answers, "_MOST_READ", 10_000)
    keeper = stored_answers.MessageKeeper(Any)  # type: ignore[arg-type]
    for _ in range(200):
        keeper.piece(delta("anthropic", "a" * 100))
    assert keeper._events == []
