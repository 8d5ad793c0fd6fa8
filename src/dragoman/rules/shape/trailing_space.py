r"""White space at the end of a last assistant turn that is to be continued.

Some providers refuse it, because the model would have to continue after the space. It is cut off.

Loses nothing.

    user: Tell me a story.
    assistant: Once upon a time,\u0020
becomes
    user: Tell me a story.
    assistant: Once upon a time,
"""

from __future__ import annotations

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.literals import quote
from dragoman.conversation.parts import Text
from dragoman.profiles.facts import Stance
from dragoman.rules.context import Context
from dragoman.rules.rewriting import Parts
from dragoman.rules.rule import rule


@rule(
    "trailing-space",
    when=lambda facts: facts.trailing_space is Stance.REFUSES,
    looks_for=traits.TRAILING_ASSISTANT,
    loses=Loss.NOTHING,
)
def trailing_space(conversation: Conversation, context: Context) -> Rewrite:
    message = conversation.messages[-1]
    parts = _cut(message.parts)
    if parts is message.parts:
        return Rewrite(conversation)
    note = Note("cut off the white space at its end", message, message.parts[-1], before=message.parts, after=parts)
    return Rewrite(
        replace(conversation, messages=(*conversation.messages[:-1], replace(message, parts=parts))), (note,)
    )


def _cut(parts: Parts) -> Parts:
    """The parts without white space at the end: a text of nothing else goes, if it is not all that there is."""
    last = parts[-1] if parts else None
    if type(last) is not Text or last.text == last.text.rstrip():
        return parts
    words = last.text.rstrip()
    if words or len(parts) == 1:
        return (*parts[:-1], replace(last, literal=quote(words)))
    return _cut(parts[:-1])
