"""The cache hints of a conversation, wherever they stand."""

from __future__ import annotations

import msgspec

from dragoman.conversation.conversation import Conversation
from dragoman.conversation.parts import CacheHint, Result
from dragoman.conversation.tools import Tool

SCOPE = "scope"
"""The member of a hint that says for whom the prompt is cached."""
OPTIONS_FIELD = "prompt_cache_options"
BREAKPOINT = CacheHint(b'{"mode":"explicit"}')
HOUR = CacheHint(b'{"type":"ephemeral","ttl":"1h"}')
_decode = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def hints_of(conversation: Conversation) -> list[CacheHint]:
    """All hints: of the request, of tools, messages and parts, and inside results."""
    found = [conversation.hint, *[tool.hint for tool in conversation.tools if type(tool) is Tool]]
    for message in conversation.messages:
        found.append(message.hint)
        for part in message.parts:
            if part.hint is not None:
                found.append(part.hint)
            if type(part) is Result:
                found += [inner.hint for inner in part.parts]
    return [hint for hint in found if hint is not None]


def marks_own_end(conversation: Conversation) -> bool:
    """Whether the client of a breakpoint API wants no breakpoint but its own."""
    extras = conversation.extras
    return extras is not None and b'"explicit"' in extras.fields.get(OPTIONS_FIELD, b"")


def names_scope(hint: CacheHint | None) -> bool:
    """Whether a hint says for whom."""
    if hint is None or b'"scope"' not in hint.json or hint.json[:1] != b"{":
        return False
    return SCOPE in _decode(hint.json)


def is_long(hint: CacheHint) -> bool:
    """Whether a hint asks for more than the usual lifetime of five minutes."""
    if b'"ttl"' not in hint.json or hint.json[:1] != b"{":
        return False
    return bytes(_decode(hint.json).get("ttl", b"null")) not in (b'"5m"', b"null")
