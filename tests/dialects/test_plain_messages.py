"""The short loop and the general parser of every dialect agree: in what they parse and in what they see."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from unittest import mock

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.corpus import sampled, spoken_in
from tests.dialects.plain_shapes import LONG_MESSAGES
from tests.dialects.plain_shapes import SHAPES as PLAIN_SHAPES
from tests.shapes.chooser import seeded
from tests.strategies import SHAPES, conversations
from tests.targets import EXAMPLES, FULL

from dragoman.conversation.conversation import Ask
from dragoman.conversation.traits import observe_messages
from dragoman.dialects.registry import dialect
from dragoman.engine.adapt import choose
from dragoman.engine.compiler import compile_ask
from dragoman.errors import DragomanError
from dragoman.profiles.profile import Target

PLAIN = [name for name in SHAPES if find_spec(f"dragoman.dialects.{name.replace('-', '_')}.plain_messages")]
"""The dialects that have such a loop."""
every_dialect = pytest.mark.parametrize("name", PLAIN)
LISTS = {name: {"openai-responses": "input", "gemini": "contents"}.get(name, "messages") for name in PLAIN}
SWEEP = 20_000 if FULL else 600
TARGETS = ("openai/gpt-4o", "openai-responses/gpt-5", "anthropic/claude-sonnet-4-5", "gemini/gemini-2.5-flash")


def parsed(name: str, body: bytes) -> Ask:
    return dialect(name).requests.parse(body)


def parsed_without_loop(name: str, body: bytes) -> Ask:
    """As the general parser alone does it."""
    module = import_module(f"dragoman.dialects.{name.replace('-', '_')}.request_parse")
    with mock.patch.object(module, "parse_plain", return_value=None):
        return parsed(name, body)


def outcome(parse: Callable[[str, bytes], Ask], name: str, body: bytes) -> Ask | str:
    """The request, or what is wrong with it."""
    try:
        return parse(name, body)
    except DragomanError as fault:
        return f"{type(fault).__name__}: {fault}"


def check(name: str, body: bytes) -> bool:
    """Whether the loop took it; the general parser must then say the same to the last spelling."""
    ask, full = outcome(parsed, name, body), outcome(parsed_without_loop, name, body)
    if isinstance(ask, str) or isinstance(full, str):
        assert ask == full
        return False
    assert repr(ask.conversation) == repr(full.conversation)
    if ask.traits is None:
        return False
    assert ask.traits == observe_messages(full.conversation.messages)
    return True


@pytest.mark.sampled(4)
@every_dialect
@settings(deadline=None, max_examples=EXAMPLES)
@given(data=st.data())
def test_both_agree_on_any_conversation(name: str, data: st.DataObject) -> None:
    check(name, data.draw(conversations(name)).body)


@pytest.mark.sampled(7)
@every_dialect
def test_both_agree_on_conversations_that_are_nearly_plain(name: str) -> None:
    taken = 0
    for seed in range(SWEEP):
        request = PLAIN_SHAPES[name](seeded(seed))
        taken += check(name, orjson.dumps(request))
        check(name, json.dumps(request).encode())
    assert taken > SWEEP // 20


@pytest.mark.parametrize(("name", "messages"), [pair for pair in LONG_MESSAGES.items() if pair[0] in PLAIN])
def test_both_agree_on_long_content(name: str, messages: list[object]) -> None:
    assert check(name, orjson.dumps({"model": "m", LISTS[name]: messages}))


@every_dialect
def test_both_agree_on_recorded_requests(name: str) -> None:
    taken = [check(name, body) for body in recorded(name)]
    assert len(taken) >= RECORDED.get(name, 100)
    assert sum(taken) / len(taken) > 0.5


RECORDED = {"ollama": 24, "cohere": 57}
"""How many there are, where there are few: then all of them are read, and else one in three."""


def recorded(name: str) -> Iterator[bytes]:
    for exchange in spoken_in(name):
        body = exchange["request"]["body"] if exchange["request"] else None
        if isinstance(body, dict) and LISTS[name] in body and sampled(exchange["id"], SAMPLED[name]):
            yield orjson.dumps(body)


SAMPLED = {name: 1 if name in ("ollama", "cohere", "bedrock") else 3 for name in PLAIN}


@pytest.mark.sampled(4)
@every_dialect
@settings(deadline=None, max_examples=EXAMPLES)
@given(data=st.data())
def test_both_are_rendered_alike(name: str, data: st.DataObject) -> None:
    body = data.draw(conversations(name)).body
    plain, full = parsed(name, body), parsed_without_loop(name, body)
    for target in map(choose, TARGETS):
        assert rendered(plain, target) == rendered(full, target)


def rendered(ask: Ask, target: Target) -> tuple[bytes, str] | str:
    try:
        adapted = compile_ask(ask, target)
    except DragomanError as fault:
        return str(fault)
    return adapted.body, repr(adapted.changes)
