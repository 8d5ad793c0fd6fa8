"""Digests are those of the plain definition, however they are computed, and are computed only when they are read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from msgspec.structs import replace
from tests.strategies import SHAPES, Asked, conversations, request
from tests.targets import EXAMPLES, ONE_OF_EACH, SEEDS

from dragoman.conversation import canonical as module
from dragoman.conversation.canonical import SPELLING, base62, canonical, canonical_text, digest, mean_same
from dragoman.conversation.changes import Change, Hashing
from dragoman.conversation.messages import Message, Role
from dragoman.conversation.parts import CacheHint, Extras, Result, Text
from dragoman.conversation.settings import UNNAMED, Settings, Thinking
from dragoman.conversation.tools import Tool
from dragoman.engine.library.adapt import adapt, read
from dragoman.errors import DragomanError

_NO_ARGUMENTS = (
    {"type": "object"},
    {"type": "object", "properties": {}},
    {"type": "object", "additionalProperties": False},
)


def plain_digest(value: Any) -> str | None:
    """The definition: the value as decoded JSON in compact sorted form, hashed."""
    if value is None:
        return None
    text = msgspec.json.encode(plain(value), order="deterministic")
    return blake2b(text, digest_size=8).hexdigest()


def plain(value: Any) -> Any:
    if isinstance(value, msgspec.Struct):
        return plain_struct(value)
    if isinstance(value, bytes):
        try:
            return msgspec.json.decode(value)
        except msgspec.DecodeError:
            return value.decode("utf-8", "replace")
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, (tuple, list)):
        return [plain(item) for item in value]
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    return value


def plain_struct(value: msgspec.Struct) -> dict[str, Any]:
    kind = type(value).__name__
    skipped = SPELLING | {"Result": {"name"}, "ResponseFormat": {"strict"}}.get(kind, set())
    found: dict[str, Any] = {"_": kind}
    for field in fields(type(value)):
        content = getattr(value, field.name)
        if field.name in skipped or content == field.default:
            continue
        if field.name == "extras" and all(bytes(one) in (b"null", b"[]") for one in content.fields.values()):
            continue
        if plain(content) != plain(field.default):
            found[field.name] = plain(content)
    return settled(found)


@lru_cache
def fields(kind: type[msgspec.Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    return msgspec.structs.fields(kind)


def settled(found: dict[str, Any]) -> dict[str, Any]:
    match found["_"]:
        case "Tool" if found.get("schema") in _NO_ARGUMENTS:
            del found["schema"]
        case "ResponseFormat" if found.get("name") == UNNAMED:
            del found["name"]
        case "Result" if found["parts"] == [{"_": "Text", "literal": ""}]:
            found["parts"] = []
        case "Thinking":
            module._settle_thinking(found)
        case "Settings":
            module._settle_settings(found)
    return found


def values(value: Any) -> Iterator[Any]:
    """The value and everything inside it."""
    yield value
    if isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            yield from values(getattr(value, name))
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from values(item)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from values(item)


def check(asked: Asked) -> None:
    for value in values(read(asked.body, source=asked.dialect).conversation):
        assert digest(value) == plain_digest(value), value
        assert canonical(value) == plain(value), value


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dialect", SHAPES)
def test_the_digest_of_every_value_is_that_of_the_definition(dialect: str) -> None:
    for seed in range(4 * SEEDS):
        check(request(dialect, seed))


@pytest.mark.slow
@settings(max_examples=EXAMPLES, deadline=None)
@given(conversations())
def test_the_digest_of_any_value_is_that_of_the_definition(asked: Asked) -> None:
    check(asked)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("target", ONE_OF_EACH)
@pytest.mark.parametrize("dialect", SHAPES)
def test_the_digests_of_a_report_are_those_of_the_definition(dialect: str, target: str) -> None:
    seen = 0
    for seed in range(4 * SEEDS):
        try:
            changes = adapt(request(dialect, seed).body, source=dialect, target=target).changes
        except DragomanError:
            continue
        for change in changes:
            held = change._hashing
            assert held is not None, "a digest was computed though nobody read it"
            assert (change.before, change.after) == (plain_digest(held.before), plain_digest(held.after))
            seen += 1
    assert seen or target.startswith("ollama")  # which takes nearly everything that its own clients write


@pytest.mark.parametrize(
    "value",
    [
        Text(literal=b'"\\u00e9 \\/ \\ud83d\\ude00 \\u0001"'),
        Text(literal=b'"half a literal'),
        Text(literal=b'"x"', hint=CacheHint(b'{ "type": "ephemeral" }')),
        Result("c", (Text(literal=b'""'),)),
        Result("c", (Text(literal=b'""', hint=CacheHint()),)),
        Result("c", (), is_error=True, extras=Extras("d", {"b": b"null"})),
        Message(Role.USER, (), extras=Extras("d", {"ü": b"[ 1, 2.0, 1e3 ]", "a": b"{}"})),
        Tool("t", schema=b'{"properties":{}, "type":"object"}'),
        Tool("t", schema=b'{"type":"string"}', strict=False),
        Settings(thinking=Thinking(budget=0), top_logprobs=2, metadata=b"null"),
        Settings(parallel_tool_calls=True, stop=(b'"a"', b'"b"')),
        {"b": b'"x"', "a": (Role.TOOL, None, 1.5, True)},
        "text",
        b"not json",
        0,
        (),
    ],
    ids=repr,
)
def test_odd_values_too(value: Any) -> None:
    assert digest(value) == plain_digest(value)
    assert canonical_text(value) == msgspec.json.encode(plain(value), order="deterministic")


def test_values_that_mean_the_same_are_the_same() -> None:
    message = Message(Role.USER, (Text(literal=b'"\\u00e9"'),), at=1)
    assert mean_same(message, replace(message, parts=(Text(literal='"é"'.encode()),), at=7, listed=True))
    assert not mean_same(message, replace(message, role=Role.SYSTEM))
    assert mean_same(None, None)
    assert not mean_same(None, b"null")


def test_a_digest_waits_until_it_is_read_and_lets_its_value_go() -> None:
    known: dict[int, tuple[Any, str | None]] = {}
    change = Change("a-rule", "/messages/0", "did it", "nothing", hashing=Hashing("old", None, known))
    assert not known
    assert change.before == digest("old")
    assert change.after is None
    assert change._hashing is None


def test_a_value_of_many_changes_is_digested_once(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[Any] = []
    monkeypatch.setattr("dragoman.conversation.changes.digest", counted.append)
    known: dict[int, tuple[Any, str | None]] = {}
    merged = Text(literal=b'"one and all"')
    changes = [Change("a", "", "", "nothing", hashing=Hashing(None, merged, known)) for _ in range(5)]
    assert {change.after for change in changes} == {None}
    assert counted == [merged]


def test_a_change_is_written_as_json_with_its_digests() -> None:
    lazy = Change("a-rule", "/messages/0", "did it", "nothing", "added", hashing=Hashing(b'"old"', "new", {}))
    known = Change("a-rule", "/messages/0", "did it", "nothing", "added", before=digest("old"), after=digest("new"))
    written = {
        "rule": "a-rule",
        "at": "/messages/0",
        "did": "did it",
        "loses": "nothing",
        "kind": "added",
        "before": digest("old"),
        "after": digest("new"),
    }
    assert msgspec.json.decode(msgspec.json.encode((lazy,))) == [written]
    assert (lazy, hash(lazy), repr(lazy)) == (known, hash(known), repr(known))
    assert lazy != Change("a-rule", "/messages/0", "did it", "nothing", "added")


def test_a_made_id_is_of_letters_and_digits_and_tells_words_apart() -> None:
    made = [base62(*words, length=64) for words in (("a", "bc"), ("ab", "c"), ("abc",), (b"a", 7), ("\ud800",))]
    assert len({*made}) == 5
    assert all(len(one) == 64 and one.isascii() and one.isalnum() for one in made)
    assert base62("a", "bc", length=9) == made[0][:9]
