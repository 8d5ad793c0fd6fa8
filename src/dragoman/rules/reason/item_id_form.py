"""An item id that another vendor made, that stands there twice, or that names thinking which only its provider keeps.

The Responses API knows its items by their ids (`rs_…`, `fc_…`, `msg_…`) and refuses ids of another form. An id of
another form is taken off, because a call is also known by its call id and a message by its place. So is one that an
earlier item has; a block that stands there twice stays once. Thinking under such an id stays without it if OpenAI can
decrypt it, and is left out otherwise. So is thinking that OpenAI keeps if the message after it does not name its id or
loses it, and thinking that stands there twice. With `store: false` OpenAI keeps none: thinking that it can decrypt
stays without such a message, and other thinking under an id is left out.

OpenAI also refuses an item that it keeps without the others that it came with, and one that it does not find, as for
organisations whose items it never keeps. Once it has said so (fact `kept_items`), all ids are taken off, and thinking
that it cannot decrypt is left out, and so are references to thinking.

Loses metadata.

For `openai-responses/gpt-5`:

    {"input": [{"role": "user", "content": "Hi"},
      {"type": "function_call", "id": "tool_1", "call_id": "c", "name": "look", "arguments": "{}"},
      {"type": "function_call_output", "call_id": "c", "output": "12 degrees"}]}
becomes
    {"input": [{"role": "user", "content": "Hi"},
      {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"},
      {"type": "function_call_output", "call_id": "c", "output": "12 degrees"}]}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.messages import Message, Role
from dragoman.conversation.parts import REFERENCE, Call, Extras, Opaque, Part, Reasoning, Result, Text
from dragoman.profiles.facts import Facts, Stance
from dragoman.rules.context import Context
from dragoman.rules.reasoning import fits
from dragoman.rules.rewriting import rewrite
from dragoman.rules.rule import rule

_IDS = ID, ITEM_ID = "id", "item.id"
"""The id of an item that is one part, and that of a message, which its first part carries."""
_NAMED: Mapping[type[Part], str] = {Call: "call", Result: "result", Reasoning: "reasoning"}
"""Parts that are items by themselves, and what the fact calls them. Results may have ids of any form."""
Followers = Mapping[int, Part | None]
"""The part after each thought, by the identity of the thought."""


@rule(
    "item-id-form",
    when=lambda facts: bool(facts.item_ids),
    looks_for=traits.PART_EXTRAS | traits.MESSAGE_EXTRAS | traits.OPAQUE,
    loses=Loss.METADATA,
)
def item_id_form(conversation: Conversation, context: Context) -> Rewrite:
    facts = context.facts
    is_kept = conversation.settings.store is not False and facts.kept_items is not Stance.REFUSES
    if _are_in_order(conversation.messages, facts, is_kept):
        return Rewrite(conversation)
    notes: list[Note] = []
    messages: list[Message] = []
    seen: set[bytes] = set()
    followers = _find_followers(conversation.messages) if is_kept else None
    for message in conversation.messages:
        cleaned = _clean(message, facts, followers, seen, notes)
        if cleaned.parts or not message.parts:
            messages.append(cleaned)
    return rewrite(conversation, notes, messages=tuple(messages))


def _are_in_order(messages: Sequence[Message], facts: Facts, is_kept: bool) -> bool:
    """Whether every id has its form and is there once, and no thinking has lost its words, as in most histories. One
    loop on purpose: a call for each part would take five times as long."""
    if facts.kept_items is Stance.REFUSES:
        return False
    forms = {kind: b'"' + form.encode() for kind, form in facts.item_ids.items()}
    of_message = forms.get("message", b'"')
    ids_of = {kind: (ID, forms.get(name, b'"')) for kind, name in _NAMED.items()}
    id_of_message = ITEM_ID, of_message
    ids: list[bytes] = []
    thinks = False
    for message in messages:
        thinks = thinks and message.role is Role.ASSISTANT
        if message.extras is not None and (found := message.extras.fields.get(ID)) is not None:
            ids.append(found)
            if not found.startswith(of_message):
                return False
        for part in message.parts:
            kind = type(part)
            if part.extras is None and not thinks and kind is not Opaque:
                continue  # most parts
            name, form = ids_of.get(kind, id_of_message)
            found = None if part.extras is None else part.extras.fields.get(name)
            if kind is Reasoning:
                thinks = thinks or (found is not None and is_kept)
                if found is not None and not is_kept and not _is_proven(part, facts):
                    return False
            elif thinks:
                if kind is Text and found is None:
                    return False
                thinks = False
            if found is not None:
                ids.append(found)
                if not found.startswith(form):
                    return False
            elif kind is Opaque:
                ids.append(part.json)  # type: ignore[attr-defined]
    return len(set(ids)) == len(ids)


def _is_proven(part: Part, facts: Facts) -> bool:
    """Whether thinking says all of itself, for the target to decrypt."""
    return part.state is not None and fits(part.state, facts)  # type: ignore[attr-defined]


def _clean(message: Message, facts: Facts, followers: Followers | None, seen: set[bytes], notes: list[Note]) -> Message:
    """`followers`: of thinking; None if nothing is stored."""
    parts: list[Part] = []
    for part in message.parts:
        if type(part) is Reasoning:
            if _is_named_oddly(part, facts) and _is_proven(part, facts):
                notes.append(Note("took off the id of thinking", message, part, before=part.extras))
                part = replace(part, extras=part.extras.without(_IDS) if part.extras is not None else None)
            elif _is_lost(part, followers, seen, facts):
                notes.append(Note("left out thinking that only another provider keeps", message, part, before=part))
                continue
        elif type(part) is Opaque:
            if facts.kept_items is Stance.REFUSES and _names_thinking(part, facts):
                notes.append(Note("left out a reference to thinking that is not kept", message, part, before=part))
                continue
            if _is_repeated(part, seen):
                notes.append(
                    Note("left out a block that stands there twice", message, part, loses=Loss.NOTHING, before=part)
                )
                continue
        elif part.extras is not None and (why := _find_oddity(part, part.extras, facts, seen)):
            notes.append(Note(f"took off an id {why}", message, part, before=part.extras))
            part = replace(part, extras=part.extras.without(_IDS))
        parts.append(part)
    extras = message.extras
    if extras is not None and (why := _find_fault(extras.fields.get(ID), "message", facts, seen)):
        notes.append(Note(f"took off an id {why}", message, before=extras))
        return replace(message, parts=tuple(parts), extras=extras.without(_IDS))
    return (
        message
        if len(parts) == len(message.parts) and _is_same(parts, message)
        else replace(message, parts=tuple(parts))
    )


def _is_named_oddly(part: Reasoning, facts: Facts) -> bool:
    identity = part.extras.fields.get(ID) if part.extras is not None else None
    return identity is not None and not _fits(identity, "reasoning", facts)


def _names_thinking(block: Opaque, facts: Facts) -> bool:
    return block.kind == REFERENCE and f'"{facts.item_ids.get("reasoning", "")}'.encode() in block.json


def _is_same(parts: list[Part], message: Message) -> bool:
    return all(one is other for one, other in zip(parts, message.parts, strict=True))


def _find_followers(messages: Sequence[Message]) -> Followers:
    """For each thought the next part of the model's that is none, perhaps in its next message."""
    followers: dict[int, Part | None] = {}
    follower: Part | None = None
    for message in reversed(messages):
        follower = follower if message.role is Role.ASSISTANT else None
        for part in reversed(message.parts):
            if type(part) is Reasoning:
                followers[id(part)] = follower
            else:
                follower = part
    return followers


def _is_repeated(block: Opaque, seen: set[bytes]) -> bool:
    """Whether an earlier block is the same. One that has no id may be meant twice, and so may a reference."""
    if block.json in seen:
        return True
    if block.kind != REFERENCE and b'"id"' in block.json:
        seen.add(block.json)
    return False


def _is_lost(part: Reasoning, followers: Followers | None, seen: set[bytes], facts: Facts) -> bool:
    if part.extras is None or ID not in part.extras.fields:
        return False
    identity = part.extras.fields[ID]
    if identity in seen or not _fits(identity, "reasoning", facts):
        return True
    seen.add(identity)
    if followers is None:
        return not _is_proven(part, facts)
    follower = followers.get(id(part))
    if type(follower) is not Text:
        return False
    named = follower.extras.fields.get(ITEM_ID) if follower.extras is not None else None
    return named is None or named in seen or not _fits(named, "message", facts)


def _find_oddity(part: Part, extras: Extras, facts: Facts, seen: set[bytes]) -> str:
    if (named := _NAMED.get(type(part))) is not None:
        return _find_fault(extras.fields.get(ID), named, facts, seen)
    return _find_fault(extras.fields.get(ITEM_ID), "message", facts, seen)


def _find_fault(literal: bytes | None, kind: str, facts: Facts, seen: set[bytes]) -> str:
    """What is wrong with an id, if anything is."""
    if literal is None:
        return ""
    if facts.kept_items is Stance.REFUSES:
        return "under which nothing is kept"
    if not _fits(literal, kind, facts):
        return "of another form"
    if literal in seen:
        return "that an earlier item has"
    seen.add(literal)
    return ""


def _fits(literal: bytes, kind: str, facts: Facts) -> bool:
    kept = facts.kept_items is not Stance.REFUSES
    return kept and literal[1:].startswith(facts.item_ids.get(kind, "").encode())
