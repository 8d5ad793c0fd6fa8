"""Cache hints without their scope: for targets that take hints, and no `scope` in them."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from dragoman.conversation.cache_hints import SCOPE, names_scope
from dragoman.conversation.changes import Note
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.messages import Message
from dragoman.conversation.parts import CacheHint, Part, Result
from dragoman.conversation.tools import NativeTool, Tool
from dragoman.rules.rewriting import kept
from dragoman.wire.json_reader import render_object, split_members

_DID = f"left out the `{SCOPE}` of a cache hint"


def without_scope(conversation: Conversation, notes: list[Note]) -> Conversation:
    """The conversation whose hints name no scope. The same one where none does."""
    before = len(notes)
    tools = kept(conversation.tools, [_tool(tool, notes) for tool in conversation.tools])
    messages = kept(conversation.messages, [_message(message, notes) for message in conversation.messages])
    hint = conversation.hint
    if names_scope(hint):
        notes.append(Note(_DID, key="cache_control", before=hint))
        hint = _narrowed(hint)
    return replace(conversation, messages=messages, tools=tools, hint=hint) if len(notes) > before else conversation


def _narrowed(hint: CacheHint | None) -> CacheHint | None:
    if hint is None:
        return None
    members = split_members(hint.json)
    return CacheHint(render_object({name: bytes(value) for name, value in members.items() if name != SCOPE}))


def _tool(tool: Tool | NativeTool, notes: list[Note]) -> Tool | NativeTool:
    if isinstance(tool, NativeTool) or not names_scope(tool.hint):
        return tool
    notes.append(Note(_DID, key=tool.place, before=tool.hint))
    return replace(tool, hint=_narrowed(tool.hint))


def _message(message: Message, notes: list[Note]) -> Message:
    changes: dict[str, Any] = {}
    parts = _parts(message, message.parts, notes)
    if parts is not message.parts:
        changes["parts"] = parts
    if names_scope(message.hint):
        notes.append(Note(_DID, message, before=message.hint))
        changes["hint"] = _narrowed(message.hint)
    return replace(message, **changes) if changes else message


def _parts(message: Message, parts: tuple[Part, ...], notes: list[Note]) -> tuple[Part, ...]:
    before = len(notes)
    changed = [_part(message, part, notes) for part in parts]
    return tuple(changed) if len(notes) > before else parts


def _part(message: Message, part: Part, notes: list[Note]) -> Part:
    changes: dict[str, Any] = {}
    if isinstance(part, Result):
        inner = _parts(message, part.parts, notes)
        if inner is not part.parts:
            changes["parts"] = inner
    if names_scope(part.hint):
        notes.append(Note(_DID, message, part, before=part.hint))
        changes["hint"] = _narrowed(part.hint)
    return replace(part, **changes) if changes else part
