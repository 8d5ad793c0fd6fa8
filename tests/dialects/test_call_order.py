"""Calls of a stream come one after another, whatever order their pieces have (K23)."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.event_streams import read_events
from tests.sdk_readers import Loopback

from dragoman.conversation.changes import NOTHING_TO_UNDO
from dragoman.conversation.events import CallDelta, CallEnded, CallStarted, Ended, Event, Failed, Stopped, TextDelta
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.conversation.literals import quote, unquote
from dragoman.conversation.replies import Stop
from dragoman.dialects.anthropic.stream import AnthropicStreamRenderer
from dragoman.dialects.dialect import AnswerContext
from dragoman.dialects.openai_chat.stream import ChatStreamRenderer
from dragoman.dialects.shared import call_order
from dragoman.dialects.shared.call_order import CallOrder
from dragoman.engine.answer.translation import Translation


def call(part: int, *pieces: str, ended: bool = True) -> list[Event]:
    events: list[Event] = [CallStarted(0, part, f"c{part}", "f")]
    events += [CallDelta(0, part, quote(piece)) for piece in pieces]
    return [*events, CallEnded(0, part)] if ended else events


def text(part: int, *pieces: str) -> list[Event]:
    return [TextDelta(0, part, quote(piece)) for piece in pieces]


@st.composite
def interleaved(draw: st.DrawFn) -> list[Event]:
    """Texts and calls, their pieces in any order, some calls without an end."""
    parts = draw(
        st.lists(st.tuples(st.booleans(), st.lists(st.text(max_size=3), max_size=4), st.booleans()), max_size=6)
    )
    queues = [
        call(number, *pieces, ended=ended) if is_call else text(number, *pieces)
        for number, (is_call, pieces, ended) in enumerate(parts)
    ]
    mixed: list[Event] = []
    while any(queues):
        mixed.append(draw(st.sampled_from([queue for queue in queues if queue])).pop(0))
    return [*mixed, Stopped(0, Stop.END), Ended()]


def by_part(events: list[Event]) -> dict[int, list[Event]]:
    found: dict[int, list[Event]] = defaultdict(list)
    for event in events:
        if hasattr(event, "part") and not isinstance(event, CallEnded):
            found[event.part].append(event)
    return found


@pytest.mark.slow
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(interleaved())
def test_no_two_calls_overlap_and_no_piece_is_lost(events: list[Event]) -> None:
    order = CallOrder()
    ordered = [one for event in events for one in order.take(event)]
    given = by_part(events)
    for part, (first, *pieces) in given.items():
        if isinstance(first, CallStarted) and all(piece == CallDelta(0, part, b'""') for piece in pieces):
            given[part].append(CallDelta(0, part, b'"{}"'))
    assert by_part(ordered) == given
    current: int | None = None
    for event in ordered:
        if isinstance(event, CallStarted):
            assert current is None
            current = event.part
        elif current is not None:
            assert getattr(event, "part", None) == current, "another part came while a call was open"
            current = None if isinstance(event, CallEnded) else current
    assert current is None, "a call was never ended"
    assert ordered[-2:] == events[-2:]


@pytest.mark.slow
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(interleaved())
def test_blocks_never_overlap_and_nothing_is_lost_from_them(events: list[Event]) -> None:
    renderer = AnthropicStreamRenderer(AnswerContext(model="m"))
    wire = b"".join(renderer.render([event]) for event in events) + renderer.close()
    told = read_events(wire)
    current: int | None = None
    for frame in told:
        if frame["type"] == "content_block_start":
            assert current is None, "a block was opened before the last one was closed"
            current = frame["index"]
        elif frame["type"].startswith("content_block"):
            assert frame["index"] == current
            current = None if frame["type"] == "content_block_stop" else current
    words = "".join(frame["delta"].get("text", "") for frame in told if frame["type"] == "content_block_delta")
    assert sorted(words) == sorted("".join(unquote(one.literal) for one in events if isinstance(one, TextDelta)))
    blocks = [frame["content_block"] for frame in told if frame["type"] == "content_block_start"]
    calls = sorted(block["id"] for block in blocks if block["type"] == "tool_use")
    assert calls == sorted(event.id for event in events if isinstance(event, CallStarted))
    assert told[-1]["type"] == "message_stop"


SILENT = [CallStarted(0, 0, "c1", "f"), CallEnded(0, 0), Stopped(0, Stop.CALLS), Ended()]
"""As Bedrock streams a call without arguments."""


def test_arguments_of_which_nothing_is_said_are_an_object(sdks: Loopback) -> None:
    renderer = ChatStreamRenderer(AnswerContext(model="m"))
    sdks.serve(renderer.render(SILENT) + renderer.close(), True)
    chunks = list(sdks.openai.chat.completions.create(model="m", messages=[], stream=True))
    pieces = [call for chunk in chunks for call in chunk.choices[0].delta.tool_calls or ()]
    assert "".join((call.function and call.function.arguments) or "" for call in pieces) == "{}"


def test_too_much_that_waits_is_a_broken_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_order, "LIMIT", 1000)
    order = CallOrder()
    list(order.take(CallStarted(0, 0, "c", "f")))
    found = [one for number in range(20) for one in order.take(TextDelta(0, 1, quote("x" * 90)))]
    assert [type(one) for one in found][:1] == [Failed]
    assert list(order.take(Failed(Failure(FailureKind.SERVER, "no")))) != []


def chat_stream(*deltas: dict[str, Any]) -> bytes:
    chunks = [{"id": "x", "choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    chunks.append({"id": "x", "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
    return b"".join(b"data: " + orjson.dumps(chunk) + b"\n\n" for chunk in chunks) + b"data: [DONE]\n\n"


def piece(index: int, arguments: str, name: str = "") -> dict[str, Any]:
    function = {"name": name, "arguments": arguments} if name else {"arguments": arguments}
    return {"tool_calls": [{"index": index, **({"id": f"c{index}"} if name else {}), "function": function}]}


PARALLEL = {
    "one after another": (piece(0, '{"a"', "f"), piece(0, ":1}"), piece(1, '{"b"', "g"), piece(1, ":2}")),
    "in turn": (piece(0, '{"a"', "f"), piece(1, '{"b"', "g"), piece(0, ":1}"), piece(1, ":2}")),
}


@pytest.mark.parametrize("deltas", PARALLEL.values(), ids=PARALLEL)
def test_a_client_with_one_current_item_gets_the_right_arguments(deltas: tuple[dict[str, Any], ...]) -> None:
    translation = Translation("openai-chat", "openai-responses", NOTHING_TO_UNDO, AnswerContext(model="m"))
    wire = translation.feed(chat_stream(*deltas)) + translation.close()
    got: dict[str, str] = {}
    current = ""
    for event in read_events(wire):
        if event["type"] == "response.output_item.added":
            assert not current, "a second item was opened before the first was done"
            current = event["item"]["name"]
        elif event["type"] == "response.function_call_arguments.delta":
            got[current] = got.get(current, "") + event["delta"]
        elif event["type"] == "response.output_item.done":
            current = ""
    assert got == {"f": '{"a":1}', "g": '{"b":2}'}


def chat_deltas(*events: Event) -> list[Any]:
    renderer = ChatStreamRenderer(AnswerContext(model="m"))
    chunks = read_events(renderer.render(events) + renderer.close())
    return [(choice["index"], choice["delta"]) for chunk in chunks for choice in chunk["choices"]]


def arguments_in_order(deltas: list[Any]) -> list[Any]:
    calls = [(index, call) for index, delta in deltas for call in delta.get("tool_calls", ())]
    return [(index, call["index"], call["function"]["arguments"]) for index, call in calls]


def test_a_chat_client_hears_one_call_to_its_end_before_the_next() -> None:
    """OpenAI's stream helper parses the arguments of a call as soon as another one starts (K23)."""
    first, second = call(0, '{"a"', ":1}"), call(1, '{"b"', ":2}")
    mixed = [event for pair in zip(first, second, strict=True) for event in pair]
    got = arguments_in_order(chat_deltas(*mixed, Stopped(0, Stop.CALLS), Ended()))
    assert got == [(0, 0, ""), (0, 0, '{"a"'), (0, 0, ":1}"), (0, 1, ""), (0, 1, '{"b"'), (0, 1, ":2}")]


def test_the_choices_of_a_chat_answer_do_not_wait_for_each_other() -> None:
    events = [
        CallStarted(0, 0, "c0", "f"),
        CallStarted(1, 0, "c1", "f"),
        CallDelta(1, 0, quote("{}")),
        CallDelta(0, 0, quote("{}")),
        Stopped(1, Stop.CALLS),
        Stopped(0, Stop.CALLS),
        Ended(),
    ]
    got = arguments_in_order(chat_deltas(*events))
    assert got == [(0, 0, ""), (1, 0, ""), (1, 0, "{}"), (0, 0, "{}")]


def test_calls_that_never_ended_are_heard_when_the_answer_ends() -> None:
    events = [*call(0, "{}", ended=False), *call(1, "{}", ended=False), Ended()]
    assert arguments_in_order(chat_deltas(*events)) == [(0, 0, ""), (0, 0, "{}"), (0, 1, ""), (0, 1, "{}")]
