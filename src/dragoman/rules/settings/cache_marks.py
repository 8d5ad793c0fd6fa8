"""No cache hint, where one would save money.

This rule changes valid requests, so it is `off` unless you choose `add`. A hint is put on the last part of the opening
system messages, or on the first user turn where there are none.

Loses nothing; adds a hint.

For `anthropic/claude-sonnet-4-6`, with `cache-marks: add`:

    {"system": "Be brief.", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 100}
becomes
    {"system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
     "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 100}
"""

from __future__ import annotations

from msgspec.structs import replace

from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.messages import Message, Role
from dragoman.conversation.parts import CacheHint
from dragoman.conversation.traits import Trait, observe
from dragoman.profiles.facts import CachePlace, Stance
from dragoman.rules.context import Context
from dragoman.rules.rule import rule


@rule(
    "cache-marks",
    when=lambda facts: facts.cache_hints is Stance.ACCEPTS and facts.cache_place is not CachePlace.NONE,
    looks_for=Trait.ALWAYS,
    loses=Loss.NOTHING,
    options=("off", "add"),
    idle=("off",),
)
def cache_marks(conversation: Conversation, context: Context) -> Rewrite:
    if observe(conversation) & Trait.HINTS:
        return Rewrite(conversation)
    at = _place(conversation, context.facts.cache_place)
    if at is None:
        return Rewrite(conversation)
    message = conversation.messages[at]
    marked = replace(message, parts=(*message.parts[:-1], replace(message.parts[-1], hint=CacheHint())), listed=True)
    messages = (*conversation.messages[:at], marked, *conversation.messages[at + 1 :])
    note = Note("put a cache hint on it", message, kind="added", before=message, after=marked)
    return Rewrite(replace(conversation, messages=messages), (note,))


def _place(conversation: Conversation, place: CachePlace) -> int | None:
    opening = conversation.opening
    if place is CachePlace.OPENING and opening and conversation.messages[opening - 1].parts:
        return opening - 1
    users = (at for at, message in enumerate(conversation.messages) if _is_user(message))
    return next(users, None)


def _is_user(message: Message) -> bool:
    return message.role is Role.USER and bool(message.parts)
