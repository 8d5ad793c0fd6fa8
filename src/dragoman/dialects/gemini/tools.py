"""Gemini's tools and the choice among them, both ways."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import groupby
from typing import Any

import msgspec
from msgspec import Raw

from dragoman.conversation.bounded_cache import IdentityCache, remembered
from dragoman.conversation.literals import quote, unquote
from dragoman.conversation.parts import Json
from dragoman.conversation.tools import ChoiceMode, NativeTool, Tool, ToolChoice
from dragoman.dialects.gemini import NAME, ORIGIN
from dragoman.dialects.gemini.schema import camel, open_tool
from dragoman.dialects.near_misses.tools import MeantTool, MeantTools, ToolForm, parse_meant_tools
from dragoman.dialects.shared.ownership import own_choice, own_tool, require_own
from dragoman.dialects.shared.parsing import extras_of
from dragoman.dialects.shared.raw_json import NULL, encode, fields_of
from dragoman.dialects.shared.rendering import begin_tool
from dragoman.dialects.shared.wire_schema import fits
from dragoman.errors import MalformedRequest, Unrepresentable
from dragoman.wire.json_reader import render_object, split_items, split_members

PROTO = "parameters"
"""The `schema_as` of a tool whose schema came in Gemini's own schema language."""
DECLARATIONS = "functionDeclarations"
SNAKE = "function_declarations"
"""The `wrapper` of a tool in an object that is spelled like this."""

_MODES = {
    "AUTO": ChoiceMode.AUTO,
    "VALIDATED": ChoiceMode.VALIDATED,
    "ANY": ChoiceMode.REQUIRED,
    "NONE": ChoiceMode.NONE,
}
_WORDS = {mode: word for word, mode in _MODES.items()}


def several(raw: bytes, at: str) -> list[Raw]:
    """The items of a list, or a single object as a list of one."""
    if raw in (b"", b"null"):
        return []
    return [Raw(raw)] if raw[:1] == b"{" else split_items(raw, at)


def open_camel(raw: bytes | Raw, at: str) -> dict[str, bytes]:
    """The members of an object under their camelCase names, without nulls."""
    return {camel(key): bytes(value) for key, value in split_members(raw, at).items() if bytes(value) != b"null"}


_FOREIGN = frozenset({"type", "function", "name", "input_schema", "inputSchema", "parameters", "toolSpec"})
"""Members of a declaration in another dialect."""
_DECLARATIONS = frozenset({"functionDeclarations", "function_declarations"})


def _check_tool(entry: Json) -> None:
    """Raise ValidationError if a tool of Gemini's own has a member that is neither an object nor a list.

    Every tool of Gemini's is one of the two, so such a member is no tool that is newer than this list.
    """
    fields = fields_of(entry) or {}
    if _FOREIGN.isdisjoint(fields):
        for key, value in fields.items():
            if key not in _DECLARATIONS and value != NULL and value[:1] not in (b"{", b"["):
                raise msgspec.ValidationError(f"Object contains unknown field `{key}`")


def _fits_tool(entry: Json) -> bool:
    return fits(open_tool, entry) and fits(_check_tool, entry) and not _is_empty_tool(entry)


def _is_empty_tool(entry: Json) -> bool:
    """Whether an entry has no member that is set."""
    fields = fields_of(entry)
    return fields is not None and all(value == NULL for value in fields.values())


def _render_meant(tool: MeantTool) -> Json:
    declared = begin_tool(tool.name, tool.description)
    if tool.schema is not None:
        declared["parametersJsonSchema"] = tool.schema
    return b'{"functionDeclarations":[' + render_object(declared) + b"]}"


FORM = ToolForm(_fits_tool, _render_meant, takes_one=True, decode=_check_tool, is_empty=_is_empty_tool)


@remembered
def parse_tools(raw: bytes) -> MeantTools:
    """The tools, one for each declaration and each provider tool, and whether the list was empty."""
    return parse_meant_tools(raw, FORM, _parse_list)


def _parse_list(raw: bytes) -> tuple[tuple[Tool | NativeTool, ...], bool]:
    found: list[Tool | NativeTool] = []
    for index, entry in enumerate(several(raw, "/tools")):
        at = f"/tools/{index}"
        for key, value in split_members(entry, at).items():
            text = bytes(value)
            if text == b"null":
                continue
            if camel(key) == DECLARATIONS:
                at_key = f"{at}/{key}"
                wrapper = SNAKE if key == SNAKE else ""
                for place, item in enumerate(several(text, at_key)):
                    found.append(_parse_declaration(bytes(item), (index, place), f"{at_key}/{place}", wrapper))
            else:
                found.append(NativeTool(camel(key), render_object({key: text}), ORIGIN, index))
    return tuple(found), raw not in (b"", b"null") and not found


def _parse_declaration(raw: bytes, places: tuple[int, int], at: str, wrapper: str) -> Tool:
    wire = open_camel(raw, at)
    name = wire.pop("name", b"")
    if name[:1] != b'"':
        raise MalformedRequest("a function declaration without a name", at=f"{at}/name")
    description = wire.pop("description", b"")
    schema, schema_as = wire.pop("parametersJsonSchema", None), ""
    if schema is None and wire.get(PROTO, b"")[:1] == b"{":
        schema, schema_as = from_proto(wire.pop(PROTO)), PROTO
    return Tool(
        unquote(name),
        description if description[:1] == b'"' else None,
        schema,
        wrapper=wrapper,
        schema_as=schema_as,
        extras=extras_of(NAME, wire),
        at=places[0],
        inner=places[1],
    )


def _render_tools(tools: tuple[Tool | NativeTool, ...]) -> Json:
    """The list of tools. Declarations that follow each other share one object."""
    entries: list[bytes] = []
    for wrapper, run in groupby(tools, _wrapper_of):
        if wrapper is None:
            entries += [own_tool(tool, NAME) for tool in run if isinstance(tool, NativeTool)]
        else:
            declared = b",".join([render_tool(tool) for tool in run if isinstance(tool, Tool)])
            entries.append(b'{"%b":[%b]}' % (wrapper.encode(), declared))
    return b"[" + b",".join(entries) + b"]"


render_tools = IdentityCache(_render_tools)


def _wrapper_of(tool: Tool | NativeTool) -> str | None:
    """The name of the object that holds a declaration; None for a provider's own tool."""
    if isinstance(tool, NativeTool):
        return None
    return SNAKE if tool.wrapper == SNAKE else DECLARATIONS


def render_tool(tool: Tool) -> Json:
    """One function declaration."""
    if tool.custom:
        raise Unrepresentable(f"the custom tool {tool.name} in a Gemini request")
    if tool.strict is not None:
        raise Unrepresentable(f"the strict mode of the tool {tool.name} in a Gemini request")
    if tool.hint is not None:
        raise Unrepresentable(f"a cache hint on the tool {tool.name} in a Gemini request")
    wire = begin_tool(tool.name, tool.description)
    if tool.schema is not None:
        proto = tool.schema_as == PROTO
        wire["parameters" if proto else "parametersJsonSchema"] = to_proto(tool.schema) if proto else tool.schema
    return render_object(wire | dict(require_own(tool.extras, NAME)))


def parse_choice(raw: bytes) -> tuple[ToolChoice | None, dict[str, Json]]:
    """The choice in a `functionCallingConfig`, and its other members."""
    wire = open_camel(raw, "/toolConfig/functionCallingConfig")
    rest = dict(wire)
    mode = _find_mode(rest.pop("mode", b""))
    names = _names(rest.pop("allowedFunctionNames", b"[]"))
    if mode is None and not names:
        return None, rest
    if mode == "ANY" and names:
        must = ChoiceMode.NAMED if len(names) == 1 else ChoiceMode.ALLOWED
        return ToolChoice(must, names, must is ChoiceMode.ALLOWED), rest
    if mode == "VALIDATED" and names:
        return ToolChoice(ChoiceMode.ALLOWED, names), rest
    if mode in _MODES and (not names or mode == "NONE"):
        return ToolChoice(_MODES[mode]), rest
    return ToolChoice(ChoiceMode.NATIVE, json=raw, origin=ORIGIN), {}


def _find_mode(raw: bytes) -> str | None:
    mode = unquote(raw).upper() if raw[:1] == b'"' else None
    return None if mode == "MODE_UNSPECIFIED" else mode


def _names(raw: bytes) -> tuple[str, ...]:
    found: Any = msgspec.json.decode(raw)
    return tuple([str(name) for name in (found if isinstance(found, list) else [found])])


def render_choice(choice: ToolChoice | None, rest: Mapping[str, Json]) -> Json | None:
    if choice is None:
        return render_object(rest) if rest else None
    names: tuple[str, ...] = ()
    match choice.mode:
        case ChoiceMode.NATIVE:
            return own_choice(choice, NAME)
        case ChoiceMode.NAMED:
            mode, names = "ANY", choice.names
        case ChoiceMode.ALLOWED:
            mode, names = "ANY" if choice.must else "VALIDATED", choice.names
        case _:
            mode = _WORDS[choice.mode]
    wire: dict[str, Json] = {"mode": quote(mode)}
    if names:
        wire["allowedFunctionNames"] = msgspec.json.encode(names)
    return render_object(wire | dict(rest))


# Gemini's own schema language and JSON Schema, both ways. `parameters` and `responseSchema` are a protocol buffer that
# resembles JSON Schema: types in capitals, `nullable` beside the type, `defs` and `ref` without a dollar sign, keys in
# either case, large numbers in quotes. `to_proto` is the inverse of `from_proto` on whatever that makes. A keyword that
# neither knows stays as it is: a rule fits a schema to what a target accepts.

_decode = msgspec.json.decode

Walk = Callable[[Any], Any]

_NUMBERS = frozenset({"minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"})
_NAMES: dict[str, str] = {"ref": "$ref", "defs": "$defs"}
_PROTO_NAMES: dict[str, str] = {name: proto for proto, name in _NAMES.items()}
_UNSPECIFIED = "TYPE_UNSPECIFIED"
_NULL = {"type": "null"}


@remembered
def from_proto(schema: Json) -> Json:
    """The JSON Schema that a proto schema means."""
    return encode(_from_proto(_decode(schema)))


@remembered
def to_proto(schema: Json) -> Json:
    """A JSON Schema in proto form."""
    return encode(_to_proto(_decode(schema)))


def _from_proto(node: Any) -> Any:
    if not isinstance(node, dict):
        return node
    out: dict[str, Any] = {}
    nullable = False
    for key, value in node.items():
        name = camel(key)
        if value is None and name not in ("default", "example"):
            continue
        if name == "nullable" and isinstance(value, bool):
            nullable = value
        elif name == "type" and isinstance(value, str):
            if value.upper() != _UNSPECIFIED:
                out[name] = value.lower()
        elif name == "type" and isinstance(value, list):
            kinds = [kind.lower() if isinstance(kind, str) else kind for kind in value]
            # null at the end is what `nullable` becomes, and that is taken; a list of types is not
            out[name] = ["null", *kinds[:-1]] if kinds[-1:] == ["null"] else kinds
        elif name in _NUMBERS and isinstance(value, str) and value.isdecimal():
            out[name] = int(value)
        elif name == "ref" and isinstance(value, str):
            out["$ref"] = value.replace("#/defs/", "#/$defs/", 1)
        else:
            out[_NAMES.get(name, name)] = _walk_children(name, value, _from_proto)
    return _make_nullable(out) if nullable else out


def _make_nullable(node: dict[str, Any]) -> dict[str, Any]:
    """Null as one of the types or of the alternatives; `nullable` stays if there are neither."""
    kind, choices = node.get("type"), node.get("anyOf")
    if isinstance(kind, str):
        if kind != "null":
            node["type"] = [kind, "null"]
        if isinstance(node.get("enum"), list) and None not in node["enum"]:
            node["enum"] = [*node["enum"], None]
    elif isinstance(choices, list) and choices:
        if _NULL not in choices:
            node["anyOf"] = [*choices, _NULL]
    else:
        node["nullable"] = True
    return node


def _walk_children(name: str, value: Any, walk: Walk) -> Any:
    """The schemas inside a keyword. A property may be named like a keyword, so only these places are walked."""
    if name in ("properties", "defs", "$defs") and isinstance(value, dict):
        return {key: walk(child) for key, child in value.items()}
    if name == "anyOf" and isinstance(value, list):
        return [walk(child) for child in value]
    if name in ("items", "additionalProperties"):
        return walk(value)
    return value


def _to_proto(node: Any) -> Any:
    if not isinstance(node, dict):
        return node
    out: dict[str, Any] = {}
    key: str
    for key, value in node.items():
        if key == "type":
            _put_type(value, out)
        elif key == "enum" and isinstance(value, list) and isinstance(node.get("type"), list):
            out[key] = _without_last(None, value)
        elif key == "anyOf" and isinstance(value, list):
            _put_choices(value, out)
        elif key == "$ref" and isinstance(value, str):
            out["ref"] = value.replace("#/$defs/", "#/defs/", 1)
        else:
            out[_PROTO_NAMES.get(key, key)] = _walk_children(key, value, _to_proto)
    return out


def _put_type(value: Any, out: dict[str, Any]) -> None:
    match value:
        case str():
            out["type"] = value.upper()
        case [str() as kind, "null"]:
            out["type"] = kind.upper()
            out["nullable"] = True
        case list():
            out["type"] = [kind.upper() if isinstance(kind, str) else kind for kind in value]
        case _:
            out["type"] = value


def _put_choices(choices: list[Any], out: dict[str, Any]) -> None:
    kept = _without_last(_NULL, choices)
    if len(kept) < len(choices):
        out["nullable"] = True
    out["anyOf"] = [_to_proto(choice) for choice in kept]


def _without_last(unwanted: Any, values: list[Any]) -> list[Any]:
    """The values without the last one, if `_make_nullable` has added it."""
    kept = values[:-1]
    return kept if kept and values[-1] == unwanted and unwanted not in kept else values
