"""Citations for clients of this dialect: Cohere's own as they are, others where they name a page."""

from __future__ import annotations

from typing import Any

from dragoman.conversation.literals import unquote
from dragoman.conversation.parts import Json, Origin
from dragoman.dialects.citations import page_of
from dragoman.dialects.cohere import NAME
from dragoman.dialects.raw_json import encode


def render_citation(citation: Json, origin: Origin, text: list[bytes], content_index: int) -> Json | None:
    """A citation of the text that these literals make; None where this dialect has no form for it."""
    if origin.dialect == NAME:
        return citation
    page = page_of(citation)
    if page is None:
        return None
    source = {"type": "document", "id": page.url, "document": {"id": page.url, "title": page.title, "url": page.url}}
    cited: dict[str, Any] = {"start": page.start, "end": page.end, "type": "TEXT_CONTENT", "sources": [source]}
    cited["text"] = "".join(map(unquote, text))[page.start : page.end]
    cited["content_index"] = content_index
    return encode(cited)
