"""Media in a form that one vendor made.

A document as `document_url`, a URL as plain text, or a file without a name is refused where only the dialect's own form
is known. The part is written in that form.

Loses nothing.

For `openai/gpt-4o`:

    {"messages": [{"role": "user", "content": [{"type": "text", "text": "See?"},
      {"type": "image_url", "image_url": "https://example.com/a.png"}]}]}
becomes
    {"messages": [{"role": "user", "content": [{"type": "text", "text": "See?"},
      {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}]}]}
"""

from __future__ import annotations

from dragoman.conversation.changes import Loss, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.messages import Message
from dragoman.conversation.parts import Media, Part
from dragoman.conversation.traits import Trait
from dragoman.rules.context import Context
from dragoman.rules.rewriting import Swap, but, rewrite_parts
from dragoman.rules.rule import rule

_ALL = ("*",)


@rule(
    "media-form",
    spelling=True,
    when=lambda facts: facts.media_forms != _ALL,
    looks_for=Trait.MEDIA | Trait.RESULT_PARTS,
    loses=Loss.NOTHING,
)
def media_form(conversation: Conversation, context: Context) -> Rewrite:
    facts = context.facts

    def formed(message: Message, part: Part) -> Swap | None:
        if type(part) is not Media or not part.spelled or part.spelled in facts.media_forms:
            return None
        return Swap((but(part, spelled=""),), f"wrote the {part.kind.value} in the dialect's own shape")

    return rewrite_parts(conversation, formed, inside_results=True)
