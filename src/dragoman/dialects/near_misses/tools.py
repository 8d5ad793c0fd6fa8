"""Tools in the form of any dialect, and tools with small faults."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from dragoman.conversation.literals import quote
from dragoman.conversation.near_misses import Miss, NearMiss
from dragoman.conversation.parts import Json
from dragoman.conversation.tools import NativeTool, Tool
from dragoman.dialects.near_misses.misfits import without_misfits
from dragoman.dialects.shared.raw_json import (
    NULL,
    Fields,
    fields_of,
    first_of,
    items_of,
    parse_embedded_object,
    parse_numbered_items,
    text_of,
)
from dragoman.errors import MalformedRequest
from dragoman.wire.json_reader import render_list, render_object

Tools = tuple[Tool | NativeTool, ...]

_SCHEMAS = ("parameters", "input_schema", "inputSchema", "parametersJsonSchema", "schema")
_DECLARATIONS = ("functionDeclarations", "function_declarations")
_WRAPPERS = ("function", "toolSpec")
_SHOUTED = re.compile(rb'"type"\s*:\s*"[A-Z]+"')
NO_ARGUMENTS = b'{"type":"object","properties":{}}'


class MeantTool(msgspec.Struct):
    """A function that the model may call. Its name is empty if it has none."""

    name: str
    description: Json | None = None
    schema: Json | None = None
    strict: Json | None = None
    hint: Json | None = None


class ToolForm(msgspec.Struct, frozen=True):
    """How a dialect writes tools."""

    fits: Callable[[Json], bool]
    """Does an entry fit the schema, or is it a provider's own tool?"""
    render: Callable[[MeantTool], Json]
    takes_one: bool = False
    """Whether a single entry may stand in place of the list."""
    decode: Callable[[Json], object] | None = None
    """Raises if a tool of the client's own does not fit, and says where."""
    is_empty: Callable[[Json], bool] = lambda entry: False
    """Does an entry declare nothing at all?"""
    place: str = "/tools"
    """Where the list stands."""
    nullable: frozenset[str] = frozenset()
    """Members of an entry that may be null by the schema, although some servers refuse it."""
    needs_name: bool = False
    """Whether an entry without a type is a function, which has a name."""


class MeantTools(msgspec.Struct, frozen=True):
    """The tools of a request that was not written by the schema."""

    tools: Tools
    """As they were meant."""
    empty: bool
    """The client sent an empty list."""
    misses: tuple[NearMiss, ...] = ()
    """What was read otherwise than it was written."""


def parse_meant_tools(raw: Json, form: ToolForm, parse: Callable[[Json], tuple[Tools, bool]]) -> MeantTools:
    """The tools of a list that may not fit its schema."""
    if raw == NULL:
        return MeantTools((), False, (_miss(Miss.NULL_TOOLS, form.place),))
    numbered = parse_numbered_items(raw) or _list_named_tools(raw)
    entries = items_of(raw) if numbered is None else [one for entry in numbered for one in items_of(entry) or [entry]]
    if entries is None and (raw[:1] != b"{" or not (form.takes_one or parse_any_tools(raw))):
        return MeantTools(*parse(raw))
    listed = numbered is None and (entries is not None or form.takes_one)
    misses: list[NearMiss] = [] if listed else [_miss(Miss.TOOL, form.place)]
    meant: list[Json] = []
    origins: list[int] = []
    for index, entry in enumerate(entries if entries is not None else [raw]):
        written = [entry] if form.fits(entry) else _parse_entry(entry, f"{form.place}/{index}", form, misses)
        meant += written
        origins += [index] * len(written)
    if not misses:
        return MeantTools(*parse(raw))
    if not meant and all(miss.kind is Miss.NAMELESS or miss.lost == NULL for miss in misses):
        return MeantTools((), False, tuple(misses))
    try:
        tools, empty = parse(render_list(meant))
    except MalformedRequest as error:
        error.at = _placed_pointer(error.at, form.place, origins)
        raise
    return MeantTools(tuple([_place(tool, origins) for tool in tools]), empty, tuple(misses))


def _list_named_tools(raw: Json) -> list[Json] | None:
    """Tools in an object, each under its name, as the AI SDK keeps them."""
    fields = fields_of(raw)
    if not fields or parse_any_tools(raw) is not None:
        return None
    tools = [(name, fields_of(entry)) for name, entry in fields.items()]
    if any(tool is None or first_of(tool, (*_SCHEMAS, "description")) is None for _, tool in tools):
        return None
    return [render_object({"name": quote(name), **(tool or {})}) for name, tool in tools]


def _miss(kind: Miss, at: str, lost: Json | None = None) -> NearMiss:
    return NearMiss(kind, at, members=("tools",), lost=lost)


def _placed_pointer(at: str, place: str, origins: list[int]) -> str:
    """A pointer into the entries that were read, as one into the client's list."""
    index, slash, below = at.removeprefix(f"{place}/").partition("/")
    is_entry = at.startswith(f"{place}/") and index.isdecimal() and int(index) < len(origins)
    return f"{place}/{origins[int(index)]}{slash}{below}" if is_entry else at


def _place(tool: Tool | NativeTool, origins: list[int]) -> Tool | NativeTool:
    return replace(tool, at=origins[tool.at]) if 0 <= tool.at < len(origins) else tool


def _parse_entry(entry: Json, at: str, form: ToolForm, misses: list[NearMiss]) -> list[Json]:
    """The entries in place of one. One that is no function in any dialect stays."""
    if entry == NULL or form.is_empty(entry):
        misses.append(_miss(Miss.NULL_TOOL, at, entry))
        return []
    if entry[:1] != b"{":
        misses.append(_miss(Miss.NAMELESS, at, entry))
        return []
    trimmed = without_misfits(entry, form.decode) if form.decode is not None else None
    if trimmed is not None and trimmed.misfits and not _has_odd_schema(entry):
        for one in trimmed.misfits:
            allowed = one.lost == NULL and one.below in form.nullable
            misses.append(_miss(Miss.NULLABLE if allowed else one.kind, at + one.below, one.lost))
        return [trimmed.raw]
    found = parse_any_tools(entry)
    if found is None:
        if not form.needs_name or not _is_untyped(entry):
            return [entry]
        found = [MeantTool("")]
    named = [tool for tool in found if tool.name]
    if len(named) < len(found):
        misses.append(_miss(Miss.NAMELESS, at, entry))
    wrong = _wrong_schema(entry)
    if named and wrong is not None:
        misses.append(_miss(Miss.TYPE, at, wrong))
    elif named:
        misses.append(_miss(Miss.SCHEMA if _is_only_schema(entry, named, form) else Miss.TOOL, at))
    return [form.render(tool) for tool in named]


def _is_untyped(entry: Json) -> bool:
    fields = fields_of(entry)
    return fields is not None and "type" not in fields


def _is_only_schema(entry: Json, tools: list[MeantTool], form: ToolForm) -> bool:
    """Whether it would fit with the schema alone completed: then its members are the same."""
    written, given = fields_of(form.render(tools[0])) or {}, fields_of(entry) or {}
    return len(tools) == 1 and {*written} - {*_SCHEMAS} == {*given} - {*_SCHEMAS}


def parse_any_tools(entry: Json) -> list[MeantTool] | None:
    """The functions that an entry declares, or None if it declares none."""
    fields = fields_of(entry)
    if fields is None:
        return None
    for key in _DECLARATIONS:
        if key in fields:
            declared = items_of(fields[key]) or [fields[key]]
            return [_parse_function(_unwrap(inner)) for inner in map(fields_of, declared) if inner is not None]
    for key in _WRAPPERS:
        inner = fields_of(fields.get(key))
        if inner is not None:
            return [_parse_function({**inner, "cache_control": fields.get("cache_control", NULL)})]
    kind = text_of(fields.get("type"))
    if kind not in ("", "function", "custom") or (kind == "custom" and _is_grammar(fields)):
        return None
    looks_like_one = kind or "name" in fields or any(key in fields for key in _SCHEMAS)
    return [_parse_function(fields)] if looks_like_one else None


def _unwrap(fields: Fields) -> Fields:
    """A function without the object that another dialect wraps around it."""
    return fields_of(first_of(fields, _WRAPPERS)) or fields


def _has_odd_schema(entry: Json) -> bool:
    """Whether the schema is no object."""
    raw = first_of(_unwrap(fields_of(entry) or {}), _SCHEMAS)
    return raw is not None and raw[:1] != b"{"


def _wrong_schema(entry: Json) -> Json | None:
    """The schema if it is neither an object nor the text of one."""
    raw = first_of(_unwrap(fields_of(entry) or {}), _SCHEMAS)
    if raw is None or raw[:1] == b"{" or (raw[:1] == b'"' and parse_embedded_object(raw) is not None):
        return None
    return raw


def _is_grammar(fields: Fields) -> bool:
    """Whether it is a tool that takes plain text."""
    return "custom" in fields or "format" in fields or not any(key in fields for key in _SCHEMAS)


def _parse_function(fields: Fields) -> MeantTool:
    description = first_of(fields, ("description",))
    return MeantTool(
        text_of(first_of(fields, ("name",))),
        description if description is not None and description[:1] == b'"' else None,
        parse_any_schema(first_of(fields, _SCHEMAS)),
        first_of(fields, ("strict",)),
        first_of(fields, ("cache_control",)),
    )


def parse_any_schema(raw: Json | None) -> Json | None:
    """A schema of arguments, or its text. Bedrock's stands in a member `json`, and Gemini's types are in capitals. What
    is no object says nothing: an empty schema."""
    if raw is None or raw == NULL:
        return None
    if raw[:1] == b'"':
        raw = parse_embedded_object(raw)
    fields = fields_of(raw)
    if fields is None or raw is None:
        return b"{}"
    if fields.keys() == {"json"}:
        return parse_any_schema(fields["json"])
    return msgspec.json.encode(_lower(msgspec.json.decode(raw))) if _SHOUTED.search(raw) else raw


def _lower(value: Any) -> Any:
    """A schema with its types in small letters."""
    if isinstance(value, list):
        return [_lower(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    found = {key: _lower(item) for key, item in value.items()}
    if isinstance(found.get("type"), str):
        found["type"] = found["type"].lower()
    return found
