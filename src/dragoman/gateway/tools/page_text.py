"""The text of an HTML page, for a model to read.

A page is written by strangers, and may be written to be slow to read. So it is read from its start to its end once:
each search goes on where the last one ended, and one that finds nothing ends the page. What nobody will read is not
looked at.
"""

from __future__ import annotations

import html
import re

_UNREAD = ("script", "style", "noscript", "template", "svg", "head", "title")
_BREAK = re.compile(
    "address|article|aside|blockquote|br|d[dlt]|div|figure|footer|form|h[1-6]|header|hr|li|main|nav|[ou]l|p|pre|section"
    "|table|tr"
)
_NAME = re.compile(r"/?([a-z][a-z0-9]*)")
_SPACES = re.compile(r"(?:(?!\n)\s)+")
_LINES = re.compile(r"\n{3,}")
_LONGEST_TITLE = 300
_MOST_TAGS = 50_000


def read_title(page: str) -> str:
    """What the page calls itself; empty if it has no title."""
    start = page.lower().find("<title")
    opened = page.find(">", start) if start >= 0 else -1
    end = page.find("<", opened) if opened >= 0 else -1
    return " ".join(html.unescape(page[opened + 1 : end]).split())[:_LONGEST_TITLE] if end >= 0 else ""


def read_text(page: str, most: int) -> str:
    """What a reader would see, a line for each block; about so many characters of it, if it is longer."""
    small = page.lower()
    if len(small) != len(page):  # a few letters have small ones of another length
        page = small
    pieces: list[str] = []
    at, left = 0, 2 * most  # half of it may be white space
    for _ in range(_MOST_TAGS):
        tag = small.find("<", at)
        pieces.append(page[at : tag if tag >= 0 else at + left])
        left -= len(pieces[-1])
        if tag < 0 or left <= 0:
            break
        at = _end_of_tag(small, tag, pieces)
    text = _SPACES.sub(" ", html.unescape("".join(pieces)[: 2 * most]))
    return _LINES.sub("\n\n", "\n".join([line.strip() for line in text.split("\n")])).strip()


def _end_of_tag(small: str, tag: int, pieces: list[str]) -> int:
    """Where the page goes on after what opens here."""
    if small.startswith("<!--", tag):
        return _after(small, "-->", tag)
    named = _NAME.match(small, tag + 1)
    if named is None and not small.startswith(("<!", "<?"), tag):
        pieces.append("<")
        return tag + 1
    name = named[1] if named is not None else ""
    if _BREAK.fullmatch(name):
        pieces.append("\n")
    elif name in ("td", "th"):
        pieces.append(" ")
    if name in _UNREAD and small[tag + 1] != "/":
        return _after(small, ">", _after(small, f"</{name}", tag))
    return _after(small, ">", tag)


def _after(small: str, what: str, at: int) -> int:
    """Behind the next of these; the end of the page if there is none."""
    found = small.find(what, at)
    return found + len(what) if found >= 0 else len(small)
