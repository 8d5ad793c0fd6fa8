"""Compaction: the `compaction` parameter, the edit `compact_20260112`, and `compaction` blocks that come back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Raw

from dragoman.conversation.parts import Json
from dragoman.dialects.contracts.compaction import (
    CarriedSummary,
    CompactionAsk,
    Compactions,
    CompactionWay,
    OpenSummary,
)
from dragoman.dialects.shared.parsing import open_body, parse_model
from dragoman.wire.json_reader import render_list, render_object, split_items, split_members

_PARAMETER, _MANAGEMENT, _EDITS, _MESSAGES = "compaction", "context_management", "edits", "messages"
_EDIT = "compact_20260112"
_KIND = "compaction"
_USUAL_TRIGGER = 150_000


class _Block(msgspec.Struct, gc=False):
    type: str | None = None
    content: Any = None
    encrypted_content: str | None = None
    signature: str | None = None


class _TriggerTokens(msgspec.Struct, gc=False):
    value: int = _USUAL_TRIGGER


class _CompactingEdit(msgspec.Struct, gc=False):
    type: str | None = None
    trigger: _TriggerTokens | None = None
    instructions: str | None = None
    pause_after_compaction: bool | None = None


class _Parameter(msgspec.Struct, gc=False):
    type: str
    instructions: str | None = None


_decode_block = msgspec.json.Decoder(_Block).decode
_decode_edit = msgspec.json.Decoder(_CompactingEdit).decode
_decode_parameter = msgspec.json.Decoder(_Parameter | None).decode


def _parse(body: bytes, open_summary: OpenSummary) -> CompactionAsk:
    members = open_body(body).members
    model = parse_model(members) or ""
    kept: dict[str, bytes | Raw] = dict(members)
    if bytes(members.get(_MESSAGES, b""))[:1] == b"[":
        kept[_MESSAGES] = render_list(list(_open(split_items(members[_MESSAGES]), open_summary)))
    opened, bare = render_object(kept), render_object({name: kept[name] for name in kept if name != _PARAMETER})
    try:
        parameter = _decode_parameter(members.get(_PARAMETER, b"null"))
        if parameter is not None:
            return CompactionAsk(
                model, opened, bare, CompactionWay.NOW, instructions=parameter.instructions or "", pauses=True
            )
        edit, others = _split_edits(members)
    except (msgspec.DecodeError, RecursionError):
        return CompactionAsk(model, opened, opened)  # newer than this program: the provider may know it
    if edit is None:
        return CompactionAsk(model, opened, opened)
    managed = {name: value for name, value in kept.items() if name != _MANAGEMENT}
    if others:
        managed[_MANAGEMENT] = render_object({**split_members(members[_MANAGEMENT]), _EDITS: render_list(others)})
    return CompactionAsk(
        model,
        opened,
        render_object(managed),
        way=CompactionWay.THRESHOLD,
        above=(edit.trigger or _TriggerTokens()).value,
        instructions=edit.instructions or "",
        pauses=bool(edit.pause_after_compaction),
    )


def _split_edits(members: dict[str, Raw]) -> tuple[_CompactingEdit | None, list[bytes]]:
    """The edit that compacts, and the others as they are."""
    raw = members.get(_MANAGEMENT)
    edits = split_members(raw).get(_EDITS) if raw is not None and bytes(raw)[:1] == b"{" else None
    given = [bytes(one) for one in split_items(edits)] if edits is not None and bytes(edits)[:1] == b"[" else []
    found = [(one, _decode_edit(one)) for one in given]
    compacting = [edit for _, edit in found if edit.type == _EDIT]
    return (compacting[0] if compacting else None), [one for one, edit in found if edit.type != _EDIT]


def _open(messages: list[Raw], open_summary: OpenSummary) -> Iterator[bytes]:
    """The messages, with the last summary of ours in place of all before it. What follows it stays."""
    for at in range(len(messages) - 1, -1, -1):
        raw = bytes(messages[at])
        if b"compaction" not in raw:
            continue
        message = split_members(raw)
        blocks = message.get("content", b"")
        parts = [bytes(one) for one in split_items(blocks)] if bytes(blocks)[:1] == b"[" else []
        for place in range(len(parts) - 1, -1, -1):
            summary = _summary_in(parts[place], open_summary)
            if summary is not None:
                yield from (
                    bytes(one) for one in messages[:at] if bytes(split_members(one).get("role", b"")) == _SYSTEM
                )
                yield msgspec.json.encode({"role": "user", "content": [{"type": "text", "text": summary.text}]})
                if rest := parts[place + 1 :]:
                    yield render_object({**message, "content": render_list(rest)})
                yield from map(bytes, messages[at + 1 :])
                return
    yield from map(bytes, messages)


_SYSTEM = b'"system"'


def _summary_in(part: bytes, open_summary: OpenSummary) -> CarriedSummary | None:
    """What a block holds, if it is a summary of ours. A block without content says nothing."""
    if b"compaction" not in part:
        return None
    try:
        block = _decode_block(part)
    except msgspec.DecodeError:
        return None
    sealed = block.signature or block.encrypted_content
    if block.type != _KIND or not isinstance(block.content, str) or not sealed:
        return None
    return open_summary(sealed, block.content)


def _render_item(id: str, summary: CarriedSummary, sealed: str, way: CompactionWay) -> Json:
    block = {"type": _KIND, "content": summary.text}
    if way is CompactionWay.NOW:
        return msgspec.json.encode({**block, "signature": sealed, "tool_changes": []})
    return msgspec.json.encode({**block, "encrypted_content": sealed})


COMPACTIONS = Compactions(
    b"compact",
    _parse,
    _render_item,
    "compaction_signature_invalid",
    "compaction_content_mismatch",
    stop_word="compaction",
)
