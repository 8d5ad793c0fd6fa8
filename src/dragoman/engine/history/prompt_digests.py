"""Which part of a prompt was sent before: digests of its beginning, and nothing of its text.

They are made and compared in one process, whose secret they are keyed with.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

import msgspec

from dragoman.conversation.bounded_cache import IdentityCache
from dragoman.conversation.conversation import Conversation, KnownBeginning
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
    """Whether its last turn begins with the result of a tool: the model was asked for all before it a moment ago."""
    session: int = 0
    """Whose turn it is, at which target."""
    turns: array[int] = array("q")
    """A digest of each turn."""

    def goes_on(self, count: int, whole: int) -> bool:
        """Whether its first turns are all those of an earlier prompt."""
        return count <= len(self.turns) and hash((self.opening, self.turns[:count].tobytes())) == whole


def digest_prompt(
    conversation: Conversation,
    target: str,
    known: KnownBeginning | None = None,
    session: tuple[str, int] = ("", 0),
) -> PromptDigests:
    """The digests of a conversation for one target. What models thought does not count: clients may leave it out.
    `known`: what is remembered of the conversation. `session`: what its turns have in common."""
    messages, (last, end), begin = conversation.messages, _last_answer(conversation), conversation.opening
    pieces: list[bytes] = []
    for message in messages[:begin]:
        collect_words(message.parts, pieces)
    opening = hash((target, digest_tools(conversation.tools), b"".join(pieces)))
    turns = digest_messages(conversation, known)[begin:]
    earlier = hash((opening, turns[: max(last - begin, 0)].tobytes())) if last >= 0 else 0
    whole = hash((opening, turns.tobytes()))
    continues = messages[-1].role is TOOL or (end < len(messages) and messages[end].role is TOOL)
    return PromptDigests(opening, earlier, whole, continues, hash((target, session)), turns)


class DigestedMessages(msgspec.Struct, frozen=True):
    """The digests of messages, for the next turn of their conversation too."""

    messages: tuple[Message, ...]
    opening: int
    """Messages with which the conversation opens."""
    digests: array[int]
    """One of each message."""

    def holds(self, messages: tuple[Message, ...], opening: int, count: int) -> bool:
        """Whether the first messages were digested. If one of the list is the same object, so are all before it."""
        known = self.messages
        return self.opening == opening < count <= len(known) and known[count - 1] is messages[count - 1]


def digest_messages(conversation: Conversation, known: KnownBeginning | None) -> array[int]:
    """The digests of all messages. `known`: what is remembered of the conversation."""
    messages = conversation.messages
    if known is None:
        return digest_each(messages)
    opening = conversation.opening
    before: DigestedMessages | None = known.made.get(DigestedMessages)
    if before is not None and before.messages is messages:
        return before.digests
    if before is not None and before.holds(messages, opening, known.count):
        digests = digest_each(messages[:opening]) + before.digests[opening : known.count]
        digests += digest_each(messages[known.count :])
    else:
        digests = digest_each(messages)
    known.keep(DigestedMessages, DigestedMessages(messages, opening, digests), 8 * len(digests))
    return digests


def digest_each(messages: Iterable[Message]) -> array[int]:
    """What each message says, and who says it, in one loop: most hold one text or call. What the model thought does not
    count."""
    digests: list[int] = []
    for message in messages:
        parts = message.parts
        only: Any = parts[0] if len(parts) == 1 else None
        kind = type(only)
        if kind is Result and len(only.parts) == 1:
            only = only.parts[0]
            kind = type(only)
        if kind is Text:
            digests.append(hash((message.role, only.literal)))
        elif kind is Call:
            digests.append(hash((message.role, only.name, only.arguments)))
        else:
            pieces: list[bytes] = []
            collect_words(parts, pieces)
            digests.append(hash((message.role, *pieces)))
    return array("q", digests)


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


def _last_answer(conversation: Conversation) -> tuple[int, int]:
    """Where the model's last answer begins and ends; -1 and 0 if it has not answered yet."""
    messages, at = conversation.messages, len(conversation.messages) - 1
    while at >= 0 and messages[at].role is not ASSISTANT:
        at -= 1
    end = at + 1
    while at > 0 and messages[at - 1].role is ASSISTANT:
        at -= 1
    return at, end


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
