"""Thinking at the end of an assistant's turn, with nothing after it.

OpenAI's Responses keep a reasoning item together with the item that followed it, and refuse it alone. A turn that was
cut off, or whose answer a client threw away, leaves one behind. It is left out.

Loses metadata.

For `openai-responses/gpt-5`:

    {"input": [{"role": "user", "content": "Hi"},
      {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "Z0FBQUFBQm9aV2xrYzJGa2MyRms="},
      {"role": "user", "content": "More"}]}
becomes
    {"input": [{"role": "user", "content": "Hi"}, {"role": "user", "content": "More"}]}
"""

from __future__ import annotations

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.messages import Message, Role
from dragoman.conversation.parts import Reasoning
from dragoman.profiles.facts import Stance
from dragoman.rules.context import Context
from dragoman.rules.rewriting import Edit, rewrite_indexed
from dragoman.rules.rule import rule


@rule(
    "lone-reasoning",
    when=lambda facts: facts.lone_reasoning is Stance.REFUSES,
    looks_for=traits.REASONING | traits.SIGNED,
    loses=Loss.METADATA,
)
def lone_reasoning(conversation: Conversation, context: Context) -> Rewrite:
    messages = conversation.messages

    def followed(index: int, message: Message) -> Edit | None:
        if not message.parts or type(message.parts[-1]) is not Reasoning:
            return None
        if index + 1 < len(messages) and messages[index + 1].role is Role.ASSISTANT:
            return None
        parts = list(message.parts)
        while parts and type(parts[-1]) is Reasoning:
            parts.pop()
        kept = (replace(message, parts=tuple(parts)),) if parts else ()
        return Edit(kept, "left out thinking that nothing follows")

    return rewrite_indexed(conversation, followed)
