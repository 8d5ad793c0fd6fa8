"""Media in a form that one vendor made.

A document as `document_url`, a URL as plain text, or a file without a name is refused where only the dialect's own form
is known. The part is written in that form. The other way round, a vendor may take the bytes of a document in its own
form alone (fact `document_form`).

Loses nothing, or metadata where that form has no place for the document's name.

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
from dragoman.conversation.parts import Inline, Media, MediaKind, Part
from dragoman.conversation.traits import Trait
from dragoman.profiles.facts import Facts
from dragoman.rules.context import Context
from dragoman.rules.rewriting import Swap, but, rewrite_parts
from dragoman.rules.rule import rule

_ALL = ("*",)


@rule(
    "media-form",
    spelling=True,
    when=lambda facts: facts.media_forms != _ALL or bool(facts.document_form),
    looks_for=Trait.MEDIA | Trait.RESULT_PARTS,
    loses=Loss.METADATA,
)
def media_form(conversation: Conversation, context: Context) -> Rewrite:
    facts = context.facts

    def formed(message: Message, part: Part) -> Swap | None:
        if type(part) is not Media:
            return None
        if facts.document_form and part.kind is MediaKind.DOCUMENT and type(part.source) is Inline:
            return _in_vendors_form(part, facts)
        if not part.spelled or facts.media_forms == _ALL or part.spelled in facts.media_forms:
            return None
        return Swap((but(part, spelled=""),), f"wrote the {part.kind.value} in the dialect's own shape", Loss.NOTHING)

    return rewrite_parts(conversation, formed, inside_results=True)


def _in_vendors_form(part: Media, facts: Facts) -> Swap | None:
    if part.spelled == facts.document_form:
        return None
    did = f"wrote the document as `{facts.document_form}`"
    made = but(part, spelled=facts.document_form, title=None)
    return Swap((made,), did, Loss.NOTHING if part.title is None else Loss.METADATA)
