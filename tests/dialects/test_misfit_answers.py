"""An answer with slips of a server's, a number for an id or a null in a list, is read for what it means."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from dragoman.conversation.events import CallDelta, CallStarted, Event, Failed, TextDelta
from dragoman.dialects.dialect import AnswerContext
from dragoman.dialects.registry import dialect
from dragoman.engine.answer.translation import Translation
from dragoman.wire.aws_event_stream import render_frame

CALL = {"name": "f", "arguments": '{"a": 1}'}


def _data(*frames: Any) -> bytes:
    return b"".join([b"data: %b\n\n" % json.dumps(frame).encode() for frame in frames])


def _lines(*frames: Any) -> bytes:
    return b"".join([json.dumps(frame).encode() + b"\n" for frame in frames])


def _binary(*frames: tuple[str, Any]) -> bytes:
    return b"".join([render_frame({":event-type": kind}, json.dumps(body).encode()) for kind, body in frames])


def _chunk(delta: Any, **more: Any) -> Any:
    return {"id": "c", "choices": [{"index": 0, "delta": delta, **more}]}


def _block(index: Any, **block: Any) -> Any:
    return {"type": "content_block_start", "index": index, "content_block": block}


def _delta(index: Any, **delta: Any) -> Any:
    return {"type": "content_block_delta", "index": index, "delta": delta}


TEXT, JSON_TEXT = {"type": "text_delta", "text": "Hi"}, {"type": "input_json_delta", "partial_json": '{"a": 1}'}
END = {"type": "message_stop"}
GEMINI_CALL = {"functionCall": {"id": 5, "name": "f", "args": {"a": 1}}}
COHERE_CALL = {"id": "c1", "type": "function", "function": CALL}
STREAMS: dict[str, tuple[str, bytes]] = {
    "chat: an id as a number": (
        "openai-chat",
        _data(
            _chunk({"content": "Hi"}),
            _chunk({"tool_calls": [{"index": 0, "id": 5, "function": CALL}]}),
            _chunk({}, finish_reason="stop"),
        ),
    ),
    "chat: numbers as texts": (
        "openai-chat",
        _data(
            _chunk({"content": "Hi"}, index="0"),
            _chunk({"tool_calls": [{"index": "0", "id": "a", "function": CALL}]}),
            _chunk({}, finish_reason="stop"),
        ),
    ),
    "chat: one call in no list": (
        "openai-chat",
        _data(
            _chunk({"content": "Hi", "tool_calls": {}}),
            _chunk({"tool_calls": {"index": 0, "id": "a", "function": CALL}}, finish_reason=0),
        ),
    ),
    "responses: numbers as texts": (
        "openai-responses",
        _data(
            {"type": "response.output_text.delta", "output_index": "0", "content_index": "0", "delta": "Hi"},
            {
                "type": "response.output_item.done",
                "output_index": "1",
                "item": {"type": "function_call", "call_id": "a", **CALL},
            },
            {"type": "response.completed", "response": {"id": "r", "status": "completed", "output": []}},
        ),
    ),
    "anthropic: numbers as texts": (
        "anthropic",
        _data(
            _delta("0", **TEXT),
            _block("1", type="tool_use", id="a", name="f", input={}),
            _delta("1", **JSON_TEXT),
            END,
        ),
    ),
    "gemini: an id as a number, a null among parts": (
        "gemini",
        _data({"candidates": [{"content": {"parts": [None, {"text": "Hi"}, GEMINI_CALL]}, "finishReason": "STOP"}]}),
    ),
    "ollama: an id as a number, a word as a flag": (
        "ollama",
        _lines(
            {"message": {"content": "Hi"}, "done": "false"},
            {
                "message": {"content": "", "tool_calls": [{"id": 5, "function": {"name": "f", "arguments": {"a": 1}}}]},
                "done": "true",
            },
        ),
    ),
    "cohere: numbers as texts, one call in a list": (
        "cohere",
        _data(
            {"type": "content-delta", "index": "0", "delta": {"message": {"content": {"text": "Hi"}}}},
            {"type": "tool-call-start", "index": "0", "delta": {"message": {"tool_calls": [COHERE_CALL]}}},
            {"type": "message-end", "delta": {"finish_reason": "TOOL_CALL"}},
        ),
    ),
    "bedrock: a number as a text": (
        "bedrock",
        _binary(
            ("contentBlockDelta", {"contentBlockIndex": "0", "delta": {"text": "Hi"}}),
            ("contentBlockStart", {"contentBlockIndex": 1, "start": {"toolUse": {"toolUseId": "a", "name": "f"}}}),
            ("contentBlockDelta", {"contentBlockIndex": "1", "delta": {"toolUse": {"input": '{"a": 1}'}}}),
            ("contentBlockStop", {"contentBlockIndex": "1"}),
            ("messageStop", {"stopReason": "tool_use"}),
        ),
    ),
}
MESSAGE = {"role": "assistant", "content": "Hi", "tool_calls": [{"id": 5, "type": "function", "function": CALL}]}
CLAUDE_TEXT = {"type": "text", "text": "Hi"}
CLAUDE: dict[str, Any] = {
    "content": [CLAUDE_TEXT, {"type": "tool_use", "id": "a", "name": "f", "input": {"a": 1}}],
    "x": 0,
}
WHOLE: dict[str, tuple[str, bytes]] = {
    "chat: an id as a number": (
        "openai-chat",
        json.dumps({"id": "c", "choices": [{"message": MESSAGE, "finish_reason": 1}]}).encode(),
    ),
    "anthropic: a null among blocks": (
        "anthropic",
        json.dumps({**CLAUDE, "content": [None, *CLAUDE["content"]]}).encode(),
    ),
    "anthropic: no number": ("anthropic", json.dumps(CLAUDE).replace('"x": 0', '"x": NaN').encode()),
    "gemini: an id as a number, a null among parts": (
        "gemini",
        json.dumps({"candidates": [{"content": {"parts": [None, {"text": "Hi"}, GEMINI_CALL]}}]}).encode(),
    ),
}


def _said(events: list[Event]) -> tuple[list[bytes], list[str], list[Any]]:
    """The texts, the names of the calls, and their arguments."""
    assert not [event for event in events if isinstance(event, Failed)], events
    return (
        [event.literal for event in events if isinstance(event, TextDelta)],
        [event.name for event in events if isinstance(event, CallStarted)],
        [json.loads(json.loads(event.literal)) for event in events if isinstance(event, CallDelta)],
    )


@pytest.mark.parametrize("slip", STREAMS)
def test_a_slip_in_a_stream_loses_nothing(slip: str) -> None:
    name, wire = STREAMS[slip]
    parser = dialect(name).answers.stream_parser(None)
    assert _said([*parser.feed(wire), *parser.close()]) == ([b'"Hi"'], ["f"], [{"a": 1}])
    assert parser.skipped == 0


@pytest.mark.parametrize("slip", WHOLE)
def test_a_slip_in_a_whole_answer_loses_nothing(slip: str) -> None:
    name, wire = WHOLE[slip]
    parse: Callable[..., list[Event]] = dialect(name).answers.parse
    assert _said(parse(wire)) == ([b'"Hi"'], ["f"], [{"a": 1}])


@pytest.mark.parametrize("nothing", ["null", "{}", '""', "false", "[]"])
@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("openai-chat", '{"id":"c","choices":[{"index":0,"message":{"content":"Hi"}}],"error":%s}'),
        ("anthropic", '{"content":[{"type":"text","text":"Hi"}],"error":%s}'),
        ("gemini", '{"candidates":[{"content":{"parts":[{"text":"Hi"}]},"finishReason":"STOP"}],"error":%s}'),
        ("ollama", '{"message":{"content":"Hi"},"done":true,"error":%s}'),
    ],
)
def test_an_error_that_says_nothing_is_none(name: str, body: str, nothing: str) -> None:
    assert _said(dialect(name).answers.parse((body % nothing).encode()))[0] == [b'"Hi"']


CHOICE: dict[str, Any] = {"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}
COUNTS = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
CHAT = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [CHOICE], "usage": COUNTS}
TOKENS = {"input_tokens": 7, "output_tokens": 3}
HEAD: dict[str, Any] = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_sequence": None}
CLAUDES = {**HEAD, "content": [CLAUDE_TEXT], "stop_reason": "end_turn", "usage": TOKENS}
CALLED = {"role": "assistant", "content": None, "tool_calls": [{"id": 5, "type": "function", "function": CALL}]}


def _anew(name: str, body: Any) -> Any:
    """The answer as clients of the provider's own dialect get it."""
    wire = body if isinstance(body, bytes) else json.dumps(body).encode()
    return json.loads(Translation(name, name, context=AnswerContext(created=1), completes=True).whole(wire))


@pytest.mark.parametrize(
    ("choice", "meant"),
    [
        ({"finish_reason": None}, {"finish_reason": "stop"}),
        ({"message": {"role": "assistant", "content": {"a": 1}}}, {"content": '{"a": 1}'}),
        ({"message": {"role": "assistant", "content": "Hi", "tool_calls": {}}}, {"content": "Hi"}),
        ({"message": CALLED, "finish_reason": None}, {"finish_reason": "tool_calls", "id": "5"}),
    ],
)
def test_a_chat_answer_that_clients_cannot_read_is_written_anew(choice: Any, meant: dict[str, str]) -> None:
    (told,) = _anew("openai-chat", {**CHAT, "choices": [{**CHOICE, **choice}]})["choices"]
    calls = told["message"].get("tool_calls") or [{}]
    found = {**told, "content": told["message"]["content"], "id": calls[0].get("id")}
    assert {member: found[member] for member in meant} == meant


@pytest.mark.parametrize("letter", [b"\n", b"\xff"])
def test_text_that_is_no_json_text_is_mended(letter: bytes) -> None:
    told = _anew("openai-chat", json.dumps(CHAT).encode().replace(b"Hi", b"H" + letter))
    assert told["choices"][0]["message"]["content"] == "H" + letter.decode("utf-8", "replace")


@pytest.mark.parametrize(
    ("members", "meant"),
    [
        ({"usage": None}, {"usage": (0, 0)}),
        ({"content": None}, {"content": []}),
        ({"content": "Hi"}, {"content": ["Hi"]}),
        ({"stop_reason": None}, {"stop_reason": "end_turn"}),
        (
            {"content": [{**CLAUDE["content"][1], "input": '{"a": 1}'}]},
            {"content": [{"a": 1}], "stop_reason": "tool_use"},
        ),
        ({"content": [{**CLAUDE["content"][1], "input": None}]}, {"content": [{}]}),
    ],
)
def test_a_message_that_clients_cannot_read_is_written_anew(members: Any, meant: dict[str, Any]) -> None:
    told = _anew("anthropic", {**CLAUDES, **members})
    told["usage"] = told["usage"]["input_tokens"], told["usage"]["output_tokens"]
    told["content"] = [block.get("text", block.get("input")) for block in told["content"]]
    assert {member: told[member] for member in meant} == meant


@pytest.mark.parametrize(("name", "body"), [("openai-chat", CHAT), ("anthropic", CLAUDES)])
def test_an_answer_that_clients_can_read_keeps_its_members(name: str, body: Any) -> None:
    wire = json.dumps({**body, "more": 1}).encode().replace(b"1}", b"1.50}")
    assert b'"more": 1.50' in Translation(name, name, completes=True).whole(wire)


ITEM = {"type": "message", "id": "i", "role": "assistant", "content": [{"type": "output_text", "text": "Hi"}]}
RESPONSE = {"id": "r", "object": "response", "created_at": 1, "model": "m", "status": "completed", "output": [ITEM]}


@pytest.mark.parametrize(
    ("members", "meant"),
    [
        ({"output": [{**ITEM, "content": "Hi"}]}, {"text": "Hi"}),
        (
            {"output": [{"type": "function_call", "call_id": "a", **CALL, "arguments": {"a": 1}}]},
            {"arguments": '{"a": 1}'},
        ),
        ({"usage": {"prompt_tokens": 7, "completion_tokens": 3}}, {"text": "Hi", "tokens": 7}),
    ],
)
def test_a_response_that_clients_cannot_read_is_written_anew(members: Any, meant: dict[str, Any]) -> None:
    told = _anew("openai-responses", {**RESPONSE, **members})
    (item,) = told["output"]
    found = {**item, **(item.get("content") or [{}])[0], "tokens": (told["usage"] or {}).get("input_tokens")}
    assert {member: found[member] for member in meant} == meant


def _item(kind: str, index: int, **item: Any) -> Any:
    return {"type": f"response.output_item.{kind}", "output_index": index, "item": item}


@pytest.mark.parametrize("index", [0, 3])
def test_items_under_one_index_are_told_once(index: int) -> None:
    """Servers count the calls apart from the message, or not at all; the end repeats all of them in their order."""
    calls = [{"type": "function_call", "id": f"fc_{at}", "call_id": f"call_{at}", **CALL} for at in (1, 2)]
    wire = _data(
        _item("added", index, **ITEM | {"content": []}),
        {"type": "response.output_text.delta", "output_index": index, "content_index": 0, "delta": "Hi"},
        _item("done", index, **ITEM),
        *(_item(kind, index, **call) for call in calls for kind in ("added", "done")),
        {"type": "response.completed", "response": {**RESPONSE, "output": [ITEM, *calls]}},
    )
    parser = dialect("openai-responses").answers.stream_parser(None)
    assert _said([*parser.feed(wire), *parser.close()]) == ([b'"Hi"'], ["f", "f"], [{"a": 1}, {"a": 1}])


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("anthropic", {"content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}] * 2}),
        ("gemini", {"candidates": [{"content": {"parts": [{"functionCall": {"id": "a", "name": "f"}}] * 2}}]}),
        ("openai-responses", {**RESPONSE, "output": [{"type": "function_call", "call_id": "a", **CALL}] * 2}),
    ],
)
def test_calls_with_one_id_get_two(name: str, body: Any) -> None:
    events = Translation(name, "openai-chat", context=AnswerContext(id="r")).read_whole(json.dumps(body).encode())
    ids = [event.id for event in events if isinstance(event, CallStarted)]
    assert len({*ids}) == len(ids) == 2
    assert ids[0] == "a"
