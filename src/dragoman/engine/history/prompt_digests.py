"""Which part of a prompt was sent before: digests of its beginning, and nothing of its text."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from hashlib import blake2b

import msgspec

from dragoman.conversation.conversation import Conversation
from dragoman.conversation.messages import ASSISTANT, TOOL
from dragoman.conversation.parts import Call, Inline, Media, Part, Reasoning, Remote, Result, Text
from dragoman.conversation.tools import NativeTool

_Update = Callable[[bytes], None]


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
    update = chain.update
    for tool in conversation.tools:
        if isinstance(tool, NativeTool):
            update(tool.json)
        else:
            update(tool.name.encode("utf-8", "replace"))
            update(tool.description or b"")
            update(tool.schema or b"")
    messages, last = conversation.messages, _before_last_answer(conversation)
    for message in messages[: conversation.opening]:
        _feed(update, message.parts)
    opening, earlier = chain.digest(), b""
    for at, message in enumerate(messages[conversation.opening :], conversation.opening):
        if at == last:
            earlier = chain.digest()
        update(message.role.value.encode())
        _feed(update, message.parts)
    return PromptDigests(opening, earlier, chain.digest(), messages[-1].role is TOOL)


def _before_last_answer(conversation: Conversation) -> int:
    """Where the model's last answer begins; -1 if it has not answered yet."""
    messages, at = conversation.messages, len(conversation.messages) - 1
    while at >= 0 and messages[at].role is not ASSISTANT:
        at -= 1
    while at > 0 and messages[at - 1].role is ASSISTANT:
        at -= 1
    return at


def _feed(update: _Update, parts: Iterable[Part]) -> None:
    for part in parts:
        match part:
            case Text():
                update(part.literal)
            case Call():
                update(part.name.encode("utf-8", "replace"))
                update(part.arguments)
            case Result():
                _feed(update, part.parts)
            case Media(source=Inline(data=data)):
                update(data)
            case Media(source=Remote(url=url)):
                update(url.encode("utf-8", "replace"))
            case Reasoning():
                pass
            case _:
                update(type(part).__name__.encode())
