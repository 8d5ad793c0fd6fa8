"""Messages without texts that are empty or blank, and without any content, as far as a target refuses them."""

from __future__ import annotations

from operator import is_

from msgspec.structs import replace

from dragoman.conversation.changes import Loss, Rewrite
from dragoman.conversation.conversation import SYSTEM_ROLES, Conversation
from dragoman.conversation.literals import EMPTY, quote
from dragoman.conversation.messages import Message, Role
from dragoman.conversation.parts import Part, Reasoning, Result, Text
from dragoman.profiles.facts import Facts, Stance, SystemPlace
from dragoman.rules.context import Context
from dragoman.rules.rewriting import Edit, edit, rewrite_indexed, rewrite_messages

REFUSES = Stance.REFUSES


def refuses_emptiness(facts: Facts) -> bool:
    """Is there any place where the target takes no empty text?"""
    found = (facts.empty_user, facts.empty_assistant, facts.empty_system, facts.empty_beside, facts.blank_text)
    return REFUSES in (*found, facts.empty_system_block)


def moves_or_refuses_emptiness(facts: Facts) -> bool:
    """The same, or does the target take system messages in a field alone?"""
    return refuses_emptiness(facts) or facts.inline_system is REFUSES


def without_emptiness(conversation: Conversation, context: Context) -> Rewrite:
    moves = _moves_systems(conversation, context)

    def clean(message: Message) -> Edit | None:
        if message.role is Role.TOOL:
            return _of_results(message, context)
        if not any(_is_empty(part) for part in message.parts):
            return None
        texts = _find_content(message.parts, context.facts)
        left_out = message.role in SYSTEM_ROLES and moves
        if not all(_is_empty(part) for part in texts):
            return _take_out_beside(message, left_out, context)
        return _fill_alone(message, texts, left_out, context)

    return rewrite_messages(conversation, clean)


def _of_results(message: Message, context: Context) -> Edit | None:
    """Results in blocks without empty texts: a result may hold nothing."""
    written = context.translated
    parts = tuple([_without_empty(part, written) if type(part) is Result else part for part in message.parts])
    if context.facts.blank_text is not REFUSES or all(map(is_, parts, message.parts)):
        return None
    return edit(replace(message, parts=parts), "took an empty text out of a result", loses=Loss.NOTHING)


def _without_empty(result: Result, written: bool) -> Result:
    """White space that is all that a result says goes, too: it is refused as it is in a turn. `written`: the client
    wrote it in another dialect; in the target's own, one text that is not in a list is no block."""
    is_block = result.listed or len(result.parts) > 1
    if not is_block and not (written and any(_is_white_space(part) for part in result.parts)):
        return result
    kept = tuple([part for part in result.parts if not (type(part) is Text and part.literal == EMPTY)])
    kept = () if all(map(_is_empty, kept)) else kept
    return result if len(kept) == len(result.parts) else replace(result, parts=kept)


def _find_content(parts: tuple[Part, ...], facts: Facts) -> tuple[Part, ...]:
    """Thinking that goes into a field of its own is no content."""
    if not facts.reasoning_field:
        return parts
    return tuple([part for part in parts if type(part) is not Reasoning])


def _is_white_space(part: Part) -> bool:
    return type(part) is Text and part.blank and part.literal != EMPTY


def _is_empty(part: Part) -> bool:
    return type(part) is Text and part.blank


def _moves_systems(conversation: Conversation, context: Context) -> bool:
    """Are the system texts written into another place than they stand in? One that says nothing has no counterpart in
    another dialect, where the field would be absent, and none in a field to which messages are moved."""
    if context.translated:
        return True
    return context.facts.inline_system is REFUSES and any(message.inline for message in conversation.messages)


def _take_out_beside(message: Message, left_out: bool, context: Context) -> Edit | None:
    if context.facts.empty_beside is not REFUSES and not left_out:
        return None
    kept: list[Part] = []
    for part in message.parts:
        if not (type(part) is Text and part.literal == EMPTY):
            kept.append(part)
        elif part.signature is not None and kept and type(kept[-1]) is Text and kept[-1].signature is None:
            kept[-1] = replace(kept[-1], signature=part.signature)  # a stream signs its text at the end
    if len(kept) == len(message.parts):
        return None
    return edit(replace(message, parts=tuple(kept)), "took out an empty text", loses=Loss.NOTHING)


def _fill_alone(message: Message, texts: tuple[Part, ...], left_out: bool, context: Context) -> Edit | None:
    empty = all(type(part) is Text and part.literal == EMPTY for part in texts)
    as_block = message.listed and empty and _find_block_stance(message.role, context.facts) is REFUSES
    if not (as_block or left_out or _is_refused(message.role, empty, context.facts)):
        return None
    if message.role is Role.USER:
        filled = replace(message, parts=(Text(quote(context.text("empty_content"))),), listed=False)
        return Edit((filled,), "put a placeholder into an empty turn", loses=Loss.NOTHING, kind="synthetic")
    thought = len(texts) < len(message.parts)
    return Edit((), "took out an empty message", loses=Loss.METADATA if thought else Loss.NOTHING)


def _find_block_stance(role: Role, facts: Facts) -> Stance:
    """An empty text in a list: if it is refused beside others, it is refused alone as well."""
    return facts.empty_system_block if role is Role.SYSTEM else facts.empty_beside


def _is_refused(role: Role, empty: bool, facts: Facts) -> bool:
    stances = {Role.USER: facts.empty_user, Role.ASSISTANT: facts.empty_assistant}
    stance = stances.get(role, facts.empty_system)
    return stance is REFUSES or (not empty and facts.blank_text is REFUSES)


def refuses_nothing(facts: Facts) -> bool:
    """Is there any message that the target does not take without content?"""
    return REFUSES in (facts.no_parts, facts.no_user_parts)


def without_nothing(conversation: Conversation, context: Context) -> Rewrite:
    facts = context.facts

    def filled(index: int, message: Message) -> Edit | None:
        if _has_content(message, facts) or (message.extras is not None and message.role is Role.SYSTEM):
            return None
        asked = message.role in _ASKING and facts.no_user_parts is REFUSES
        left_out = context.translated and message.role in SYSTEM_ROLES
        if facts.no_parts is not REFUSES and not asked and not left_out:
            return None
        if message.role in SYSTEM_ROLES and index >= conversation.opening and _becomes_a_turn(context):
            return Edit((replace(message, parts=(Text(EMPTY),), listed=False),), "wrote no content as an empty text")
        if message.role is not Role.USER:
            return Edit(
                (), "took out a message without content", loses=Loss.METADATA if message.parts else Loss.NOTHING
            )
        text = Text(quote(context.text("empty_content")))
        return Edit(
            (replace(message, parts=(text,), listed=False),),
            "put a placeholder into an empty turn",
            loses=Loss.NOTHING,
            kind="synthetic",
        )

    return rewrite_indexed(conversation, filled)


def _becomes_a_turn(context: Context) -> bool:
    """Is a late system message turned into one of the user's? Then its tag stands, even if it says nothing."""
    return context.facts.system_place in _TURNED and context.choice("late-system") in (None, "user")


_TURNED = (SystemPlace.OPENING, SystemPlace.TOP_LEVEL)
_ASKING = (Role.USER, Role.SYSTEM, Role.DEVELOPER)
"""Whose messages must have content if `no_user_parts` is refused."""


def _has_content(message: Message, facts: Facts) -> bool:
    """Thinking that goes into a field of its own is no content, nor is thinking that the model never reads."""
    if not facts.reasoning_field and "reasoning" not in facts.drops:
        return bool(message.parts)
    return any(type(part) is not Reasoning for part in message.parts)
