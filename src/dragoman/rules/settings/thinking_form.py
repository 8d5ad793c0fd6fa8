"""A request to think, in a form that the model does not know.

Some models count tokens, some know levels of effort, some decide themselves, and each refuses the forms of the others.
An effort becomes the budget that it is worth in tokens, at most half of the token limit, so that the answer has room. A
budget becomes the nearest effort, and an effort that the model does not offer becomes the one that is nearest to it in
tokens. A budget moves into the range of the model. The wish to see thoughts, without a word about how much to think,
switches thinking on if the model does not think by itself. A model that cannot be asked to think is not asked, and one
that cannot be told to stop thinking is asked for as little as it offers.

Loses metadata.

For `openai/gpt-5`, from `anthropic`:

    {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 20000,
     "thinking": {"type": "enabled", "budget_tokens": 9000}}
becomes
    {"messages": [{"role": "user", "content": "Hi"}], "max_completion_tokens": 20000, "reasoning_effort": "medium"}

For `openai/gpt-4o`:

    {"messages": [{"role": "user", "content": "Hi"}], "reasoning_effort": "low"}
becomes
    {"messages": [{"role": "user", "content": "Hi"}]}
"""

from __future__ import annotations

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.settings import EFFORT_CONFIG, EFFORT_FIELD, Thinking
from dragoman.profiles.facts import Stance, ThinkingForm
from dragoman.rules.asked_thinking import CONFIG_FIELD, drop_thinking_fields, form_thinking, is_off, says_nothing
from dragoman.rules.context import Context
from dragoman.rules.reasoning import can_be_asked, is_switched_on
from dragoman.rules.rewriting import rewrite_settings
from dragoman.rules.rule import rule

SWITCHING = "thinking"
"""The field of a switch. What else a client writes there stays, if the target has the field."""


@rule(
    "thinking-form",
    spelling=True,
    when=lambda facts: True,
    looks_for=traits.THINKING,
    loses=Loss.METADATA,
    top_level=True,
)
def thinking_form(conversation: Conversation, context: Context) -> Rewrite:
    facts = context.facts
    settings = conversation.settings
    thinking = settings.thinking
    if thinking is None or _is_own_word(thinking, context):
        return Rewrite(conversation)
    switched_on = context.translated and says_nothing(thinking) and is_switched_on(thinking, facts)
    meant = replace(thinking, on=True) if switched_on else thinking
    formed = form_thinking(meant, settings, facts, bool(conversation.tools)) if can_be_asked(facts) else None
    if formed == thinking:
        return Rewrite(conversation)
    did = "left out the request to think" if formed is None else "asked for thinking in the target's form"
    by_itself = formed is None and facts.reasoning_default and thinking.effort is None and thinking.budget is None
    if by_itself and thinking.on is not False:
        note = Note("left it to the model, which thinks by itself", key="thinking", loses=Loss.NOTHING, before=thinking)
    else:
        note = Note(did, key="thinking", before=thinking, after=formed)
    extras = drop_thinking_fields(conversation.extras)
    notes = [note]
    if formed is not None and conversation.extras is not None and extras is not conversation.extras:
        kept = () if extras is None else extras.fields
        for name in [one for one in conversation.extras.fields if one not in kept]:
            given, key = conversation.extras.fields[name], name.replace(".", "/")
            notes.append(Note(f"left out `{name}`, a second field that asks for thinking", key=key, before=given))
    return rewrite_settings(replace(conversation, extras=extras), notes, thinking=formed)


def _is_own_word(thinking: Thinking, context: Context) -> bool:
    """Whether a client of the same dialect asks in a field that the target has beside its usual one, for an amount that
    the model offers; or in any field but for an effort, if nobody knows which one the target has, and it takes any."""
    facts = context.facts
    if context.translated or not thinking.wire_form or not can_be_asked(facts):
        return False
    if facts.thinking_off is Stance.REFUSES and is_off(thinking):
        return False
    if thinking.wire_form == EFFORT_CONFIG:
        return CONFIG_FIELD not in facts.refused_settings
    if thinking.effort is not None and facts.efforts and thinking.effort.value not in facts.efforts:
        return False
    fields = thinking.wire_form.split()
    if not facts.thinking_as:
        takes_any = Stance.REFUSES not in (facts.foreign_settings, facts.off_schema)
        beside = EFFORT_FIELD in fields and len(fields) > 1
        free = thinking.effort is None or (beside and facts.tools_with_effort is not Stance.REFUSES)
        return takes_any and facts.thinking_form is ThinkingForm.EFFORT and free
    if fields == [SWITCHING] and SWITCHING in facts.thinking_as.split():
        return facts.thinking_form is ThinkingForm.SWITCH and thinking.budget is not None and not thinking.adaptive
    further = set(fields).difference(facts.thinking_as.split())
    known = all(one.partition(".")[0] in facts.known_settings for one in further)
    return bool(further) and known and not thinking.adaptive
