"""Garbage: a terminal error, bounded memory, and never an exception out of the machine."""

from __future__ import annotations

import random
from copy import deepcopy
from typing import Any

import orjson
import pytest
from tests.corpus import exchanges, sampled
from tests.openai_answers import ASKED, parsed, recorded, rendered, sse

from dragoman.conversation.collect import collect
from dragoman.conversation.events import (
    CallDelta,
    CallEnded,
    CallStarted,
    Ended,
    Event,
    Failed,
    ReasoningDelta,
    RefusalDelta,
    Started,
    Stopped,
    TextDelta,
    Used,
)
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.conversation.replies import Reply, Stop, Usage
from dragoman.dialects.dialect import AnswerCodec
from dragoman.dialects.registry import dialect as dialect_called

CHAT, RESPONSES = dialect_called("openai-chat").answers, dialect_called("openai-responses").answers
CODECS = [("openai-chat", CHAT), ("openai-responses", RESPONSES)]

GARBAGE = {
    "nothing": b"",
    "binary": bytes(range(256)) * 50,
    "truncated JSON": sse(b'{"id":"x","choices":[{"delta":{"content":"a'),
    "wrong types": sse(b"7", b"[]", b'"x"', b"null", b'{"choices":{}}', b'{"choices":[7]}', b'{"type":7}'),
    "wrong types inside": sse(
        {"choices": [{"delta": {"content": {"a": 1}, "tool_calls": [{}], "images": [7, {}], "audio": []}}]},
        {"choices": [{"delta": {"content": [7, "x", {"type": 7}], "annotations": {}, "reasoning_details": [7, {}]}}]},
        {"type": "response.output_item.added", "item": {"type": "reasoning", "summary": [7], "content": "x"}},
        {"type": "response.output_item.done", "item": {"type": "message", "content": [7, {"type": "x"}]}},
        {"type": "response.function_call_arguments.delta", "output_index": 9, "delta": "x"},
        {"type": "response.output_text.delta", "output_index": 5, "delta": 7},
    ),
    "deep": sse(b'{"choices":' + b"[" * 100_000, b'{"usage":' + b'{"a":' * 50_000),
    "endless comments": b": wait\n\n" * 20_000,
    "a page": b"<html><body><h1>502 Bad Gateway</h1></body></html>",
    "only the marker": b"data: [DONE]\n\n",
    "no line end": b"data: " + b"x" * 100_000,
}


@pytest.mark.parametrize("name", GARBAGE)
@pytest.mark.parametrize(("dialect", "codec"), CODECS, ids=[dialect for dialect, _ in CODECS])
def test_garbage_ends_in_a_failure(dialect: str, codec: AnswerCodec, name: str) -> None:
    for size in (5, 4096):
        events = parsed(codec, GARBAGE[name], size if len(GARBAGE[name]) < 50_000 else 4096)
        assert isinstance(events[-1], Failed)
        assert not any(isinstance(event, (Ended, Failed)) for event in events[:-1])


@pytest.mark.parametrize(("dialect", "codec"), CODECS, ids=[dialect for dialect, _ in CODECS])
def test_a_frame_without_end_is_let_go(dialect: str, codec: AnswerCodec) -> None:
    parser = codec.stream_parser()
    parser._decoder.limit = 100_000
    events: list[Event] = []
    for _ in range(300):
        events += parser.feed(b"data: " + b"x" * 1000)
    assert [type(event) for event in events] == [Failed]
    assert len(parser._decoder._tail) == 0
    assert parser.close() == []


@pytest.mark.parametrize(("dialect", "codec"), CODECS, ids=[dialect for dialect, _ in CODECS])
def test_a_stream_that_is_cut_anywhere_is_not_a_success(dialect: str, codec: AnswerCodec) -> None:
    one = min((one for one in recorded(dialect) if one.stream and len(one.wire) > 1500), key=_size)
    step = max(1, len(one.wire) // 300)
    whole = parsed(codec, one.wire)
    for end in range(0, len(one.wire) - 200, step):
        events = parsed(codec, one.wire[:end])
        assert isinstance(events[-1], (Failed, Ended))
        if isinstance(events[-1], Ended):
            assert [event for event in events if isinstance(event, Stopped)]
            assert _texts(events) == _texts(whole)


def _size(one: Any) -> int:
    return len(one.wire)


def _texts(events: list[Event]) -> list[Event]:
    return [event for event in events if isinstance(event, (TextDelta, CallDelta, ReasoningDelta))]


@pytest.mark.parametrize(("dialect", "codec"), CODECS, ids=[dialect for dialect, _ in CODECS])
def test_frames_in_any_order_raise_nothing(dialect: str, codec: AnswerCodec) -> None:
    chance = random.Random(7)
    for number, one in enumerate(one for one in recorded(dialect) if one.stream and len(one.wire) < 20_000):
        frames = [frame + b"\n\n" for frame in one.wire.replace(b"\r\n", b"\n").split(b"\n\n") if frame]
        chance.shuffle(frames)
        events = parsed(codec, b"".join(frames))
        assert isinstance(events[-1], (Ended, Failed)), one.id
        rendered(codec, events)
        if number > 60:
            break


@pytest.mark.parametrize(("dialect", "codec"), CODECS, ids=[dialect for dialect, _ in CODECS])
def test_damaged_bytes_raise_nothing(dialect: str, codec: AnswerCodec) -> None:
    chance = random.Random(11)
    wires = [one.wire for one in recorded(dialect) if one.stream and len(one.wire) < 8_000][:40]
    for wire in wires:
        damaged = bytearray(wire)
        for _ in range(20):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        events = parsed(codec, bytes(damaged))
        assert isinstance(events[-1], (Ended, Failed))


def _streamed(kind: str, index: int, **fields: Any) -> dict[str, Any]:
    return {"type": f"response.{kind}", "output_index": 0, "content_index": index, **fields}


_EMPTY, _ITEM = ({"type": "message", "content": content} for content in ([], [{"type": "output_text", "text": "ab"}]))
_CITATION = {"annotation": {"type": "url_citation", "url": "https://a.test"}}
ODD_PLACES: dict[str, tuple[dict[str, Any], ...]] = {
    "a negative index": (
        _streamed("output_text.delta", -1, delta="ab"),
        _streamed("output_item.done", 0, item=_EMPTY),
    ),
    "a negative index of a content": (
        _streamed("output_text.delta", -1, delta="ab"),
        _streamed("output_item.done", 0, item=_ITEM),
    ),
    "a citation before its text": (
        _streamed("output_text.annotation.added", 0, **_CITATION),
        _streamed("output_text.delta", 0, delta="ab"),
    ),
    "the end of a text after its item": (
        _streamed("output_text.delta", 5, delta="ab"),
        _streamed("output_item.done", 0, item=_ITEM),
        _streamed("output_text.done", 9, text=""),
    ),
}


@pytest.mark.parametrize("name", ODD_PLACES)
def test_contents_in_odd_places_are_one_text(name: str) -> None:
    end = {"type": "response.completed", "response": {"id": "r", "status": "completed", "output": []}}
    events = parsed(RESPONSES, sse(*ODD_PLACES[name], end))
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["ab"]
    assert isinstance(events[-1], Ended)


ODD: list[Any] = [None, 7, -1, "x", "", [], {}, True, 1e300, 2**60, [[]], [None], {"type": "text"}, {"error": 1}]


def mutated(value: Any, chance: random.Random) -> Any:
    """The value with one thing in it replaced by something odd."""
    places: list[tuple[Any, Any]] = []
    _list_places(value, places)
    if places:
        holder, key = chance.choice(places)
        holder[key] = deepcopy(chance.choice(ODD))
    return value


def _list_places(value: Any, places: list[tuple[Any, Any]]) -> None:
    keys = value.keys() if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        places.append((value, key))
        _list_places(value[key], places)


@pytest.mark.parametrize(("dialect", "codec"), CODECS, ids=[dialect for dialect, _ in CODECS])
def test_odd_values_anywhere_raise_nothing(dialect: str, codec: AnswerCodec) -> None:
    chance = random.Random(dialect)
    count = 0
    for one in recorded(dialect):
        if one.stream and len(one.wire) < 12_000 and sampled(one.id, 3):
            frames = [frame.partition(b"data: ")[2] for frame in one.wire.replace(b"\r\n", b"\n").split(b"\n\n")]
            readable = [frame for frame in frames if frame[:1] == b"{" and one.id != "f34688e4ea3509bd"]
            wire = sse(*[mutated(orjson.loads(frame), chance) for frame in readable], b"[DONE]")
            events = parsed(codec, wire)
            assert isinstance(events[-1], (Ended, Failed)), one.id
            assert not any(isinstance(event, (Ended, Failed)) for event in events[:-1]), one.id
            for _, other in CODECS:
                rendered(other, events)
            count += 1
    print(f"\n{dialect}: {count} streams with something odd in every frame")
    assert count > 10


@pytest.mark.parametrize(("dialect", "codec"), CODECS)
def test_odd_values_in_a_whole_answer_raise_nothing(dialect: str, codec: AnswerCodec) -> None:
    chance = random.Random(dialect)
    for one in recorded(dialect):
        if not one.stream and len(one.wire) < 12_000 and sampled(one.id, 4):
            answer = collect(codec.parse(orjson.dumps(mutated(orjson.loads(one.wire), chance))))
            if isinstance(answer, Reply):
                for _, other in CODECS:
                    orjson.loads(other.render(answer, ASKED))


INBAND = {"2f525d317427979e": (CHAT, FailureKind.BAD_REQUEST), "83d4396c62cc5177": (RESPONSES, FailureKind.QUOTA)}


def test_every_recorded_error_inside_a_stream_is_its_last_event() -> None:
    for exchange in exchanges("errors.jsonl"):
        if exchange["id"] not in INBAND:
            continue
        codec, kind = INBAND[exchange["id"]]
        body: str = exchange["response"]["body"]
        if exchange["response"]["kind"] == "ndjson":
            body = "".join(f"data: {line}\n\n" for line in body.splitlines())
        for size in (1, 7, 4096):
            last = parsed(codec, body.encode(), size)[-1]
            assert isinstance(last, Failed)
            assert last.failure.kind is kind


EVENTS: list[Event] = [
    Started("i", "m"),
    TextDelta(0, 0, b'"x"'),
    TextDelta(1, 0, b'"y"'),
    ReasoningDelta(0, 1, b'"z"'),
    RefusalDelta(0, 2, b'"no"'),
    CallStarted(0, 3, "c", "f"),
    CallDelta(0, 3, b'"{}"'),
    CallDelta(0, 9, b'"stray"'),
    CallEnded(0, 3),
    CallEnded(0, 9),
    Used(Usage(1, 2)),
    Stopped(0, Stop.CALLS),
    Ended(),
    Failed(Failure(FailureKind.SERVER, "no")),
]


@pytest.mark.parametrize(("dialect", "codec"), CODECS, ids=[dialect for dialect, _ in CODECS])
def test_events_in_any_order_are_written_as_a_stream_that_ends(dialect: str, codec: AnswerCodec) -> None:
    chance = random.Random(3)
    for _ in range(300):
        events = chance.sample(EVENTS, chance.randrange(len(EVENTS) + 1))
        wire = rendered(codec, events)
        last = parsed(codec, wire)[-1]
        ended = next((event for event in events if isinstance(event, (Ended, Failed))), None)
        if not isinstance(ended, Ended):
            assert isinstance(last, Failed)
        for frame in wire.split(b"\n\n"):
            payload = frame.partition(b"data: ")[2]
            if payload not in (b"", b"[DONE]"):
                orjson.loads(payload)


@pytest.mark.parametrize("parse", [CHAT.parse, RESPONSES.parse])
@pytest.mark.parametrize("body", [*GARBAGE.values(), b"{}", b"[]", b"null", b'{"choices":[]}', b'{"output":7}'])
def test_a_body_that_is_no_answer_is_a_failure(parse: Any, body: bytes) -> None:
    events = parse(body)
    assert isinstance(events[-1], (Failed, Ended))
    assert isinstance(events[-1], Failed) or body == b'{"output":7}'
