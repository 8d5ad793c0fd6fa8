"""A role that the target does not know.

Providers refuse a role outside their own list. The message becomes a user turn where it stands.

Loses authority: whatever the role meant, the model reads the user's words.

    user: Hi
    narrator: It begins to rain.
becomes
    user: Hi
    user: It begins to rain.
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
    "unknown-role",
    when=lambda facts: facts.unknown_role is Stance.REFUSES,
    looks_for=traits.UNKNOWN_ROLE,
    loses=Loss.AUTHORITY,
)
@each_message
def unknown_role(message: Message, context: Context) -> Edit | None:
    if not message.role_text:
        return None
    return edit(replace(message, role_text=""), f"turned the role `{message.role_text}` into a user turn")
