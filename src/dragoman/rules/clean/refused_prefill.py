"""A mark on the last assistant turn that asks the model to continue it, for a target that does not know the mark.

Vendors call it `prefix` or `partial`, and some have a setting instead (facts `prefill_as` and `prefill_settings`). It
is written as the target has it. A dialect that continues a last turn anyway needs none. Else the mark is taken off.
Whether the turn may stay the last one is decided by `trailing-assistant`.

Loses nothing if the target has words for it, else metadata: the model may begin a new answer.

For `groq/llama-3.3-70b-versatile`:

    {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Once", "prefix": true}]}
becomes
    {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Once"}]}
"""

from __future__ import annotations

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.parts import Extras
from dragoman.profiles.facts import Facts, Stance
from dragoman.rules.context import Context
from dragoman.rules.rule import rule


@rule(
    "refused-prefill",
    when=lambda facts: facts.prefill_mark is Stance.REFUSES or bool(facts.prefill_as or facts.prefill_settings),
    looks_for=traits.TRAILING_ASSISTANT,
    loses=Loss.METADATA,
)
def refused_prefill(conversation: Conversation, context: Context) -> Rewrite:
    facts, last = context.facts, conversation.messages[-1]
    if not last.prefill or last.prefill == facts.prefill_as:
        return Rewrite(conversation)
    marked = replace(last, prefill=facts.prefill_as)
    if facts.prefill_unmarked:
        return Rewrite(replace(conversation, messages=(*conversation.messages[:-1], marked)))
    did, loses = "took off the mark that asks to continue it", Loss.METADATA
    if facts.prefill_as or facts.prefill_settings:
        did, loses = "asked to continue it in the target's form", Loss.NOTHING
    note = Note(did, last, loses=loses, before=last, after=marked)
    changed = replace(conversation, messages=(*conversation.messages[:-1], marked), extras=_extras(conversation, facts))
    return Rewrite(changed, (note,))


def _extras(conversation: Conversation, facts: Facts) -> Extras | None:
    """With the settings that ask to continue."""
    if not facts.prefill_settings:
        return conversation.extras
    asked = {name: b"true" if value else b"false" for name, value in facts.prefill_settings.items()}
    fields = conversation.extras.fields if conversation.extras is not None else {}
    return Extras(facts.dialect, {**fields, **asked})
