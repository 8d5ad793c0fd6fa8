"""A user turn of documents without a text.

Bedrock wants a text beside them. The turn gets a short placeholder (`texts.empty_content`).

Loses nothing.

For `bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0`, from `openai-chat`:

    {"messages": [{"role": "user", "content": [
      {"type": "file", "file": {"filename": "Q3", "file_data": "data:application/pdf;base64,JVBERi0="}}]}]}
becomes
    {"messages": [{"role": "user", "content": [
      {"document": {"format": "pdf", "name": "Q3", "source": {"bytes": "JVBERi0="}}}, {"text": "(empty)"}]}]}
"""

from __future__ import annotations

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss
from dragoman.conversation.literals import quote
from dragoman.conversation.messages import Message, Role
from dragoman.conversation.parts import Media, MediaKind, Part, Text
from dragoman.profiles.facts import Stance
from dragoman.rules.context import Context
from dragoman.rules.rewriting import Edit, each_message
from dragoman.rules.rule import rule


@rule(
    "lone-document",
    when=lambda facts: facts.lone_document is Stance.REFUSES,
    looks_for=traits.MEDIA | traits.RESULT_PARTS,
    loses=Loss.NOTHING,
)
@each_message
def lone_document(message: Message, context: Context) -> Edit | None:
    if message.role is not Role.USER or not any(map(_is_document, message.parts)):
        return None
    if any(type(part) is Text for part in message.parts):
        return None
    parts = (*message.parts, Text(quote(context.text("empty_content"))))
    return Edit((replace(message, parts=parts),), "put a text beside a document", kind="synthetic")


def _is_document(part: Part) -> bool:
    return type(part) is Media and part.kind is MediaKind.DOCUMENT
