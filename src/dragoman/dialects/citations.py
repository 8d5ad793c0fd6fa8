"""Citations of web pages. Every dialect has its own form for them."""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman.conversation.parts import Json
from dragoman.dialects.raw_json import decode_object


class Page(msgspec.Struct, frozen=True, gc=False):
    """A cited page, and the range of characters in the text that cites it."""

    url: str
    title: str = ""
    start: int = 0
    end: int = 0


def page_of(citation: Json) -> Page | None:
    """The page that a citation of any dialect names, if it names one."""
    try:
        found = decode_object(citation)
    except (msgspec.DecodeError, RecursionError):
        return None
    for key in ("url_citation", "web"):
        if isinstance(found.get(key), dict):
            found = found | found[key]
    url = found.get("url") or found.get("uri")
    if not isinstance(url, str):
        return None
    title = found.get("title")
    start, end = (_index(found, *keys) for keys in (("start_index", "startIndex"), ("end_index", "endIndex")))
    return Page(url, title if isinstance(title, str) else "", start, end)


def _index(found: dict[str, Any], *keys: str) -> int:
    return next((found[key] for key in keys if isinstance(found.get(key), int)), 0)
