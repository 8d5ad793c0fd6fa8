"""The cache hints of a conversation, wherever they stand."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from dragoman.conversation.bounded_cache import IdentityCache
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.parts import CacheHint, Media, Result, Text
from dragoman.conversation.tools import NativeTool, Tool

SCOPE = "scope"
"""The member of a hint that says for whom the prompt is cached."""
OPTIONS_FIELD = "prompt_cache_options"
BREAKPOINT = CacheHint(b'{"mode":"explicit"}')
HOUR = CacheHint(b'{"type":"ephemeral","ttl":"1h"}')
_decode = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def hints_of(conversation: Conversation) -> list[CacheHint]:
    """All hints: of the request, of tools, messages and parts, and inside results."""
    found = [tool.hint for tool in conversation.tools] if have_hints(conversation.tools) else []
    found.insert(0, conversation.hint)
    for message in conversation.messages:
        if message.hint is not None:
            found.append(message.hint)
        for part in message.parts:
            if part.hint is not None:
                found.append(part.hint)
            if type(part) is Result:
                for inner in part.parts:
                    if inner.hint is not None:
                        found.append(inner.hint)
    return [hint for hint in found if hint is not None]


def _find_any_hint(tools: tuple[Tool | NativeTool, ...]) -> tuple[bool]:
    return (any(tool.hint is not None for tool in tools),)


_have_hints: Callable[[tuple[Tool | NativeTool, ...]], tuple[bool]] = IdentityCache(_find_any_hint)


def have_hints(tools: tuple[Tool | NativeTool, ...]) -> bool:
    """Whether one of the tools has a hint. An agent has dozens, the same on every turn."""
    return _have_hints(tools)[0]


def with_breakpoint(result: Result) -> Result:
    """The result with a breakpoint on its last part that takes one; the same one if none does."""
    for at in range(len(result.parts) - 1, -1, -1):
        part = result.parts[at]
        if isinstance(part, Media) or (type(part) is Text and not part.blank):
            parts = (*result.parts[:at], replace(part, hint=BREAKPOINT), *result.parts[at + 1 :])
            return replace(result, hint=None, parts=parts, listed=True)
    return result


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
