"""The conversations of a rehearsal: pieces of real histories in every order of two, with an opening and tools."""

from __future__ import annotations

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
    """Words that occur once."""

    def __init__(self) -> None:
        self._count = count(1)
        self.used: list[str] = []

    def one(self) -> str:
        word = f"word{next(self._count):03}x"
        self.used.append(word)
        return word

    def identity(self) -> str:
        return f"call_{next(self._count):03}_of_a_client"


def _user(words: _Words) -> list[Body]:
    return [{"role": "user", "content": words.one()}]


def _two_texts(words: _Words) -> list[Body]:
    parts = [{"type": "text", "text": words.one()}, {"type": "text", "text": words.one()}]
    return [{"role": "user", "content": parts}]


def _answer(words: _Words) -> list[Body]:
    return [{"role": "assistant", "content": words.one()}]


def _silent_answer(words: _Words) -> list[Body]:
    return [{"role": "assistant", "content": ""}]


def _no_answer(words: _Words) -> list[Body]:
    return [{"role": "assistant", "content": None}]


def _late_system(words: _Words) -> list[Body]:
    return [{"role": "system", "content": words.one()}]


def _round(words: _Words) -> list[Body]:
    identity = words.identity()
    made: Body = {"role": "assistant", "content": None, "tool_calls": [call(identity, words.one())]}
    return [made, result(identity, words.one())]


def _round_with_words(words: _Words) -> list[Body]:
    identity = words.identity()
    made: Body = {"role": "assistant", "content": words.one(), "tool_calls": [call(identity, words.one())]}
    return [made, result(identity, words.one())]


def _parallel_round(words: _Words) -> list[Body]:
    first, second = words.identity(), words.identity()
    made: Body = {
        "role": "assistant",
        "content": None,
        "tool_calls": [call(first, words.one()), call(second, words.one())],
    }
    return [made, result(first, words.one()), result(second, words.one())]


def _thinking_round(words: _Words) -> list[Body]:
    identity = words.identity()
    made: Body = {"role": "assistant", "reasoning_content": "Hm.", "tool_calls": [call(identity, words.one())]}
    return [made, result(identity, words.one())]


def _listed_round(words: _Words) -> list[Body]:
    identity = words.identity()
    made: Body = {"role": "assistant", "tool_calls": [call(identity, words.one())]}
    return [made, result(identity, [{"type": "text", "text": words.one()}, {"type": "text", "text": words.one()}])]


def _empty_result(words: _Words) -> list[Body]:
    identity = words.identity()
    return [{"role": "assistant", "tool_calls": [call(identity, words.one())]}, result(identity, "")]


def _bare_call(words: _Words) -> list[Body]:
    """A call that takes no arguments."""
    identity = words.identity()
    made = call(identity)
    made["function"]["arguments"] = "{}"
    return [{"role": "assistant", "tool_calls": [made]}, result(identity, words.one())]


def _deep_call(words: _Words) -> list[Body]:
    identity = words.identity()
    made = call(identity)
    given: Body = {"word": words.one(), "list": [1, 2.5, None, True], "deep": {"a": {"b": []}}, "none": None}
    made["function"]["arguments"] = msgspec.json.encode(given).decode()
    return [{"role": "assistant", "tool_calls": [made]}, result(identity, '{"temperature": 12}')]


def _image(words: _Words) -> list[Body]:
    image = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
    return [{"role": "user", "content": [{"type": "text", "text": words.one()}, image]}]


def _lone_image(words: _Words) -> list[Body]:
    return [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}]}]


_NOTHING_ALONE = (_silent_answer, _no_answer)
"""Pieces that say nothing: alone they are no conversation."""

PIECES = (
    _user,
    _two_texts,
    _answer,
    _silent_answer,
    _no_answer,
    _late_system,
    _round,
    _round_with_words,
    _parallel_round,
    _thinking_round,
    _listed_round,
    _empty_result,
    _bare_call,
    _deep_call,
    _image,
    _lone_image,
)


def _openings(words: _Words) -> list[list[Body]]:
    return [
        [],
        [{"role": "system", "content": words.one()}],
        [{"role": "system", "content": words.one()}, {"role": "system", "content": words.one()}],
        [{"role": "developer", "content": words.one()}],
        [{"role": "system", "content": [{"type": "text", "text": words.one()}]}],
    ]


TOOLS: tuple[tuple[Body, ...], ...] = (
    (tool(),),
    (tool(), tool("second", description=None), tool("third", parameters=None)),
    (),
    (tool(parameters={"type": "object", "properties": {"a": {"type": ["string", "null"]}, "b": {}}}),),
)


def rehearsed() -> list[Rehearsed]:
    """Every piece after every other, each pair with another opening, and every piece alone."""
    made: list[Rehearsed] = []
    for number, (first, second) in enumerate((one, other) for one in PIECES for other in PIECES):
        made.append(_conversation(number, (_user, first, _answer, second), number % 5, number % 4))
    for number, piece in enumerate(piece for piece in PIECES if piece not in _NOTHING_ALONE):
        made.append(_conversation(number, (piece,), number % 2, 0))
        made.append(_conversation(number, (_user, piece, piece), number % 5, 2))
        made.append(_conversation(number, (piece, _user), (number + 1) % 5, 1))
    return made


def _conversation(number: int, pieces: tuple[Any, ...], opening: int, tools: int) -> Rehearsed:
    words = _Words()
    messages = list(_openings(words)[opening])
    for piece in pieces:
        messages += piece(words)
    body: Body = {"model": "model", "messages": messages}
    if TOOLS[tools]:
        body["tools"] = list(TOOLS[tools])
    name = ", ".join(piece.__name__.strip("_").replace("_", " ") for piece in pieces)
    return Rehearsed(name, body, tuple(words.used))
