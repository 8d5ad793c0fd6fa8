"""Media in words: the usual names of their types, and texts in place of what a target does not take."""

from __future__ import annotations

from base64 import b64decode

from dragoman.conversation.changes import Loss
from dragoman.conversation.literals import prefixed, quote, unquote
from dragoman.conversation.parts import Inline, Media, Plain, Remote, Stored, Text
from dragoman.rules.rewriting import Swap

_ALIASES = {
    "image/jpg": "image/jpeg",
    "image/pjpeg": "image/jpeg",
    "image/x-png": "image/png",
    "application/x-pdf": "application/pdf",
}


def usual_type(media_type: str) -> str:
    """The registered name of a type. People write `image/jpg`, capitals, and parameters that no provider asks for."""
    bare = media_type.partition(";")[0].strip().lower()
    return _ALIASES.get(bare, bare)


def in_words(part: Media) -> Swap:
    """A text in place of media: that of a document which is text, else a line that says what was there."""
    plain = part.source if isinstance(part.source, Plain) else read_text_file(part)
    if plain is None:
        return Swap((Text(quote(_stand_in(part))),), f"put a line of text in place of {_article(part)}")
    head = f"[document: {part.title}]\n" if part.title else ""
    return Swap((Text(prefixed(head, plain.literal)),), "turned a document into text", Loss.NOTHING)


def read_text_file(part: Media) -> Plain | None:
    """The text of a file that holds nothing else; None for all other files."""
    source = part.source
    if not isinstance(source, Inline) or not _is_text(source.media_type):
        return None
    try:
        return Plain(quote(b64decode(unquote(source.data), validate=True).decode()))
    except ValueError:
        return None


def _is_text(media_type: str) -> bool:
    name = media_type.partition(";")[0].strip().lower()
    return name.startswith("text/") or name in _TEXTS


_TEXTS = ("application/json", "application/xml", "application/yaml", "application/x-yaml", "application/toml")


def _stand_in(part: Media) -> str:
    match part.source:
        case Remote(url):
            return f"[{part.kind.value}: {url}]"
        case Inline(media_type, _):
            words = part.title or media_type
            return f"[{part.kind.value}: {words}]"
        case Stored(identity):
            return f"[{part.kind.value}: {part.title or identity}]"
    return f"[{part.kind.value}]"


def _article(part: Media) -> str:
    return ("an " if part.kind.value[0] in "aeiou" else "a ") + part.kind.value
