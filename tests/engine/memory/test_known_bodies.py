"""What is known of a body before it is read: the marks in it, its members, and what its items refer to."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman.dialects.openai_responses.endpoints.stored_answers import STORED_ANSWERS
from dragoman.dialects.shared.parsing import open_body
from dragoman.engine.compile import request_limits
from dragoman.engine.compile.request_limits import RequestLimits, parse_ask
from dragoman.engine.library.adapt import read
from dragoman.engine.memory.continued_requests import NotContinued, recognise
from dragoman.engine.memory.conversation_memory import CallerMemory, ConversationMemory
from dragoman.errors import LimitExceeded
from dragoman.wire.json_size import MANY_VALUES

NAME = "openai-responses"
WORDS = "So it goes on and on. " * 40
REFERENCE = {"type": "item_reference", "id": "msg_1"}


def items(turns: int, odd: dict[int, Any] | None = None) -> list[Any]:
    """A conversation of so many turns, each answered but the last. `odd`: items in place of the user's."""
    found: list[Any] = []
    for turn in range(turns):
        found.append((odd or {}).get(turn, {"role": "user", "content": f"{turn}: {WORDS}"}))
        found.append({"type": "message", "role": "assistant", "id": f"msg_{turn}", "content": f"Yes, {turn}."})
    return found[:-1]


def written(listed: list[Any], **more: Any) -> bytes:
    return json.dumps({"model": "m", "input": listed, **more}, separators=(",", ":")).encode()


def taught(turns: tuple[int, ...], odd: dict[int, Any] | None = None, **more: Any) -> CallerMemory:
    """A memory of the conversation after these turns."""
    caller = ConversationMemory().of("a")
    for count in turns:
        read(written(items(count, odd), **more), source=NAME, memory=caller)
    return caller


@pytest.mark.parametrize("place", [0, 30, 39, 41])
@pytest.mark.parametrize("mark", [b'"background"', b"compaction"])
def test_a_mark_is_found_wherever_it_stands(place: int, mark: bytes) -> None:
    odd = {place: {"role": "user", "content": [{"type": "input_text", "text": "compaction", "background": "no"}]}}
    caller = taught((40, 41), odd)
    for count in (42, 43, 44, 45, 46, 60, 61):
        body = written(items(count, odd))
        known = recognise(NAME, body, caller)
        assert known.size or count < 46, "most of it is known"
        assert known.holds(mark)
        assert not known.holds(b'"thread"')
        read(body, source=NAME, memory=caller)
    assert recognise(NAME, written(items(62, odd), background=True), caller).holds(b'"background"')


@pytest.mark.parametrize("odd", [{}, {3: REFERENCE}, {30: REFERENCE, 41: REFERENCE}, {41: REFERENCE}])
def test_a_known_body_has_the_members_and_references_that_opening_finds(odd: dict[int, Any]) -> None:
    caller = taught((40, 41), odd, store=False)
    for count in (42, 43, 44, 45, 46, 60, 61):
        body = written(items(count, odd), store=False)
        opened, references = recognise(NAME, body, caller).open(STORED_ANSWERS.find_references)
        expected = open_body(body).members
        assert references is not None or count < 46
        assert references in (None, STORED_ANSWERS.find_references(bytes(expected["input"])))
        assert list(open_body(opened).members) == list(expected)
        assert {name: bytes(value) for name, value in open_body(opened).members.items()} == {
            name: bytes(value) for name, value in expected.items()
        }
        read(body, source=NAME, memory=caller)


def test_only_what_is_new_is_searched() -> None:
    caller = taught((200, 201))
    searched: list[int] = []

    def search(text: bytes) -> tuple[()]:
        searched.append(len(json.loads(text)))
        return ()

    for count in (202, 203, 204):
        body = written(items(count))
        recognise(NAME, body, caller).open(search)
        read(body, source=NAME, memory=caller)
    first, *later = searched
    assert first > 350
    assert sum(later) < 60, "each time the items that came since the beginning was kept"


@pytest.mark.parametrize(
    "rest",
    [
        b'],"previous_response_id":"resp_1","n":[1]',
        b"]]",
        b",]",
        b",{}{}]",
        b',{"role":"user","content":"\xff"}]',
        b"x]",
    ],
)
def test_a_body_that_goes_on_with_anything_but_items_is_opened(rest: bytes) -> None:
    caller = taught((40, 41, 42), store=True)
    body = written(items(42), store=True)
    cut = body.rindex(b"]")
    odd = body[:cut] + rest + body[cut + 1 :]
    assert recognise(NAME, body, caller).open(STORED_ANSWERS.find_references)[1] == ()
    opened, references = recognise(NAME, odd, caller).open(STORED_ANSWERS.find_references)
    assert (opened, references) == (odd, None)


def test_values_are_counted_if_the_conversation_is_new(monkeypatch: pytest.MonkeyPatch) -> None:
    caller, limits = ConversationMemory().of("a"), RequestLimits(values=10_000)
    counted: list[int] = []
    plain = request_limits.count_separators
    monkeypatch.setattr(request_limits, "count_separators", lambda text: counted.append(len(text)) or plain(text))
    for count in (200, 201, 202, 203):
        counted.clear()
        body = written(items(count), metadata={"note": WORDS * 10})
        read(body, source=NAME, limits=limits, memory=caller)
    assert len(body) > 10 * limits.values
    assert sum(counted) < 20_000, "not the known beginning, nor what stands around the list"


@pytest.mark.parametrize("kind", ["values", "escapes"])
def test_a_conversation_that_grows_beyond_a_limit_is_refused_as_without_a_memory(kind: str) -> None:
    caller, refused = ConversationMemory().of("a"), []
    for count in range(40, 60):
        body = written([{**one, "content": one["content"] + ' "So, {he} [said]"'} for one in items(count)])
        most = {"values": 400, "escapes": 200}[kind]
        found = []
        for memory in (caller, None):
            try:
                read(body, source=NAME, limits=RequestLimits(**{kind: most}), memory=memory)
                found.append("")
            except LimitExceeded as fault:
                found.append(str(fault))
        assert found[0] == found[1]
        refused.append(found[0] != "")
    assert not refused[0]
    assert refused[-1]
    assert refused == sorted(refused)


def test_what_is_new_is_all_of_a_body_that_is_not_known() -> None:
    body = written(items(45))
    assert recognise(NAME, body, ConversationMemory().of("a")).new is body


@pytest.mark.parametrize("entries", [1, MANY_VALUES + 1])
def test_what_stands_around_the_messages_is_new_if_it_holds_much(entries: int) -> None:
    around = {"metadata": {f"key {number}": "v" for number in range(entries)}}
    new = recognise(NAME, written(items(47), **around), taught((40, 41, 46), **around)).new
    assert b"45: So it goes" in new
    assert b"30: So it goes" not in new
    assert (b"metadata" in new) is (entries > 1)


def test_a_body_that_goes_on_in_an_unusual_way_is_not_read_as_a_whole_unasked() -> None:
    """Somebody has to decide where that is done."""
    caller, body = taught((40, 41, 46)), written([*items(46), "And?"])
    assert recognise(NAME, body, caller).new is not body
    with pytest.raises(NotContinued):
        parse_ask(NAME, body, known=recognise(NAME, body, caller), continues=True)
    assert parse_ask(NAME, body, known=recognise(NAME, body, caller)).known is None
    usual = written(items(47))
    assert parse_ask(NAME, usual, known=recognise(NAME, usual, caller), continues=True).known is not None
