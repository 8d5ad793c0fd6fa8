"""Every regular expression of the package, and the texts that cost it most.

They are found in three ways, so that none is forgotten: in the values of every module (inside tuples, dicts, structs
and bound methods too), in the source of every function, and in the facts of the profiles. A pattern that is built when
the program runs needs an example in `BUILT`; the test fails if it has none.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import chain, groupby
from pathlib import Path
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from time import perf_counter, process_time
from typing import Any, NamedTuple

import msgspec
from tests.corpus import FULL
from tests.source_trees import syntax_tree

import dragoman
from dragoman.profiles import models
from dragoman.profiles.model_patterns import LONGEST_NAME, model_expression
from dragoman.profiles.profile import Profiles, builtin_names, dialect_layer
from dragoman.wire.late_pattern import LatePattern

Compiled = re.Pattern[str] | re.Pattern[bytes]

ROOT = Path(dragoman.__file__).parent
_FUNCTIONS = frozenset({"compile", "search", "match", "fullmatch", "sub", "subn", "split", "findall", "finditer"})
_ANCHORED = frozenset({"match", "fullmatch"})


class Found(NamedTuple):
    """A pattern, where it stands, whether it is only tried at one place of a text, whether it is kept
    compiled, and the length to which a text is cut before."""

    where: str
    pattern: Compiled
    anchored: bool = False
    compiled: bool = False
    cut: int | None = None


BUILT: dict[str, tuple[str, ...]] = {
    "config/importers/litellm.py": (r"openai(-\d+)?",),
    "dialects/registry.py": (r"/v1(?:beta1)?/projects/[^/]+/locations/[^/]+",),
    "dialects/shared/streamed_text.py": (),  # found as values
    "emulators/bedrock/families.py": (),
    "emulators/chat/reported.py": (),
    "emulators/chat/service.py": (),
    "emulators/chat/stated_facts.py": (),  # facts of profiles, found there
    "emulators/emulated_api.py": (),  # a test's own
    "emulators/request_shape.py": (r"^[a-zA-Z0-9_-]+$", r"^[^\s<|\\/>]+$"),
    "emulators/schema_sample.py": (),  # of a tool's schema: short, without a repeated repetition, on short texts
    "emulators/step_conditions.py": (),  # a test's own
    "engine/answer/frame_template.py": (),  # tried at one place, and never goes back
    "engine/exchange/corrections.py": (),  # the texts are escaped, and short
    "engine/memory/continued_requests.py": (),  # found as values
    "profiles/model_patterns.py": (),  # found by `_of_models`
    "rules/media/document_title.py": (r"[a-zA-Z0-9 ()\[\]-]+",),
    "rules/name/refused_name.py": (),  # facts: found by `_of_facts`
    "rules/naming.py": (),  # facts: found by `_of_facts`
    "rules/schema/objects.py": (),
    "rules/settings/setting_range.py": (r"[a-zA-Z0-9\-_]+",),
    "rules/state_form.py": (),  # facts: found by `_of_facts`
    "store/journals/redaction.py": (r"sk\-secret\-one|sk\-secret",),
    "wire/late_pattern.py": (),  # found as values
}
"""Files that build patterns when they run, with examples of what they build that is found in no other way."""


@lru_cache(maxsize=1)
def all_patterns() -> tuple[Found, ...]:
    """Every pattern of the package, once: as one that is searched for, if it is anywhere."""
    found = [*_in_modules(), *_of_facts(), *_of_models(), *_built()]
    found.sort(key=lambda one: not one.anchored)
    unique = {_key(one): one for one in found}
    inline = [one for one in _in_sources() if not one.compiled or _key(one) not in unique]
    return tuple((unique | {_key(one): one for one in inline}).values())


def _key(one: Found) -> tuple[str | bytes, int]:
    return one.pattern.pattern, one.pattern.flags


def _modules() -> Iterator[tuple[str, Any]]:
    for info in pkgutil.walk_packages([str(ROOT)], "dragoman."):
        if not info.name.endswith("__main__"):
            yield info.name, importlib.import_module(info.name)


def _in_modules() -> Iterator[Found]:
    for name, module in _modules():
        seen: set[int] = set()
        for key, value in vars(module).items():
            for pattern, method in _inside(value, seen, 0):
                methods = {method} if method else _methods(key)
                yield Found(f"{name}.{key}", pattern, bool(methods) and methods <= _ANCHORED)


def _inside(value: Any, seen: set[int], depth: int) -> Iterator[tuple[Compiled, str]]:
    """The patterns in a value, each with the method of it that is meant, if that is known."""
    if isinstance(value, LatePattern):
        value = value.compiled
    if isinstance(value, re.Pattern):
        yield value, ""
        return
    if isinstance(bound := getattr(value, "__self__", None), re.Pattern):
        yield bound, value.__name__
        return
    if depth > 6 or id(value) in seen:
        return
    seen.add(id(value))
    for item in _items(value):
        yield from _inside(item, seen, depth + 1)


def _items(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from value.keys()
        yield from value.values()
    elif isinstance(value, list | tuple | set | frozenset):
        yield from value
    elif isinstance(value, msgspec.Struct):
        yield from (getattr(value, name) for name in value.__struct_fields__)
    elif callable(value):
        yield from getattr(value, "__defaults__", None) or ()
        yield from (cell.cell_contents for cell in getattr(value, "__closure__", None) or () if _is_filled(cell))


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


@lru_cache(maxsize=1)
def _trees() -> dict[str, ast.Module]:
    """Of the files that use such a function at all."""
    named = re.compile(rf"\.(?:{'|'.join(_FUNCTIONS)})\b")
    files = [file for file in sorted(ROOT.rglob("*.py")) if named.search(file.read_text("utf-8"))]
    return {str(file.relative_to(ROOT)): syntax_tree(file) for file in files}


@lru_cache(maxsize=1)
def _used_methods() -> dict[str, set[str]]:
    """The methods of `re.Pattern` that are taken of each name, anywhere in the package."""
    found: dict[str, set[str]] = {}
    for tree in _trees().values():
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.attr in _FUNCTIONS:
                found.setdefault(node.value.id, set()).add(node.attr)
    return found


def _methods(name: str) -> set[str]:
    return _used_methods().get(name, set())


def _in_sources() -> Iterator[Found]:
    for where, call in re_calls():
        text = _literal(call.args[0])
        if text is not None:
            assert isinstance(call.func, ast.Attribute)
            name, pattern = call.func.attr, re.compile(text, _flags(call))
            yield Found(f"{where}:{call.lineno}", pattern, name in _ANCHORED, name == "compile")


@lru_cache(maxsize=1)
def re_calls() -> tuple[tuple[str, ast.Call], ...]:
    """Every call of a function of `re` that takes a pattern."""
    return tuple(_found_calls())


def _found_calls() -> Iterator[tuple[str, ast.Call]]:
    for where, tree in _trees().items():
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            named = isinstance(node.func.value, ast.Name) and node.func.value.id == "re"
            if named and node.func.attr in _FUNCTIONS:
                yield where, node


def _literal(node: ast.expr) -> str | bytes | None:
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return None
    return value if isinstance(value, str | bytes) else None


def _flags(call: ast.Call) -> int:
    names = [node.attr for node in ast.walk(call) if isinstance(node, ast.Attribute) and node.attr.isupper()]
    flags = 0
    for name in names:
        flags |= getattr(re, name, 0)
    return flags


def building() -> set[str]:
    """Files whose functions build patterns. What is built when a module is loaded is found among its values."""
    made = {where for where, call in re_calls() if _literal(call.args[0]) is None}
    inside = {
        id(node)
        for where in made
        for function in ast.walk(_trees()[where])
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
    }
    return {where for where, call in re_calls() if _literal(call.args[0]) is None and id(call) in inside}


def _of_facts() -> Iterator[Found]:
    """The forms of ids and names, which profiles state. They are tried on whole texts only."""
    profiles = Profiles()
    for name in sorted(builtin_names()):
        profile = profiles.profile(name)
        tables = [profile.facts, dialect_layer(profile.dialect).facts, *(one.facts for one in profile.models)]
        for table in tables:
            for fact, text in table.items():
                if fact.endswith("_pattern") and text:
                    yield Found(f"{name}.{fact}", re.compile(str(text), re.DOTALL), anchored=True)


def _of_models() -> Iterator[Found]:
    """The globs of the catalogue. A glob is tried at every letter of a name, so names are cut first."""
    for glob in {glob for model in models.catalogue() for glob in model.globs}:
        yield Found("profiles.models", model_expression(glob), anchored=True, cut=LONGEST_NAME)


def _built() -> Iterator[Found]:
    for where, examples in BUILT.items():
        yield from (Found(where, re.compile(example)) for example in examples)


# What costs a pattern most: its own words and classes again and again, and an end that does not fit.

Sample = list[str]
_TAILS = ("", "\0", '"', " ")
_COMMON = ("a", " ", "\n", "0", '"', "\\", "{", "<", "aA", "a ", '":', "\\u")
MOST_SAMPLES = 8
MOST_CASES = 120


class Shape(NamedTuple):
    """A text of any length."""

    before: str
    pump: str
    tail: str

    def text(self, length: int) -> str:
        room = length - len(self.before) - len(self.tail)
        return self.before + self.pump * max(1, room // len(self.pump)) + self.tail


def hostile_shapes(pattern: Compiled) -> list[Shape]:
    shapes = dict.fromkeys(Shape(*shape) for shape in _all_shapes(pattern) if shape[1])
    return list(shapes)[:MOST_CASES]


def _all_shapes(pattern: Compiled) -> Iterator[tuple[str, str, str]]:
    tree = parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE if isinstance(pattern.pattern, bytes) else 0)
    samples = [_sample(tree, turn) for turn in range(MOST_SAMPLES)]
    for common in _COMMON:
        yield "", common, "\0"
    for number, sample in enumerate(samples):
        for tail in _TAILS[:2]:
            yield "", "".join(sample), tail
        for end in range(len(sample)):
            before, piece = "".join(sample[:end]), sample[end]
            yield "", before + piece[:-1], "\0"
            yield "", before, "\0"
            yield before, piece, _TAILS[number % len(_TAILS)]
            yield before, "".join(sample[end : end + 2]), "\0"


def _sample(tree: Any, turn: int) -> Sample:
    """A text that matches, in pieces; the turn decides between alternatives."""
    pieces: Sample = []
    for is_word, run in groupby(tree, lambda node: node[0] is codes.LITERAL):
        found = [_piece(operation, value, turn) for operation, value in run]
        pieces += ["".join(chain(*found))] if is_word else chain(*found)
    return pieces


def _piece(operation: Any, value: Any, turn: int) -> Sample:
    if operation is codes.LITERAL:
        return [chr(value)]
    if operation is codes.NOT_LITERAL:
        return ["a" if value != 97 else "b"]
    if operation is codes.ANY:
        return [("a", " ", "-")[turn % 3]]
    if operation is codes.IN:
        members = _members(value)
        return [members[-1 - turn % len(members)]]  # odd characters mostly stand last
    if operation is codes.BRANCH:
        return _sample(value[1][turn % len(value[1])], turn // len(value[1]))
    if operation in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
        return _repeated(value, turn)
    if operation is codes.SUBPATTERN:
        return _sample(value[-1], turn)
    if operation is codes.ATOMIC_GROUP:
        return _sample(value, turn)
    if operation is codes.ASSERT and value[0] > 0:
        return _sample(value[1], turn)
    return []


def _repeated(value: Any, turn: int) -> Sample:
    least, most, inside = value
    times = max(1, min(least, 50)) if turn % 2 == 0 or most == 1 else min(most, least + 2)
    sample = _sample(inside, turn)
    return sample * times if len(sample) > 1 else ["".join(sample) * times]


def _members(items: list[Any]) -> list[str]:
    """A few characters of a class."""
    if items[0][0] is codes.NEGATE:
        refused = _members(items[1:])
        return [char for char in "a 0-{<\"'\n" if char not in refused] or ["\u00e9"]
    found: list[str] = []
    for operation, value in items:
        if operation is codes.LITERAL:
            found.append(chr(value))
        elif operation is codes.RANGE:
            found += [chr(value[0]), chr(value[1])]
        elif operation is codes.CATEGORY:
            found.append(_CATEGORIES.get(value, "a"))
    return found


_CATEGORIES = {
    codes.CATEGORY_SPACE: " ",
    codes.CATEGORY_DIGIT: "7",
    codes.CATEGORY_NOT_SPACE: "a",
    codes.CATEGORY_NOT_DIGIT: "a",
    codes.CATEGORY_NOT_WORD: "-",
}

# Time per character may not grow with the length.

LENGTHS = ((10, 20, 30.0), (300, 3_000, 5.0), *(((300, 30_000, 20.0),) if FULL else ()))
"""Lengths to compare, the cheapest first, and how many times more a character of the long text may cost: far from the
hundreds of an exponential pattern, and half of what a quadratic one shows over its decades."""
TRIES = 40
"""A busy machine makes a try dearer and never cheaper: the cheapest counts. More than one is rarely needed."""
LONGEST_SLICE = 0.001
"""Seconds for which a process is hardly ever interrupted."""


class Slow(NamedTuple):
    where: str
    pattern: str
    text: str
    growth: float


def slowest(found: Found) -> Slow | None:
    """A text whose cost per character grows by more than it may, or None."""
    run = _runner(found)
    shapes = hostile_shapes(found.pattern)
    for shape in shapes if found.cut is None else shapes[:20]:
        for short, long, most in LENGTHS:
            growth = _growth(run, shape.text(short), shape.text(long), most)
            if growth > most:
                return Slow(found.where, str(found.pattern.pattern), repr(shape), growth)
    return None


def _runner(found: Found) -> Callable[[str], None]:
    pattern: re.Pattern[Any] = found.pattern
    encoded = isinstance(pattern.pattern, bytes)

    def run(text: str) -> None:
        given: Any = text[: found.cut].encode() if encoded else text[: found.cut]
        if found.anchored:
            pattern.fullmatch(given)
            pattern.match(given)
            return
        for _ in pattern.finditer(given):
            pass

    return run


def _growth(run: Callable[[str], None], short: str, long: str, most: float) -> float:
    """How many times more a character of the long text costs. The best of a few tries, each only if it is needed."""
    times = max(1, len(long) // len(short) // 4)
    few = many = float("inf")
    for _ in range(TRIES):
        many = min(many, _seconds(run, long, 1))
        few = min(few, *[_seconds(run, short, times) / times for _ in range(3)])
        if many / len(long) <= most * few / len(short):
            break
    return (many / len(long)) / (few / len(short))


def _seconds(run: Callable[[str], None], text: str, times: int) -> float:
    """A short run is one slice of the processor, so any clock measures it. A long one is measured in CPU time; that
    clock was seen to stand still for some microseconds, so a run of which it saw next to nothing does not count."""
    began, began_cpu = perf_counter(), process_time()
    for _ in range(times):
        run(text)
    took, took_cpu = perf_counter() - began, process_time() - began_cpu
    if took < LONGEST_SLICE:
        return max(took, 1e-7)
    return took_cpu if took_cpu > LONGEST_SLICE / 10 else float("inf")
