"""A turn of nothing but calls without content, for a target whose chat template reads it all the same.

Chat lets such a turn have no content, or null, or an empty text. One chat template looks at the content and fails if
it is not there, another fails on null, a third writes the calls only if it is null. The turn gets what the target
wants. A turn that neither calls nor has the member gets null from a server that misses it (fact `absent_content`).

Loses nothing.

For a target with `call_content = "empty"`:

    {"messages": [{"role": "user", "content": "Hi"},
      {"role": "assistant", "tool_calls": [{"id": "c1", "type": "function",
        "function": {"name": "look", "arguments": "{}"}}]},
      {"role": "tool", "tool_call_id": "c1", "content": "12 degrees"}]}
becomes
    {"messages": [{"role": "user", "content": "Hi"},
      {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "type": "function",
        "function": {"name": "look", "arguments": "{}"}}]},
      {"role": "tool", "tool_call_id": "c1", "content": "12 degrees"}]}
"""

from __future__ import annotations

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.literals import EMPTY
from dragoman.conversation.messages import ASSISTANT, Message
from dragoman.conversation.parts import Call, Reasoning
from dragoman.profiles.facts import CallContent, Stance
from dragoman.rules.context import Context
from dragoman.rules.rewriting import Edit, edit, rewrite_messages
from dragoman.rules.rule import rule

_BLANKS = {CallContent.ABSENT: b"", CallContent.NULL: b"null", CallContent.EMPTY: EMPTY}
_DID = {
    CallContent.ABSENT: "left out its content, which held nothing",
    CallContent.NULL: "wrote null for its content",
    CallContent.EMPTY: "wrote an empty text for its content",
}


@rule(
    "missing-content",
    spelling=True,
    when=lambda facts: facts.call_content is not CallContent.ANY or facts.absent_content is Stance.REFUSES,
    looks_for=traits.CALLS | traits.NO_PARTS,
    narrows=lambda facts: traits.NO_PARTS if facts.call_content is CallContent.ANY else None,
    loses=Loss.NOTHING,
)
def missing_content(conversation: Conversation, context: Context) -> Rewrite:
    wanted, absent = context.facts.call_content, context.facts.absent_content

    def fill(message: Message) -> Edit | None:
        is_absent = not (message.parts or message.blank or message.listed)
        if is_absent and absent is Stance.REFUSES and message.role is ASSISTANT:
            return edit(replace(message, blank=_BLANKS[CallContent.NULL]), _DID[CallContent.NULL])
        if wanted is CallContent.ANY:
            return None
        # A list without anything in it is recognised by its spelling.
        if (message.blank == _BLANKS[wanted] and not message.listed) or not _has_only_calls(message):
            return None
        return edit(replace(message, blank=_BLANKS[wanted], listed=False), _DID[wanted])

    return rewrite_messages(conversation, fill)


def _has_only_calls(message: Message) -> bool:
    """Whether it calls, and says nothing. Thinking has a field of its own."""
    kinds = {type(part) for part in message.parts}
    return Call in kinds and kinds <= {Call, Reasoning}
