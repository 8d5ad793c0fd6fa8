"""A `[model] ` prefix that an earlier answer was shown with. Off unless asked for (`model-prefix: strip`), since it
changes valid requests.

It is taken off the assistant's words, repeated ones too.

Loses nothing: the prefix was not the model's.
"""

from __future__ import annotations

import re

from dragoman.conversation.changes import Loss, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.literals import quote
from dragoman.conversation.messages import Message, Role
from dragoman.conversation.parts import Text
from dragoman.conversation.traits import Trait
from dragoman.rules.context import Context
from dragoman.rules.rewriting import Edit, but, edit, rewrite_messages
from dragoman.rules.rule import rule

_PREFIX = re.compile(r"^(?:\[[\w./:@-]{1,128}\] )+")


@rule(
    "model-prefix",
    when=lambda facts: True,
    looks_for=Trait.ALWAYS,
    loses=Loss.NOTHING,
    options=("off", "strip"),
    idle=("off",),
)
def model_prefix(conversation: Conversation, context: Context) -> Rewrite:
    return rewrite_messages(conversation, _stripped)


def _stripped(message: Message) -> Edit | None:
    if message.role is not Role.ASSISTANT:
        return None
    for index, part in enumerate(message.parts):
        if type(part) is not Text:
            continue
        text = _PREFIX.sub("", part.text)
        if text == part.text:
            return None
        bare = but(part, literal=quote(text))
        return edit(
            message.but(parts=(*message.parts[:index], bare, *message.parts[index + 1 :])),
            "took off the model's name",
            part,
        )
    return None
