"""A field of a message or a part that holds nothing: null, or an empty list.

SDKs write the fields that an answer did not have (`refusal: null`, `tool_calls: []`) back into the history. A provider
that refuses unknown fields refuses them even when they are empty. The field is left out.

Loses nothing: null means absent.

For `groq/llama-3.3-70b-versatile`:

    {"messages": [{"role": "user", "content": "Hi", "refusal": null}]}
becomes
    {"messages": [{"role": "user", "content": "Hi"}]}
"""

from __future__ import annotations

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.messages import Message
from dragoman.conversation.parts import Call, Extras, Part, Result
from dragoman.profiles.facts import Facts, Stance
from dragoman.rules.context import Context
from dragoman.rules.known_fields import have_fields, refuses_fields
from dragoman.rules.rewriting import reuse_unchanged, rewrite
from dragoman.rules.rule import rule

_NOTHING = (b"null", b"[]")
_CALLS = "calls"
"""What holds the fields of a call. A target that knows one of them wants a value there."""


@rule(
    "null-field",
    spelling=True,
    when=lambda facts: True,
    looks_for=traits.MESSAGE_EXTRAS | traits.PART_EXTRAS,
    loses=Loss.NOTHING,
    turnwise=lambda context: True,
)
def null_field(conversation: Conversation, context: Context) -> Rewrite:
    facts = context.facts
    notes: list[Note] = []
    messages = tuple([_clean_message(message, facts, notes) for message in conversation.messages])
    return rewrite(conversation, notes, messages=messages)


def _clean_message(message: Message, facts: Facts, notes: list[Note]) -> Message:
    parts, extras = message.parts, message.extras
    if have_fields(parts):
        parts = reuse_unchanged(parts, [_clean_part(message, part, facts, notes) for part in parts])
    if extras is not None:
        extras = _drop_nulls(extras, message.role.value, facts)
        if extras is not message.extras:
            notes.append(_note(message.extras, extras, message, None))
    same = parts is message.parts and extras is message.extras
    return message if same else replace(message, parts=parts, extras=extras)


def _clean_part(message: Message, part: Part, facts: Facts, notes: list[Note]) -> Part:
    if type(part) is Result and have_fields(part.parts):
        inner = reuse_unchanged(part.parts, [_clean_part(message, one, facts, notes) for one in part.parts])
        part = part if inner is part.parts else replace(part, parts=inner)
    if part.extras is None:
        return part
    inside = type(part) is not Call and type(part) is not Result
    extras = _drop_nulls(part.extras, _CALLS if type(part) is Call else message.role.value, facts, inside)
    if extras is part.extras:
        return part
    notes.append(_note(part.extras, extras, message, part))
    return replace(part, extras=extras)


def _drop_nulls(extras: Extras | None, holder: str, facts: Facts, inside: bool = False) -> Extras | None:
    """The fields without the empty ones that may not stay: the same object if all may. `inside`: of a content part."""
    if extras is None or not any(value in _NOTHING for value in extras.fields.values()):
        return extras
    allowed: set[str] = set()
    if extras.dialect == facts.dialect:
        if not refuses_fields(facts, inside):
            kept = {name: value for name, value in extras.fields.items() if not _empty_calls(name, value, facts)}
            return extras.only(kept)
        allowed = {*facts.message_fields.get("*", ())}
        if holder != _CALLS:
            allowed.update(facts.message_fields.get(holder, ()))
    return extras.only({name: one for name, one in extras.fields.items() if one not in _NOTHING or name in allowed})


def _empty_calls(name: str, value: bytes, facts: Facts) -> bool:
    return name == "tool_calls" and value in _NOTHING and facts.empty_calls is Stance.REFUSES


def _note(before: Extras | None, after: Extras | None, message: Message, part: Part | None) -> Note:
    gone = sorted((before.fields.keys() if before else set()) - (after.fields.keys() if after else set()))
    return Note(f"left out {', '.join(f'`{name}`' for name in gone)}, which held nothing", message, part)
