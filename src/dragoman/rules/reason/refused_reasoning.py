"""Thinking that the target does not take back, or not in that field.

If the target takes thinking as text, the text moves to the field that it reads (fact `reasoning_field`). If it
takes no thinking without a proof, `drop` leaves it out, and `text` keeps it as tagged words of the assistant.

A field that the target refuses beside thinking although its dialect has it (fact `refused_part_fields`) is taken out:
OpenAI refuses the `status` of a thought, and the words of its `content`, which become its summary if it has none.

A thought of another dialect that has no words and no proof is left out.

Loses metadata. Moving it to another field loses nothing.

    user: Hi
    ~ A greeting.
    assistant: Hello
becomes
    user: Hi
    assistant: Hello

With `refused-reasoning: text`:

    user: Hi
    ~ A greeting.
    assistant: Hello
becomes
    user: Hi
    assistant: <thinking>A greeting.</thinking>
    + Hello
"""

from __future__ import annotations

from collections.abc import Container

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.messages import Message
from dragoman.conversation.parts import CHAT_FIELDS, Part, Reasoning
from dragoman.profiles.facts import Stance
from dragoman.rules.context import Context
from dragoman.rules.reasoning import find_demanding
from dragoman.rules.rewriting import Swap, rewrite_parts
from dragoman.rules.rule import rule
from dragoman.rules.tagging import thinking_text

_OURS = "reasoning"
"""What the fact `refused_part_fields` calls thinking."""


@rule(
    "refused-reasoning",
    when=lambda facts: (
        facts.reasoning_text is Stance.REFUSES or bool(facts.reasoning_field) or _OURS in facts.refused_part_fields
    ),
    looks_for=traits.REASONING,
    loses=Loss.METADATA,
    options=("drop", "text"),
    turnwise=lambda context: context.facts.reasoning_text is Stance.REFUSES,
)
def refused_reasoning(conversation: Conversation, context: Context) -> Rewrite:
    facts = context.facts
    needing = {conversation.messages[at].at for at in find_demanding(conversation.messages, facts.reasoning_required)}

    refused = facts.refused_part_fields.get(_OURS, ())

    def replace_refused(message: Message, part: Part) -> Swap | None:
        if type(part) is not Reasoning:
            return None
        if refused and (swap := _take_out_fields(part, refused)) is not None:
            return swap
        if part.state is not None:
            return None
        if facts.reasoning_text is Stance.REFUSES:
            return _refuse(part, context)
        if part.text is None and context.translated:
            return Swap((), "left out thinking without words")
        # what must come back with calls must come where it is looked for
        needed = message.at in needing
        # thinking of another dialect has no such field yet
        translated = context.translated or part.field not in CHAT_FIELDS
        moves = translated or needed or facts.odd_reasoning_field is Stance.REFUSES
        if part.field == facts.reasoning_field or not facts.reasoning_field or not moves:
            return None
        did = "" if translated else f"moved thinking to `{facts.reasoning_field}`"
        return Swap((replace(part, field=facts.reasoning_field),), did, Loss.NOTHING)

    return rewrite_parts(conversation, replace_refused)


def _refuse(part: Reasoning, context: Context) -> Swap:
    if context.choice("refused-reasoning") == "text" and part.text is not None and not part.text.blank:
        return Swap((thinking_text(part.text),), "turned thinking into text")
    return Swap((), "left out thinking that the target does not take back")


def _take_out_fields(part: Reasoning, refused: Container[str]) -> Swap | None:
    """The thought without these fields. Words that stand in one of them alone move."""
    left = part.extras.without(refused) if part.extras is not None else None
    moves = part.text is not None and part.field in refused
    before, after = (one.fields if one is not None else {} for one in (part.extras, left))
    gone = [f"`{name}`" for name in before if name not in after and not (moves and name == part.field)]
    if left is part.extras and not moves:
        return None
    did = [f"moved thinking out of `{part.field}`"] if moves else []
    did += [f"took out {', '.join(gone)}"] if gone else []
    made = replace(part, extras=left, field="" if moves else part.field)
    return Swap((made,), ", ".join(did), None if gone else Loss.NOTHING)
