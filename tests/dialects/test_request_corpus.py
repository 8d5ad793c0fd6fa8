"""Recorded requests of all four dialects: read, written anew and amended without a loss."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import orjson
import pytest
from tests.corpus import exchanges, sampled

from dragoman.conversation.conversation import Ask
from dragoman.conversation.literals import quote
from dragoman.conversation.messages import Message, Role
from dragoman.conversation.parts import Text
from dragoman.dialects.anthropic import request as anthropic
from dragoman.dialects.gemini import request as gemini
from dragoman.dialects.openai_chat import request as chat
from dragoman.dialects.openai_responses import request as responses
from dragoman.dialects.rendering import RenderOptions

DIALECTS = [
    pytest.param(chat, "*openai-chat.jsonl", id="openai-chat"),
    pytest.param(anthropic, "*.anthropic.jsonl", id="anthropic"),
    pytest.param(gemini, "*.gemini.jsonl", id="gemini"),
    pytest.param(responses, "*openai-responses.jsonl", id="openai-responses"),
]
ANOTHER = "another-model"
ONE_IN = 3


def recorded(codec: ModuleType, pattern: str) -> Iterator[tuple[str, dict[str, Any], bytes]]:
    for exchange in exchanges(pattern):
        request = exchange["request"]
        body = request["body"] if request else None
        if isinstance(body, dict) and codec.LIST in body and sampled(exchange["id"], ONE_IN):
            yield exchange["id"], body, orjson.dumps(body)


def told(ask: Ask) -> RenderOptions:
    return RenderOptions(ask.model or "", ask.stream, ask.include_usage)


@pytest.mark.parametrize(("codec", "pattern"), DIALECTS)
def test_what_is_written_anew_reads_back_equal(codec: ModuleType, pattern: str) -> None:
    count = 0
    for name, _, wire in recorded(codec, pattern):
        ask = codec.parse_request(wire)
        again = codec.parse_request(codec.render_request(ask.conversation, told(ask)))
        assert again.conversation == ask.conversation, name
        count += 1
    assert count > 100


@pytest.mark.parametrize(("codec", "pattern"), DIALECTS)
def test_an_unchanged_request_goes_out_as_the_clients_own_bytes(codec: ModuleType, pattern: str) -> None:
    for name, _, wire in recorded(codec, pattern):
        ask = codec.parse_request(wire)
        assert codec.render_request(ask.conversation, RenderOptions(ask.model or "", ask.stream), ask) == wire, name


@pytest.mark.parametrize(("codec", "pattern"), DIALECTS)
def test_another_model_leaves_every_other_member_alone(codec: ModuleType, pattern: str) -> None:
    for name, body, wire in recorded(codec, pattern):
        ask = codec.parse_request(wire)
        amended = orjson.loads(codec.render_request(ask.conversation, RenderOptions(ANOTHER, ask.stream), ask))
        told_in_body = codec is not gemini or "model" in body
        assert amended == (body | {"model": ANOTHER} if told_in_body else body), name


@pytest.mark.parametrize(("codec", "pattern"), DIALECTS)
def test_one_more_message_leaves_the_other_items_alone(codec: ModuleType, pattern: str) -> None:
    more = Message(Role.USER, (Text(quote("one more")),))
    for name, body, wire in recorded(codec, pattern):
        if not isinstance(body[codec.LIST], list):
            continue
        ask = codec.parse_request(wire)
        longer = ask.conversation.but(messages=(*ask.conversation.messages, more))
        amended = orjson.loads(codec.render_request(longer, RenderOptions(ask.model or "", ask.stream), ask))
        assert amended[codec.LIST][:-1] == body[codec.LIST], name


@pytest.mark.parametrize(("codec", "pattern"), DIALECTS)
def test_every_message_and_part_has_its_place_in_the_request(codec: ModuleType, pattern: str) -> None:
    for name, body, wire in recorded(codec, pattern):
        for message in codec.parse_request(wire).conversation.messages:
            assert resolves(body, codec.locate(message, None)), (name, message)
            for index in range(len(message.parts)):
                assert codec.locate(message, index).startswith("/"), name


def resolves(body: Any, pointer: str) -> bool:
    for step in pointer.split("/")[1:]:
        if isinstance(body, str):
            return True  # one text stands for the whole list
        try:
            body = body[int(step)] if isinstance(body, list) else body[step]
        except (LookupError, ValueError):
            return False
    return True
