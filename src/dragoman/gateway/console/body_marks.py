"""Where rules changed what is sent: each rule is left out in turn, and the two bodies are compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from difflib import SequenceMatcher
from enum import StrEnum
from itertools import islice
from typing import Any

import msgspec

from dragoman.errors import DragomanError, MalformedRequest
from dragoman.rules import BY_NAME
from dragoman.rules.rule import KEEP
from dragoman.wire.json_pointers import escape, unescape

MOST_RULES = 24
MOST_PLACES = 200
"""Of one rule. Nobody looks at more."""
MOST_MOVED = 8
"""Places of one rule that are looked for in the body that is sent."""
MOST_SCATTERED = 4
_ALIGNED = 200
"""Items of two lists that are aligned; longer ones are compared item by item."""
_encode = msgspec.json.Encoder(order="deterministic").encode


class MarkKind(StrEnum):
    ADDED = "added"
    CHANGED = "changed"
    REMOVED = "removed"


class BodyMark(msgspec.Struct, frozen=True):
    """A JSON pointer into the body that is sent, and what a rule did there. If it removed something, the pointer is
    that of the object or list that held it."""

    at: str
    kind: MarkKind


def marks_of_rules(
    sent: bytes, rules: Iterable[str], without: Callable[[str], bytes]
) -> dict[str, tuple[BodyMark, ...]]:
    """The marks of each rule. `without` compiles the request with one rule left out."""
    body = msgspec.json.decode(sent)
    found = {rule: _marks(body, rule, without) for rule in islice(rules, MOST_RULES) if rule in BY_NAME}
    return {rule: marks for rule, marks in found.items() if marks}


def _marks(body: Any, rule: str, without: Callable[[str], bytes]) -> tuple[BodyMark, ...]:
    """A rule that cannot be left out, because the target cannot express what it repairs, has no marks."""
    try:
        kept = msgspec.json.decode(without(rule))
        return tuple(islice(differences(kept, body, ""), MOST_PLACES))
    except (DragomanError, msgspec.DecodeError, RecursionError):
        return ()


def find_moved_marks(sent: bytes, places: Iterable[str], without: Callable[[str], bytes]) -> tuple[BodyMark, ...]:
    """Where places of the client's request went. `without` compiles the request with one of them left out.

    For a rule that cannot be left out. If a place is missing, other rules repair what that breaks: then the bodies
    differ in so many places that they tell nothing.
    """
    body = msgspec.json.decode(sent)
    found: dict[str, BodyMark] = {}
    for place in islice(places, MOST_MOVED):
        try:
            marks = list(islice(differences(msgspec.json.decode(without(place)), body, ""), MOST_SCATTERED + 1))
        except (DragomanError, msgspec.DecodeError, RecursionError):
            continue
        if len(marks) <= MOST_SCATTERED:
            found |= {mark.at: BodyMark(mark.at, MarkKind.CHANGED) for mark in marks}
    return tuple(found.values())


def without_place(request: Any, at: str) -> Any:
    """A JSON value without what a pointer leads to. Raises MalformedRequest if it leads nowhere."""
    head, *rest = [unescape(step) for step in at.split("/")[1:]] or [""]
    if isinstance(request, dict) and head in request:
        inner = {} if not rest else {head: without_place(request[head], _pointer(rest))}
        return {name: value for name, value in request.items() if name != head} | inner
    if isinstance(request, list) and head.isdigit() and int(head) < len(request):
        index = int(head)
        kept = [] if not rest else [without_place(request[index], _pointer(rest))]
        return [*request[:index], *kept, *request[index + 1 :]]
    raise MalformedRequest("there is nothing at this place", at=at)


def _pointer(steps: list[str]) -> str:
    return "".join(f"/{escape(step)}" for step in steps)


def keep_choice(rule: str) -> dict[str, Any]:
    """The choice that leaves a rule out."""
    return {rule: KEEP}


def differences(before: Any, after: Any, at: str) -> Iterator[BodyMark]:
    """Where `after` differs from `before`."""
    if isinstance(before, dict) and isinstance(after, dict):
        yield from _members(before, after, at)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _items(before, after, at)
    elif before != after or type(before) is not type(after):
        yield BodyMark(at, MarkKind.CHANGED)


def _members(before: dict[str, Any], after: dict[str, Any], at: str) -> Iterator[BodyMark]:
    for name, value in after.items():
        here = f"{at}/{escape(name)}"
        if name in before:
            yield from differences(before[name], value, here)
        else:
            yield BodyMark(here, MarkKind.ADDED)
    if before.keys() - after.keys():
        yield BodyMark(at, MarkKind.REMOVED)


def _items(before: list[Any], after: list[Any], at: str) -> Iterator[BodyMark]:
    if len(before) == len(after):
        for index, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from differences(old, new, f"{at}/{index}")
        return
    if max(len(before), len(after)) > _ALIGNED:
        yield BodyMark(at, MarkKind.CHANGED)
        return
    aligned = SequenceMatcher(None, [*map(_encode, before)], [*map(_encode, after)], autojunk=False)
    for kind, first, last, start, end in aligned.get_opcodes():
        if kind != "equal":
            yield from _block(before[first:last], after[start:end], at, start)


def _block(old: list[Any], new: list[Any], at: str, start: int) -> Iterator[BodyMark]:
    """Items that differ: pairs are compared, the rest was added or removed."""
    for offset, value in enumerate(new):
        here = f"{at}/{start + offset}"
        if offset < len(old):
            yield from differences(old[offset], value, here)
        else:
            yield BodyMark(here, MarkKind.ADDED)
    if len(old) > len(new):
        yield BodyMark(at, MarkKind.REMOVED)
