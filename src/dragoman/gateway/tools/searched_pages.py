"""The pages in what a server's search tool answers. Each server has its own form: JSON, or lines for people."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from dragoman.conversation.provider_tools import FoundPage
from dragoman.wire.json_size import count_values

_MOST = 100
_DEEPEST = 8
_MOST_VALUES = 20_000
_LONGEST_READ = 256 * 1024
_URLS = ("url", "link", "uri", "href")
_TITLES = ("title", "name")
_TEXTS = ("content", "text", "snippet", "description", "summary")
_AGES = ("age", "published_date", "publishedDate", "date")
_URL = re.compile(r"https?://[^\s<>\"'\])]{1,2000}")
_LABELS = frozenset({"title", "description", "snippet", "content"})
_LONGEST_LABELLED = 2_000


def find_pages(answer: str) -> list[FoundPage]:
    """Pages, each once, in the order of the answer. One that is very long, or JSON of very many values, is read as far
    as a search answers."""
    try:
        if count_values(answer.encode(errors="replace"), _MOST_VALUES) > _MOST_VALUES:
            answer = answer[:_LONGEST_READ]
        found = list(_in_json(msgspec.json.decode(answer), _DEEPEST))
    except (ValueError, RecursionError):
        found = list(_in_text(answer[:_LONGEST_READ]))
    first: dict[str, FoundPage] = {}
    for page in found:
        first.setdefault(page.url, page)
    return list(first.values())[:_MOST]


def _in_json(value: Any, depth: int) -> Iterator[FoundPage]:
    if depth and isinstance(value, list):
        for one in value:
            yield from _in_json(one, depth - 1)
    if not depth or not isinstance(value, dict):
        return
    if (url := _first(value, _URLS)).startswith(("http://", "https://")):
        yield FoundPage(url, _first(value, _TITLES), _first(value, _TEXTS), _first(value, _AGES))
        return
    for one in value.values():
        yield from _in_json(one, depth - 1)


def _first(value: dict[str, Any], names: tuple[str, ...]) -> str:
    return next((value[name] for name in names if isinstance(value.get(name), str)), "")


def _in_text(answer: str) -> Iterator[FoundPage]:
    """Each URL with the title and the text that its paragraph names."""
    urls: list[str] = []
    labels: dict[str, str] = {}
    for line in (*answer.split("\n"), ""):
        if line.strip(" -\r"):
            urls += _URL.findall(line)
            label, _, text = line.partition(":")
            if (named := label.strip(" *#-.0123456789").lower()) in _LABELS:
                labels[named] = text.strip(" *\r")[:_LONGEST_LABELLED]
            continue
        text = labels.get("description") or labels.get("snippet") or labels.get("content", "")
        for url in urls:
            yield FoundPage(url.rstrip(".,;"), labels.get("title", ""), text)
        urls, labels = [], {}
