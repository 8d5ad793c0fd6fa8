"""A tool result marked as an error, for a dialect that has no such mark.

The text of the result says so instead, with `[error] ` before it.

Loses metadata.

    user: Hi
    call look(c1) {}
    result c1 !error: no such place
becomes
    user: Hi
    call look(c1) {}
    result c1: [error] no such place
"""

from __future__ import annotations

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss
from dragoman.conversation.messages import Message
from dragoman.conversation.parts import Part, Result
from dragoman.profiles.facts import Stance
from dragoman.rules.context import Context
from dragoman.rules.rewriting import Swap, each_part
from dragoman.rules.rule import rule
from dragoman.rules.tagging import tag_first_text

TAG = "[error] "


@rule(
    "error-mark",
    when=lambda facts: facts.result_error is Stance.REFUSES,
    looks_for=traits.RESULT_ERROR,
    loses=Loss.METADATA,
)
@each_part
def error_mark(message: Message, part: Part, context: Context) -> Swap | None:
    if type(part) is not Result or not part.is_error:
        return None
    return Swap(
        (replace(part, is_error=False, parts=tag_first_text(part.parts, TAG)),), "put the error mark into words"
    )
