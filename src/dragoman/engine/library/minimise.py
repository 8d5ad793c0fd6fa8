"""The smallest request that still fails: turns, parts, tools and settings are taken away as long as it does.

Delta debugging on the JSON of any dialect. A call and its result go together or stay together, so what remains fails
for the reason that the whole did, and not for a pair that we split.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

from dragoman.dialects.registry import list_names

Json = dict[str, Any]
Path = tuple[str | int, ...]
Group = frozenset[Path]
"""What is taken away at once."""
Fails = Callable[[Json], bool]

ROUNDS = 4
_TURNS = tuple(sorted(list_names()))
_PARTS = ("content", "parts", "tool_calls")
_CALLS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
_KEPT = frozenset(
    {
        *(*_TURNS, *_PARTS, "model", "role", "type", "id", "call_id", "tool_call_id", "tool_use_id", "name"),
        *("function", "functionCall", "functionResponse", "functionDeclarations", "tools", "arguments", "args"),
    }
)
"""Members that hold the request together; what they hold may go, they may not."""
_LONG = 12
_WORDS = 4


def minimise_request(request: Json, fails: Fails) -> Json:
    """The request cut down as far as it goes. `fails` says whether it still fails as it did; it must do so now."""
    for _ in range(ROUNDS):
        before = request
        for groups in (_turns, _parts, _tools, _members):
            request = _without_groups(request, groups(request), fails)
        request = _shorten(request, fails)
        if request == before:
            break
    return request


def _without_groups(request: Json, groups: list[Group], fails: Fails) -> Json:
    """Take away halves, then quarters, then single groups; begin again at single ones while that helps."""
    size = max(1, len(groups) // 2)
    kept = list(groups)
    gone: set[Path] = set()
    while kept:
        progress = False
        for start in range(0, len(kept), size):
            chunk = kept[start : start + size]
            wanted = gone.union(*chunk)
            if fails(without(request, wanted)):
                gone = wanted
                kept = [group for group in kept if group not in chunk]
                progress = True
                break
        if not progress and size == 1:
            break
        if not progress:
            size = max(1, size // 2)
        size = max(1, min(size, len(kept)))
    return without(request, gone)


def without(request: Json, paths: set[Path] | Group) -> Json:
    """A copy with these places taken out."""
    smaller = copy.deepcopy(request)
    for path in sorted(paths, key=_order, reverse=True):
        _remove(smaller, path)
    return smaller


def _order(path: Path) -> tuple[tuple[bool, str, int], ...]:
    """By names and numbers; taken backwards, a removal moves nothing that is still to be removed."""
    return tuple(
        (isinstance(step, int), step if isinstance(step, str) else "", step if isinstance(step, int) else 0)
        for step in path
    )


def _remove(request: Any, path: Path) -> None:
    for step in path[:-1]:
        try:
            request = request[step]
        except (KeyError, IndexError):  # its parent has gone already
            return
    if isinstance(request, dict):
        request.pop(path[-1], None)
    elif isinstance(request, list) and isinstance(path[-1], int) and path[-1] < len(request):
        del request[path[-1]]


def _turns(request: Json) -> list[Group]:
    """Whole turns; those that share a call are one group."""
    return _join({path: set() for path in _turn_paths(request)}, _labelled(request), 2)


def _parts(request: Json) -> list[Group]:
    """Parts and calls inside of turns, with their results wherever those are."""
    units: dict[Path, set[str]] = {path: set() for path in _part_paths(request)}
    labelled = _labelled(request)
    units |= {path: set() for path, _ in labelled if len(path) == 2}
    return _join(units, labelled, 4)


def _join(units: dict[Path, set[str]], labelled: list[tuple[Path, str]], depth: int) -> list[Group]:
    for path, label in labelled:
        owner = path[:depth] if path[:depth] in units else path[:2]
        if owner in units:
            units[owner].add(label)
    groups: list[tuple[set[Path], set[str]]] = []
    for path, labels in units.items():
        mine, names = {path}, set(labels)
        for other in [group for group in groups if group[1] & names]:
            mine |= other[0]
            names |= other[1]
            groups.remove(other)
        groups.append((mine, names))
    return [frozenset(paths) for paths, _ in groups]


def _labelled(request: Json) -> list[tuple[Path, str]]:
    """Where calls and results are, and which belong together. Gemini's without ids are paired in their order."""
    found: list[tuple[Path, str]] = []
    counts = {"functionCall": 0, "functionResponse": 0}
    for path, value in _places(request):
        label = _label(value, counts)
        if label:
            found.append((path, label))
    return found


def _label(value: Json, counts: dict[str, int]) -> str:
    for key in ("functionCall", "functionResponse"):
        inner = value.get(key)
        if isinstance(inner, dict):
            counts[key] += 1
            return str(inner.get("id") or f"#{counts[key]}")
    if value.get("type") in _CALLS or isinstance(value.get("function"), dict):
        return str(value.get("id") or "")
    return next((str(value[key]) for key in ("tool_call_id", "tool_use_id", "call_id") if value.get(key)), "")


def _places(request: Json) -> Iterator[tuple[Path, Json]]:
    """Every turn and every part of one, in order."""
    for path in _turn_paths(request):
        turn = request[path[0]][path[1]]  # type: ignore[index]
        if isinstance(turn, dict):
            yield path, turn
            yield from _inside(path, turn)


def _inside(path: Path, turn: Json) -> Iterator[tuple[Path, Json]]:
    for key in _PARTS:
        parts = turn.get(key)
        for index, part in enumerate(parts if isinstance(parts, list) else ()):
            if isinstance(part, dict):
                yield (*path, key, index), part


def _turn_paths(request: Json) -> Iterator[Path]:
    for key in _TURNS:
        turns = request.get(key)
        if isinstance(turns, list):
            yield from ((key, index) for index in range(len(turns)))


def _part_paths(request: Json) -> Iterator[Path]:
    return (path for path, _ in _places(request) if len(path) == 4)


def _tools(request: Json) -> list[Group]:
    tools = request.get("tools")
    if not isinstance(tools, list):
        return []
    found: list[Path] = [("tools", index) for index in range(len(tools))]
    for index, tool in enumerate(tools):
        for key in ("functionDeclarations", "function_declarations"):
            inner = tool.get(key) if isinstance(tool, dict) else None
            found += [("tools", index, key, at) for at in range(len(inner or ()))]
    return [frozenset({path}) for path in found]


def _members(request: Json) -> list[Group]:
    """Settings, stray fields, members of schemas: everything that has a name and holds nothing together."""
    return [frozenset({path}) for path in _member_paths(request, ())]


def _member_paths(value: Any, path: Path) -> Iterator[Path]:
    if isinstance(value, dict):
        for key, item in value.items():
            if key not in _KEPT or (key == "tools" and not item):
                yield (*path, key)
            yield from _member_paths(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _member_paths(item, (*path, index))


def _shorten(request: Json, fails: Fails) -> Json:
    """Long texts cut to their first words, if that changes nothing."""
    for path, text in list(_texts(request, ())):
        shorter = copy.deepcopy(request)
        _put(shorter, path, text[:_WORDS])
        if fails(shorter):
            request = shorter
    return request


def _texts(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(value, str):
        if len(value) > _LONG and path[-1] not in _KEPT - set(_PARTS):
            yield path, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _texts(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _texts(item, (*path, index))


def _put(request: Any, path: Path, text: str) -> None:
    for step in path[:-1]:
        request = request[step]
    request[path[-1]] = text
