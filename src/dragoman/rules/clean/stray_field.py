"""A field that does not belong in a message, a part or a tool.

Clients store what a stream gave them and send it back: `done`, `index`, `finish_reason`. Such leftovers are taken out
of messages for every target, and marks of streams (`done`, `stream_end`) out of parts, calls and tools too. Any other
unknown field goes to a target of the same dialect that ignores it, and is taken out for a target that refuses it. It
never goes to another dialect. The fact `message_fields` lists fields that a target takes. A field that another vendor
added to the dialect (fact `vendor_fields`) is left out if the target refuses the fields of others, even if it is not
known what the target does with a field that nobody has. So is a field of a text that the target refuses in turns of
this role (fact `refused_part_fields`), such as `citations` on a user's. A breakpoint of the prompt cache becomes a
cache hint for a target of another dialect that takes hints. Fields of a document that both dialects have under one name
go on (fact `shared_document_fields`). What the client says about a document (`context`) becomes a text before it
elsewhere. The mark that a search has to find a tool first is taken off if all tools have it and the target refuses
that: without it nothing could be called.

Agents on LiteLLM keep the thinking of Claude in `thinking_blocks` beside an answer, and the signature of a call of
Gemini's in `provider_specific_fields`. They do not say who made it: it is put back for a target that takes such state.

Loses metadata.

    user: Hi
    assistant: Hello {"done": true}
becomes
    user: Hi
    assistant: Hello
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.literals import EMPTY, join_texts, prefix_literal
from dragoman.conversation.messages import ASSISTANT, Message
from dragoman.conversation.parts import (
    BESIDE,
    BREAKPOINT_FIELD,
    CONTEXT_FIELD,
    CacheHint,
    Call,
    Extras,
    Media,
    MediaKind,
    Opaque,
    Origin,
    Part,
    Reasoning,
    Result,
    StateKind,
    Text,
)
from dragoman.conversation.tools import NativeTool, Tool
from dragoman.conversation.traits import LEFTOVERS, STREAM_MARKS
from dragoman.profiles.facts import CacheForm, Facts, Stance
from dragoman.rules.cache_hints import BREAKPOINT, HOUR, OPTIONS_FIELD
from dragoman.rules.context import Context
from dragoman.rules.known_fields import have_fields, keep_known, keep_shared, sees_beside
from dragoman.rules.native_kinds import DEFERRED, is_deferred, takes_block
from dragoman.rules.rewriting import reuse_unchanged
from dragoman.rules.rule import rule

_MOST_LISTED = 1_000
"""Names of fields that a report lists one by one."""


@rule(
    "stray-field",
    when=lambda facts: True,
    looks_for=traits.MESSAGE_EXTRAS | traits.PART_EXTRAS | traits.TOOL_EXTRAS,
    loses=Loss.METADATA,
    turnwise=lambda context: True,
)
def stray_field(conversation: Conversation, context: Context) -> Rewrite:
    facts = context.facts
    notes: list[Note] = []
    lasts = conversation.extras is not None and b'"12h"' in conversation.extras.fields.get(OPTIONS_FIELD, b"")
    messages = reuse_unchanged(
        conversation.messages, [_clean_message(message, facts, lasts, notes) for message in conversation.messages]
    )
    marks = _refused_marks(conversation.tools, facts)
    tools = reuse_unchanged(conversation.tools, [_clean_tool(tool, marks, facts, notes) for tool in conversation.tools])
    if messages is conversation.messages and tools is conversation.tools:
        return Rewrite(conversation)
    return Rewrite(replace(conversation, messages=messages, tools=tools), tuple(notes))


def _clean_message(message: Message, facts: Facts, lasts: bool, notes: list[Note]) -> Message:
    """`lasts`: breakpoints of the prompt cache are to last for long."""
    parts = _clean_parts(message, message.parts, facts, lasts, notes)
    extras = None if message.extras is None else keep_known(message.extras, message.role.value, facts)
    if extras is message.extras:
        return message if parts is message.parts else replace(message, parts=parts)
    thoughts = _thoughts_beside(message, extras, facts)
    if thoughts:
        parts = _with_thoughts(parts, thoughts)
    notes.append(_note(message.extras, extras, message, None, _BLOCKS if thoughts else None))
    return replace(message, parts=parts, extras=extras)


_BLOCKS = "thinking_blocks"
_OF_PROVIDER = "provider_specific_fields"


class _BlockBeside(msgspec.Struct, gc=False):
    type: str = ""
    thinking: Raw = Raw(b"null")
    signature: Raw = Raw(b"null")
    data: Raw = Raw(b"null")


class _FieldsBeside(msgspec.Struct, gc=False):
    thought_signature: Raw = Raw(b"null")


_decode_blocks = msgspec.json.Decoder(list[_BlockBeside]).decode
_decode_of_provider = msgspec.json.Decoder(_FieldsBeside).decode


def _thoughts_beside(message: Message, left: Extras | None, facts: Facts) -> list[Reasoning]:
    """The signed thinking among fields that do not stay, if the target takes it and the turn has none."""
    taken = message.extras is not None and message.role is ASSISTANT and StateKind.SIGNATURE in facts.reasoning_states
    if message.extras is None or not taken or (left is not None and _BLOCKS in left.fields):
        return []
    if any(type(part) is Reasoning and part.state is not None for part in message.parts):
        return []
    try:
        blocks = _decode_blocks(message.extras.fields.get(_BLOCKS, b"[]"))
    except (msgspec.DecodeError, RecursionError):
        return []
    found = [_thought(block, Origin(facts.dialect)) for block in blocks]
    return [thought for thought in found if thought is not None]


def _thought(block: _BlockBeside, origin: Origin) -> Reasoning | None:
    if block.type == StateKind.REDACTED:
        state = _state(StateKind.REDACTED, bytes(block.data), origin)
        return Reasoning(state=state, redacted=True) if state is not None else None
    state, words = _state(StateKind.SIGNATURE, bytes(block.signature), origin), bytes(block.thinking)
    return Reasoning(text=Text(words), state=state) if state is not None and words[:1] == b'"' else None


def _state(kind: str, value: bytes, origin: Origin) -> Opaque | None:
    return Opaque(kind=kind, json=value, origin=origin) if value[:1] == b'"' and value != EMPTY else None


def _with_thoughts(parts: tuple[Part, ...], thoughts: Sequence[Reasoning]) -> tuple[Part, ...]:
    """The turn with its signed thinking first, in place of the same words without a proof."""
    words = join_texts("", [thought.text.literal for thought in thoughts if thought.text is not None])
    others = [part for part in parts if type(part) is not Reasoning or part.text is None or part.text.literal != words]
    return (*thoughts, *others)


def _signature_beside(call: Call, left: Extras | None, facts: Facts) -> Opaque | None:
    """The signature among the fields of a call that has no other, if the target takes such ones and does not get it
    where it stands."""
    if call.extras is None or call.signature is not None or StateKind.THOUGHT not in facts.reasoning_states:
        return None
    if left is not None and _OF_PROVIDER in left.fields and facts.call_signature is not Stance.REFUSES:
        return None
    try:
        found = _decode_of_provider(call.extras.fields.get(_OF_PROVIDER, b"{}"))
    except (msgspec.DecodeError, RecursionError):
        return None
    return _state(StateKind.THOUGHT, bytes(found.thought_signature), Origin(facts.dialect))


def _clean_parts(
    message: Message, parts: tuple[Part, ...], facts: Facts, lasts: bool, notes: list[Note]
) -> tuple[Part, ...]:
    if not have_fields(parts):
        return parts
    cleaned: list[Part] = []
    for part in parts:
        clean = _clean_part(message, part, facts, lasts, notes)
        words = _words_about(part, clean.extras)
        if words is not None:
            cleaned.append(words)
        cleaned.append(clean)
    return reuse_unchanged(parts, cleaned)


def _words_about(part: Part | None, left: Extras | None) -> Text | None:
    """What the client says about a document, if it is not among the fields that are left."""
    if type(part) is not Media or part.kind is not MediaKind.DOCUMENT or part.extras is None or part.extras is left:
        return None
    words = part.extras.fields.get(CONTEXT_FIELD, b"")
    if words[:1] != b'"' or words == EMPTY or (left is not None and CONTEXT_FIELD in left.fields):
        return None
    return Text(prefix_literal("[about the document]\n", words))


def _clean_part(message: Message, part: Part, facts: Facts, lasts: bool, notes: list[Note]) -> Part:
    if part.extras is None and type(part) is not Result:
        return part
    own = part.extras is not None and part.extras.dialect == facts.dialect
    if own and type(part) is Media and part.wire_form == BESIDE and sees_beside(facts):
        return part
    if type(part) is Opaque and not (own and takes_block(part, facts)):
        return part  # it does not stay as it is
    changes: dict[str, Any] = {}
    if type(part) is Result:
        inner = _clean_parts(message, part.parts, facts, lasts, notes)
        if inner is not part.parts:
            changes["parts"] = inner
    holder = "calls" if type(part) is Call else message.role.value
    inside = type(part) is not Call and type(part) is not Result
    extras = keep_known(part.extras, holder, facts, LEFTOVERS if type(part) is Result else STREAM_MARKS, inside)
    if type(part) is Media and not own and (shared := keep_shared(part, facts)) is not None:
        extras = shared
        if part.extras is not None and len(shared.fields) == len(part.extras.fields):
            return replace(part, extras=shared)  # in the target's words
    if extras is not None and type(part) is Text and holder in facts.refused_part_fields:
        extras = extras.without(facts.refused_part_fields[holder])
    signature = _signature_beside(part, extras, facts) if type(part) is Call else None
    if signature is not None:
        extras = extras.without({_OF_PROVIDER}) if extras is not None else None
        changes["signature"] = signature
    if extras is not part.extras:
        notes.append(_note(part.extras, extras, message, part, _OF_PROVIDER if signature is not None else None))
        changes["extras"] = extras
        if part.extras is not None and _is_marked(part.extras, facts) and facts.cache_hints is Stance.ACCEPTS:
            hint = HOUR if lasts else CacheHint()
            changes["hint"] = part.hint or (BREAKPOINT if facts.cache_form is CacheForm.BREAKPOINT else hint)
            if len(part.extras.fields) == 1:
                notes[-1] = replace(notes[-1], did="made a cache hint of a breakpoint", loses=Loss.NOTHING)
    return replace(part, **changes) if changes else part


def _is_marked(extras: Extras, facts: Facts) -> bool:
    """Whether they hold a breakpoint of another dialect."""
    return extras.dialect != facts.dialect and extras.fields.get(BREAKPOINT_FIELD, b"")[:1] == b"{"


def _refused_marks(tools: Sequence[Tool | NativeTool], facts: Facts) -> frozenset[str]:
    """The fields that no tool may have because all have them."""
    if facts.all_deferred is not Stance.REFUSES or any(
        type(tool) is not Tool or not is_deferred(tool) for tool in tools
    ):
        return frozenset()
    return frozenset({DEFERRED})


def _clean_tool(tool: Tool | NativeTool, marks: frozenset[str], facts: Facts, notes: list[Note]) -> Tool | NativeTool:
    if isinstance(tool, NativeTool) or tool.extras is None:
        return tool
    extras = keep_known(tool.extras, "tools", facts, STREAM_MARKS)
    extras = extras and extras.without(marks)
    if extras is tool.extras:
        return tool
    gone = sorted(tool.extras.fields.keys() - (extras.fields.keys() if extras else set()))
    did = f"took {_list_names(gone)} out of the tool {tool.name}"
    notes.append(Note(did, key=tool.place, before=tool.extras, after=extras))
    return replace(tool, extras=extras)


def _note(
    before: Extras | None, after: Extras | None, message: Message, part: Part | None, read: str | None = None
) -> Note:
    """`read`: the field whose state was put back."""
    kept = after.fields if after else {}
    gone = [name for name in (before.fields if before else {}) if name not in kept and name != read]
    did = [f"put back the state in `{read}`"] if read is not None else []
    if _words_about(part, after) is not None:
        gone.remove(CONTEXT_FIELD)
        did.append(f"wrote `{CONTEXT_FIELD}` as a text before it")
    if not gone:
        return Note(did[0], message, part, loses=Loss.NOTHING, before=before, after=after)
    return Note(", ".join([f"took out {_list_names(gone)}", *did]), message, part, before=before, after=after)


def _list_names(names: list[str]) -> str:
    listed = ", ".join(f"`{name}`" for name in sorted(names[:_MOST_LISTED]))
    return listed if len(names) <= _MOST_LISTED else f"{listed} and {len(names) - _MOST_LISTED} more"
