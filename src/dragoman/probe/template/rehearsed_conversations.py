"""The conversations of a rehearsal: pieces of real histories in every order of two, with an opening and tools."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import count
from typing import Any

import msgspec

from dragoman.probe.template.trials import Body, call, result, tool


class Rehearsed(msgspec.Struct, frozen=True):
    """A conversation."""

    name: str
    body: Body
    words: tuple[str, ...]
    """Those that must be in the prompt if they are in the request that is sent."""


class _Words:
    """Words and ids that occur once."""

    def __init__(self) -> None:
        self._count = count(1)
        self.used: list[str] = []

    def fill(self, turns: list[Body]) -> list[Body]:
        """The turns with a word of its own for each `*`, and an id for each `#a` and `#b`."""
        ids = {name: f"call_{next(self._count):03}_of_a_client" for name in ("#a", "#b")}
        filled = _PLACE.sub(lambda found: ids.get(found[0]) or self._one(), msgspec.json.encode(turns).decode())
        made: list[Body] = msgspec.json.decode(filled)
        return made

    def _one(self) -> str:
        self.used.append(f"word{next(self._count):03}x")
        return self.used[-1]


_PLACE = re.compile(r"\*|#[ab]")


def _turn(role: str, content: Any = "*") -> Body:
    return {"role": role, "content": content}


def _calling(*made: Body, **others: Any) -> Body:
    return {"role": "assistant", **others, "tool_calls": list(made)}


def _given(arguments: Body) -> Body:
    made = call("#a")
    return {**made, "function": {**made["function"], "arguments": msgspec.json.encode(arguments).decode()}}


_TEXT: Body = {"type": "text", "text": "*"}
_IMAGE: Body = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
_CALL, _RESULT = call("#a", "*"), result("#a", "*")
_DEEP: Body = {"word": "*", "list": [1, 2.5, None, True], "deep": {"a": {"b": []}}, "none": None}
PIECES: Mapping[str, list[Body]] = {
    "user": [_turn("user")],
    "two texts": [_turn("user", [_TEXT, _TEXT])],
    "answer": [_turn("assistant")],
    "silent answer": [_turn("assistant", "")],
    "no answer": [_turn("assistant", None)],
    "late system": [_turn("system")],
    "round": [_calling(_CALL, content=None), _RESULT],
    "round with words": [_calling(_CALL, content="*"), _RESULT],
    "parallel round": [_calling(_CALL, call("#b", "*"), content=None), _RESULT, result("#b", "*")],
    "thinking round": [_calling(_CALL, reasoning_content="Hm."), _RESULT],
    "listed round": [_calling(_CALL), result("#a", [_TEXT, _TEXT])],
    "empty result": [_calling(_CALL), result("#a", "")],
    "bare call": [_calling(_given({})), _RESULT],
    "deep call": [_calling(_given(_DEEP)), result("#a", '{"temperature": 12}')],
    "image": [_turn("user", [_TEXT, _IMAGE])],
    "lone image": [_turn("user", [_IMAGE])],
}
_NOTHING_ALONE = ("silent answer", "no answer")
"""Pieces that say nothing: alone they are no conversation."""

OPENINGS: tuple[list[Body], ...] = (
    [],
    [_turn("system")],
    [_turn("system"), _turn("system")],
    [_turn("developer")],
    [_turn("system", [_TEXT])],
)
TOOLS: tuple[tuple[Body, ...], ...] = (
    (tool(),),
    (tool(), tool("second", description=None), tool("third", parameters=None)),
    (),
    (tool(parameters={"type": "object", "properties": {"a": {"type": ["string", "null"]}, "b": {}}}),),
)


def rehearse() -> list[Rehearsed]:
    """Every piece after every other, each pair with another opening, and every piece alone."""
    made: list[Rehearsed] = []
    for number, (first, second) in enumerate((one, other) for one in PIECES for other in PIECES):
        made.append(_conversation(number, ("user", first, "answer", second), number % 5, number % 4))
    for number, piece in enumerate(piece for piece in PIECES if piece not in _NOTHING_ALONE):
        made.append(_conversation(number, (piece,), number % 2, 0))
        made.append(_conversation(number, ("user", piece, piece), number % 5, 2))
        made.append(_conversation(number, (piece, "user"), (number + 1) % 5, 1))
    return made


def _conversation(number: int, pieces: tuple[str, ...], opening: int, tools: int) -> Rehearsed:
    words = _Words()
    messages = words.fill(OPENINGS[opening])
    for piece in pieces:
        messages += words.fill(PIECES[piece])
    body: Body = {"model": "model", "messages": messages}
    if TOOLS[tools]:
        body["tools"] = list(TOOLS[tools])
    return Rehearsed(", ".join(pieces), body, tuple(words.used))
