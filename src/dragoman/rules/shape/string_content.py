"""Text content written as a string, for a target that wants a list of parts.

Some chat templates of models that see only walk through a list of parts: of a string they read nothing, or fail. The
text becomes the one part of a list.

Loses nothing.

For a target with `string_content = "refuses"`:

    {"messages": [{"role": "user", "content": "Hi"}]}
becomes
    {"messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]}
"""

from __future__ import annotations

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss
from dragoman.conversation.messages import Message, Role
from dragoman.conversation.parts import Text
from dragoman.profiles.facts import Stance
from dragoman.rules.context import Context
from dragoman.rules.rewriting import Edit, each_message, edit
from dragoman.rules.rule import rule


@rule(
    "string-content",
    spelling=True,
    when=lambda facts: facts.string_content is Stance.REFUSES,
    looks_for=traits.ALWAYS,
    loses=Loss.NOTHING,
)
@each_message
def string_content(message: Message, context: Context) -> Edit | None:
    if message.listed or message.role is Role.TOOL or not any(type(part) is Text for part in message.parts):
        return None
    return edit(replace(message, listed=True), "wrote its text as a list of parts")
