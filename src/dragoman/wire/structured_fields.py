"""Dictionaries of HTTP headers, as RFC 8941 writes them: `a, b=word, c="some text", d=?0`."""

from __future__ import annotations

import re

_MEMBER = re.compile(
    r"""[ \t]*(?P<key>[a-z*][a-z0-9_.*-]*)"""
    r"""(?:=(?:"(?P<text>(?:[ !#-\[\]-~]|\\["\\])*)"|\?(?P<flag>[01])"""
    r"""|(?P<word>[A-Za-z*][!#$%&'*+.^_`|~0-9A-Za-z:/-]*)))?"""
    r"""[ \t]*(?:,|$)"""
)
_LIMIT = 8192
_ESCAPE = re.compile(r'\\(["\\])')


def parse_dictionary(text: str) -> dict[str, str | bool]:
    """The members: words and texts as text, flags as booleans. Raises ValueError. Parameters are not taken."""
    if len(text) > _LIMIT:
        raise ValueError(f"is longer than {_LIMIT} characters")
    found: dict[str, str | bool] = {}
    at = 0
    while at < len(text):
        member = _MEMBER.match(text, at)
        if member is None or member.end() == at:
            raise ValueError(f"cannot be read at {text[at : at + 20]!r}")
        found[member["key"]] = _value(member)
        at = member.end()
    return found


def _value(member: re.Match[str]) -> str | bool:
    if member["text"] is not None:
        return _ESCAPE.sub(r"\1", member["text"])
    if member["word"] is not None:
        return member["word"]
    return member["flag"] != "0"
