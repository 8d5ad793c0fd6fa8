"""Conversations: what `/conversations` takes and shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from dragoman.conversation.parts import Json
from dragoman.dialects.contracts.stored_answers import ConversationForm, StoredTurn
from dragoman.dialects.openai_responses.endpoints.stored_answers import identify_item, render_page, turn_items
from dragoman.errors import MalformedRequest
from dragoman.wire.json_reader import render_list

_Word = Annotated[str, Meta(max_length=512)]


class _NewConversation(msgspec.Struct):
    items: Annotated[list[dict[str, Any]], Meta(max_length=20)] | None = None
    metadata: Annotated[dict[Annotated[str, Meta(max_length=64)], _Word], Meta(max_length=16)] | None = None


_decode = msgspec.json.Decoder(_NewConversation).decode


def _parse(body: bytes) -> _NewConversation:
    try:
        return _decode(body or b"{}")
    except (msgspec.DecodeError, RecursionError) as fault:
        raise MalformedRequest(f"this is no conversation: {fault}") from None


def _create(body: bytes, unique: str, now: int) -> tuple[str, Json, Json]:
    given, id = _parse(body), f"conv_{unique}"
    shown = {"id": id, "object": "conversation", "created_at": now, "metadata": given.metadata or {}}
    return id, msgspec.json.encode(shown), msgspec.json.encode(_with_ids(given.items or [], unique))


def _with_ids(items: list[dict[str, Any]], unique: str) -> list[dict[str, Any]]:
    return [one if "id" in one else {"id": f"msg_{unique}{at:02x}", **one} for at, one in enumerate(items)]


def _update(shown: Json, body: bytes) -> Json:
    return msgspec.json.encode({**msgspec.json.decode(shown), "metadata": _parse(body).metadata or {}})


def _parse_items(body: bytes, unique: str) -> Json:
    given = _parse(body).items
    if not given:
        raise MalformedRequest("items are missing", at="/items")
    return msgspec.json.encode(_with_ids(given, unique))


def _render_deleted(id: str) -> bytes:
    return msgspec.json.encode({"id": id, "object": "conversation.deleted", "deleted": True})


def _all_items(turns: Sequence[StoredTurn]) -> Json:
    found = [msgspec.json.decode(item) for turn in turns for item in turn_items(turn)]
    return msgspec.json.encode([identify_item(item, at) for at, item in enumerate(found)])


def _without(turns: Sequence[StoredTurn], removed: frozenset[str]) -> tuple[StoredTurn, ...]:
    """One turn with all items but these. An item that came without an id has the one under which it is listed."""
    items = [item for turn in turns for item in turn_items(turn)]
    left = [one for at, one in enumerate(items) if identify_item(msgspec.json.decode(one), at)["id"] not in removed]
    return (StoredTurn(render_list(left), b'{"output":[]}'),)


def _find_item(items: Json, id: str) -> Json | None:
    found = next((one for one in msgspec.json.decode(items) if one["id"] == id), None)
    return None if found is None else msgspec.json.encode(found)


CONVERSATIONS = ConversationForm(
    new_path="/conversations",
    path="/conversations/{id}",
    items_path="/conversations/{id}/items",
    item_path="/conversations/{id}/items/{id}",
    create=_create,
    update=_update,
    parse_items=_parse_items,
    all_items=_all_items,
    without=_without,
    find_item=_find_item,
    render_items=render_page,
    render_deleted=_render_deleted,
)
