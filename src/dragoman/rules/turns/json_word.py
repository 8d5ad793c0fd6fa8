"""JSON asked for as the answer's format, while no message says the word.

Some providers refuse the setting unless a message mentions JSON, because a model that does not know may write white
space without end. A user turn that says so is appended (`texts.json_word`). If the conversation ends with results and
the target wants the assistant between them and the user, the last result says so: another made-up turn would be needed.

Loses nothing; adds a turn or a text.

For `openai/gpt-4o`:

    {"messages": [{"role": "user", "content": "Hi"}], "response_format": {"type": "json_object"}}
becomes
    {"messages": [{"role": "user", "content": "Hi"}, {"role": "user", "content": "Answer in JSON."}],
     "response_format": {"type": "json_object"}}
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.literals import quote
from dragoman.conversation.messages import TOOL, USER, Message
from dragoman.conversation.parts import Call, Part, Result, Text
from dragoman.conversation.settings import FormatKind
from dragoman.profiles.facts import Stance
from dragoman.rules.context import Context
from dragoman.rules.rule import rule

_WORD = b"json"


_JSON = FormatKind.JSON


@rule(
    "json-word",
    when=lambda facts: facts.json_word is Stance.REFUSES,
    looks_for=traits.FORMAT,
    loses=Loss.NOTHING,
)
def json_word(conversation: Conversation, context: Context) -> Rewrite:
    form = conversation.settings.response_format
    if form is None or form.kind is not _JSON:
        return Rewrite(conversation)
    if any(_WORD in text.lower() for message in conversation.messages for text in _texts(message.parts)):
        return Rewrite(conversation)
    last = conversation.messages[-1] if conversation.messages else None
    word = Text(quote(context.text("json_word")))
    final = last.parts[-1] if last is not None and last.role is TOOL and last.parts else None
    if last is not None and type(final) is Result and context.facts.user_after_tool is Stance.REFUSES:
        message = replace(last, parts=(*last.parts[:-1], replace(final, parts=(*final.parts, word))))
        note = Note("said the word at the end of the last result", last, kind="synthetic", before=last, after=message)
        return Rewrite(replace(conversation, messages=(*conversation.messages[:-1], message)), (note,))
    turn = Message(USER, (word,))
    note = Note("appended a user turn that says the word", last, kind="synthetic", after=turn)
    return Rewrite(replace(conversation, messages=(*conversation.messages, turn)), (note,))


def _texts(parts: Iterable[Part]) -> Iterator[bytes]:
    for part in parts:
        if type(part) is Text:
            yield part.literal
        elif type(part) is Call:
            yield part.name.encode() + part.arguments
        elif type(part) is Result:
            yield from _texts(part.parts)
