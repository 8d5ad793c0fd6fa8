"""What the codecs of tools that a provider runs share: reading and writing their settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dragoman.conversation.envelope import unseal
from dragoman.conversation.parts import Json
from dragoman.conversation.provider_tools import ProviderTool
from dragoman.dialects.shared.raw_json import UNREADABLE, decode_object

_BEARER = "Bearer "

Members = Mapping[str, Any]
NOTHING: Members = {}
PLACES = ("city", "region", "country", "timezone")
DEPTHS = ("low", "medium", "high")


def open_block(block: Json) -> Members:
    """The members of a block; none if it cannot be read."""
    try:
        return decode_object(block)
    except UNREADABLE:
        return NOTHING


def object_in(found: Members, key: str) -> Members:
    value = found.get(key)
    return value if isinstance(value, dict) else NOTHING


def objects_in(value: object) -> list[Members]:
    """The objects of a list, or the one object."""
    listed = value if isinstance(value, list) else [value]
    return [one for one in listed if isinstance(one, dict)]


def word_in(found: Members, key: str) -> str:
    value = found.get(key)
    return value if isinstance(value, str) else ""


def words_in(found: Members, key: str) -> tuple[str, ...]:
    value = found.get(key)
    return tuple([one for one in value if isinstance(one, str)]) if isinstance(value, list) else ()


def take_bearer(headers: dict[str, str]) -> str:
    """The token of the header `Authorization`, taken out of the headers of a server: other vendors have a place for it
    and for no other header."""
    logins = [name for name in headers if name.lower() == "authorization" and headers[name].startswith(_BEARER)]
    return headers.pop(logins[0]).removeprefix(_BEARER) if logins else ""


def number_in(found: Members, key: str) -> int | None:
    value = found.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def location_in(found: Members) -> Mapping[str, str]:
    """Where the user is, from a flat object."""
    return {name: word for name in PLACES if (word := word_in(found, name))}


def render_location(location: Mapping[str, str]) -> Members:
    return {"type": "approximate", **location}


def other_settings(found: Members, known: Iterable[str]) -> tuple[str, ...]:
    """Names of settings that are given and not known."""
    names = frozenset(known)
    return tuple([name for name, value in found.items() if name not in names and value not in (None, [], {})])


def lost_settings(tool: ProviderTool, written: Iterable[str]) -> tuple[str, ...]:
    """Names of settings of a tool that are given and not written."""
    names = ("allowed_domains", "blocked_domains", "location", "most_uses", "depth")
    given = [name for name in names if getattr(tool, name) not in (None, "", (), {})]
    done = frozenset(written)
    return (*(name for name in given if name not in done), *tool.further)


def find_sealed(text: str) -> str:
    """The text if it is an envelope of ours that holds something, else nothing."""
    opened = unseal(text)
    return text if opened is not None and opened.json else ""
