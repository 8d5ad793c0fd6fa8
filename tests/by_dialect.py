"""Requests and tables of the tests for each dialect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn, TypeVar

import orjson

from dragoman.conversation.notation.script import parse
from dragoman.dialects.dialect import Framing, RenderOptions
from dragoman.dialects.registry import dialect, list_dialects

Entry = TypeVar("Entry")
SSE_DIALECTS = [one.name for one in list_dialects() if one.framing is Framing.SSE]
"""Those whose streams are server-sent events."""
TEXT_DIALECTS = [one.name for one in list_dialects() if one.framing is not Framing.EVENT_STREAM]
"""Those whose streams are text."""


def write_request(name: str, script: str, stream: bool = False) -> dict[str, Any]:
    """The conversation of a script as a request of this dialect, written by its own renderer."""
    body: dict[str, Any] = orjson.loads(dialect(name).requests.render(parse(script), RenderOptions("m", stream)))
    return body


class ByDialect(dict[str, Entry]):
    """A table that says of a new dialect what is to be added, and where: what the dialect itself cannot tell."""

    def __init__(self, place: str, entries: Mapping[str, Entry]) -> None:
        super().__init__(entries)
        self._place = place

    def __missing__(self, name: str) -> NoReturn:
        raise LookupError(f'{self._place}: add "{name}"')
