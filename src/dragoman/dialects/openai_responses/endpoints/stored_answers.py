"""Stored responses: `store`, `previous_response_id`, and the paths that show them again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b
from typing import Any

import msgspec
from msgspec import Raw

from dragoman.conversation.failures import Failure, FailureKind
from dragoman.conversation.literals import quote
from dragoman.conversation.parts import Json
from dragoman.dialects.contracts.stored_answers import StoredAnswers, StoredTurn, StoreQuestion
from dragoman.dialects.shared.parsing import open_body
from dragoman.dialects.shared.raw_json import UNREADABLE
from dragoman.errors import MalformedRequest
from dragoman.wire.json_reader import render_list, render_object, split_items, split_members
from dragoman.wire.sse import SseDecoder, render_data_frame, render_event_frame

_PREVIOUS, _STORE, _INPUT = "previous_response_id", "store", "input"
_NULL = b"null"
_FRAME_ENDS = (b"\n\n", b"\r\n\r\n")
_LONGEST_END = 3
"""Bytes of the end of a frame that may have come before its last one."""
_ENDS = frozenset({b"response.completed", b"response.incomplete", b"response.failed"})
_WITH_RESPONSE = _ENDS | {b"response.created", b"response.in_progress", b"response.queued"}
ITEM_DONE = b"response.output_item.done"
_MOST_HELD, _OF_ITEM = 1 << 25, 200
"""Bytes of items that are held of one stream, and what each costs beside its own."""
_MOST_ITEMS, _USUAL_ITEMS = 100, 20
_CONVERSATION = "conversation"
_ABOUT = (_PREVIOUS, _CONVERSATION, _STORE)
UNREADABLE_ANSWER = (*UNREADABLE, MalformedRequest, ValueError)
"""What is raised by an answer that is not as its vendor writes them. It goes to the client as it is."""


def _parse_question(body: bytes, references: tuple[str, ...] | None = None) -> StoreQuestion | None:
    members = open_body(body).members
    if bytes(members.get("prompt", _NULL)) != _NULL:  # the provider's own, which is not ours to store
        return None
    previous = bytes(members.get(_PREVIOUS, _NULL))
    keeps = bytes(members.get(_STORE, b"true")) != b"false" and bytes(members.get("background", b"false")) != b"true"
    named = _text(previous)
    if references is None:
        references = _find_references(bytes(members.get(_INPUT, b"")))
    conversation = _conversation(bytes(members.get(_CONVERSATION, _NULL)))
    if conversation and named:
        raise MalformedRequest("previous_response_id and conversation exclude each other", at=f"/{_CONVERSATION}")
    keeps = keeps or bool(conversation)
    if not keeps and not named and not references and not conversation:
        return None
    model = _text(bytes(members.get("model", _NULL)))
    given = bytes(members.get(_INPUT, b""))
    items = given if given[:1] == b"[" else render_list(own_items(members))
    is_bare = members.keys().isdisjoint(_ABOUT)
    instructs = bytes(members.get("instructions", _NULL)) != _NULL
    return StoreQuestion(model, named, keeps, items, references, conversation, is_bare=is_bare, instructs=instructs)


def _find_references(given: Json) -> tuple[str, ...]:
    """The ids that the items refer to. Mostly none can be there: no member is called `id`, not even if its letters are
    escaped."""
    if given[:1] != b"[" or (b'"id"' not in given and b"\\u006" not in given):
        return ()
    return tuple([id for item in split_items(given, "/input") if (id := _find_referred(bytes(item)))])


def _conversation(raw: bytes) -> str:
    """The id of the provider's conversation that a request belongs to, or empty."""
    return _text(bytes(split_members(raw).get("id", _NULL))) if raw[:1] == b"{" else _text(raw)


class _Reference(msgspec.Struct, forbid_unknown_fields=True):
    """An item that is nothing but the id of another."""

    id: str
    type: str | None = None


_decode_reference = msgspec.json.Decoder(_Reference).decode
_LONGEST_REFERENCE = 1024


def _find_referred(item: bytes) -> str:
    """The id that an item refers to; empty if it is an item of its own."""
    if len(item) > _LONGEST_REFERENCE:
        return ""
    try:
        found = _decode_reference(item)
    except msgspec.DecodeError:
        return ""
    return found.id if found.type in (None, "item_reference") else ""


def _put_items(body: bytes, found: Mapping[str, Json]) -> bytes:
    members = open_body(body).members
    kept: dict[str, bytes | Raw] = dict(members)
    kept[_INPUT] = render_list([found.get(_find_referred(item), item) for item in own_items(members)])
    return render_object(kept)


def _output_items(response: Json) -> Mapping[str, Json]:
    items = map(bytes, split_items(split_members(response).get("output", b"[]")))
    return {_text(bytes(split_members(item).get("id", _NULL))): item for item in items}


def _unknown_answer(id: str) -> Failure:
    what = f"Previous response with id '{id[:200]}' not found."
    return Failure(FailureKind.BAD_REQUEST, what, 400, "previous_response_not_found", param=_PREVIOUS)


def _unknown_conversation(id: str) -> Failure:
    what = f"Conversation with id '{id[:200]}' not found."
    return Failure(FailureKind.NOT_FOUND, what, 404, "conversation_not_found", param=_CONVERSATION)


def _unknown_item(id: str) -> Failure:
    what = f"Item with id '{id[:200]}' not found. Items are not persisted when `store` is set to false. Try again with "
    what += "`store` set to true, or remove this item from your input."
    return Failure(FailureKind.BAD_REQUEST, what, 400, param=_INPUT)


def _text(literal: bytes) -> str:
    return msgspec.json.decode(literal, type=str) if literal[:1] == b'"' else ""


def own_items(members: Mapping[str, Raw]) -> list[bytes]:
    """What the request sends itself; a bare text is a message of the user."""
    given = bytes(members.get(_INPUT, b"[]"))
    if given[:1] == b'"':
        return [b'{"type":"message","role":"user","content":[{"type":"input_text","text":' + given + b"}]}"]
    return [bytes(item) for item in split_items(given, "/input")] if given[:1] == b"[" else []


def _render_whole(body: bytes, turns: Sequence[StoredTurn], keep_store: bool) -> bytes:
    """The request with the turns that it continues in front of its own. `keep_store`: `store` stays as it is."""
    members = open_body(body).members
    items = [item for turn in turns for item in turn_items(turn)]
    dropped = _ABOUT[:-1] if keep_store else _ABOUT
    kept: dict[str, bytes | Raw] = {name: value for name, value in members.items() if name not in dropped}
    if turns:
        kept[_INPUT] = render_list([*items, *own_items(members)])
    return render_object(kept)


def turn_items(turn: StoredTurn) -> Iterable[bytes]:
    yield from map(bytes, split_items(turn.items))
    yield from map(bytes, split_items(split_members(turn.response).get("output", b"[]")))


class PassedItems:
    """The items that went by in a stream, in their order: some servers end it with an answer that has none of them. Of
    an answer that is too long to be continued none are held."""

    def __init__(self) -> None:
        self._items: dict[int, bytes] = {}
        self._size = 0

    @property
    def fit(self) -> bool:
        """Whether all of them are held."""
        return self._size <= _MOST_HELD

    def take(self, data: bytes) -> None:
        """`data`: those of an event that ends an item."""
        members = split_members(data)
        place = int(bytes(members.get("output_index", b"%d" % len(self._items))))
        item = bytes(members.get("item", b"{}"))
        self._size += len(item) + _OF_ITEM
        if self.fit:
            self._items[place] = item
        else:
            self._items.clear()

    def output(self, otherwise: Json) -> Json:
        """All of them as a list; `otherwise` if there are none."""
        return render_list([self._items[place] for place in sorted(self._items)]) if self._items else otherwise

    def put_into(self, response: bytes) -> bytes:
        members: dict[str, bytes | Raw] = dict(split_members(response))
        if not self._items or split_items(members.get("output", b"[]")):
            return response
        return render_object(members | {"output": self.output(b"[]")})


class ResponseKeeper:
    """Shows in an answer that it is stored and what it continues, and keeps it when it is complete."""

    def __init__(self, question: StoreQuestion) -> None:
        self._decoder = SseDecoder()
        self._rest = bytearray()
        self._passed = PassedItems()
        self._keeps = question.keeps
        previous = quote(question.previous) if question.previous else _NULL
        self._shown: dict[str, bytes] = {_STORE: b"true" if question.keeps else b"false", _PREVIOUS: previous}
        if question.conversation:
            self._shown[_CONVERSATION] = render_object({"id": quote(question.conversation)})
        self.kept: tuple[str, Json] | None = None

    def whole(self, body: bytes) -> bytes:
        try:
            shown = self._with_store(body)
            self._keep(shown)
        except UNREADABLE_ANSWER:
            return body
        return shown

    def piece(self, data: bytes) -> bytes:
        """Frames without a response in them go through as they are. Only what is new is searched for the end of one."""
        rest, begun = self._rest, max(0, len(self._rest) - _LONGEST_END)
        rest += data
        end = max([at + len(mark) for mark in _FRAME_ENDS if (at := rest.rfind(mark, begun)) >= 0], default=0)
        whole = bytes(rest[:end])
        del rest[:end]
        if b'"response"' not in whole and ITEM_DONE not in whole:
            return whole
        return b"".join(self._frame(frame.event, frame.data) for frame in self._decoder.feed(whole))

    def close(self) -> bytes:
        frames = [*self._decoder.feed(bytes(self._rest)), *self._decoder.close()]
        self._rest.clear()
        return b"".join(self._frame(frame.event, frame.data) for frame in frames)

    def unstored(self, made: bytes) -> bytes:
        if self.kept is None:
            return made
        members: dict[str, bytes | Raw] = dict(split_members(self.kept[1]))
        return made.replace(self.kept[1], render_object(members | {_STORE: b"false"}))

    def _frame(self, event: bytes, data: bytes) -> bytes:
        kind = event or event_kind(data)
        with suppress(*UNREADABLE_ANSWER):
            if kind in _WITH_RESPONSE:
                data = self._with_response(kind, data)
            elif kind == ITEM_DONE:
                self._passed.take(data)
        return render_event_frame(event, data) if event else render_data_frame(data)

    def _with_response(self, event: bytes, data: bytes) -> bytes:
        members: dict[str, bytes | Raw] = dict(split_members(data))
        response = self._with_store(bytes(members.get("response", b"{}")))
        if event in _ENDS:
            response = self._passed.put_into(response)
            self._keep(response)
        return render_object(members | {"response": response})

    def _with_store(self, response: bytes) -> bytes:
        members: dict[str, bytes | Raw] = dict(split_members(response))
        if all(bytes(members.get(name, b"")) == value for name, value in self._shown.items()):
            return response
        return render_object(members | self._shown)

    def _keep(self, response: bytes) -> None:
        """Keep an answer of which all items can be read."""
        raw = bytes(split_members(response).get("id", _NULL))
        if self._keeps and raw[:1] == b'"':
            _output_items(response)
            self.kept = msgspec.json.decode(raw, type=str), response


def event_kind(data: bytes) -> bytes:
    """What an event is, if its frame has no name; empty if it does not say so."""
    try:
        return bytes(split_members(data).get("type", b"")).strip(b'"')
    except UNREADABLE_ANSWER:
        return b""


def _render_deleted(id: str) -> bytes:
    return msgspec.json.encode({"id": id, "object": "response", "deleted": True})


def render_page(items: Json, query: Mapping[str, str]) -> bytes:
    """A page of what was sent. The newest come first, unless `order` says otherwise."""
    listed = [identify_item(item, at) for at, item in enumerate(msgspec.json.decode(items, type=list[dict[str, Any]]))]
    if query.get("order", "desc") != "asc":
        listed.reverse()
    ids = [item["id"] for item in listed]
    begin = ids.index(query["after"]) + 1 if query.get("after") in ids else 0
    wanted = query.get("limit", "")
    page = listed[
        begin : begin + (min(int(wanted), _MOST_ITEMS) if wanted.isdigit() and len(wanted) < 9 else _USUAL_ITEMS)
    ]
    first, last = (page[0]["id"], page[-1]["id"]) if page else (None, None)
    more = begin + len(page) < len(listed)
    return msgspec.json.encode({"object": "list", "data": page, "first_id": first, "last_id": last, "has_more": more})


def identify_item(item: dict[str, Any], at: int) -> dict[str, Any]:
    """An item as the vendor lists it: with its type and an id."""
    kind = item.get("type", "message")
    content = item.get("content")
    if kind == "message" and isinstance(content, str):
        item = {**item, "content": [{"type": "input_text", "text": content}]}
    digest = blake2b(msgspec.json.encode([at, item]), digest_size=12).hexdigest()
    status = {"status": "completed"} if kind == "message" else {}
    return {"type": kind, "id": f"msg_{digest}", **status, **item}


STORED_ANSWERS = StoredAnswers(
    path="/responses/{id}",
    items_path="/responses/{id}/input_items",
    parse_question=_parse_question,
    render_whole=_render_whole,
    put_items=_put_items,
    output_items=_output_items,
    unknown_answer=_unknown_answer,
    unknown_item=_unknown_item,
    unknown_conversation=_unknown_conversation,
    keeper=ResponseKeeper,
    find_references=_find_references,
    render_deleted=_render_deleted,
    render_items=render_page,
)
