"""Citations of web pages and of documents. Every dialect has its own form for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from dragoman.conversation.events import Cited
from dragoman.conversation.parts import OURS, Json
from dragoman.dialects.shared.raw_json import decode_object


class Page(msgspec.Struct, frozen=True, gc=False):
    """A cited page."""

    url: str
    title: str = ""
    start: int = 0
    """Where the words begin that cite it: a character of the text."""
    end: int = 0
    """Where they end."""


def page_of(citation: Json) -> Page | None:
    """The page that a citation of any dialect names, if it names one."""
    try:
        found = decode_object(citation)
    except (msgspec.DecodeError, RecursionError):
        return None
    for key in ("url_citation", "location", "web"):
        if isinstance(found.get(key), dict):
            found = found | found[key]
    found = found | _find_source(found.get("sources"))
    url = found.get("url") or found.get("uri")
    if not isinstance(url, str):
        return None
    title = found.get("title")
    starts, ends = ("start_index", "startIndex", "start"), ("end_index", "endIndex", "end")
    start, end = _index(found, *starts), _index(found, *ends)
    return Page(url, title if isinstance(title, str) else "", start, end)


class Passage(msgspec.Struct, frozen=True, gc=False):
    """A cited place in a document of the request."""

    unit: str
    """What its ends count: a `char`, a `page` or a `chunk`."""
    document: int
    start: int
    end: int
    title: str | None
    words: str


def passage_of(citation: Json) -> Passage | None:
    """The place in a document that a citation of Claude's names, in Anthropic's form or in Bedrock's."""
    try:
        found = decode_object(citation)
    except (msgspec.DecodeError, RecursionError):
        return None
    for unit, (kind, start, end) in PLACES.items():
        if found.get("type") == kind:
            given = {"document": found.get("document_index"), "start": found.get(start), "end": found.get(end)}
            return _passage(unit, given, found.get("document_title"), found.get("cited_text"))
    location = found.get("location")
    for unit, key in LOCATIONS.items():
        place = location.get(key) if isinstance(location, dict) else None
        if isinstance(place, dict):
            given = {"document": place.get("documentIndex"), "start": place.get("start"), "end": place.get("end")}
            return _passage(unit, given, found.get("title"), _words(found.get("sourceContent")))
    return None


PLACES = {
    "char": ("char_location", "start_char_index", "end_char_index"),
    "page": ("page_location", "start_page_number", "end_page_number"),
    "chunk": ("content_block_location", "start_block_index", "end_block_index"),
}
"""Anthropic's words for a place: its type, and where it begins and ends."""
LOCATIONS = {"char": "documentChar", "page": "documentPage", "chunk": "documentChunk"}
"""Bedrock's."""


def _passage(unit: str, given: dict[str, Any], title: Any, words: Any) -> Passage | None:
    try:
        return msgspec.convert({"unit": unit, **given, "title": title, "words": words or ""}, Passage)
    except msgspec.ValidationError:
        return None


def _words(content: Any) -> str:
    texts = [one.get("text") for one in content if isinstance(one, dict)] if isinstance(content, list) else []
    return "".join(text for text in texts if isinstance(text, str))


def place_citation(choice: int, part: int, page: Page) -> Cited:
    """A citation of a range of text, in the form that every dialect reads."""
    place = {"start_index": page.start, "end_index": page.end}
    wire = {"type": "url_citation", "url": page.url, "title": page.title, **place}
    return Cited(choice, part, msgspec.json.encode(wire), OURS)


def cite_pages_beside(members: Mapping[str, Json]) -> list[Json]:
    """Citations of the pages that some services list beside an answer: `search_results`, or their addresses alone as
    `citations`. They do not say which words rest on which page."""
    try:
        listed = msgspec.json.decode(members.get("search_results") or members.get("citations") or b"[]")
    except (msgspec.DecodeError, RecursionError):
        return []
    pages = [{"url": one} if isinstance(one, str) else one for one in listed] if isinstance(listed, list) else []
    found = [Page(one["url"], one.get("title") or "") for one in pages[:_MOST_BESIDE] if _is_page(one)]
    return [render_url_citation(page) for page in found]


def render_url_citation(page: Page) -> Json:
    """A page in the form of Chat, which demands a range: an empty one says nothing of it."""
    cited = {"start_index": page.start, "end_index": page.end, "url": page.url, "title": page.title}
    return msgspec.json.encode({"type": "url_citation", "url_citation": cited})


_MOST_BESIDE = 100


def _is_page(found: Any) -> bool:
    return isinstance(found, dict) and isinstance(found.get("url"), str) and isinstance(found.get("title") or "", str)


def _find_source(sources: Any) -> dict[str, Any]:
    """The members of the first document or tool result that a citation rests on, if it lists such sources."""
    first = sources[0] if isinstance(sources, list) and sources else None
    members = first.get("document") or first.get("tool_output") if isinstance(first, dict) else None
    return {key: members[key] for key in ("url", "title") if key in members} if isinstance(members, dict) else {}


def _index(found: dict[str, Any], *keys: str) -> int:
    return next((found[key] for key in keys if isinstance(found.get(key), int)), 0)
