"""Citations for clients of this dialect: Cohere's own as they are, others where they name a page."""

from __future__ import annotations

from typing import Any

from dragoman.conversation.literals import joined, unquote
from dragoman.conversation.parts import Json, Origin
from dragoman.dialects.citations import page_of
from dragoman.dialects.cohere import NAME
from dragoman.dialects.raw_json import encode


class CitedText:
    """A text that citations are about. It is decoded once, however many there are."""

    __slots__ = ("_decoded", "_literals")

    def __init__(self) -> None:
        self._decoded = ""
        self._literals: list[bytes] = []

    def add(self, literal: bytes) -> None:
        self._literals.append(literal)

    def part(self, start: int, end: int) -> str:
        if self._literals:
            self._decoded += unquote(joined("", self._literals))
            self._literals = []
        return self._decoded[start:end]


def render_citation(citation: Json, origin: Origin, text: CitedText, content_index: int) -> Json | None:
    """A citation of this text; None where the dialect has no form for it."""
    if origin.dialect == NAME:
        return citation
    page = page_of(citation)
    if page is None:
        return None
    source = {"type": "document", "id": page.url, "document": {"id": page.url, "title": page.title, "url": page.url}}
    cited: dict[str, Any] = {"start": page.start, "end": page.end, "type": "TEXT_CONTENT", "sources": [source]}
    cited["text"] = text.part(page.start, page.end)
    cited["content_index"] = content_index
    return encode(cited)
