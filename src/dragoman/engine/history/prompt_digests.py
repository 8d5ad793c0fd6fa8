"""Which part of a prompt was sent before: digests of its beginning, and nothing of its text."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

import msgspec

from dragoman.conversation.conversation import Conversation
from dragoman.conversation.identity_cache import IdentityCache
from dragoman.conversation.messages import ASSISTANT, TOOL, Role
from dragoman.conversation.parts import Call, Inline, Media, Part, Reasoning, Result, Text
from dragoman.conversation.tools import NativeTool, Tool


class PromptDigests(msgspec.Struct, frozen=True, gc=False):
    """One prompt, known again by three of its beginnings."""

    opening: bytes
    """Tools and system texts."""
    earlier: bytes
    """And all turns before the model's last answer: what the turn before this one sent. Empty if there is none."""
    whole: bytes
    """And all other turns: what the next turn will have in common with this one."""
    continues: bool = False
    """Whether it ends with the result of a tool: the model was asked for all before it a moment ago."""


def digest_prompt(conversation: Conversation, target: str) -> PromptDigests:
    """The digests of a conversation for one target. What models thought does not count: clients may leave it out."""
    chain = blake2b(target.encode(), digest_size=16)
    chain.update(_digest_tools(conversation.tools))
    messages, last = conversation.messages, _before_last_answer(conversation)
    pieces: list[bytes] = []
    for message in messages[: conversation.opening]:
        _collect(message.parts, pieces)
    chain.update(b"".join(pieces))
    opening, earlier, pieces = chain.digest(), b"", []
    for at, message in enumerate(messages[conversation.opening :], conversation.opening):
        if at == last:
            chain.update(b"".join(pieces))
            earlier, pieces = chain.digest(), []
        pieces.append(_ROLES[message.role])
        _collect(message.parts, pieces)
    chain.update(b"".join(pieces))
    return PromptDigests(opening, earlier, chain.digest(), messages[-1].role is TOOL)


_ROLES = {role: role.value.encode() for role in Role}


def _hash_tools(tools: tuple[Tool | NativeTool, ...]) -> bytes:
    pieces: list[bytes] = []
    for tool in tools:
        if isinstance(tool, NativeTool):
            pieces.append(tool.json)
        else:
            pieces += (tool.name.encode("utf-8", "replace"), tool.description or b"", tool.schema or b"")
    return blake2b(b"".join(pieces), digest_size=16).digest()


_digest_tools = IdentityCache(_hash_tools)


def _before_last_answer(conversation: Conversation) -> int:
    """Where the model's last answer begins; -1 if it has not answered yet."""
    messages, at = conversation.messages, len(conversation.messages) - 1
    while at >= 0 and messages[at].role is not ASSISTANT:
        at -= 1
    while at > 0 and messages[at - 1].role is ASSISTANT:
        at -= 1
    return at


def _collect(parts: Iterable[Part], pieces: list[bytes]) -> None:
    """What the parts say."""
    for part in parts:
        if type(part) is Text:
            pieces.append(part.literal)
        elif type(part) is Call:
            pieces += (part.name.encode("utf-8", "replace"), part.arguments)
        elif type(part) is Result:
            _collect(part.parts, pieces)
        elif type(part) is Media:
            source = part.source
            pieces.append(source.data if type(source) is Inline else repr(source).encode("utf-8", "replace"))
        elif type(part) is not Reasoning:
            pieces.append(type(part).__name__.encode())
