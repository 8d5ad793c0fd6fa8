"""A system message after the first turn.

Some models take instructions only before the conversation, some only at certain places. With `user` a late message
becomes a user turn where it stands, so that it stays next to what it is about, with the tag `[System] `
(`texts.system_prefix`). With `opening` it moves to the other system messages. A target that takes late messages gets
them where they stand; to have the choice there too, state the fact `late_system: refuses` for it.

Loses authority: as a user turn the model reads it as the user's words. Moved to the opening it loses its order.

    user: Hi
    system: Answer in French.
becomes
    user: Hi
    user: [System] Answer in French.

With `late-system: opening`:

    system: Be brief.
    user: Hi
    system: Answer in French.
becomes
    system: Be brief.
    system: Answer in French.
    user: Hi
"""

from __future__ import annotations

from fnmatch import fnmatchcase

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import SYSTEM_ROLES, Conversation
from dragoman.conversation.messages import Message, Role
from dragoman.conversation.parts import Opaque
from dragoman.errors import Unrepresentable
from dragoman.profiles.facts import Facts, Stance, SystemPlace
from dragoman.rules.context import Context
from dragoman.rules.rewriting import Edit, edit, rewrite_indexed
from dragoman.rules.rule import KEEP, rule
from dragoman.rules.tagging import TURNED, as_user


@rule(
    "late-system",
    when=lambda facts: facts.system_place is not SystemPlace.ANYWHERE or facts.late_system is Stance.REFUSES,
    looks_for=traits.LATE_SYSTEM,
    loses=Loss.AUTHORITY,
    options=("user", "opening"),
    never_kept=lambda facts: facts.system_place is SystemPlace.TOP_LEVEL,
    turnwise=lambda context: context.choice("late-system") != "opening",
)
def late_system(conversation: Conversation, context: Context) -> Rewrite:
    refused = _find_refused(conversation.messages, conversation.opening, context.facts)
    if not refused:
        return Rewrite(conversation)
    if context.choice("late-system") == KEEP:
        raise Unrepresentable(
            f"{context.facts.provider}/{context.facts.model} has no place for a system message among the turns",
            item=conversation.messages[min(refused)].at,
            hint="choose user or opening for late-system",
        )
    if context.choice("late-system") == "opening":
        return _hoist(conversation, refused)
    prefix = context.text("system_prefix")

    def turned(index: int, message: Message) -> Edit | None:
        return edit(as_user(message, prefix), TURNED) if index in refused else None

    return rewrite_indexed(conversation, turned)


def _find_refused(messages: tuple[Message, ...], opening: int, facts: Facts) -> set[int]:
    """The late system messages that may not stay where they are. A run of them stays or goes as one."""
    refused: set[int] = set()
    index = opening
    while index < len(messages):
        if messages[index].role not in SYSTEM_ROLES:
            index += 1
            continue
        end = index
        while end < len(messages) and messages[end].role in SYSTEM_ROLES:
            end += 1
        if not _may_stay(messages, index, end, facts):
            refused.update(range(index, end))
        index = end
    return refused


def _may_stay(messages: tuple[Message, ...], start: int, end: int, facts: Facts) -> bool:
    place = facts.system_place
    if facts.late_system is Stance.REFUSES:
        return False
    if place is SystemPlace.AFTER_USER:
        return messages[start - 1].role is Role.USER
    if place is not SystemPlace.BEFORE_ANSWER:
        return False
    after = messages[end].role if end < len(messages) else Role.ASSISTANT
    return _opens_answer(messages[start - 1], facts) and after is Role.ASSISTANT


def _opens_answer(message: Message, facts: Facts) -> bool:
    """Is it a turn of the user, or one of the model that ends with a result of the provider's own tool?"""
    if message.role is not Role.ASSISTANT:
        return True
    last = message.parts[-1] if message.parts else None
    if type(last) is not Opaque or last.origin.dialect != facts.dialect:
        return False
    return any(fnmatchcase(last.kind, glob) for glob in facts.paired_blocks)


def _hoist(conversation: Conversation, refused: set[int]) -> Rewrite:
    messages = conversation.messages
    opening = conversation.opening
    # New values, because a message that has moved is not written from the source text of its old place.
    moved = [replace(messages[index], inline=False) for index in sorted(refused)]
    rest = [message for index, message in enumerate(messages[opening:], opening) if index not in refused]
    notes = tuple(
        Note("moved to the opening", message, loses=Loss.ORDER, before=message, after=message) for message in moved
    )
    return Rewrite(replace(conversation, messages=(*messages[:opening], *moved, *rest)), notes)
