r"""Thinking in several pieces, for a target that has one field for it.

The pieces become one text. A piece that says the same as another is left out.

Loses nothing.

For `deepseek/deepseek-reasoner`:

    user: Hi
    ~ A greeting.
    ~ I greet back.
    assistant: Hello
becomes
    user: Hi
    ~ A greeting.\nI greet back.
    assistant: Hello
"""

from __future__ import annotations

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss
from dragoman.conversation.literals import join_texts
from dragoman.conversation.messages import Message
from dragoman.conversation.parts import Reasoning, Text
from dragoman.rules.context import Context
from dragoman.rules.rewriting import Edit, each_message, edit
from dragoman.rules.rule import rule


@rule(
    "many-thoughts",
    when=lambda facts: bool(facts.reasoning_field),
    looks_for=traits.REASONING,
    loses=Loss.NOTHING,
)
@each_message
def many_thoughts(message: Message, context: Context) -> Edit | None:
    thoughts = [part for part in message.parts if type(part) is Reasoning and part.state is None]
    if len(thoughts) < 2 or len({part.field for part in thoughts}) == len(thoughts):
        return None
    texts = list(dict.fromkeys(part.text.literal for part in thoughts if part.text is not None))
    one = replace(thoughts[0], text=Text(join_texts("\n", texts)))
    surplus = {id(part) for part in thoughts[1:]}
    parts = tuple(one if part is thoughts[0] else part for part in message.parts if id(part) not in surplus)
    return edit(replace(message, parts=parts), "put thinking into one field", thoughts[1])
