r"""Text content written as a list of parts, for a target that wants a string.

Some chat templates only read strings. The texts are joined with a line break; empty ones of a system message are left
out, and of others those at the end. The assistant's are joined without one if a space or a mark at the seam shows that
they are pieces of one text, as those of a stream are, or those between citations. In a translation to Chat this is done
for every target, since each of its servers reads strings; a text with a cache hint stays in its list.

Loses nothing.

    user: Hi
    + Are you there?
becomes
    user: Hi\nAre you there?
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import is_

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss
from dragoman.conversation.conversation import SYSTEM_ROLES
from dragoman.conversation.literals import EMPTY, join_texts, quote
from dragoman.conversation.messages import ASSISTANT, TOOL, Message
from dragoman.conversation.parts import Call, Part, Reasoning, Result, Text
from dragoman.profiles.facts import Stance
from dragoman.rules.context import Context
from dragoman.rules.rewriting import Edit, each_message, edit, plain_text, respell, reuse_unchanged, without_empty
from dragoman.rules.rule import rule


@rule(
    "list-content",
    spelling=True,
    when=lambda facts: Stance.REFUSES in (facts.list_content, facts.several_texts),
    looks_for=traits.ALWAYS,
    narrows=lambda facts: None if facts.list_content is Stance.REFUSES else traits.LISTED | traits.RESULT_PARTS,
    loses=Loss.NOTHING,
    turnwise=lambda context: True,
)
@each_message
def list_content(message: Message, context: Context) -> Edit | None:
    if message.role is TOOL:
        if not any(map(_is_list, message.parts)):
            return None
        parts = reuse_unchanged(message.parts, [_join_result(part) for part in message.parts])
        if parts is message.parts:
            return None
        single = all(type(part) is Result and len(part.parts) == 1 for part in message.parts)
        return (respell if single else edit)(replace(message, parts=parts), _DID)
    if len(message.parts) < 2 and not message.listed:
        return None  # nearly all messages
    content = [part for part in message.parts if not isinstance(part, (Call, Reasoning))]
    if not content:
        return respell(_without_list(message), _DID) if message.listed else None
    if not plain_text(content) or (len(content) < 2 and not message.listed):
        return None
    thoughts = [part for part in message.parts if isinstance(part, Reasoning)]
    calls = [part for part in message.parts if isinstance(part, Call)]
    texts = without_empty(content) if message.role in SYSTEM_ROLES else content
    one = _join_texts(texts, _separate_pieces if message.role is ASSISTANT else _separate_lines)
    parts = (*thoughts, one, *calls)
    same = len(content) == 1 and all(map(is_, parts, message.parts))
    return (respell if same else edit)(replace(message, parts=parts, listed=False), _DID)


def _without_list(message: Message) -> Message:
    """A turn with an empty list: none beside calls and thoughts, and else an empty text."""
    if message.parts:
        return replace(message, listed=False, blank=b"null")
    return replace(message, listed=False, parts=(*message.parts, Text(b'""')))


_DID = "wrote a list of texts as a string"


def _join_texts(parts: Sequence[Part], between: Callable[[Text, Text], str]) -> Text:
    texts = [part for part in parts if isinstance(part, Text)]
    while len(texts) > 1 and texts[-1].literal == EMPTY:
        texts.pop()
    whole = texts[:1]
    for text in texts[1:]:
        whole += [Text(quote(between(whole[-1], text))), text]
    return whole[0] if len(whole) == 1 else Text(join_texts("", [part.literal for part in whole]))


def _separate_lines(before: Text, after: Text) -> str:
    return "\n"


def _separate_pieces(before: Text, after: Text) -> str:
    """An answer may come in pieces: a stream's, or those between citations. If a space or the end of a sentence
    shows that one goes on where the other ended, nothing belongs between them."""
    first = after.text[:1]
    goes_on = before.text[-1:].isspace() or first.isspace() or first in _GOING_ON
    return "" if goes_on else "\n"


_GOING_ON = frozenset(".,;:!?)]}\u2026\u3001\u3002")


def _is_list(part: Part) -> bool:
    return type(part) is Result and (part.listed or len(part.parts) > 1)


def _join_result(part: Part) -> Part:
    if type(part) is not Result or not _is_list(part) or not plain_text(part.parts):
        return part
    parts = (_join_texts(list(part.parts), _separate_lines),) if part.parts else (Text(b'""'),)
    return replace(part, parts=parts, listed=False)
