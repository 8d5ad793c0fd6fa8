"""Any JSON Schema, made to fit a target's form.

A schema is walked from the root down: at each node the steps run in order, then its subschemas follow. The walk is
repeated until nothing is left to change, so a compiled schema compiles to itself. A schema that needs no change comes
back as the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec

from dragoman.conversation.bounded_cache import remembered

from .choices import drop_all_of, fit_unions
from .compiled import Compiled, SchemaNote
from .contents import const_as_enum, drop_format, drop_unfit_values, fill_items, write_plain_enum
from .form import SchemaForm, Typing
from .inlining import inline_references
from .keywords import keep_known
from .objects import describe_properties, fit_required, make_root_object, make_strict, possible, well_named
from .place import Place, Walk, growth_of
from .references import References
from .spelling import WRONG, check_keywords, is_proto, respell, type_name
from .type_keyword import give_type, nullable, one_type
from .vocabulary import LISTS, MAPS, OPEN_OR_CLOSED, SINGLES, SUBSCHEMAS, Schema, child
from .words import describe

MAX_NESTING = 200  # JSON levels that are read at all
MAX_LEVELS = 64  # schemas inside schemas that are written
MAX_PASSES = 8
EMPTY = b'{"type":"object","properties":{}}'

Step = Callable[[Schema, Place], Schema]

STEPS: tuple[Step, ...] = (
    inline_references,
    respell,
    check_keywords,
    drop_all_of,
    fit_unions,
    const_as_enum,
    make_root_object,
    one_type,
    nullable,
    drop_unfit_values,
    write_plain_enum,
    give_type,
    drop_format,
    fill_items,
    possible,
    well_named,
    fit_required,
    make_strict,
    keep_known,
    describe_properties,
)


def compile_schema(schema: bytes, form: SchemaForm, grows: bool = True) -> Compiled:
    """The schema in a form's dialect, with a note for each change; the same bytes when there is none. `grows`:
    definitions may be copied to where they are used.

    Never raises: what cannot be read becomes an object without properties, and a note says so.
    """
    compiled = _remembered(schema, form, grows)
    if compiled.notes or compiled.json is schema:
        return compiled
    return Compiled(schema)  # equal bytes were seen before; a caller that compares with `is` gets its own bytes back


def _compile_tool(schema: bytes, form: SchemaForm, grows: bool) -> Compiled:
    try:
        deep = _nesting(schema)
        value = msgspec.json.decode(schema) if deep <= MAX_NESTING else None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return _unreadable(f"is not JSON that can be read ({error})", form)
    if deep > MAX_NESTING:
        return _unreadable(f"is nested {deep} levels deep, {MAX_NESTING} are read", form)
    return _settle(schema, value, form, growth_of(len(schema)) if grows else 0)


_remembered = remembered(_compile_tool)


def _unreadable(why: str, form: SchemaForm) -> Compiled:
    empty = _settle(EMPTY, msgspec.json.decode(EMPTY), form, 0)
    note = SchemaNote("", f"put an object without properties in place of the schema, which {why}", "content")
    return Compiled(empty.json, (note, *empty.notes))


def _settle(schema: bytes, value: Any, form: SchemaForm, growth: int) -> Compiled:
    notes: list[SchemaNote] = []
    names: dict[str, str] = {}
    for _ in range(MAX_PASSES):
        walk = _walk(value, form, growth)
        after = _root(value, walk)
        if not walk.notes:
            break
        value = after
        notes += walk.report()
        names |= {new: names.get(own, own) for own, new in walk.names.items()}
    if not notes:
        return Compiled(schema)
    return Compiled(msgspec.json.encode(value), tuple(notes), tuple(names.items()))


def _walk(value: Any, form: SchemaForm, growth: int) -> Walk:
    references = References(value)
    inline = not form.refs or (not form.recursion and references.any_recursive())
    return Walk(form, value, references, inline=inline, growth=growth, proto=not form.upper_types and is_proto(value))


def _root(value: Any, walk: Walk) -> Any:
    """The whole schema; parameters that are no object at all are those of a tool that takes none."""
    place = Place(walk, trail=frozenset({"#"}))
    if isinstance(value, dict):
        return compile_node(value, place)
    if isinstance(value, bool) and walk.form.typing is Typing.FREE:
        return value
    lost = value is not None and value is not True
    place.note("put an object without properties in place of what is no schema", "content" if lost else "nothing")
    return compile_node({"type": "object", "properties": {}}, place)


def compile_node(node: Any, place: Place) -> Any:
    """One schema and all inside it."""
    if not isinstance(node, dict):
        node = _as_schema(node, place)
    if not isinstance(node, dict):
        return node
    for step in STEPS:
        node = step(node, place)
    if place.level >= MAX_LEVELS:
        return _cut(node, place)
    return _with_children(node, place)


def _as_schema(value: Any, place: Place) -> Any:
    """What stands in the place of a schema and is no object: true, false, a type's name, or a mistake."""
    if isinstance(value, bool):
        if place.form.boolean_schemas or place.guest:
            return value
        worded: Schema = {} if value else {"description": "No value fits."}
        return place.changed(worded, f"wrote the schema {str(value).lower()} out", "nothing" if value else "metadata")
    if not place.form.checked:
        return value
    kind = type_name(value)
    if kind is WRONG:
        return place.changed({}, "put an empty schema in place of what is no schema", "metadata")
    return place.changed({"type": kind.lower()}, "wrote the name of a type as a schema")


def _cut(node: Schema, place: Place) -> Schema:
    deeper = [key for key in node if key in SUBSCHEMAS and node[key] not in ({}, [], True, False)]
    deeper = [key for key in deeper if node[key] != {"type": "string"}]
    if not deeper:
        return node
    kept = {key: value for key, value in node.items() if key not in deeper and key != "required"}
    worded = describe(kept, "Goes on below.")
    return place.changed(worded, f"cut what is nested deeper than {MAX_LEVELS} schemas", "content")


def _with_children(node: Schema, place: Place) -> Schema:
    """The node with its subschemas compiled: only keywords that hold schemas are entered."""
    out = node
    for key, value in node.items():
        if key in MAPS and isinstance(value, dict):
            after: Any = {name: _inner(each, place, key, name) for name, each in value.items()}
        elif key in LISTS and isinstance(value, list):
            after = [_inner(each, place, key, index) for index, each in enumerate(value)]
        elif key in SINGLES and isinstance(value, dict | bool):
            after = _inner(value, place, key)
        else:
            continue
        out = {**out, key: after}
    return out


def _inner(value: Any, place: Place, *steps: str | int) -> Any:
    at = child(place.at, *steps)
    return compile_node(value, Place(place.walk, at, place.level + 1, place.trail, steps[0] in OPEN_OR_CLOSED))


_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[\]{}]', re.DOTALL)


def _nesting(document: bytes) -> int:
    """How deep a JSON document is nested, without building it. One token after another: a pass over the whole document
    in one call would hold the interpreter."""
    if document.count(b"[") + document.count(b"{") <= MAX_NESTING:
        return 0
    deep = deepest = 0
    for token in _TOKEN.finditer(document):
        first = document[token.start()]
        if first in b"[{":
            deep += 1
            deepest = max(deep, deepest)
        elif first in b"]}":
            deep -= 1
    return deepest
