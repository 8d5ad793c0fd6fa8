"""A `[model] ` prefix that an earlier answer was shown with.

Some clients show which model answered and send that prefix back as the assistant's own words. The model then imitates
it. This rule changes valid requests, so it is `off` unless you choose `strip`, which takes the prefix off the first
text of each assistant turn, also if it is repeated. A name has a slash, or small letters and a number: `[Note]`,
`[x]`, `[1]` and `[ABC-12]` stay.

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

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss
from dragoman.conversation.literals import quote
from dragoman.conversation.messages import Message, Role
from dragoman.conversation.parts import Text
from dragoman.rules.context import Context
from dragoman.rules.rewriting import Edit, each_message, edit
from dragoman.rules.rule import rule

_PREFIX = re.compile(r"^\[([\w.:@-]+(?:/[\w.:@/-]+)?)\] ")
_LONGEST = 130


@rule(
    "model-prefix",
    when=lambda facts: True,
    looks_for=traits.ALWAYS,
    loses=Loss.NOTHING,
    options=("off", "strip"),
    idle=("off",),
)
@each_message
def model_prefix(message: Message, context: Context) -> Edit | None:
    if message.role is not Role.ASSISTANT:
        return None
    for index, part in enumerate(message.parts):
        if type(part) is not Text:
            continue
        text = _without_prefix(part.text)
        if text == part.text:
            return None
        bare = replace(part, literal=quote(text))
        return edit(
            replace(message, parts=(*message.parts[:index], bare, *message.parts[index + 1 :])),
            "took off the model's name",
            part,
        )
    return None


def _without_prefix(text: str) -> str:
    start = 0
    while (found := _PREFIX.match(text[start : start + _LONGEST])) and _is_model(found[1]):
        start += found.end()
    return text[start:]


def _is_model(name: str) -> bool:
    """Does it look like the name of a model?"""
    return "/" in name or (name.islower() and any(letter.isdigit() for letter in name))
