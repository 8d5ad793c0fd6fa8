"""A glance at a relayed answer says what reading all of it would say, or says that it must be read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman.conversation.events import Stopped, Used
from dragoman.dialects.openai_chat.answer_parse import parse_answer, peek_usage
from dragoman.engine.answer.translation import Translation

USAGE = {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}


def answer(message: dict[str, Any], finish: Any = "stop", **more: Any) -> bytes:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    return json.dumps({"id": "a", "choices": [choice], "usage": USAGE, **more}).encode()


READ = {
    "text": answer({"content": "hello"}),
    "text beyond ASCII": answer({"content": "größer – 日本"}).decode().encode(),
    "cut off": answer({"content": "hel"}, "length"),
    "a call": answer({"content": None, "tool_calls": [CALL]}, "tool_calls"),
    "a call that ends in stop": answer({"content": None, "tool_calls": [CALL]}),
    "no call after all": answer({"content": "x", "tool_calls": []}, "tool_calls"),
    "a refusal": answer({"content": None, "refusal": "no"}),
    "no refusal, and null for it and for calls": answer({"content": "x", "refusal": None, "tool_calls": None}),
    "an empty refusal": answer({"content": "x", "refusal": ""}),
    "no usage": answer({"content": "x"}, usage=None),
    "thinking charged and not counted": answer({"content": "x"}, usage=USAGE | {"total_tokens": 40}),
    "an error that is null": answer({"content": "x"}, error=None),
}
UNREAD = {
    "an error": b'{"error": {"message": "no"}}',
    "an error beside choices": answer({"content": "x"}, error={"message": "no"}),
    "a bad end": answer({"content": "x"}, "error"),
    "no end": answer({"content": "x"}, None),
    "a refusal that is no text": answer({"content": "x", "refusal": False}),
    "no choices": b'{"choices": []}',
    "not JSON": b"<html>",
    "half of it": answer({"content": "x"})[:40],
    "bad UTF-8": answer({"content": "x"}).replace(b'"x"', b'"\xff"'),
    "usage elsewhere": answer({"content": "x"}, x_groq={"usage": USAGE}),
}


@pytest.mark.parametrize("body", READ.values(), ids=READ)
def test_a_glance_sees_what_reading_sees(body: bytes) -> None:
    events = parse_answer(body)
    usage = next((event.usage for event in events if isinstance(event, Used)), None)
    stop = next(event.reason for event in events if isinstance(event, Stopped))
    assert peek_usage(body) == (usage, stop)


@pytest.mark.parametrize("body", UNREAD.values(), ids=UNREAD)
def test_what_is_odd_is_read(body: bytes) -> None:
    assert peek_usage(body) is None


@pytest.mark.parametrize("body", [*READ.values(), *UNREAD.values()], ids=[*READ, *UNREAD])
def test_a_relayed_answer_is_judged_as_a_read_one(body: bytes) -> None:
    relayed = Translation("openai-chat", "openai-chat")
    read = Translation("openai-chat", "openai-chat", keep=True)
    assert relayed.whole(body) == read.whole(body)
    assert (relayed.usage, relayed.stop, relayed.failure) == (read.usage, read.stop, read.failure)
