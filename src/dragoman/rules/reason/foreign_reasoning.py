"""Thinking or a signature that another provider or model made.

A signature is only valid where it was issued (fact `reasoning_scope`); elsewhere providers refuse it. They also refuse
what cannot be a signature: a placeholder, a text, a few bytes, or one that was cut. It is taken off calls, texts and
pictures. If a target has one place for the texts of a turn (fact `last_text_signed`), it gets the signature of the last
of them, and none of a thought. A thought in a turn of the user is left out of a translation, whoever signed it. Other
thinking stays as plain text if the target takes it without a proof. Otherwise `drop` leaves it out, and `text` keeps it
as tagged words of the assistant.

In the client's own dialect the id of such thinking goes with its proof, and the words too if the target finds its items
by their ids (fact `item_ids`).

A thought that a Chat client has both in a field of words and in entries (`reasoning_details`) is told once where the
entries mean nothing, which loses nothing.

An entry that a client put together from the pieces of a stream, with the stream helper of OpenAI's SDK (3.51), has its
`format` as often as there were pieces. It gets it once, which loses nothing.

Loses metadata.

For `anthropic/claude-opus-4-8`, from `gemini`:

    {"contents": [{"role": "user", "parts": [{"text": "Hi"}]},
      {"role": "model", "parts": [{"text": "Hello", "thoughtSignature": "c2lnbmVk"}]},
      {"role": "user", "parts": [{"text": "More"}]}],
     "generationConfig": {"maxOutputTokens": 100}}
becomes
    {"messages": [{"role": "user", "content": "Hi"},
      {"role": "assistant", "content": "Hello"},
      {"role": "user", "content": "More"}],
     "max_tokens": 100}
"""

from __future__ import annotations

import re

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.literals import EMPTY
from dragoman.conversation.messages import Message, Role
from dragoman.conversation.parts import Call, Extras, Media, Part, Reasoning, StateKind, Text
from dragoman.profiles.facts import Stance
from dragoman.rules.context import Context
from dragoman.rules.reasoning import fits
from dragoman.rules.rewriting import Swap, rewrite_parts
from dragoman.rules.rule import rule
from dragoman.rules.tagging import thinking_text

ID = "id"
_JOINED = re.compile(rb'"format"\s{0,8}:\s{0,8}"([\w-]{4,64}?)\1+"')
"""A format that is a repetition. Inside a text its quotes are escaped."""


@rule(
    "foreign-reasoning",
    when=lambda facts: True,
    looks_for=traits.SIGNED | traits.REASONING,
    loses=Loss.METADATA,
    options=("drop", "text"),
    turnwise=lambda context: True,
)
def foreign_reasoning(conversation: Conversation, context: Context) -> Rewrite:
    facts = context.facts
    twice: dict[int, bool] = {}

    def repeats_words(message: Message) -> bool:
        if id(message) not in twice:
            twice[id(message)] = StateKind.DETAIL not in facts.reasoning_states and _repeats_words(message.parts)
        return twice[id(message)]

    def drop_foreign(message: Message, part: Part) -> Swap | None:
        if isinstance(part, (Call, Text, Media)) and part.signature is not None:
            placed = type(part) is not Media or (facts.signed_media and message.role is Role.ASSISTANT)
            if not placed or not fits(part.signature, facts):
                if type(part) is Text and part.literal == EMPTY and len(message.parts) > 1:
                    return Swap((), "left out an empty text with a signature that another model made")
                return Swap((replace(part, signature=None),), "took off a signature that another model made")
        if type(part) is Text and part.signature is not None and facts.last_text_signed and not _is_last(message, part):
            return Swap((replace(part, signature=None),), "took off a signature that only a turn's last text can have")
        if type(part) is Reasoning and message.role is not Role.ASSISTANT and context.translated:
            return Swap((), "left out thinking in a turn that is not the model's")
        if type(part) is Reasoning and part.field == StateKind.DETAIL and repeats_words(message):
            return Swap((), "left out entries that say what another field of the thinking says", Loss.NOTHING)
        if type(part) is Reasoning and part.state is not None:
            if facts.last_text_signed or not fits(part.state, facts):
                return _replace_unproven(part, context)
            wordless = not part.redacted and (part.text is None or part.text.blank)
            if wordless and facts.empty_thinking is Stance.REFUSES:
                return Swap((), "left out thinking without words")
            if part.state.kind == StateKind.DETAIL and (found := _JOINED.search(part.state.json)) is not None:
                state = replace(part.state, json=_JOINED.sub(rb'"format":"\1"', part.state.json))
                did = f"wrote the format of an entry once: {found[1].decode()}"
                return Swap((replace(part, state=state),), did, Loss.NOTHING)
        return None

    return rewrite_parts(conversation, drop_foreign)


def _repeats_words(parts: tuple[Part, ...]) -> bool:
    """Whether one field has the thinking in words, and its entries stand in another."""
    thoughts = [(part.field, part.text.text) for part in parts if type(part) is Reasoning and part.text is not None]
    entries = "".join([text for field, text in thoughts if field == StateKind.DETAIL])
    return bool(entries) and entries in [text for field, text in thoughts if field != StateKind.DETAIL]


def _without_id(extras: Extras | None) -> Extras | None:
    """The fields without the id under which its maker keeps it."""
    if extras is None or ID not in extras.fields:
        return extras
    fields = {name: value for name, value in extras.fields.items() if name != ID}
    return Extras(extras.dialect, fields) if fields else None


def _is_last(message: Message, text: Text) -> bool:
    """Is it the last text of its turn?"""
    return next(part for part in reversed(message.parts) if type(part) is Text) is text


def _replace_unproven(part: Reasoning, context: Context) -> Swap:
    facts = context.facts
    if part.text is not None and not part.text.blank:
        if facts.reasoning_text is Stance.ACCEPTS and not facts.item_ids:
            extras = _without_id(part.extras)
            kept = replace(part, state=None, redacted=False, field=facts.reasoning_field, extras=extras)
            return Swap((kept,), "took the signature off thinking that another model made")
        if context.choice("foreign-reasoning") == "text":
            return Swap((thinking_text(part.text),), "turned another model's thinking into text")
    return Swap((), "left out thinking that another model made")
