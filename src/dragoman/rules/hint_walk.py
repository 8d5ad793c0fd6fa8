"""One walk over all cache hints of a conversation, in the order of the prompt: tools, messages, the whole request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from dragoman.conversation.changes import Note
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.messages import Message
from dragoman.conversation.parts import CacheHint, Opaque, Part, Result
from dragoman.conversation.tools import NativeTool, Tool
from dragoman.rules.cache_hints import have_hints
from dragoman.rules.part_words import MARKS
from dragoman.rules.rewriting import reuse_unchanged

ChangeHint = Callable[[CacheHint], CacheHint | None]
"""What becomes of a hint: the same one, another, or None if it is taken off."""
Tools = tuple[Tool | NativeTool, ...]


class HintWalk:
    """Changes hints and notes each change. A mark that is nothing but a hint goes with it."""

    def __init__(self, change: ChangeHint, did: str, notes: list[Note]) -> None:
        self._change = change
        self._did = did
        self._notes = notes

    def conversation(self, conversation: Conversation) -> Conversation:
        """The same one if no hint changed."""
        before = len(self._notes)
        tools = self.tools(conversation.tools)
        messages = reuse_unchanged(conversation.messages, [self._message(message) for message in conversation.messages])
        hint = self._hint(conversation.hint, key="cache_control")
        if len(self._notes) == before:
            return conversation
        return replace(conversation, messages=messages, tools=tools, hint=hint)

    def tools(self, tools: Tools) -> Tools:
        """The same ones if no hint changed."""
        if not have_hints(tools):
            return tools
        changed: list[Tool | NativeTool] = []
        for tool in tools:
            hint = self._hint(tool.hint, key=tool.place)
            if hint is tool.hint:
                changed.append(tool)
            elif hint is not None or isinstance(tool, Tool) or tool.kind not in MARKS:
                changed.append(replace(tool, hint=hint))
        return reuse_unchanged(tools, changed)

    def _hint(
        self, hint: CacheHint | None, message: Message | None = None, part: Part | None = None, key: str = ""
    ) -> CacheHint | None:
        changed = None if hint is None else self._change(hint)
        if changed is not hint:
            self._notes.append(Note(self._did, message, part, key, before=hint))
        return changed

    def _message(self, message: Message) -> Message:
        parts = self._parts(message, message.parts)
        hint = self._hint(message.hint, message)
        if parts is message.parts and hint is message.hint:
            return message
        return replace(message, parts=parts, hint=hint)

    def _parts(self, message: Message, parts: tuple[Part, ...]) -> tuple[Part, ...]:
        if not _have_hints(parts):
            return parts
        changed: list[Part] = []
        for part in parts:
            changes: dict[str, Any] = {}
            if isinstance(part, Result):
                inner = self._parts(message, part.parts)
                if inner is not part.parts:
                    changes["parts"] = inner
            hint = self._hint(part.hint, message, part)
            if hint is not part.hint:
                changes["hint"] = hint
            if hint is not None or part.hint is None or not (isinstance(part, Opaque) and part.kind in MARKS):
                changed.append(replace(part, **changes) if changes else part)
        return reuse_unchanged(parts, changed)


def _have_hints(parts: tuple[Part, ...]) -> bool:
    """Whether one of them has a cache hint. Few have, so all are asked first."""
    for part in parts:  # noqa: SIM110  a generator costs twice as much
        if part.hint is not None or (type(part) is Result and _have_hints(part.parts)):
            return True
    return False
