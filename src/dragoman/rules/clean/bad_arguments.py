"""Arguments of a call that are not a JSON object.

A model may have written text, a list or broken JSON. A provider that parses the arguments wants an object. Text becomes
the member `arguments` of an object; empty and blank arguments become an empty object.

Loses nothing.

    user: Hi
    call look(c1) "outside"
    result c1: 12 degrees
becomes
    user: Hi
    call look(c1) {"arguments": "outside"}
    result c1: 12 degrees
"""

from __future__ import annotations

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss
from dragoman.conversation.literals import blank
from dragoman.conversation.messages import Message
from dragoman.conversation.parts import Call, Part
from dragoman.profiles.facts import Stance
from dragoman.rules.context import Context
from dragoman.rules.rewriting import Swap, each_part
from dragoman.rules.rule import rule


@rule(
    "bad-arguments",
    when=lambda facts: facts.bad_arguments is Stance.REFUSES,
    looks_for=traits.BAD_ARGUMENTS,
    loses=Loss.NOTHING,
)
@each_part
def bad_arguments(message: Message, part: Part, context: Context) -> Swap | None:
    if type(part) is not Call or part.custom or part.arguments[:1] == b"{":
        return None
    text = part.arguments.strip()
    empty = text in (b"", b"null") or (text[:1] == b'"' and blank(text))
    arguments = b"{}" if empty else b'{"arguments":' + part.arguments + b"}"
    return Swap((replace(part, arguments=arguments),), f"wrapped the arguments of {part.name} into an object")
