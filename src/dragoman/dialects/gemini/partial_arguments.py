"""Arguments that arrive as values at paths (`partialArgs` of Vertex), put together."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import msgspec

from dragoman.conversation.parts import Json
from dragoman.dialects.raw_json import encode

_STEP = re.compile(r"""\.([^.\[\]]+)|\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]""")
_LARGEST_INDEX = 100_000


class _PartialValue(msgspec.Struct, rename="camel"):
    """One value, or a piece of one text, and where it belongs."""

    json_path: str = "$"
    string_value: str | None = None
    number_value: int | float | None = None
    bool_value: bool | None = None
    will_continue: bool | None = None


_decode = msgspec.json.Decoder(list[_PartialValue]).decode


class PartialArguments:
    """A call's arguments while they grow."""

    __slots__ = ("_root",)

    def __init__(self) -> None:
        self._root: dict[str, Any] = {}

    def add(self, raw: bytes) -> None:
        """Take a list of values at paths. One that cannot be placed is left out."""
        try:
            pieces = _decode(raw)
        except msgspec.DecodeError:
            return
        for piece in pieces:
            self._place(piece)

    def json(self) -> Json:
        return encode(self._root)

    def _place(self, piece: _PartialValue) -> None:
        steps: list[str | int] = []
        for name, index, single, double in _STEP.findall(piece.json_path):
            steps.append(int(index) if index else name or single or double)
        if not steps or any(isinstance(step, int) and step > _LARGEST_INDEX for step in steps):
            return
        holder: Any = self._root
        for step, following in pairwise(steps):
            holder = _slot(holder, step, [] if isinstance(following, int) else {})
        _set(holder, steps[-1], piece)


def _slot(holder: Any, step: str | int, empty: Any) -> Any:
    """The value at a step of a path, made where there is none."""
    if isinstance(holder, list) and isinstance(step, int):
        holder.extend([None] * (step + 1 - len(holder)))
        if holder[step] is None:
            holder[step] = empty
        return holder[step]
    if isinstance(holder, dict):
        return holder.setdefault(str(step), empty)
    return {}


def _set(holder: Any, step: str | int, piece: _PartialValue) -> None:
    if piece.string_value is not None:
        before = _slot(holder, step, "")
        value: Any = (before if isinstance(before, str) else "") + piece.string_value
    elif piece.number_value is not None:
        value = piece.number_value
    else:
        value = piece.bool_value
    _slot(holder, step, None)
    if isinstance(holder, dict):
        holder[str(step)] = value
    elif isinstance(holder, list) and isinstance(step, int):
        holder[step] = value
