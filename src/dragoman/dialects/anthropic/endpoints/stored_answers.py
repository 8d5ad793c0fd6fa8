"""Threads: `thread`, which begins or continues a conversation that is kept under the id of its last answer.

They are kept here for every target, also for Anthropic, because nothing in an answer tells whether Anthropic kept it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import msgspec
from msgspec import Raw

from dragoman.conversation.collect import collect
from dragoman.conversation.events import Ended, Event, Started
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.conversation.parts import Json
from dragoman.dialects.anthropic.answer_render import render_answer
from dragoman.dialects.anthropic.stream import AnthropicStreamParser
from dragoman.dialects.contracts.stored_answers import StoredAnswers, StoredTurn, StoreQuestion
from dragoman.dialects.dialect import AnswerContext
from dragoman.dialects.shared.parsing import open_body, parse_model
from dragoman.dialects.shared.raw_json import UNREADABLE
from dragoman.errors import MalformedRequest
from dragoman.wire.json_reader import render_list, render_object, split_items, split_members

_THREAD, _MESSAGES = "thread", "messages"
_CARRIED = ("system", "tools", "tool_choice")
"""What a continued request leaves out, because the thread has it."""


class _Thread(msgspec.Struct):
    type: str
    previous_message_id: str | None = None


_decode_thread = msgspec.json.Decoder(_Thread | None).decode


def _parse_question(body: bytes, references: tuple[str, ...] | None = None) -> StoreQuestion | None:
    members = open_body(body).members
    try:
        thread = _decode_thread(members.get(_THREAD, b"null"))
    except msgspec.DecodeError as fault:
        raise MalformedRequest(f"thread is neither create nor continue: {fault}", at="/thread") from None
    if thread is None:
        return None
    if thread.type == "continue" and not thread.previous_message_id:
        raise MalformedRequest("thread.previous_message_id is missing", at="/thread/previous_message_id")
    previous = thread.previous_message_id or "" if thread.type == "continue" else ""
    own = {name: members[name] for name in (_MESSAGES, *_CARRIED) if name in members}
    return StoreQuestion(parse_model(members) or "", previous, True, render_object(own))


def _render_whole(body: bytes, turns: Sequence[StoredTurn], keep_store: bool) -> bytes:
    """The request with the turns that it continues before its own, and with what the thread began with."""
    members = open_body(body).members
    kept: dict[str, bytes | Raw] = {name: value for name, value in members.items() if name != _THREAD}
    messages: list[bytes] = []
    for turn in turns:
        own = split_members(turn.items)
        kept = {**{name: own[name] for name in _CARRIED if name in own}, **kept}
        messages += map(bytes, split_items(own.get(_MESSAGES, b"[]")))
        content = split_members(turn.response).get("content", b"[]")
        messages.append(render_object({"role": b'"assistant"', "content": content}))
    if turns:
        kept[_MESSAGES] = render_list([*messages, *map(bytes, split_items(members.get(_MESSAGES, b"[]")))])
    return render_object(kept)


_MOST_READ = 1 << 25
"""Bytes of a stream that is kept: of a longer one nothing is."""


class MessageKeeper:
    """Keeps an answer of a thread, which goes to the client as it is."""

    def __init__(self, question: StoreQuestion) -> None:
        self._parser = AnthropicStreamParser()
        self._events: list[Event] = []
        self._size = 0
        self.kept: tuple[str, Json] | None = None

    def whole(self, body: bytes) -> bytes:
        with suppress(*UNREADABLE, MalformedRequest, ValueError):  # what is not as its vendor writes it is not kept
            raw = bytes(split_members(body).get("id", b"null"))
            if raw[:1] == b'"':
                self.kept = msgspec.json.decode(raw, type=str), body
        return body

    def piece(self, data: bytes) -> bytes:
        self._size += len(data)
        if self._size <= _MOST_READ:
            self._take(self._parser.feed(data))
        else:
            self._events = []
        return data

    def close(self) -> bytes:
        if self._size <= _MOST_READ:
            self._take(self._parser.close())
        return b""

    def unstored(self, made: bytes) -> bytes:
        """Nothing in an answer tells whether it was kept."""
        return made

    def _take(self, events: list[Event]) -> None:
        self._events += events
        if self.kept is not None or not self._events or not isinstance(self._events[-1], Ended):
            return
        reply = collect(self._events)
        begun = next((event for event in self._events if isinstance(event, Started)), None)
        if not isinstance(reply, Failure) and begun is not None and begun.id:
            self.kept = begun.id, render_answer(reply, AnswerContext(id=begun.id))


def _unknown(id: str) -> Failure:
    what = f"thread: no message with id {id[:200]} is kept; send the whole conversation with `create`"
    return Failure(FailureKind.NOT_FOUND, what, 404, "thread_not_found")


STORED_ANSWERS = StoredAnswers(
    path="",
    items_path="",
    parse_question=_parse_question,
    render_whole=_render_whole,
    put_items=lambda body, found: body,
    output_items=lambda response: {},
    unknown_answer=_unknown,
    unknown_item=_unknown,
    unknown_conversation=_unknown,
    keeper=MessageKeeper,
    find_references=lambda items: (),
    render_deleted=lambda id: b"",
    render_items=lambda items, query: b"",
    mark=b'"thread"',
    is_kept_by_vendor=False,
    unsupported=Failure(
        FailureKind.BAD_REQUEST,
        "thread: conversations are not kept here (state: off); send the request without `thread`",
        400,
        "thread_unsupported_request",
    ),
)
