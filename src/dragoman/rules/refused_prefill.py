"""The mark on a last assistant turn that is to be continued, for a target that does not know it.

The mark goes; whether the turn can stay the last one is for `trailing-assistant`.

Loses metadata: the model may begin anew.
"""

from __future__ import annotations

from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.traits import Trait
from dragoman.profiles.facts import Stance
from dragoman.rules.context import Context
from dragoman.rules.rule import rule


@rule(
    "refused-prefill",
    spelling=True,
    when=lambda facts: facts.prefill_mark is Stance.REFUSES,
    looks_for=Trait.TRAILING_ASSISTANT,
    loses=Loss.METADATA,
)
def refused_prefill(conversation: Conversation, context: Context) -> Rewrite:
    last = conversation.messages[-1]
    if not last.prefill:
        return Rewrite(conversation)
    plain = last.but(prefill=False)
    note = Note("took off the mark that it is to be continued", last, before=last, after=plain)
    return Rewrite(conversation.but(messages=(*conversation.messages[:-1], plain)), (note,))
