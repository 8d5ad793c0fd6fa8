"""A `[model] ` prefix that an earlier answer was shown with.

Some clients show which model answered and send that prefix back as the assistant's own words. The model then imitates
it. This rule changes valid requests, so it is `off` unless you choose `strip`, which takes the prefix off the first
text of each assistant turn, also where it is repeated.

Loses nothing: the model did not write the prefix.

With `model-prefix: strip`:

    user: Hi
    assistant: [gpt-4o] Hello
becomes
    user: Hi
    assistant: Hello
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
