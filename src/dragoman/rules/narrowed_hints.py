"""Cache hints without what a target does not take in them: a `scope`, or a long lifetime after a short one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from dragoman.conversation.changes import Note
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.messages import Message
from dragoman.conversation.parts import CacheHint, Part, Result
from dragoman.conversation.tools import NativeTool, Tool
from dragoman.rules.cache_hints import SCOPE, is_long, names_scope
from dragoman.rules.rewriting import kept
from dragoman.wire.json_reader import render_object, split_members

Narrow = Callable[[CacheHint], CacheHint]
"""Makes a hint narrower. It returns the same one if there is nothing to narrow."""


def without_scope(conversation: Conversation, notes: list[Note]) -> Conversation:
    """The conversation whose hints name no scope. The same one if none does."""
    narrow: Narrow = lambda hint: _without(hint, SCOPE) if names_scope(hint) else hint  # noqa: E731
    return _Narrowing(narrow, f"left out the `{SCOPE}` of a cache hint", notes).conversation(conversation)


def without_late_hours(conversation: Conversation, notes: list[Note]) -> Conversation:
    """The conversation in which no long hint stands after a short one, in the order of the prompt. The same one if
    none does."""
    short = False

    def narrow(hint: CacheHint) -> CacheHint:
        nonlocal short
        if not is_long(hint):
            short = True
        return _without(hint, "ttl") if short and is_long(hint) else hint

    return _Narrowing(narrow, "made a cache hint short, as one before it is", notes).conversation(conversation)


def _without(hint: CacheHint, member: str) -> CacheHint:
    members = split_members(hint.json)
    return CacheHint(render_object({name: bytes(value) for name, value in members.items() if name != member}))


class _Narrowing:
    """Narrows all hints of a conversation, in the order of the prompt: tools, messages, the whole request."""

    def __init__(self, narrow: Narrow, did: str, notes: list[Note]) -> None:
        self._narrow = narrow
        self._did = did
        self._notes = notes

    def conversation(self, conversation: Conversation) -> Conversation:
        before = len(self._notes)
        tools = kept(conversation.tools, [self._tool(tool) for tool in conversation.tools])
        messages = kept(conversation.messages, [self._message(message) for message in conversation.messages])
        hint = self._hint(conversation.hint, key="cache_control")
        if len(self._notes) == before:
            return conversation
        return replace(conversation, messages=messages, tools=tools, hint=hint)

    def _hint(
        self, hint: CacheHint | None, message: Message | None = None, part: Part | None = None, key: str = ""
    ) -> CacheHint | None:
        narrowed = None if hint is None else self._narrow(hint)
        if narrowed is not hint:
            self._notes.append(Note(self._did, message, part, key, before=hint))
        return narrowed

    def _tool(self, tool: Tool | NativeTool) -> Tool | NativeTool:
        if isinstance(tool, NativeTool):
            return tool
        hint = self._hint(tool.hint, key=tool.place)
        return tool if hint is tool.hint else replace(tool, hint=hint)

    def _message(self, message: Message) -> Message:
        parts = self._parts(message, message.parts)
        hint = self._hint(message.hint, message)
        if parts is message.parts and hint is message.hint:
            return message
        return replace(message, parts=parts, hint=hint)

    def _parts(self, message: Message, parts: tuple[Part, ...]) -> tuple[Part, ...]:
        return kept(parts, [self._part(message, part) for part in parts])

    def _part(self, message: Message, part: Part) -> Part:
        changes: dict[str, Any] = {}
        if isinstance(part, Result):
            inner = self._parts(message, part.parts)
            if inner is not part.parts:
                changes["parts"] = inner
        hint = self._hint(part.hint, message, part)
        if hint is not part.hint:
            changes["hint"] = hint
        return replace(part, **changes) if changes else part
