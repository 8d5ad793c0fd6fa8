"""An opening system message among the messages, for a target that has a field for it.

Anthropic and Gemini take the opening instructions in a field of their own and refuse them among the messages. The text
moves to the field.

Loses nothing.

For `anthropic/claude-sonnet-4-6`:

    {"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}], "max_tokens": 100}
becomes
    {"system": "Be brief.", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 100}
"""

from __future__ import annotations

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss
from dragoman.conversation.messages import Message
from dragoman.profiles.facts import Stance
from dragoman.rules.context import Context
from dragoman.rules.rewriting import Edit, each_message, edit
from dragoman.rules.rule import rule


@rule(
    "inline-system",
    spelling=True,
    when=lambda facts: facts.inline_system is Stance.REFUSES,
    looks_for=traits.INLINE_SYSTEM,
    loses=Loss.NOTHING,
)
@each_message
def inline_system(message: Message, context: Context) -> Edit | None:
    return edit(replace(message, inline=False), "moved to the system field") if message.inline else None
