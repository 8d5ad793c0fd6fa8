"""Thinking that the target does not take back, or not in that field.

Where it takes thinking as text, the text moves to the field that it reads. Where it takes none without a proof, the
thinking goes, or with `text` becomes tagged words of the assistant.

Loses metadata.
"""

from __future__ import annotations

from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.literals import joined
from dragoman.conversation.messages import Message
from dragoman.conversation.parts import Part, Reasoning, Text
from dragoman.conversation.traits import Trait
from dragoman.profiles.facts import Facts, Stance
from dragoman.rules.rewriting import Swap, but, rewrite_parts
from dragoman.rules.rule import rule
from dragoman.rules.tagging import thinking_text


@rule(
    "refused-reasoning",
    when=lambda facts: facts.reasoning_text is Stance.REFUSES or bool(facts.reasoning_field),
    looks_for=Trait.REASONING,
    loses=Loss.METADATA,
    options=("drop", "text"),
)
def refused_reasoning(conversation: Conversation, facts: Facts) -> Rewrite:
    def taken(message: Message, part: Part) -> Swap | None:
        if type(part) is not Reasoning or part.state is not None:
            return None
        if facts.reasoning_text is Stance.REFUSES:
            return _refused(part, facts)
        moves = not part.field or facts.odd_reasoning_field is Stance.REFUSES
        if part.field == facts.reasoning_field or not facts.reasoning_field or not moves:
            return None
        # Thinking of another dialect has no field yet: giving it one is translation.
        did = f"moved thinking to `{facts.reasoning_field}`" if part.field else ""
        return Swap((but(part, field=facts.reasoning_field),), did, Loss.NOTHING)

    done = rewrite_parts(conversation, taken)
    return _merged(done, facts) if facts.reasoning_field else done


def _refused(part: Reasoning, facts: Facts) -> Swap:
    if facts.choice("refused-reasoning") == "text" and part.text is not None and not part.text.blank:
        return Swap((thinking_text(part.text),), "made thinking text")
    return Swap((), "left out thinking that the target does not take back")


def _merged(done: Rewrite, facts: Facts) -> Rewrite:
    """A field holds one text: thinking in several parts becomes one."""
    notes = list(done.notes)
    messages: list[Message] = []
    for message in done.conversation.messages:
        thoughts = [part for part in message.parts if type(part) is Reasoning and part.state is None]
        if len(thoughts) < 2:
            messages.append(message)
            continue
        texts = _distinct([part.text for part in thoughts if part.text is not None])
        one = but(thoughts[0], text=Text(joined("\n", texts)))
        parts = tuple(one if part is thoughts[0] else part for part in message.parts if not _in(part, thoughts[1:]))
        messages.append(message.but(parts=parts))
        notes.append(Note("put thinking into one field", message, thoughts[1], loses=Loss.NOTHING, after=one))
    if len(notes) == len(done.notes):
        return done
    return Rewrite(done.conversation.but(messages=tuple(messages)), tuple(notes))


def _distinct(texts: list[Text]) -> list[bytes]:
    found: list[bytes] = []
    for text in texts:
        if text.literal not in found:
            found.append(text.literal)
    return found


def _in(part: Part, others: list[Reasoning]) -> bool:
    return any(part is other for other in others)
