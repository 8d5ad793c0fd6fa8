"""Thinking that the target does not take back, or not in that field.

Where it takes thinking as text, the text moves to the field that it reads. Where it takes none without a proof, the
thinking goes, or with `text` becomes tagged words of the assistant.

Loses metadata.
"""

from __future__ import annotations

from dragoman.conversation.changes import Loss, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.messages import Message
from dragoman.conversation.parts import Part, Reasoning
from dragoman.conversation.traits import Trait
from dragoman.profiles.facts import Need, Stance
from dragoman.rules.context import Context
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
def refused_reasoning(conversation: Conversation, context: Context) -> Rewrite:
    facts = context.facts

    def taken(message: Message, part: Part) -> Swap | None:
        if type(part) is not Reasoning or part.state is not None:
            return None
        if facts.reasoning_text is Stance.REFUSES:
            return _refused(part, context)
        needed = facts.reasoning_required is Need.TOOL_TURNS  # what must come back must come where it is looked for
        moves = not part.field or needed or facts.odd_reasoning_field is Stance.REFUSES
        if part.field == facts.reasoning_field or not facts.reasoning_field or not moves:
            return None
        # Thinking of another dialect has no field yet: giving it one is translation.
        did = f"moved thinking to `{facts.reasoning_field}`" if part.field else ""
        return Swap((but(part, field=facts.reasoning_field),), did, Loss.NOTHING)

    return rewrite_parts(conversation, taken)


def _refused(part: Reasoning, context: Context) -> Swap:
    if context.choice("refused-reasoning") == "text" and part.text is not None and not part.text.blank:
        return Swap((thinking_text(part.text),), "made thinking text")
    return Swap((), "left out thinking that the target does not take back")
