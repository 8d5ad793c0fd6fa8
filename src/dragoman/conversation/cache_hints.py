"""The cache hints of a conversation, wherever they stand."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from dragoman.conversation.conversation import Conversation
from dragoman.conversation.parts import CacheHint, Result
from dragoman.conversation.tools import Tool

SCOPE = "scope"
"""The member of a hint that says for whom the prompt is cached."""
_decode = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def hints_of(conversation: Conversation) -> Iterator[CacheHint]:
    """All hints: of the request, of tools, messages and parts, and inside results."""
    if conversation.hint is not None:
        yield conversation.hint
    for tool in conversation.tools:
        if isinstance(tool, Tool) and tool.hint is not None:
            yield tool.hint
    for message in conversation.messages:
        if message.hint is not None:
            yield message.hint
        for part in message.parts:
            if part.hint is not None:
                yield part.hint
            if isinstance(part, Result):
                yield from (inner.hint for inner in part.parts if inner.hint is not None)


def names_scope(hint: CacheHint | None) -> bool:
    """Whether a hint says for whom."""
    if hint is None or b'"scope"' not in hint.json or hint.json[:1] != b"{":
        return False
    return SCOPE in _decode(hint.json)
