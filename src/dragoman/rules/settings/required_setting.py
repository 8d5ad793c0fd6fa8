"""A token limit that the target demands and the client did not give.

The profile's default is set (fact `limit_default`). A thinking budget that is larger comes on top of it.

Loses nothing; adds the limit.

For `anthropic/claude-sonnet-4-6`, from `openai-chat`:

    {"messages": [{"role": "user", "content": "Hi"}]}
becomes
    {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 8192}
"""

from __future__ import annotations

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.rules.context import Context
from dragoman.rules.rewriting import rewrite_settings
from dragoman.rules.rule import rule


@rule(
    "required-setting",
    when=lambda facts: facts.limit_required,
    looks_for=traits.ALWAYS,
    loses=Loss.NOTHING,
    top_level=True,
)
def required_setting(conversation: Conversation, context: Context) -> Rewrite:
    facts = context.facts
    if conversation.settings.max_tokens is not None:
        return Rewrite(conversation)
    limit = facts.limit_default
    thinking = conversation.settings.thinking
    if thinking is not None and thinking.budget is not None and thinking.budget >= limit:
        limit = thinking.budget + facts.limit_default
    if facts.output_limit:
        limit = min(limit, facts.output_limit)
    note = Note(f"set the token limit to {limit}", key="max_tokens", kind="added", after=limit)
    return rewrite_settings(conversation, [note], max_tokens=limit)
