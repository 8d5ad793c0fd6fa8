"""Compaction: `compaction_trigger`, `context_management`, `/responses/compact`, and items that come back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Raw

from dragoman.conversation.parts import Json
from dragoman.conversation.replies import Usage
from dragoman.dialects.contracts.compaction import (
    CarriedSummary,
    CompactionAsk,
    Compactions,
    CompactionWay,
    OpenSummary,
)
from dragoman.dialects.openai_responses.answer_render import render_usage
from dragoman.dialects.openai_responses.endpoints.stored_answers import identify_item, own_items
from dragoman.dialects.shared.parsing import open_body, parse_model
from dragoman.errors import MalformedRequest
from dragoman.wire.json_reader import render_list, render_object

_MANAGEMENT, _INPUT = "context_management", "input"
_ITEMS, _TRIGGER = ("compaction", "compaction_summary"), "compaction_trigger"
_INSTRUCTING = ("system", "developer")
_MOST_ENTRIES = 16


class _Item(msgspec.Struct, gc=False):
    type: str | None = None
    role: str | None = None
    encrypted_content: str | None = None


class _Threshold(msgspec.Struct, gc=False):
    type: str
    compact_threshold: int | None = None


_decode_item = msgspec.json.Decoder(_Item).decode
_decode_thresholds = msgspec.json.Decoder(list[_Threshold] | None).decode


def _parse(body: bytes, open_summary: OpenSummary) -> CompactionAsk:
    members = open_body(body).members
    items = list(_open(own_items(members), open_summary))
    kinds = [_kind(item) for item in items]
    if _TRIGGER in kinds[:-1]:
        at = kinds.index(_TRIGGER)
        raise MalformedRequest("compaction_trigger must be the last item of input", at=f"/input/{at}")
    now = kinds[-1:] == [_TRIGGER]
    above = _least_threshold(members)
    way = CompactionWay.NOW if now else CompactionWay.THRESHOLD if above else None
    bare = {name: value for name, value in members.items() if name != _MANAGEMENT}
    return CompactionAsk(
        parse_model(members) or "",
        _with_input(members, items),
        _with_input(bare, items[:-1] if now else items),
        way,
        above,
    )


def _with_input(members: Mapping[str, Raw], items: list[bytes]) -> bytes:
    kept: dict[str, bytes | Raw] = dict(members)
    if bytes(members.get(_INPUT, b""))[:1] == b"[":
        kept[_INPUT] = render_list(items)
    return render_object(kept)


def _kind(item: bytes) -> str | None:
    try:
        return _decode_item(item).type if b"compaction" in item else None
    except msgspec.DecodeError:
        return None


def _open(items: list[bytes], open_summary: OpenSummary) -> Iterator[bytes]:
    """The items, with the last summary of ours in place of what it stands for. Instructions before it stay."""
    for at in range(len(items) - 1, -1, -1):
        if _kind(items[at]) not in _ITEMS:
            continue
        summary = open_summary(_decode_item(items[at]).encrypted_content or "", None)
        if summary is not None:
            yield from (item for item in items[:at] if _stays(item, summary))
            yield _render_message(summary.text)
            yield from items[at + 1 :]
            return
    yield from items


def _stays(item: bytes, summary: CarriedSummary) -> bool:
    try:
        found = _decode_item(item)
    except msgspec.DecodeError:
        return False
    return found.role in _INSTRUCTING or (found.role == "user" and not summary.whole)


def _render_message(text: str) -> bytes:
    content = [{"type": "input_text", "text": text}]
    return msgspec.json.encode({"type": "message", "role": "user", "content": content})


def _least_threshold(members: Mapping[str, Raw]) -> int:
    """The fewest tokens that a request lets its conversation have; 0 if it does not say."""
    try:
        entries = _decode_thresholds(members.get(_MANAGEMENT, b"null")) or []
    except (msgspec.DecodeError, RecursionError):
        return 0
    return min([one.compact_threshold for one in entries[:_MOST_ENTRIES] if one.compact_threshold], default=0)


def _render_item(id: str, summary: CarriedSummary, sealed: str, way: CompactionWay) -> Json:
    return msgspec.json.encode({"type": _ITEMS[0], "id": f"cmp_{id}", "encrypted_content": sealed})


def _render_answer(id: str, body: bytes, item: Json, usage: Usage, now: int) -> bytes:
    """The user's messages, and the item."""
    members = open_body(body).members
    given: list[dict[str, Any]] = [msgspec.json.decode(one) for one in own_items(members)]
    asked = [identify_item(one, at) for at, one in enumerate(given) if one.get("role") == "user"]
    shown: list[Any] = [*asked, Raw(item)]
    answer = {"id": id, "object": "response.compaction", "created_at": now, "output": shown}
    return msgspec.json.encode({**answer, "usage": Raw(render_usage(usage))})


COMPACTIONS = Compactions(b"compact", _parse, _render_item, "invalid_encrypted_content", render_answer=_render_answer)
