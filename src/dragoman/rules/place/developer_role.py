"""The role `developer`, for a target that does not know it.

OpenAI renamed the system role for its reasoning models; other providers refuse the new name. The message becomes a
system message, which means the same.

Loses nothing.

    developer: Be brief.
    user: Hi
becomes
    system: Be brief.
    user: Hi
"""

from __future__ import annotations

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss
from dragoman.conversation.messages import Message, Role
from dragoman.profiles.facts import Stance
from dragoman.rules.context import Context
from dragoman.rules.rewriting import Edit, each_message, edit
from dragoman.rules.rule import rule


@rule(
    "developer-role",
    when=lambda facts: facts.developer_role is Stance.REFUSES,
    looks_for=traits.DEVELOPER,
    loses=Loss.NOTHING,
    turnwise=lambda context: True,
)
@each_message
def developer_role(message: Message, context: Context) -> Edit | None:
    if message.role is not Role.DEVELOPER:
        return None
    return edit(replace(message, role=Role.SYSTEM), "turned into a system message")
