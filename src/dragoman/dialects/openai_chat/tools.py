"""Chat's tools, in every form that clients send, both ways."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec import UNSET, Raw
from msgspec.structs import replace

from dragoman.conversation.bounded_cache import IdentityCache, remembered
from dragoman.conversation.literals import quote, unquote
from dragoman.conversation.parts import Json
from dragoman.conversation.tools import NativeTool, Tool
from dragoman.dialects.families.published_tools import functions_of
from dragoman.dialects.near_misses.tools import MeantTool, MeantTools, ToolForm, parse_any_tools, parse_meant_tools
from dragoman.dialects.openai_chat import NAME, ORIGIN
from dragoman.dialects.openai_chat.schema import open_declared_tool, open_tool
from dragoman.dialects.shared.ownership import own_tool, require_own
from dragoman.dialects.shared.parsing import cache_hint, extras_of
from dragoman.dialects.shared.raw_json import UNREADABLE
from dragoman.dialects.shared.rendering import begin_tool, put
from dragoman.errors import MalformedRequest
from dragoman.wire.json_reader import make_malformed, render_object, split_items, split_members


class _ChatToolFunction(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    name: str
    description: Raw = Raw()
    parameters: Raw = Raw()
    strict: bool | None = None


class _ChatTool(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    type: str = ""
    function: _ChatToolFunction | None = None
    cache_control: Raw = Raw()


_tool = msgspec.json.Decoder(_ChatTool).decode
_function = msgspec.json.Decoder(_ChatToolFunction).decode


_ELSEWHERE = (b"functionDeclarations", b"function_declarations")


def _fits_tool(entry: Json) -> bool:
    """Whether a tool has Chat's form, or one that the rule for wrappers knows, or is a provider's own."""
    try:
        tool = open_tool(entry)
    except UNREADABLE:
        return False
    if tool.function is not UNSET or tool.name is not UNSET:
        return True
    return tool.type not in (UNSET, "", "function") or (
        any(key in entry for key in _ELSEWHERE) and b"JsonSchema" not in entry and _all_named(entry)
    )


def _all_named(entry: Json) -> bool:
    """Whether each of the functions that an entry declares has a name."""
    found = parse_any_tools(entry)
    return found is None or all(tool.name for tool in found)


def _render_meant(tool: MeantTool) -> Json:
    function = {"name": quote(tool.name), "description": tool.description, "parameters": tool.schema}
    function["strict"] = tool.strict
    given = {key: value for key, value in function.items() if value is not None}
    entry: dict[str, Json] = {"type": b'"function"', "function": render_object(given)}
    return render_object(entry if tool.hint is None else {**entry, "cache_control": tool.hint})


TOOLS = ToolForm(_fits_tool, _render_meant, decode=open_declared_tool, nullable=frozenset({"/function/strict"}))


def parse_tools(source: Mapping[str, Raw]) -> MeantTools:
    """The tools, and whether the client sent an empty list."""
    found = _parse_list(bytes(source["tools"])) if "tools" in source else _NO_TOOLS
    if "functions" not in source or (older := bytes(source["functions"])) == b"null":
        return found
    functions = _parse_functions(older)
    return MeantTools((*found.tools, *functions.tools), found.empty or functions.empty, found.misses)


_NO_TOOLS = MeantTools((), False)


@remembered
def _parse_list(raw: bytes) -> MeantTools:
    """A list of tools. An agent sends the same dozens of large ones on every turn, so they are parsed once."""
    return parse_meant_tools(raw, TOOLS, lambda entries: _parse_entries("tools", entries))


@remembered
def _parse_functions(raw: bytes) -> MeantTools:
    """A list of tools in the older form, `functions`."""
    return MeantTools(*_parse_entries("functions", raw))


def _parse_entries(key: str, raw: bytes) -> tuple[tuple[Tool | NativeTool, ...], bool]:
    if raw[:1] != b"[":
        raise MalformedRequest("tools are not a list", at=f"/{key}")
    found: list[Tool | NativeTool] = []
    for index, item in enumerate(split_items(raw, f"/{key}")):
        found += _parse_legacy(bytes(item), index) if key == "functions" else parse_tool(bytes(item), index)
    return tuple(found), not found


def _parse_legacy(raw: bytes, at: int) -> list[Tool]:
    return [_bare(raw, at, "functions", f"/functions/{at}")]


def parse_tool(raw: bytes, at: int) -> list[Tool] | list[NativeTool]:
    """One entry: Chat's own form, or one of the forms that clients mix in."""
    try:
        wire = _tool(raw)
    except msgspec.DecodeError:
        return _parse_odd(raw, at)
    function = wire.function
    if function is None or wire.type not in ("function", ""):
        return _parse_odd(raw, at)
    return [
        Tool(
            function.name,
            text_literal(function.description),
            _schema(function.parameters),
            function.strict,
            hint=cache_hint(wire.cache_control),
            wrapper="" if wire.type else "typeless",
            at=at,
        )
    ]


def _parse_odd(raw: bytes, at: int) -> list[Tool] | list[NativeTool]:
    wire = split_members(raw, f"/tools/{at}")
    for key in ("function_declarations", "functionDeclarations"):
        if key in wire and len(wire) == 1:
            inside = f"/tools/{at}/{key}"
            items = enumerate(split_items(wire[key], inside))
            return [_bare(bytes(item), at, key, f"{inside}/{index}") for index, item in items]
    kind = bytes(wire.get("type", b'""'))
    if kind == b'"function"' and "function" in wire:
        return [_with_extras(wire, at)]
    if kind == b'"custom"' and "custom" in wire:
        return [_custom(wire, at)]
    if "name" in wire and kind in (b'""', b'"function"') and not wire.keys() & {"input_schema"}:
        return [_bare(raw, at, "bare", f"/tools/{at}")]
    named = unquote(kind) if kind[:1] == b'"' else ""
    meant = functions_of(named, {key: bytes(value) for key, value in wire.items()}, at)
    return [NativeTool(named, raw, ORIGIN, at, meant and tuple([replace(one, called=None) for one in meant]))]


def _with_extras(wire: Mapping[str, Raw], at: int) -> Tool:
    place = f"/tools/{at}/function"
    function = dict(split_members(wire["function"], place))
    known: dict[str, bytes | Raw] = {
        key: function.pop(key) for key in ("name", "description", "parameters", "strict") if key in function
    }
    extras = {key: bytes(value) for key, value in wire.items() if key not in ("type", "function", "cache_control")}
    tool = _bare(render_object(known), at, "", place)
    extras |= {f"function.{key}": bytes(value) for key, value in function.items()}
    return replace(tool, hint=cache_hint(wire.get("cache_control")), extras=extras_of(NAME, extras))


def _bare(raw: bytes, at: int, wrapper: str, place: str) -> Tool:
    """A function without anything around it. `place` is the pointer to it."""
    fields = dict(split_members(raw, place))
    fields.pop("type", None)
    known: dict[str, bytes | Raw] = {
        key: fields.pop(key) for key in ("name", "description", "parameters", "strict") if key in fields
    }
    try:
        function = _function(render_object(known))
    except msgspec.DecodeError as fault:
        raise make_malformed(fault, place) from None
    extras = extras_of(NAME, {key: bytes(value) for key, value in fields.items()})
    return Tool(
        function.name,
        text_literal(function.description),
        _schema(function.parameters),
        function.strict,
        wrapper=wrapper,
        extras=extras,
        at=at,
    )


def _custom(wire: Mapping[str, Raw], at: int) -> Tool:
    place = f"/tools/{at}/custom"
    custom = split_members(wire["custom"], place)
    name = bytes(custom.get("name", b""))
    if name[:1] != b'"':
        raise MalformedRequest("a custom tool without a name", at=f"{place}/name")
    form = custom.get("format")
    return Tool(
        unquote(name),
        text_literal(custom.get("description")),
        _flat_format(bytes(form)) if form is not None else None,
        custom=True,
        at=at,
    )


def _flat_format(form: Json) -> Json:
    """A grammar beside its type, as Responses writes it and we keep it. Chat puts it one level deeper."""
    wire = split_members(form, "/format") if form[:1] == b"{" else {}
    grammar = wire.pop("grammar", None)
    return form if grammar is None else render_object(wire | split_members(grammar, "/format/grammar"))


def text_literal(raw: Raw | None) -> bytes | None:
    text = bytes(raw) if raw is not None else b""
    return text if text[:1] == b'"' else None


def _schema(raw: Raw) -> Json | None:
    text = bytes(raw)
    return None if text in (b"", b"null") else text


def _render_members(tools: tuple[Tool | NativeTool, ...]) -> dict[str, Json]:
    """The tools by the member that holds them: `tools`, or the older `functions`."""
    groups: dict[str, list[Json]] = {}
    for tool in tools:
        groups.setdefault(
            "functions" if isinstance(tool, Tool) and tool.wrapper == "functions" else "tools", []
        ).append(render_tool(tool))
    return {key: b"[" + b",".join(written) + b"]" for key, written in groups.items()}


render_tools = IdentityCache(_render_members)


def render_tool(tool: Tool | NativeTool) -> Json:
    if isinstance(tool, NativeTool):
        return own_tool(tool, NAME)
    if tool.custom:
        return _render_custom(tool)
    inner, outer = _split_extras(tool)
    function = begin_tool(tool.name, tool.description)
    if tool.schema is not None:
        function["parameters"] = tool.schema
    put(function, "strict", tool.strict)
    function |= inner
    if tool.wrapper in ("functions", "bare"):
        return render_object(function | outer)
    if tool.wrapper in ("function_declarations", "functionDeclarations"):
        return b'{"%b":[' % tool.wrapper.encode() + render_object(function | outer) + b"]}"
    entry: dict[str, Json] = {} if tool.wrapper == "typeless" else {"type": b'"function"'}
    entry["function"] = render_object(function)
    if tool.hint is not None:
        entry["cache_control"] = tool.hint.json
    return render_object(entry | outer)


def _render_custom(tool: Tool) -> Json:
    custom = begin_tool(tool.name, tool.description)
    if tool.schema is not None:
        custom["format"] = _nested_format(tool.schema)
    return b'{"type":"custom","custom":' + render_object(custom) + b"}"


def _nested_format(form: Json) -> Json:
    wire = split_members(form, "/format") if form[:1] == b"{" else {}
    if "definition" not in wire:
        return form
    kind = wire.pop("type", b'"grammar"')
    return render_object({"type": kind, "grammar": render_object(wire)})


def _split_extras(tool: Tool) -> tuple[dict[str, Json], dict[str, Json]]:
    """The extra fields inside `function`, and those beside it."""
    fields = require_own(tool.extras, NAME)
    inner = {key[9:]: value for key, value in fields.items() if key.startswith("function.")}
    outer = {key: value for key, value in fields.items() if not key.startswith("function.")}
    return inner, outer
