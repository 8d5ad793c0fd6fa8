"""Items of tools that the client runs: calls and results of shells, patches and screens, and tools that come late.

An item is kept verbatim, with what it means to a target that knows functions alone. `render_client_call` is the way
back: the call of such a function as the item that the client expects.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from dragoman.conversation.canonical import base62
from dragoman.conversation.literals import quote
from dragoman.conversation.parts import Call, Extras, Json, Media, MediaKind, Opaque, Part, Result, Stored, Text
from dragoman.conversation.tools import CallForm, NativeTool, Tool
from dragoman.dialects.openai_responses import NAME, ORIGIN
from dragoman.dialects.openai_responses.tools import SEARCH, parse_late_tools
from dragoman.dialects.shared.parsing import OPENAI_FILES, extras_of, link_literal, made_id
from dragoman.dialects.shared.raw_json import decode_members, text_in
from dragoman.wire.json_reader import render_object, split_members

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
    identity = text_in(wire.get("call_id")) or text_in(wire.get("id"))
    if form.tool == SEARCH and text_in(wire.get("execution")) != "client":
        return Opaque(kind=kind, json=raw, origin=ORIGIN, meant=())
    if arguments[:1] != b"{":
        return Opaque(kind=kind, json=raw, origin=ORIGIN)
    extras = _gather_unsaid(wire, (form.member,) if form.member else _ACTIONS)
    call = Call(identity or made_id(index + 1, form.tool), form.tool, arguments, extras=extras)
    return Opaque(kind=kind, json=raw, origin=ORIGIN, meant=(call,))


def _gather_actions(wire: Members) -> Json:
    """What is done to a screen: one action, or several."""
    return render_object({name: wire[name] for name in _ACTIONS if wire.get(name, b"null") != b"null"})


def _parse_result(kind: str, raw: Json, index: int) -> Opaque:
    """A result, as one of the function that stands for the tool."""
    wire = _members_of(raw)
    identity = text_in(wire.get("call_id")) or text_in(wire.get("id"))
    output, failed = wire.get("output", b"null"), text_in(wire.get("status")) == "failed"
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
    url, stored = wire.get("image_url", b"null"), text_in(wire.get("file_id"))
    if url[:1] == b'"':
        return Media(MediaKind.IMAGE, link_literal(url))
    return Media(MediaKind.IMAGE, Stored(stored, OPENAI_FILES)) if stored else None


def _parse_declaration(kind: str, raw: Json, index: int) -> Opaque:
    """Tools that may be called from here on: given by the developer, or found by a search."""
    wire = _members_of(raw)
    entries = wire.get("tools", b"")
    tools = parse_late_tools(entries) if entries[:1] == b"[" else ()
    identity = text_in(wire.get("call_id"))
    if kind == "additional_tools" or not identity or text_in(wire.get("execution")) == "server":
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
