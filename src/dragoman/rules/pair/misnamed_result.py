"""A result under another name than the call that it answers.

Some clients write the id of the call, or a word of their own, as the name of the tool. Gemini and Vertex compare the
names and refuse the request. The result gets the name of its call.

Loses metadata: the name that the client gave.

For `gemini/gemini-2.5-flash`:

    {"contents": [{"role": "user", "parts": [{"text": "Hi"}]},
      {"role": "model", "parts": [{"functionCall": {"name": "look", "args": {}}}]},
      {"role": "user", "parts": [{"functionResponse": {"name": "call_1", "response": {"output": "12 degrees"}}}]}]}
becomes
    {"contents": [{"role": "user", "parts": [{"text": "Hi"}]},
      {"role": "model", "parts": [{"functionCall": {"name": "look", "args": {}}}]},
      {"role": "user", "parts": [{"functionResponse": {"name": "look", "response": {"output": "12 degrees"}}}]}]}
"""

from __future__ import annotations

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.messages import Message
from dragoman.conversation.parts import Call, Part, Result
from dragoman.profiles.facts import Stance
from dragoman.rules.context import Context
from dragoman.rules.rewriting import Swap, rewrite_parts
from dragoman.rules.rule import rule


@rule(
    "misnamed-result",
    when=lambda facts: facts.misnamed_result is Stance.REFUSES,
    looks_for=traits.CALLS,
    loses=Loss.METADATA,
    turnwise=lambda context: True,
)
def misnamed_result(conversation: Conversation, context: Context) -> Rewrite:
    if context.translated:
        return Rewrite(conversation)  # a result is written with the name of its call
    wrong = _find_misnamed(conversation)

    def rename(message: Message, part: Part) -> Swap | None:
        name = wrong.get(id(part))
        return Swap((replace(part, name=name),), "gave a result the name of its call") if name else None

    return rewrite_parts(conversation, rename) if wrong else Rewrite(conversation)


def _find_misnamed(conversation: Conversation) -> dict[int, str]:
    """The results under another name than any call of their id, each with that of the last one."""
    names: dict[str, str] = {}
    others: dict[str, dict[str, None]] = {}  # of an id that stands for several calls, the names that came later
    wrong: dict[int, str] = {}
    for message in conversation.messages:
        for part in message.parts:
            if type(part) is Call:
                if names.setdefault(part.id, part.name) != part.name:
                    others.setdefault(part.id, {})[part.name] = None
            elif type(part) is Result and part.name and part.name != names.get(part.call_id, part.name):
                later = others.get(part.call_id, {})
                if part.name not in later:
                    wrong[id(part)] = next(reversed(later), names[part.call_id])
    return wrong
