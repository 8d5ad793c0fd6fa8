"""Text that is empty or only white space.

An empty text beside other parts is taken out. A message that holds nothing else is taken out too if it is the system's
or the assistant's. A user turn is needed where it stands, so it gets a short placeholder (`texts.empty_content`).

Loses nothing: there was nothing.

    user: Hi
    assistant:
    user: Are you there?
becomes
    user: Hi
    user: Are you there?
"""

from __future__ import annotations

from dragoman.conversation.changes import Loss, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.literals import EMPTY, quote
from dragoman.conversation.messages import Message, Role
from dragoman.conversation.parts import Part, Text
from dragoman.conversation.traits import Trait
from dragoman.profiles.facts import Facts, Stance
from dragoman.rules.context import Context
from dragoman.rules.rewriting import Edit, edit, rewrite_messages
from dragoman.rules.rule import rule

REFUSES = Stance.REFUSES


def refuses_emptiness(facts: Facts) -> bool:
    """Is there any place where the target takes no empty text?"""
    found = (facts.empty_user, facts.empty_assistant, facts.empty_system, facts.empty_beside, facts.blank_text)
    return REFUSES in (*found, facts.empty_system_block)


@rule("empty-content", when=refuses_emptiness, looks_for=Trait.BLANK_TEXT, loses=Loss.NOTHING)
def empty_content(conversation: Conversation, context: Context) -> Rewrite:
    return without_emptiness(conversation, context)


def without_emptiness(conversation: Conversation, context: Context) -> Rewrite:
    def cleaned(message: Message) -> Edit | None:
        if message.role is Role.TOOL or not any(_is_empty(part) for part in message.parts):
            return None
        if not all(_is_empty(part) for part in message.parts):
            return _beside(message, context.facts)
        return _alone(message, context)

    return rewrite_messages(conversation, cleaned)


def _is_empty(part: Part) -> bool:
    return type(part) is Text and part.blank


def _beside(message: Message, facts: Facts) -> Edit | None:
    if facts.empty_beside is not REFUSES:
        return None
    kept = tuple(part for part in message.parts if not (type(part) is Text and part.literal == EMPTY))
    return edit(message.but(parts=kept), "took out an empty text") if len(kept) < len(message.parts) else None


def _alone(message: Message, context: Context) -> Edit | None:
    empty = all(part.literal == EMPTY for part in message.parts)  # type: ignore[attr-defined]
    as_block = message.listed and message.role is Role.SYSTEM and context.facts.empty_system_block is REFUSES
    if not as_block and not _refused(message.role, empty, context.facts):
        return None
    if message.role is Role.USER:
        filled = message.but(parts=(Text(quote(context.text("empty_content"))),), listed=False)
        return Edit((filled,), "put a placeholder into an empty turn", adds=True)
    return Edit((), "took out an empty message")


def _refused(role: Role, empty: bool, facts: Facts) -> bool:
    stances = {Role.USER: facts.empty_user, Role.ASSISTANT: facts.empty_assistant}
    stance = stances.get(role, facts.empty_system)
    return stance is REFUSES or (not empty and facts.blank_text is REFUSES)
