"""About how many tokens a message holds, in one pass and without a tokenizer.

Texts count by their bytes. What a provider reports later corrects the estimate by one factor per model.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from dragoman.conversation.conversation import Conversation
from dragoman.conversation.messages import Message
from dragoman.conversation.parts import Call, Media, Opaque, Part, Plain, Reasoning, Refusal, Result, Text
from dragoman.conversation.tools import NativeTool, Tool

BYTES_PER_TOKEN = 4
_OVERHEAD = 16
"""What a message or a call costs beside its words, in bytes."""
_MEDIA = 1_000 * BYTES_PER_TOKEN
"""An image or a sound, whose bytes say little about its price."""


class Size(msgspec.Struct, frozen=True, gc=False):
    """Bytes of a message, and how many of them are plain text that may be shortened."""

    total: int
    plain: int

    @property
    def fixed(self) -> int:
        return self.total - self.plain


def size_of(message: Message) -> Size:
    total, plain = _sizes(message.parts)
    return Size(total + _OVERHEAD, plain)


def tools_size(conversation: Conversation) -> int:
    """The bytes of the tools. They are sent with every turn and never cut."""
    return sum(map(_tool_size, conversation.tools))


def sizes_of(messages: Sequence[Message]) -> list[Size]:
    return list(map(size_of, messages))


def is_plain(text: Text) -> bool:
    """May this text be shortened? Neither JSON, of which a half is nothing, nor a text that carries a signature."""
    literal = text.literal
    if text.signature is not None or len(literal) < 3:
        return False
    return not (literal[1] in b"{[" and literal[-2] in b"}]")


def _sizes(parts: Iterable[Part]) -> tuple[int, int]:
    total = plain = 0
    for part in parts:
        if type(part) is Text:
            length = len(part.literal) - 2
            total += length
            plain += length if is_plain(part) else 0
        elif type(part) is Result:
            inner, shortened = _sizes(part.parts)
            total += inner + _OVERHEAD
            plain += shortened
        else:
            total += _fixed_size(part)
    return total, plain


def _fixed_size(part: Part) -> int:
    match part:
        case Call():
            return len(part.name) + len(part.arguments) + _OVERHEAD
        case Reasoning():
            return len(part.text.literal) if part.text is not None else 0
        case Media(source=Plain(literal=literal)) | Refusal(literal=literal):
            return len(literal)
        case Media():
            return _MEDIA
        case Opaque():
            return len(part.json)
        case _:
            return 0


def _tool_size(tool: Tool | NativeTool) -> int:
    if isinstance(tool, NativeTool):
        return len(tool.json)
    return len(tool.name) + len(tool.description or b"") + len(tool.schema or b"") + _OVERHEAD
