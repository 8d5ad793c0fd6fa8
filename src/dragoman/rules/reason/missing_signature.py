"""A call without the signature that the target demands.

Gemini 3 checks a signature on the first call of each step since the last user turn. For calls that another model made,
Google documents a value that skips the check (fact `signature_skip`); it is put on the call. If we write the request
anew, calls of earlier turns get it too. It is not demanded there, but so a turn is written the same way before and
after it has become an earlier one.

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

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.literals import quote
from dragoman.conversation.messages import USER, Message
from dragoman.conversation.parts import Call, Opaque, Origin, StateKind
from dragoman.profiles.facts import Stance
from dragoman.rules.context import Context
from dragoman.rules.rule import rule


@rule(
    "missing-signature",
    when=lambda facts: facts.call_signature is Stance.REFUSES and bool(facts.signature_skip),
    looks_for=traits.CALLS,
    loses=Loss.NOTHING,
    turnwise=lambda context: context.facts.past_signature is Stance.REFUSES,
)
def missing_signature(conversation: Conversation, context: Context) -> Rewrite:
    facts = context.facts
    since = 0 if facts.past_signature is Stance.REFUSES else _current_turn(conversation.messages)
    skip = Opaque(kind=StateKind.THOUGHT, json=quote(facts.signature_skip), origin=Origin(facts.dialect))
    notes: list[Note] = []
    messages = list(conversation.messages)
    for at in range(since, len(messages)):
        messages[at] = _signed(messages[at], skip, notes)
    return Rewrite(replace(conversation, messages=tuple(messages)), tuple(notes)) if notes else Rewrite(conversation)


def _current_turn(messages: tuple[Message, ...]) -> int:
    """The index after the last user turn."""
    for at in range(len(messages) - 1, -1, -1):
        if messages[at].role is USER:
            return at + 1
    return 0


def _signed(message: Message, skip: Opaque, notes: list[Note]) -> Message:
    for index, part in enumerate(message.parts):
        if type(part) is Call:
            if part.signature is not None:
                return message
            signed = replace(part, signature=skip)
            notes.append(Note("put the documented skip value on a call", message, part, kind="added", after=signed))
            return replace(message, parts=(*message.parts[:index], signed, *message.parts[index + 1 :]))
    return message
