"""Stored responses: `store`, `previous_response_id`, and the paths that show them again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import msgspec
from msgspec import Raw

from dragoman.conversation.literals import quote
from dragoman.conversation.parts import Json
from dragoman.dialects.dialect import StoredAnswers, StoredTurn, StoreQuestion
from dragoman.wire.json_reader import open_object, render_list, render_object, split_items, split_members
from dragoman.wire.sse import SseDecoder, render_data_frame, render_event_frame

_PREVIOUS, _STORE, _INPUT = "previous_response_id", "store", "input"
_NULL = b"null"
_ENDS = frozenset({b"response.completed", b"response.incomplete", b"response.failed"})
_WITH_RESPONSE = _ENDS | {b"response.created", b"response.in_progress", b"response.queued"}
_MOST_ITEMS, _USUAL_ITEMS = 100, 20
_ELSEWHERE = ("conversation", "prompt")
"""A provider's own state, which is not ours to store."""


def _parse_question(body: bytes) -> StoreQuestion | None:
    _, members, _ = open_object(body)
    if any(bytes(members.get(name, _NULL)) != _NULL for name in _ELSEWHERE):
        return None
    previous = bytes(members.get(_PREVIOUS, _NULL))
    keeps = bytes(members.get(_STORE, b"true")) != b"false" and bytes(members.get("background", b"false")) != b"true"
    named = _text(previous)
    if not keeps and not named:
        return None
    return StoreQuestion(_text(bytes(members.get("model", _NULL))), named, keeps, render_list(own_items(members)))


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
    _, members, _ = open_object(body)
    items = [item for turn in turns for item in _turn_items(turn)]
    dropped = {_PREVIOUS} | (set() if keep_store else {_STORE})
    kept: dict[str, bytes | Raw] = {name: value for name, value in members.items() if name not in dropped}
    if turns:
        kept[_INPUT] = render_list([*items, *own_items(members)])
    return render_object(kept)


def _turn_items(turn: StoredTurn) -> Iterable[bytes]:
    yield from map(bytes, split_items(turn.items))
    yield from map(bytes, split_items(split_members(turn.response).get("output", b"[]")))


class ResponseKeeper:
    """Shows in an answer that it is stored and what it continues, and keeps it when it is complete."""

    def __init__(self, question: StoreQuestion) -> None:
        self._decoder = SseDecoder()
        self._keeps = question.keeps
        previous = quote(question.previous) if question.previous else _NULL
        self._shown = {_STORE: b"true" if question.keeps else b"false", _PREVIOUS: previous}
        self.kept: tuple[str, Json] | None = None

    def whole(self, body: bytes) -> bytes:
        shown = self._with_store(body)
        self._keep(shown)
        return shown

    def piece(self, data: bytes) -> bytes:
        return b"".join(self._frame(frame.event, frame.data) for frame in self._decoder.feed(data))

    def close(self) -> bytes:
        return b"".join(self._frame(frame.event, frame.data) for frame in self._decoder.close())

    def _frame(self, event: bytes, data: bytes) -> bytes:
        if event in _WITH_RESPONSE:
            members: dict[str, bytes | Raw] = dict(split_members(data))
            response = self._with_store(bytes(members.get("response", b"{}")))
            data = render_object(members | {"response": response})
            if event in _ENDS:
                self._keep(response)
        return render_event_frame(event, data) if event else render_data_frame(data)

    def _with_store(self, response: bytes) -> bytes:
        members: dict[str, bytes | Raw] = dict(split_members(response))
        return render_object(members | self._shown)

    def _keep(self, response: bytes) -> None:
        raw = bytes(split_members(response).get("id", _NULL))
        if self._keeps and raw[:1] == b'"':
            self.kept = msgspec.json.decode(raw, type=str), response


def _render_deleted(id: str) -> bytes:
    return msgspec.json.encode({"id": id, "object": "response", "deleted": True})


def _render_items(items: Json, query: Mapping[str, str]) -> bytes:
    """A page of what was sent. The newest come first, unless `order` says otherwise."""
    listed = [identified(item, at) for at, item in enumerate(msgspec.json.decode(items, type=list[dict[str, Any]]))]
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


def identified(item: dict[str, Any], at: int) -> dict[str, Any]:
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
    keeper=ResponseKeeper,
    render_deleted=_render_deleted,
    render_items=_render_items,
)
