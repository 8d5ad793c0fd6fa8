"""The cache hints of a conversation, wherever they stand."""

from __future__ import annotations

import msgspec

from dragoman.conversation.conversation import Conversation
from dragoman.conversation.parts import CacheHint, Result
from dragoman.conversation.tools import Tool

SCOPE = "scope"
"""The member of a hint that says for whom the prompt is cached."""
_decode = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def hints_of(conversation: Conversation) -> list[CacheHint]:
    """All hints: of the request, of tools, messages and parts, and inside results."""
    parts = [part for message in conversation.messages for part in message.parts]
    inner = [part for result in parts if type(result) is Result for part in result.parts]
    found = [conversation.hint, *[tool.hint for tool in conversation.tools if type(tool) is Tool]]
    found += [message.hint for message in conversation.messages if message.hint is not None]
    found += [part.hint for part in parts if part.hint is not None]
    found += [part.hint for part in inner if part.hint is not None]
    return [hint for hint in found if hint is not None]


def names_scope(hint: CacheHint | None) -> bool:
    """Whether a hint says for whom."""
    if hint is None or b'"scope"' not in hint.json or hint.json[:1] != b"{":
        return False
    return SCOPE in _decode(hint.json)
