"""Responses' tools, both ways, and the items of those that the client runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from dragoman.conversation.bounded_cache import IdentityCache, remembered
from dragoman.conversation.canonical import base62
from dragoman.conversation.literals import quote, unquote
from dragoman.conversation.parts import Call, Extras, Json, Media, MediaKind, Opaque, Part, Result, Stored, Text
from dragoman.conversation.tools import CallForm, NativeTool, Tool
from dragoman.dialects.families.published_tools import functions_of
from dragoman.dialects.near_misses.tools import NO_ARGUMENTS, MeantTool, MeantTools, ToolForm, parse_meant_tools
from dragoman.dialects.openai_responses import NAME, ORIGIN
from dragoman.dialects.openai_responses.schema import open_declared_tool, open_tool
from dragoman.dialects.shared.ownership import own_tool, require_own
from dragoman.dialects.shared.parsing import OPENAI_FILES, extras_of, link_literal, make_id
from dragoman.dialects.shared.raw_json import UNREADABLE, decode_members, encode, text_of
from dragoman.dialects.shared.rendering import begin_tool
from dragoman.dialects.shared.top_level import Tools
from dragoman.errors import MalformedRequest, Unrepresentable
from dragoman.wire.json_reader import render_object, split_items, split_members


def _fits(entry: Json) -> bool:
    """Whether a tool has the form of Responses, or is a provider's own."""
    try:
        tool = open_tool(entry)
    except UNREADABLE:
        return False
    return tool.type != "function" or tool.name is not UNSET


def _render_meant(tool: MeantTool) -> Json:
    entry = {"type": b'"function"', **begin_tool(tool.name, tool.description)}
    entry["parameters"] = tool.schema or NO_ARGUMENTS
    if tool.strict is not None:
        entry["strict"] = tool.strict
    return render_object(entry)


FORM = ToolForm(_fits, _render_meant, decode=open_declared_tool)


@remembered
def parse_tools(raw: bytes) -> MeantTools:
    """The tools, and whether the client sent an empty list."""
    return parse_meant_tools(raw, FORM, _parse_list)


def _parse_list(raw: bytes) -> tuple[tuple[Tool | NativeTool, ...], bool]:
    if raw in (b"", b"null"):
        return (), False
    if raw[:1] != b"[":
        raise MalformedRequest("tools are not a list", at="/tools")
    tools = tuple([_parse_tool(bytes(item), at) for at, item in enumerate(split_items(raw, "/tools"))])
    return tools, not tools


def parse_late_tools(raw: bytes) -> tuple[Tool | NativeTool, ...]:
    """The tools that an item declares. Their place is that of the item, so they have none in the list."""
    return tuple([_parse_tool(bytes(entry), -1) for entry in split_items(raw) if bytes(entry)[:1] == b"{"])


def _parse_tool(raw: bytes, at: int) -> Tool | NativeTool:
    """A function or a custom tool. Namespaces and a vendor's own tools are kept verbatim, with what they mean."""
    wire = {key: bytes(value) for key, value in split_members(raw, f"/tools/{at}").items() if bytes(value) != b"null"}
    kind = wire.pop("type", b'""')
    named = wire.get("name", b"")[:1] == b'"'
    if kind not in (b'"function"', b'"custom"') or not named or "function" in wire:
        own = unquote(kind) if kind[:1] == b'"' else ""
        return NativeTool(own, raw, ORIGIN, at, _MEANT.get(own, functions_of)(own, wire, at))
    custom = kind == b'"custom"'
    description = wire.pop("description", b"")
    strict = wire.pop("strict", b"") if not custom else b""
    return Tool(
        unquote(wire.pop("name")),
        description if description[:1] == b'"' else None,
        wire.pop("format" if custom else "parameters", None),
        strict == b"true" if strict else None,
        custom,
        extras=extras_of(NAME, wire),
        at=at,
    )


def _open_namespace(kind: str, wire: Mapping[str, Json], at: int) -> tuple[Tool, ...] | None:
    """The functions of a namespace. A call names the namespace beside the function. The first one says what all of them
    are for."""
    entries, named = wire.get("tools", b""), wire.get("name", b"")
    if entries[:1] != b"[" or named[:1] != b'"':
        return None
    space, found = unquote(named), []
    for entry in split_items(entries):
        if bytes(entry)[:1] != b"{" or text_of(split_members(entry).get("type")) not in ("function", "custom"):
            continue
        tool = _parse_tool(bytes(entry), at)
        if isinstance(tool, Tool):
            form = CallForm(tool.name, custom=tool.custom, fields={NAMESPACE: named})
            found.append(replace(tool, name=f"{space}__{tool.name}", called=form))
    about = text_of(wire.get("description"))
    if found and about:
        own = found[0].description
        words = f"[All tools {space}__*: {about}]" + (f"\n{unquote(own)}" if own is not None else "")
        found[0] = replace(found[0], description=quote(words))
    return tuple(found)


NAMESPACE = "namespace"
SEARCH = "tool_search"


def _describe_search(kind: str, wire: Mapping[str, Json], at: int) -> tuple[Tool, ...]:
    """A search that the client runs. One that the provider runs needs no function: other targets see all tools."""
    if text_of(wire.get("execution")) != "client":
        return ()
    description, schema = wire.get("description", b""), wire.get("parameters", b"")
    words = description if description[:1] == b'"' else quote("Search for tools. Those that are found can be called.")
    schema = schema if schema[:1] == b"{" else _ANY_SEARCH
    return (Tool(SEARCH, words, schema, at=at, called=CallForm(SEARCH, SEARCH)),)


_ANY_SEARCH = b'{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}'
_MEANT: Mapping[str, Callable[[str, Mapping[str, Json], int], tuple[Tool, ...] | None]] = {
    NAMESPACE: _open_namespace,
    SEARCH: _describe_search,
}
"""Types whose declaration holds what they mean. All others have a published form."""

_UNSAID = b"null"
_NOT_STRICT = b"false"
"""A tool that does not say whether it is strict is strict here: its schema is rewritten, every property required. In
all other dialects it is not."""


def render_tool(tool: Tool | NativeTool, unsaid: Json = _UNSAID) -> Json:
    """A tool. `unsaid` stands for `strict` if the client said nothing: the published types demand the member."""
    if isinstance(tool, NativeTool):
        return own_tool(tool, NAME)
    if tool.hint is not None:
        raise Unrepresentable(f"a cache hint on the tool {tool.name} in a Responses request")
    wire = {"type": b'"custom"' if tool.custom else b'"function"', **begin_tool(tool.name, tool.description)}
    if tool.custom:
        if tool.schema is not None:
            wire["format"] = tool.schema
    else:
        wire["parameters"] = tool.schema if tool.schema is not None else b"null"
        wire["strict"] = unsaid if tool.strict is None else encode(tool.strict)
    return render_object(wire | dict(require_own(tool.extras, NAME)))


def _render_tools(tools: Tools) -> Json:
    return b"[" + b",".join([render_tool(tool) for tool in tools]) + b"]"


def _render_translated_tools(tools: Tools) -> Json:
    return b"[" + b",".join([render_tool(tool, _NOT_STRICT) for tool in tools]) + b"]"


render_tools = IdentityCache(_render_tools)
render_translated_tools = IdentityCache(_render_translated_tools)


# Items of tools that the client runs: calls and results of shells, patches and screens, and tools that come late. An
# item is kept verbatim, with what it means to a target that knows functions alone. `render_client_call` is the way
# back.

Members = Mapping[str, Json]


class CallItem(msgspec.Struct, frozen=True):
    """How the calls of one tool are written."""

    item: str
    """The type of the item."""
    tool: str
    """The function's name."""
    member: str
    """The member that holds the arguments. Empty: each argument is a member of the item."""
    prefix: str
    """How its ids begin."""
    arguments: Members = {}
    """Members that the arguments need and a model may leave out."""
    members: Members = {}
    """Members that the item needs."""


_COMPUTER = CallItem("computer_call", "computer", "", "cu", members={"pending_safety_checks": b"[]"})
_CALLS: Mapping[str, CallItem] = {
    "shell": CallItem("shell_call", "shell", "action", "sh"),
    "local_shell": CallItem(
        "local_shell_call", "local_shell", "action", "lsh", arguments={"type": b'"exec"', "env": b"{}"}
    ),
    "apply_patch": CallItem("apply_patch_call", "apply_patch", "operation", "apc"),
    "computer": _COMPUTER,
    "computer_use_preview": _COMPUTER,
    SEARCH: CallItem("tool_search_call", SEARCH, "arguments", "tsc", members={"execution": b'"client"'}),
}
"""By the type that declares the tool."""
_BY_ITEM = {call.item: call for call in _CALLS.values()}
_ACTIONS = ("action", "actions")


def _parse_call(kind: str, raw: Json, index: int) -> Opaque:
    """A call, as one of the function that stands for the tool."""
    wire = _members_of(raw)
    form = _BY_ITEM[kind]
    arguments = wire.get(form.member, b"{}") if form.member else _gather_actions(wire)
    identity = text_of(wire.get("call_id")) or text_of(wire.get("id"))
    if form.tool == SEARCH and text_of(wire.get("execution")) != "client":
        return Opaque(kind=kind, json=raw, origin=ORIGIN, meant=())
    if arguments[:1] != b"{":
        return Opaque(kind=kind, json=raw, origin=ORIGIN)
    extras = _gather_unsaid(wire, (form.member,) if form.member else _ACTIONS)
    call = Call(identity or make_id(index + 1, form.tool), form.tool, arguments, extras=extras)
    return Opaque(kind=kind, json=raw, origin=ORIGIN, meant=(call,))


def _gather_actions(wire: Members) -> Json:
    """What is done to a screen: one action, or several."""
    return render_object({name: wire[name] for name in _ACTIONS if wire.get(name, b"null") != b"null"})


def _parse_result(kind: str, raw: Json, index: int) -> Opaque:
    """A result, as one of the function that stands for the tool."""
    wire = _members_of(raw)
    identity = text_of(wire.get("call_id")) or text_of(wire.get("id"))
    output, failed = wire.get("output", b"null"), text_of(wire.get("status")) == "failed"
    parts = _parse_output(output, failed)
    if not identity or parts is None:
        return Opaque(kind=kind, json=raw, origin=ORIGIN)
    listed = any(type(part) is not Text for part in parts)
    result = Result(identity, parts, is_error=failed, listed=listed, extras=_gather_unsaid(wire, ("output",)))
    return Opaque(kind=kind, json=raw, origin=ORIGIN, meant=(result,))


def _gather_unsaid(wire: Members, written: tuple[str, ...]) -> Extras | None:
    """What an item holds that a function's call or result has no place for, such as the checks of a click."""
    fields = {name: value for name, value in wire.items() if name not in _USUAL and name not in written}
    return extras_of(NAME, {name: value for name, value in fields.items() if value not in (b"null", b"[]", b"{}")})


_USUAL = frozenset({"type", "id", "call_id", "status", "execution", "created_by"})


def _parse_output(output: Json, failed: bool) -> tuple[Part, ...] | None:
    """A text as it is, a screenshot as a picture, and everything else as its JSON."""
    if output[:1] == b'"':
        return (Text(output),)
    if output == b"null":
        return (Text(quote("failed" if failed else "completed")),)
    if output[:1] == b"{":
        picture = _parse_screenshot(_members_of(output))
        return None if picture is None else (picture,)
    return (Text(quote(output.decode())),)


def _parse_screenshot(wire: Members) -> Media | None:
    url, stored = wire.get("image_url", b"null"), text_of(wire.get("file_id"))
    if url[:1] == b'"':
        return Media(MediaKind.IMAGE, link_literal(url))
    return Media(MediaKind.IMAGE, Stored(stored, OPENAI_FILES)) if stored else None


def _parse_declaration(kind: str, raw: Json, index: int) -> Opaque:
    """Tools that may be called from here on: given by the developer, or found by a search."""
    wire = _members_of(raw)
    entries = wire.get("tools", b"")
    tools = parse_late_tools(entries) if entries[:1] == b"[" else ()
    identity = text_of(wire.get("call_id"))
    if kind == "additional_tools" or not identity or text_of(wire.get("execution")) == "server":
        return Opaque(kind=kind, json=raw, origin=ORIGIN, meant=(), declares=tools)
    names = [function.name for tool in tools for function in _functions(tool)]
    words = f"Tools that can be called now: {', '.join(names)}" if names else "No tools were found."
    result = Result(identity, (Text(quote(words)),))
    return Opaque(kind=kind, json=raw, origin=ORIGIN, meant=(result,), declares=tools)


def _functions(tool: Tool | NativeTool) -> tuple[Tool, ...]:
    return (tool,) if isinstance(tool, Tool) else tool.meant or ()


def _members_of(raw: Json) -> Members:
    return {name: bytes(value) for name, value in split_members(raw).items()}


CLIENT_ITEMS: Mapping[str, Callable[[str, Json, int], Opaque]] = {
    **dict.fromkeys(_BY_ITEM, _parse_call),
    **dict.fromkeys(
        ("shell_call_output", "local_shell_call_output", "apply_patch_call_output", "computer_call_output"),
        _parse_result,
    ),
    **dict.fromkeys(("additional_tools", "tool_search_output"), _parse_declaration),
}


def render_client_call(form: CallForm, call_id: str, arguments: str) -> Json | None:
    """The call of a function as the item of the tool that it stands for; None if its arguments are no object."""
    call = _CALLS.get(form.kind)
    if call is None:
        return None
    try:
        given = {**call.arguments, **decode_members(arguments or "{}")}
    except (msgspec.DecodeError, RecursionError):
        return None
    item: dict[str, Json | msgspec.Raw] = {
        "type": quote(call.item),
        "id": quote(f"{call.prefix}_{base62(call_id, 0, length=32)}"),
        "call_id": quote(call_id),
        "status": b'"completed"',
        **call.members,
    }
    done = {call.member: render_object(given)} if call.member else _spread_actions(given)
    return render_object({**item, **done, **form.fields}) if done else None


def _spread_actions(given: Mapping[str, Json | msgspec.Raw]) -> Mapping[str, Json | msgspec.Raw]:
    """One action or several. A model may give the one action itself."""
    if "type" in given:
        return {"action": render_object(given)}
    return {name: given[name] for name in _ACTIONS if name in given}


def choice_names(kind: str) -> tuple[str, ...]:
    """The function that a choice of a vendor's own tool means, if the client runs the tool."""
    return (_CALLS[kind].tool,) if kind in _CALLS else ()
