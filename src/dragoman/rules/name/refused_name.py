"""A name on a message, for a target that has no place for it.

Anthropic, Gemini and others refuse the field. With `drop` the name is taken off; with `text` it stands before the words
instead. Others take names of some form only (fact `message_name_pattern`): there `_` stands in place of other letters.

Loses metadata.

    user (bob): Hi
becomes
    user: Hi

With `refused-name: text`:

    user (bob): Hi
becomes
    user: bob: Hi
"""

from __future__ import annotations

import re

from dragoman.conversation.changes import Loss, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.messages import Message
from dragoman.conversation.traits import Trait
from dragoman.profiles.facts import Stance
from dragoman.rules.context import Context
from dragoman.rules.place.late_system import tagged
from dragoman.rules.rewriting import Edit, edit, rewrite_messages
from dragoman.rules.rule import rule


@rule(
    "refused-name",
    when=lambda facts: facts.message_name is Stance.REFUSES or bool(facts.message_name_pattern),
    looks_for=Trait.NAMED,
    loses=Loss.METADATA,
    options=("drop", "text"),
)
def refused_name(conversation: Conversation, context: Context) -> Rewrite:
    in_text = context.choice("refused-name") == "text"
    if context.facts.message_name is not Stance.REFUSES:
        form = re.compile(context.facts.message_name_pattern)
        return rewrite_messages(conversation, lambda message: _fitted(message, form))

    def nameless(message: Message) -> Edit | None:
        if message.name is None:
            return None
        if in_text:
            return edit(
                message.but(name=None, parts=tagged(message.parts, f"{message.name}: ")), "put its name into the text"
            )
        return edit(message.but(name=None), "took off its name")

    return rewrite_messages(conversation, nameless)


def _fitted(message: Message, form: re.Pattern[str]) -> Edit | None:
    """The message with a name of the form that the target takes."""
    if message.name is None or form.fullmatch(message.name):
        return None
    name = "".join([letter if form.fullmatch(letter) else "_" for letter in message.name])
    return edit(message.but(name=name or None), f"wrote its name as {name}" if name else "took off its empty name")
