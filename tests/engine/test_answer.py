"""`adapted.answer` and `adapted.stream`: what a provider said, in the dialect of the request, for every pair."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.recorded_answers import cut

import dragoman
from dragoman.conversation.collect import collect
from dragoman.conversation.events import Ended, Failed, Started, TextDelta
from dragoman.conversation.failures import FailureKind
from dragoman.conversation.parts import Call, Text
from dragoman.conversation.replies import Reply

REQUESTS: dict[str, dict[str, Any]] = {
    "openai-chat": {"model": "m", "messages": [{"role": "user", "content": "Hi"}]},
    "openai-responses": {"model": "m", "input": "Hi"},
    "anthropic": {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]},
    "gemini": {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]},
}
TARGET = "anthropic/claude-sonnet-4-5"
WHOLE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude",
    "content": [{"type": "text", "text": "Well."}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 3, "output_tokens": 2},
}
STREAM = b"".join(
    b"event: %b\ndata: %b\n\n" % (event["type"].encode(), json.dumps(event).encode())
    for event in (
        {"type": "message_start", "message": {**WHOLE, "content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "We"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "ll."}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
        {"type": "message_stop"},
    )
)


def adapted(source: str, target: str = TARGET, **more: Any) -> dragoman.AdaptedRequest:
    return dragoman.adapt({**REQUESTS[source], **more}, source=source, target=target)


@pytest.mark.parametrize("source", REQUESTS)
def test_a_whole_answer_in_every_dialect(source: str) -> None:
    answer = adapted(source).answer(json.dumps(WHOLE).encode())
    assert (answer.status, answer.failure, answer.stop) == (200, None, "end")
    assert "Well." in answer.body.decode()
    assert answer.usage is not None
    assert (answer.usage.input, answer.usage.output) == (3, 2)
    assert answer.reply is not None
    (choice,) = answer.reply.choices
    assert [part.text for part in choice.parts if isinstance(part, Text)] == ["Well."]
    assert answer.reply is answer.reply


def test_the_same_dialect_is_the_same_bytes() -> None:
    body = json.dumps(WHOLE, indent=3).encode()
    answer = adapted("anthropic").answer(body)
    assert answer.body is body
    assert answer.reply is not None


@pytest.mark.parametrize("size", [1, 7, 4096])
@pytest.mark.parametrize("source", REQUESTS)
def test_a_stream_gives_the_events_of_the_whole_answer(source: str, size: int) -> None:
    compiled = adapted(source)
    stream = compiled.stream()
    out = b"".join(map(stream.feed, cut(STREAM, size))) + stream.finish()
    assert stream.failure is None
    assert (stream.stop, stream.usage is not None and stream.usage.output) == ("end", 2)
    assert b'"ll."' in out
    events = list(compiled.stream().events(cut(STREAM, size)))
    assert isinstance(events[0], Started)
    assert isinstance(events[-1], Ended)
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "Well."
    folded, whole = collect(events), compiled.answer(json.dumps(WHOLE).encode()).reply
    assert isinstance(folded, Reply)
    assert whole is not None
    assert folded.choices == whole.choices


async def test_events_of_an_asynchronous_client() -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for chunk in cut(STREAM, 50):
            yield chunk

    compiled = adapted("openai-chat")
    events = [event async for event in compiled.stream().async_events(chunks())]
    assert events == list(compiled.stream().events([STREAM]))


def test_a_stream_that_breaks_off_is_never_a_short_answer() -> None:
    compiled = adapted("openai-chat")
    stream = compiled.stream()
    out = stream.feed(STREAM[: len(STREAM) // 2]) + stream.finish()
    assert stream.failure is not None
    assert stream.failure.kind is FailureKind.BROKEN_STREAM
    assert b'"error":{"message"' in out
    assert b'"finish_reason":"stop"' not in out
    assert isinstance(list(compiled.stream().events([STREAM[:300]]))[-1], Failed)


def test_a_connection_that_breaks_is_told_to_the_client() -> None:
    stream = adapted("openai-chat").stream()
    stream.feed(STREAM[:300])
    assert b"the cable was cut" in stream.fail("the cable was cut")
    assert stream.failure is not None


REFUSED = json.dumps({"type": "error", "error": {"type": "invalid_request_error", "message": "No."}}).encode()


@pytest.mark.parametrize("source", REQUESTS)
def test_a_refusal_in_every_dialect(source: str) -> None:
    answer = adapted(source).answer(REFUSED, 400)
    assert (answer.status, answer.reply, answer.reasoning_state) == (400, None, {})
    assert answer.failure is not None
    assert (answer.failure.kind, answer.failure.message) == (FailureKind.BAD_REQUEST, "No.")
    assert answer.json["error"]["message"] == "No."


def test_headers_of_a_refusal_count() -> None:
    answer = adapted("openai-chat").answer(b"", 429, {"Retry-After": "7"})
    assert answer.failure is not None
    assert (answer.status, answer.failure.retry_after, answer.headers["retry-after"]) == (429, 7, "7")


def test_a_context_that_is_too_long_has_numbers() -> None:
    body = {"error": {"type": "invalid_request_error", "message": "prompt is too long"}}
    answer = adapted("openai-chat").answer(json.dumps(body).encode(), 400)
    assert answer.failure is not None
    assert answer.failure.limit == 200_000
    assert "estimate" in answer.failure.message


def test_garbage_with_a_good_status_is_a_failure() -> None:
    answer = adapted("openai-chat").answer(b"<html>")
    assert answer.status >= 500
    assert answer.failure is not None


TOOL = {"type": "function", "function": {"name": "a.b", "parameters": {"type": "object", "properties": {}}}}


def test_calls_bear_the_clients_names() -> None:
    compiled = adapted("openai-chat", tools=[TOOL])
    call = {"type": "tool_use", "id": "toolu_1", "name": compiled.json["tools"][0]["name"], "input": {"x": 1}}
    answer = compiled.answer(json.dumps({**WHOLE, "content": [call], "stop_reason": "tool_use"}).encode())
    assert compiled.json["tools"][0]["name"] != "a.b"
    assert answer.json["choices"][0]["message"]["tool_calls"][0]["function"]["name"] == "a.b"
    assert answer.reply is not None
    assert [part.name for part in answer.reply.choices[0].parts if isinstance(part, Call)] == ["a.b"]


def gemini_call(request: dict[str, Any]) -> str:
    """The id of a call to which the provider gave none."""
    part = {"functionCall": {"name": "f", "args": {}}}
    body = {"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}]}
    compiled = dragoman.adapt(request, target="gemini/gemini-2.5-flash")
    answer = compiled.answer(json.dumps(body).encode())
    assert answer.reply is not None
    made = answer.json["choices"][0]["message"]["tool_calls"][0]["id"]
    assert [part.id for part in answer.reply.choices[0].parts if isinstance(part, Call)] == [made]
    return str(made)


def test_ids_that_are_made_up_are_those_of_the_request() -> None:
    """Q11."""
    one, other = REQUESTS["openai-chat"], {"model": "m", "messages": [{"role": "user", "content": "Ho"}]}
    assert gemini_call(one) == gemini_call(one)
    assert gemini_call(one) != gemini_call(other)


def test_what_the_dialect_repeats_can_be_given() -> None:
    answer = adapted("openai-chat").answer(json.dumps({**WHOLE, "id": None}).encode(), id="chatcmpl-9", created=77)
    assert answer.json["created"] == 77


DONE = b"data: [DONE]\n\n"
HOLLOW = b'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[]}\n\n'
BROKEN = b'data: {"error":{"message":"Overloaded.","type":"server_error"}}\n\n'


@pytest.mark.parametrize("wire", [b"", DONE, HOLLOW + DONE])
def test_a_stream_without_an_answer_ends_with_one_error(wire: bytes) -> None:
    asked = {"messages": [{"role": "user", "content": "Hi"}], "stream": True}
    stream = dragoman.adapt(asked, target="openai/gpt-4o").stream()
    out = (stream.feed(wire) if wire else b"") + stream.finish()
    assert out.startswith(b'data: {"error":')
    assert out.count(DONE) == 1
    assert out.endswith(DONE)


def test_an_error_of_the_providers_goes_through() -> None:
    asked = {"messages": [{"role": "user", "content": "Hi"}], "stream": True}
    stream = dragoman.adapt(asked, target="openai/gpt-4o").stream()
    out = stream.feed(BROKEN + DONE) + stream.finish()
    error = json.loads(out.splitlines()[0][6:])["error"]
    assert error.pop("metadata")["provider_name"] == "openai"
    assert error == json.loads(BROKEN[6:])["error"]
    assert out.endswith(DONE)
