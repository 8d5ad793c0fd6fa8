"""Citations of web pages. Every dialect has its own form for them."""

from __future__ import annotations

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
    found = found | _first_source(found.get("sources"))
    url = found.get("url") or found.get("uri")
    if not isinstance(url, str):
        return None
    title = found.get("title")
    starts, ends = ("start_index", "startIndex", "start"), ("end_index", "endIndex", "end")
    start, end = _index(found, *starts), _index(found, *ends)
    return Page(url, title if isinstance(title, str) else "", start, end)


def place_citation(choice: int, part: int, page: Page) -> Cited:
    """A citation of a range of text, in the form that every dialect reads."""
    place = {"start_index": page.start, "end_index": page.end}
    wire = {"type": "url_citation", "url": page.url, "title": page.title, **place}
    return Cited(choice, part, msgspec.json.encode(wire), OURS)


def _first_source(sources: Any) -> dict[str, Any]:
    """The members of the first document or tool result that a citation rests on, if it lists such sources."""
    first = sources[0] if isinstance(sources, list) and sources else None
    members = first.get("document") or first.get("tool_output") if isinstance(first, dict) else None
    return {key: members[key] for key in ("url", "title") if key in members} if isinstance(members, dict) else {}


def _index(found: dict[str, Any], *keys: str) -> int:
    return next((found[key] for key in keys if isinstance(found.get(key), int)), 0)
