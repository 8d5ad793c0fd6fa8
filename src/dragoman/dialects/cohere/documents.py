"""Documents, both ways: those of the whole request, and those that a tool gave back.

A document is a text, or an object. Its data is a text, or an object whose members the model reads by name. One with
nothing but a title and a text is both to us; any other object is the text of its JSON.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Raw

from dragoman.conversation.literals import quote, unquote
from dragoman.conversation.messages import FIELD, USER, Message
from dragoman.conversation.parts import Json, Media, MediaKind, Part, Plain
from dragoman.dialects.cohere import NAME
from dragoman.dialects.shared.ownership import end_object
from dragoman.dialects.shared.parsing import extras_of
from dragoman.dialects.shared.rendering import Pieces
from dragoman.errors import Unrepresentable
from dragoman.wire.json_reader import render_object, split_items, split_members

BARE, TEXT, OBJECT = "bare", "text", "object"
"""Spellings: a text in place of the document, a text as its data, and an object with members of its own."""
_INSIDE = "document."
"""How the names of a document's further members begin, such as its id."""
_USUAL = frozenset({"title", "text"})


def parse_documents(raw: bytes) -> Message | None:
    """The documents of a request as a user's turn of their own; None if there are none, or in an unknown form."""
    if raw[:1] != b"[":
        return None
    parts = [parse_document(bytes(item)) for item in split_items(raw, "/documents")]
    known: list[Part] = [part for part in parts if part is not None]
    return Message(USER, tuple(known), FIELD, listed=True) if known and len(known) == len(parts) else None


def is_documents(message: Message) -> bool:
    """Whether a message stands for the documents of the request, and not in the list of messages."""
    return message.at == FIELD and message.role is USER


def render_documents(messages: Sequence[Message]) -> Json | None:
    """The documents of a request, or None."""
    found = [part for message in messages if is_documents(message) for part in message.parts]
    return b"[" + b",".join([_document(part) for part in found]) + b"]" if found else None


def parse_document(raw: bytes) -> Media | None:
    """One document, or None if it has another form."""
    if raw[:1] == b'"':
        return Media(MediaKind.DOCUMENT, Plain(raw), wire_form=BARE)
    wire = split_members(raw) if raw[:1] == b"{" else {}
    content = bytes(wire.get("data", b""))
    others = extras_of(NAME, {_INSIDE + key: bytes(value) for key, value in wire.items() if key != "data"})
    if content[:1] == b'"':
        return Media(MediaKind.DOCUMENT, Plain(content), wire_form=TEXT, extras=others)
    if content[:1] != b"{":
        return None
    title, text = _usual_members(split_members(content))
    if text is None:
        return Media(MediaKind.DOCUMENT, Plain(quote(content.decode())), wire_form=OBJECT, extras=others)
    return Media(MediaKind.DOCUMENT, Plain(text), title, extras=others)


def _usual_members(members: Mapping[str, Raw]) -> tuple[str | None, Json | None]:
    """The title and the text, if there is nothing else."""
    literals = {key: bytes(value) for key, value in members.items()}
    plain = all(value[:1] == b'"' for value in literals.values())
    if not plain or literals.keys() - _USUAL or "text" not in literals:
        return None, None
    return unquote(literals["title"]) if "title" in literals else None, literals["text"]


def _document(part: Part) -> Json:
    out: Pieces = []
    render_document(part, out)
    return b"".join(out)


def render_document(part: Part, out: Pieces) -> None:
    """One document. Raises Unrepresentable if it is not given as its text."""
    if not isinstance(part, Media) or not isinstance(part.source, Plain):
        raise Unrepresentable(f"{type(part).__name__} among the documents of a Cohere request")
    literal = part.source.literal
    if part.wire_form == BARE and part.extras is None:
        out.append(literal)
        return
    out += (b'{"data":', _render_content(part, literal))
    end_object(part.extras, NAME, out, _INSIDE)


def _render_content(part: Media, literal: Json) -> Json:
    if part.wire_form == OBJECT:
        return unquote(literal).encode()
    if part.wire_form == TEXT and part.title is None:
        return literal
    head: dict[str, Json] = {} if part.title is None else {"title": quote(part.title)}
    return render_object({**head, "text": literal})
