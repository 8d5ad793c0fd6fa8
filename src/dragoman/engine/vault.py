"""Opaque reasoning state that the client's dialect could not carry: what to ask the store for, and putting it back."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b

import msgspec

from dragoman.conversation.conversation import Conversation
from dragoman.conversation.messages import Message, Role
from dragoman.conversation.parts import Call, Opaque, Part, Reasoning, Text
from dragoman.profiles.facts import Facts
from dragoman.rules.reasoning import fits


class Kept(msgspec.Struct, frozen=True):
    """What was kept for one call or one answer: the thinking before it, and the signature on it."""

    reasoning: tuple[Reasoning, ...] = ()
    signature: Opaque | None = None


def keys(conversation: Conversation) -> tuple[str, ...]:
    """What may be needed for this conversation, the latest first."""
    found: dict[str, None] = {}
    for message in reversed(conversation.messages):
        if message.role is Role.ASSISTANT:
            found |= dict.fromkeys(_keys_of(message))
    return tuple(found)


def _keys_of(message: Message) -> list[str]:
    calls = [part.id for part in message.parts if type(part) is Call]
    return calls or [text_key(said(message.parts))]


def said(parts: tuple[Part, ...]) -> str:
    return "".join(part.text for part in parts if type(part) is Text)


def text_key(text: str) -> str:
    """The key of an answer without calls: a digest of its decoded text."""
    return "text:" + blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest()


def restored(conversation: Conversation, kept: Mapping[str, Kept], facts: Facts) -> Conversation:
    """The conversation with the state put back that the target may have."""
    messages = tuple([_restored(message, kept, facts) for message in conversation.messages])
    same = all(one is other for one, other in zip(messages, conversation.messages, strict=True))
    return conversation if same else conversation.but(messages=messages)


def _restored(message: Message, kept: Mapping[str, Kept], facts: Facts) -> Message:
    if message.role is not Role.ASSISTANT:
        return message
    found = [kept[key] for key in _keys_of(message) if key in kept]
    if not found:
        return message
    parts = tuple([_signed(part, kept, facts) for part in message.parts])
    if not any(type(part) is Reasoning for part in parts):
        parts = (*_thinking(found, facts), *parts)
    same = len(parts) == len(message.parts) and all(
        one is other for one, other in zip(parts, message.parts, strict=True)
    )
    return message if same else message.but(parts=parts)


def _thinking(found: list[Kept], facts: Facts) -> list[Reasoning]:
    """Thinking that the target issued; plain text goes where thinking is taken as text."""
    thoughts: dict[int, Reasoning] = {}
    for one in found:
        for part in one.reasoning:
            if part.state is None or fits(part.state, facts):
                thoughts[id(part)] = part
    return list(thoughts.values())


def _signed(part: Part, kept: Mapping[str, Kept], facts: Facts) -> Part:
    if type(part) is not Call or part.signature is not None:
        return part
    held = kept.get(part.id)
    if held is None or held.signature is None or not fits(held.signature, facts):
        return part
    return msgspec.structs.replace(part, signature=held.signature)
