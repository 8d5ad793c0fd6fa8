"""The one reader of a dialect: what its strict decode takes, its schema takes too, and each item is read by itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import msgspec
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.corpus import sample_of
from tests.dialects.plain_shapes import LONG_MESSAGES
from tests.dialects.plain_shapes import SHAPES as PLAIN_SHAPES
from tests.recorded_answers import RECORDED
from tests.shapes.chooser import seeded
from tests.shapes.spoiled import spoil
from tests.strategies import SHAPES, conversations, request
from tests.targets import EXAMPLES, FULL

from dragoman.conversation import traits
from dragoman.conversation.traits import observe_messages
from dragoman.dialects.registry import dialect
from dragoman.errors import DragomanError

READERS = [name for name in SHAPES if find_spec(f"dragoman.dialects.{name.replace('-', '_')}.schema")]
every_dialect = pytest.mark.parametrize("name", READERS)
LISTS = {name: dialect(name).list_name for name in READERS}
SWEEP = pytest.mark.parametrize("seeds", [40, pytest.param(10_000 if FULL else 400, marks=pytest.mark.slow)])
SPOILED = pytest.mark.parametrize("seeds", [1, pytest.param(60 if FULL else 6, marks=pytest.mark.slow)])


def check(name: str, body: bytes) -> float:
    """The share of the items that the strict decode takes. Raises AssertionError if the readers disagree."""
    try:
        ask = dialect(name).requests.parse(body)
    except DragomanError:
        return 0.0
    assert ask.traits == observe_messages(ask.conversation.messages)
    raw = ask.members.get(LISTS[name], b"[]")
    items = msgspec.json.decode(raw, type=list[msgspec.Raw]) if bytes(raw)[:1] == b"[" else []
    return sum([check_item(name, bytes(item), place) for place, item in enumerate(items)]) / max(1, len(items))


def check_item(name: str, item: bytes, place: int) -> bool:
    """Whether the strict decode takes an item. Then it fits the schema, and the reader of odd items says the same."""
    parser = import_module(f"dragoman.dialects.{name.replace('-', '_')}.request").LIST
    found = parser.parse_item(item, place)
    if found is None:
        return False
    assert parser.form.fits(item)
    assert repr(found) == repr(parser.parse_item(item, place))
    assert shown(found) == shown(parser.parse_odd_item(item, place))
    return True


def shown(parsed: Any) -> list[tuple[str, int, str, list[str]]]:
    return [(repr(one.message), one.traits & ~LATER, one.code, [*one.ids]) for one in parsed]


LATER = traits.ALWAYS | traits.ODD_IDS | traits.DUPLICATE_ID
"""What the second pass finds, from the ids of all messages: it does not matter whether the first one saw it too."""


@every_dialect
@settings(deadline=None, max_examples=EXAMPLES)
@given(data=st.data())
def test_a_conversation_is_read_alike_however_it_is_read(name: str, data: st.DataObject) -> None:
    check(name, data.draw(conversations(name)).body)


@SWEEP
@every_dialect
def test_messages_of_usual_shapes_are_read_alike(name: str, seeds: int) -> None:
    taken = 0.0
    for seed in range(seeds):
        shape = PLAIN_SHAPES[name](seeded(seed))
        taken += check(name, orjson.dumps(shape))
        check(name, json.dumps(shape).encode())
    assert taken > seeds / 2


@pytest.mark.parametrize(("name", "messages"), [pair for pair in LONG_MESSAGES.items() if pair[0] in READERS])
def test_long_content_fits_the_schema(name: str, messages: list[object]) -> None:
    assert check(name, orjson.dumps({"model": "m", LISTS[name]: messages})) == 1


@SPOILED
@every_dialect
def test_spoiled_messages_are_read_alike(name: str, seeds: int) -> None:
    for seed in range(seeds):
        for one in spoil(json.loads(request(name, seed).body)):
            check(name, orjson.dumps(one.body))


@pytest.mark.parametrize("name", RECORDED)
def test_nearly_all_recorded_messages_fit_the_schema(name: str) -> None:
    taken = [check(name, body) for body in recorded(name)]
    assert len(taken) > 20
    assert sum(taken) / len(taken) > 0.8


def recorded(name: str) -> Iterator[bytes]:
    for exchange in sample_of(name, about=250):
        body = exchange["request"]["body"] if exchange["request"] else None
        if isinstance(body, dict) and LISTS[name] in body:
            yield orjson.dumps(body)
