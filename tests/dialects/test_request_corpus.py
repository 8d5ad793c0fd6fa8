"""Recorded requests of all dialects: read, written anew and amended without a loss."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from msgspec.structs import replace
from tests.corpus import sample_of
from tests.recorded_answers import RECORDED

from dragoman.conversation.conversation import Ask
from dragoman.conversation.literals import quote
from dragoman.conversation.messages import Message, Role
from dragoman.conversation.parts import Text
from dragoman.dialects.dialect import Dialect, RenderOptions
from dragoman.dialects.registry import dialect

every_dialect = pytest.mark.parametrize("dialect", [dialect(name) for name in RECORDED], ids=RECORDED)
ANOTHER = "another-model"


def recorded(dialect: Dialect) -> Iterator[tuple[str, dict[str, Any], bytes]]:
    for exchange in sample_of(dialect.name, about=250):
        request = exchange["request"]
        body = request["body"] if request else None
        if isinstance(body, dict) and dialect.list_name in body:
            yield exchange["id"], body, orjson.dumps(body)


def told(ask: Ask) -> RenderOptions:
    return RenderOptions(ask.model or "", ask.stream, ask.include_usage)


@every_dialect
def test_what_is_written_anew_reads_back_equal(dialect: Dialect) -> None:
    count = 0
    for name, _, wire in recorded(dialect):
        ask = dialect.requests.parse(wire)
        again = dialect.requests.parse(dialect.requests.render(ask.conversation, told(ask)))
        assert again.conversation == ask.conversation, name
        count += 1
    assert count > 20


@every_dialect
def test_an_unchanged_request_goes_out_as_the_clients_own_bytes(dialect: Dialect) -> None:
    for name, _, wire in recorded(dialect):
        ask = dialect.requests.parse(wire)
        assert dialect.requests.render(ask.conversation, RenderOptions(ask.model or "", ask.stream), ask) == wire, name


@every_dialect
def test_another_model_leaves_every_other_member_alone(dialect: Dialect) -> None:
    for name, body, wire in recorded(dialect):
        ask = dialect.requests.parse(wire)
        amended = orjson.loads(dialect.requests.render(ask.conversation, RenderOptions(ANOTHER, ask.stream), ask))
        told_in_body = not dialect.model_in_path or "model" in body
        assert amended == (body | {"model": ANOTHER} if told_in_body else body), name


@every_dialect
def test_one_more_message_leaves_the_other_items_alone(dialect: Dialect) -> None:
    more = Message(Role.USER, (Text(quote("one more")),))
    for name, body, wire in recorded(dialect):
        if not isinstance(body[dialect.list_name], list):
            continue
        ask = dialect.requests.parse(wire)
        longer = replace(ask.conversation, messages=(*ask.conversation.messages, more))
        amended = orjson.loads(dialect.requests.render(longer, RenderOptions(ask.model or "", ask.stream), ask))
        assert amended[dialect.list_name][:-1] == body[dialect.list_name], name


@every_dialect
def test_every_message_and_part_has_its_place_in_the_request(dialect: Dialect) -> None:
    for name, body, wire in recorded(dialect):
        for message in dialect.requests.parse(wire).conversation.messages:
            assert resolves(body, dialect.requests.locate(message)), (name, message)
            pointers = dialect.requests.locate_parts(message)
            assert len(pointers) == len(message.parts), name
            assert all(pointer.startswith("/") for pointer in pointers), name


def resolves(body: Any, pointer: str) -> bool:
    for step in pointer.split("/")[1:]:
        if isinstance(body, str):
            return True  # one text stands for the whole list
        try:
            body = body[int(step)] if isinstance(body, list) else body[step]
        except (LookupError, ValueError):
            return False
    return True
