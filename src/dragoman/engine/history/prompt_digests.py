"""Which part of a prompt was sent before: digests of its beginning, and nothing of its text.

They are made and compared in one process, whose secret they are keyed with.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

import msgspec

from dragoman.conversation.conversation import Conversation
from dragoman.conversation.identity_cache import IdentityCache
from dragoman.conversation.messages import ASSISTANT, TOOL, Message
from dragoman.conversation.parts import Call, Inline, Media, Part, Reasoning, Result, Text
from dragoman.conversation.tools import NativeTool, Tool


class PromptDigests(msgspec.Struct, frozen=True, gc=False):
    """One prompt, known again by three of its beginnings."""

    opening: int
    """Tools and system texts."""
    earlier: int
    """And all turns before the model's last answer: what the turn before this one sent. 0 if there is none."""
    whole: int
    """And all other turns: what the next turn will have in common with this one."""
    continues: bool = False
    """Whether it ends with the result of a tool: the model was asked for all before it a moment ago."""


def digest_prompt(conversation: Conversation, target: str) -> PromptDigests:
    """The digests of a conversation for one target. What models thought does not count: clients may leave it out."""
    messages, last = conversation.messages, _before_last_answer(conversation)
    pieces: list[bytes] = []
    for message in messages[: conversation.opening]:
        collect_words(message.parts, pieces)
    opening = hash((target, digest_tools(conversation.tools), b"".join(pieces)))
    before, earlier, pieces = b"", 0, []
    for at, message in enumerate(messages[conversation.opening :], conversation.opening):
        if at == last:
            before = b"".join(pieces)
            earlier, pieces = hash((opening, before)), []
        pieces.append(message.role.encode())
        collect_words(message.parts, pieces)
    return PromptDigests(opening, earlier, hash((opening, before + b"".join(pieces))), messages[-1].role is TOOL)


def digest_message(message: Message) -> int:
    """What one message says, and who says it. What the model thought does not count."""
    parts = message.parts
    if len(parts) == 1 and type(parts[0]) is Text:
        return hash((message.role.encode(), parts[0].literal))
    pieces = [message.role.encode()]
    collect_words(parts, pieces)
    return hash(tuple(pieces))


def _hash_tools(tools: tuple[Tool | NativeTool, ...]) -> bytes:
    pieces: list[bytes] = []
    for tool in tools:
        if isinstance(tool, NativeTool):
            pieces.append(tool.json)
        else:
            pieces += (tool.name.encode("utf-8", "replace"), tool.description or b"", tool.schema or b"")
    return blake2b(b"".join(pieces), digest_size=16).digest()


digest_tools = IdentityCache(_hash_tools)
"""What tools say, and in which order."""


def _before_last_answer(conversation: Conversation) -> int:
    """Where the model's last answer begins; -1 if it has not answered yet."""
    messages, at = conversation.messages, len(conversation.messages) - 1
    while at >= 0 and messages[at].role is not ASSISTANT:
        at -= 1
    while at > 0 and messages[at - 1].role is ASSISTANT:
        at -= 1
    return at


def collect_words(parts: Iterable[Part], pieces: list[bytes]) -> None:
    """What the parts say."""
    for part in parts:
        if type(part) is Text:
            pieces.append(part.literal)
        elif type(part) is Call:
            pieces += (part.name.encode("utf-8", "replace"), part.arguments)
        elif type(part) is Result:
            collect_words(part.parts, pieces)
        elif type(part) is Media:
            source = part.source
            pieces.append(source.data if type(source) is Inline else repr(source).encode("utf-8", "replace"))
        elif type(part) is not Reasoning:
            pieces.append(type(part).__name__.encode())
