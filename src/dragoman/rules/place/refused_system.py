"""A system message for a model that takes none at all.

Some small models have a chat template without a system role, and refuse it. The message becomes a user turn where it
stands, with the tag `[System] ` (`texts.system_prefix`).

Loses authority: the model reads it as the user's words.

For `openai/o1-mini`:

    {"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]}
becomes
    {"messages": [{"role": "user", "content": "[System] Be brief."}, {"role": "user", "content": "Hi"}]}
"""

from __future__ import annotations

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss
from dragoman.conversation.conversation import SYSTEM_ROLES
from dragoman.conversation.messages import Message
from dragoman.profiles.facts import SystemCount
from dragoman.rules.context import Context
from dragoman.rules.rewriting import Edit, each_message, edit
from dragoman.rules.rule import rule
from dragoman.rules.tagging import TURNED, as_user


@rule(
    "refused-system",
    when=lambda facts: facts.system_count is SystemCount.NONE,
    looks_for=traits.SYSTEM,
    loses=Loss.AUTHORITY,
)
@each_message
def refused_system(message: Message, context: Context) -> Edit | None:
    return edit(as_user(message, context.text("system_prefix")), TURNED) if message.role in SYSTEM_ROLES else None
