"""The id of a document that an earlier document of the request has.

Cohere knows the documents of a request by their ids and refuses one that is there twice. The later document gets a new
id, made from the old one and the number of times it was used before. Citations in the answer name the client's id.

Loses nothing.

For `cohere/command-a-03-2025`:

    {"messages": [{"role": "user", "content": "How deep?"}],
      "documents": [{"id": "a", "data": {"text": "The lake."}}, {"id": "a", "data": {"text": "12 metres."}}]}
becomes
    {"messages": [{"role": "user", "content": "How deep?"}],
      "documents": [{"id": "a", "data": {"text": "The lake."}},
        {"id": "gJiOWZRo10eWfEJFh6kAbqO3", "data": {"text": "12 metres."}}]}
"""

from __future__ import annotations

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Rewrite, Undo
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.literals import quote, unquote
from dragoman.conversation.messages import Message
from dragoman.conversation.parts import Extras, Media, Part
from dragoman.profiles.facts import Stance
from dragoman.rules.context import Context
from dragoman.rules.naming import make_fresh_id
from dragoman.rules.rewriting import Swap, rewrite_parts
from dragoman.rules.rule import rule

ID = "document.id"
"""The field of a document that holds its id. Documents in results have ids of their own, which may repeat."""


@rule(
    "duplicate-document-id",
    when=lambda facts: facts.duplicate_documents is Stance.REFUSES,
    looks_for=traits.PART_EXTRAS,
    loses=Loss.NOTHING,
)
def duplicate_document_id(conversation: Conversation, context: Context) -> Rewrite:
    seen: dict[bytes, int] = {}
    undo: dict[str, str] = {}

    def rename(message: Message, part: Part) -> Swap | None:
        extras = part.extras
        if type(part) is not Media or extras is None or len(identity := extras.fields.get(ID, b"")) <= len(b'""'):
            return None
        count = seen[identity] = seen.get(identity, -1) + 1
        if not count or identity[:1] != b'"':
            return None
        made = make_fresh_id(unquote(identity), count, context.facts)
        undo[made] = unquote(identity)
        fields = {**extras.fields, ID: quote(made)}
        return Swap((replace(part, extras=Extras(extras.dialect, fields)),), "gave a repeated document id a new one")

    return replace(rewrite_parts(conversation, rename), undo=Undo(ids=undo))
