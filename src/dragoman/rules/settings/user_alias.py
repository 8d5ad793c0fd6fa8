"""The user's name in a field that only the client's dialect has.

OpenAI's `safety_identifier` says who the user is, as `user` does in Chat and Responses and `metadata.user_id` in
Anthropic Messages. In a translation it takes the place of the user's name if the request gives no other.

Loses nothing.

For `anthropic/claude-sonnet-4-6`, from `openai-chat`:

    {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 9, "safety_identifier": "user-7"}
becomes
    {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 9, "metadata": {"user_id": "user-7"}}
"""

from __future__ import annotations

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.literals import unquote
from dragoman.profiles.facts import Stance
from dragoman.rules.context import Context
from dragoman.rules.rule import rule

ALIAS = "safety_identifier"


@rule(
    "user-alias",
    when=lambda facts: facts.setting("user").support is not Stance.REFUSES,
    looks_for=traits.TOP_EXTRAS,
    loses=Loss.NOTHING,
    top_level=True,
)
def user_alias(conversation: Conversation, context: Context) -> Rewrite:
    extras, settings = conversation.extras, conversation.settings
    if extras is None or extras.dialect == context.facts.dialect or settings.user is not None:
        return Rewrite(conversation)
    value = extras.fields.get(ALIAS, b"")
    if value[:1] != b'"':
        return Rewrite(conversation)
    settings = replace(settings, user=unquote(value))
    changed = replace(conversation, settings=settings, extras=extras.without({ALIAS}))
    return Rewrite(changed, (Note("wrote it as the user's name", key=ALIAS, before=value, after=unquote(value)),))
