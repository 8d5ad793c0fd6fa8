"""A mark on the last assistant turn that asks the model to continue it, for a target that does not know the mark.

The mark is taken off. Whether the turn may stay the last one is decided by `trailing-assistant`.

Loses metadata: the model may begin a new answer.

For `groq/llama-3.3-70b-versatile`:

    {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Once", "prefix": true}]}
becomes
    {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Once"}]}
"""

from __future__ import annotations

from msgspec.structs import replace

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
    plain = replace(last, prefill=False)
    note = Note("took off the mark that asks to continue it", last, before=last, after=plain)
    return Rewrite(replace(conversation, messages=(*conversation.messages[:-1], plain)), (note,))
