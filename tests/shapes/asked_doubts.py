"""For a fact that a conversation can ask for: the request of `dragoman probe`, and a pattern by which a body shows it.

So a new fact needs no request of its own. `tests/shapes/doubts.py` has those of facts that nothing asks for.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import takewhile
from typing import Any

import orjson
from tests.shapes.doubts import CASES, DoubtCase

from dragoman.conversation.dialect_names import DEFAULT_DIALECT
from dragoman.engine.library.adapt import adapt
from dragoman.probe.asked_dialects import find_asked_dialect, list_asked
from dragoman.profiles.profile import Layer, Profiles, merge

_SHORTEST = 8
"""Of a pattern: fewer bytes would stand anywhere."""


@cache
def doubt_case(target: str, dialect: str, fact: str) -> DoubtCase | None:
    """The request that depends on a fact of a target; None if there is none."""
    return CASES[dialect].get(fact) or _derive_case(target, dialect, fact)


def _derive_case(target: str, dialect: str, fact: str) -> DoubtCase | None:
    body = _asking_body(target, dialect, fact)
    if body is None:
        return None
    accepted, refused = (_compiled(target, dialect, body, fact, stance) for stance in ("accepts", "refuses"))
    return None if accepted == refused else DoubtCase(body, re.escape(_what_differs(accepted, refused)))


def _asking_body(target: str, dialect: str, fact: str) -> dict[str, Any] | None:
    """The request that asks for it in this dialect. One that is not probed gets a translation."""
    asked = find_asked_dialect(dialect if dialect in list_asked() else DEFAULT_DIALECT)
    question = next((one for one in asked.questions if one.settles == fact), None)
    if question is None:
        return None
    body = merge(asked.form.limits[0], asked.form.body([question]))
    named = body if asked.dialect.model_in_path else {"model": "m", **body}
    if asked.name == dialect:
        return named
    return orjson.loads(_compiled(target, asked.name, named, fact, "accepts"))


def _compiled(target: str, dialect: str, body: dict[str, Any], fact: str, stance: str) -> str:
    known = Profiles(layers=[Layer("doubt", {fact: stance})])
    done = adapt(orjson.dumps(body), source=dialect, target=target, profiles=known)
    return orjson.dumps(orjson.loads(done.body)).decode()


def _what_differs(one: str, other: str) -> str:
    """The shortest stretch around the difference that the other text does not have."""
    begin = _common_length(one, other)
    end = len(one) - min(_common_length(one[::-1], other[::-1]), len(one) - begin, len(other) - begin)
    while one[begin:end] in other or end - begin < _SHORTEST:
        begin, end = max(0, begin - 1), min(len(one), end + 1)
    return one[begin:end]


def _common_length(one: str, other: str) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
