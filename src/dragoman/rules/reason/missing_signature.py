"""A call, or a part of an image model's turn, without the signature that the target demands.

Gemini 3 checks a signature on the first call of each step since the last user turn. For calls that another model made,
Google documents a value that skips the check (fact `signature_skip`); it is put on the call. If we write the request
anew, calls of earlier turns get it too. It is not demanded there, but so a turn is written the same way before and
after it has become an earlier one. Its image models check the text at the beginning of each of their turns, and each
picture: these get the value too.

A router that keeps signatures in entries of `reasoning_details` (fact `state_format`) gets the value there: one entry
for each turn with calls, under the id of its first call.

A client that keeps the pieces of a stream as turns of their own is no exception: each of them is checked as a step
(https://github.com/googleapis/js-genai/issues/1275), and only the first is signed. In the target's own dialect they
are then written as the one turn that they were.

Loses nothing; adds the documented value.

For `gemini/gemini-3-pro-preview`:

    {"contents": [{"role": "user", "parts": [{"text": "Hi"}]},
      {"role": "model", "parts": [{"functionCall": {"name": "look", "args": {}}}]},
      {"role": "user", "parts": [{"functionResponse": {"name": "look", "response": {"output": "12 degrees"}}}]}]}
becomes
    {"contents": [{"role": "user", "parts": [{"text": "Hi"}]},
      {"role": "model", "parts": [{"functionCall": {"name": "look", "args": {}},
        "thoughtSignature": "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="}]},
      {"role": "user", "parts": [{"functionResponse": {"name": "look", "response": {"output": "12 degrees"}}}]}]}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.literals import quote
from dragoman.conversation.messages import ASSISTANT, USER, Message
from dragoman.conversation.parts import Call, Media, Opaque, Origin, Part, Reasoning, StateKind, Text
from dragoman.profiles.facts import Facts, Stance
from dragoman.rules.context import Context
from dragoman.rules.rule import rule
from dragoman.wire.json_reader import render_object


@rule(
    "missing-signature",
    when=lambda facts: Stance.REFUSES in (facts.call_signature, facts.turn_signature) and bool(facts.signature_skip),
    looks_for=traits.ALWAYS,
    narrows=lambda facts: None if facts.turn_signature is Stance.REFUSES else traits.CALLS,
    loses=Loss.NOTHING,
    turnwise=lambda context: context.facts.past_signature is Stance.REFUSES,
)
def missing_signature(conversation: Conversation, context: Context) -> Rewrite:
    facts = context.facts
    calls_from = _find_first_checked(conversation.messages, facts)
    checks_turns = facts.turn_signature is Stance.REFUSES
    skip = Opaque(kind=StateKind.THOUGHT, json=quote(facts.signature_skip), origin=Origin(facts.dialect))
    notes: list[Note] = []
    messages = list(conversation.messages)
    for at, message in enumerate(conversation.messages):
        of_model = message.role is ASSISTANT
        if of_model and not context.translated and _is_in_pieces(message, at >= calls_from, facts):
            messages[at] = message = replace(message, steps=1)
            notes.append(Note("wrote the pieces of a turn as one", conversation.messages[at], after=message))
        wanted: list[int] = []
        if at >= calls_from:
            for index, part in enumerate(message.parts):
                if type(part) is Call:
                    wanted.append(index)
                    break
        if of_model and checks_turns:
            wanted = sorted({*wanted, *_find_checked(message)})
        if wanted and facts.state_format:
            messages[at] = _enter(message, message.parts[wanted[0]], facts, notes)
        elif wanted:
            messages[at] = _sign(message, wanted, skip, notes)
    if not notes:
        return Rewrite(conversation)
    adds = traits.SIGNED | traits.REASONING if facts.state_format else traits.SIGNED
    return Rewrite(replace(conversation, messages=tuple(messages)), tuple(notes), adds=adds)


def _find_first_checked(messages: tuple[Message, ...], facts: Facts) -> int:
    """The index of the first message whose calls are signed: the one after the last user turn, or the first of all."""
    if facts.call_signature is not Stance.REFUSES:
        return len(messages)
    if facts.past_signature is Stance.REFUSES:
        return 0
    return next((at + 1 for at in range(len(messages) - 1, -1, -1) if messages[at].role is USER), 0)


def _is_in_pieces(message: Message, has_checked_calls: bool, facts: Facts) -> bool:
    """Whether a turn of the model stands in several items that the target checks one by one."""
    return (has_checked_calls and message.steps > 1) or (facts.turn_signature is Stance.REFUSES and message.span > 1)


def _find_checked(message: Message) -> Iterator[int]:
    """The text at the beginning, after the thoughts, and every picture."""
    visible = [(index, part) for index, part in enumerate(message.parts) if type(part) is not Reasoning]
    return (index for index, part in visible if type(part) is Media or (index == visible[0][0] and type(part) is Text))


def _sign(message: Message, wanted: list[int], skip: Opaque, notes: list[Note]) -> Message:
    parts = list(message.parts)
    known = len(notes)
    for index in wanted:
        part: Any = parts[index]
        if part.signature is None:
            parts[index] = signed = replace(part, signature=skip)
            notes.append(Note(_DID[type(part)], message, part, kind="added", after=signed))
    return replace(message, parts=tuple(parts)) if len(notes) > known else message


def _enter(message: Message, call: Any, facts: Facts, notes: list[Note]) -> Message:
    """The turn with an entry that holds the value, behind its thoughts, unless one of them holds a signature."""
    thoughts = [index for index, part in enumerate(message.parts) if type(part) is Reasoning]
    if any(_is_proof(message.parts[index]) for index in thoughts):
        return message
    entry = {
        "type": b'"reasoning.encrypted"',
        "data": quote(facts.signature_skip),
        "id": quote(call.id),
        "format": quote(facts.state_format),
        "index": b"0",
    }
    state = Opaque(kind=StateKind.DETAIL, json=render_object(entry), origin=Origin(facts.dialect))
    after = thoughts[-1] + 1 if thoughts else 0
    made = Reasoning(text=None, state=state, field=StateKind.DETAIL)
    signed = replace(message, parts=(*message.parts[:after], made, *message.parts[after:]))
    notes.append(Note(_DID[Call], message, call, kind="added", after=made))
    return signed


def _is_proof(part: Any) -> bool:
    return part.state is not None and part.state.kind == StateKind.DETAIL and b'"data"' in part.state.json


_DID: Mapping[type[Part], str] = {
    kind: f"put the documented skip value on a {word}"
    for kind, word in ((Call, "call"), (Text, "text"), (Media, "picture"))
}
