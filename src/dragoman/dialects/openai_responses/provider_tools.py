"""Tools that OpenAI runs for Responses: their declarations, and the items of their runs.

A call and what came of it are one item, but for the search of tools.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Raw
from msgspec.structs import replace

from dragoman.conversation.literals import quote, unquote
from dragoman.conversation.parts import Inline, Json, Media, MediaKind, Opaque
from dragoman.conversation.provider_tools import (
    Approval,
    Family,
    FoundPage,
    ProviderTool,
    ProviderToolCodec,
    ToolRun,
    WrittenTool,
)
from dragoman.conversation.tools import NativeTool, Tool
from dragoman.dialects.families.openai_servers import SERVER, parse_server
from dragoman.dialects.openai_responses import ORIGIN
from dragoman.dialects.openai_responses.tools import parse_late_tools
from dragoman.dialects.openai_responses.tools import render_tool as render_function
from dragoman.dialects.shared.parsing import vendor_id
from dragoman.dialects.shared.provider_tools import (
    DEPTHS,
    Members,
    location_in,
    lost_settings,
    object_in,
    objects_in,
    open_block,
    other_settings,
    render_location,
    word_in,
    words_in,
)
from dragoman.dialects.shared.raw_json import UNREADABLE, decode_object, encode
from dragoman.errors import DragomanError

_FAMILIES: Mapping[str, Family] = {
    "web_search": Family.WEB_SEARCH,
    "web_search_2025_08_26": Family.WEB_SEARCH,
    "web_search_preview": Family.WEB_SEARCH,
    "web_search_preview_2025_03_11": Family.WEB_SEARCH,
    "code_interpreter": Family.CODE,
    "file_search": Family.FILE_SEARCH,
    "image_generation": Family.IMAGE,
    SERVER: Family.MCP,
    "tool_search": Family.TOOL_SEARCH,
}
_READ = ("type", "filters", "user_location", "search_context_size", "container")
_DONE = "completed"


# Declarations


def parse_tool(tool: NativeTool, members: Mapping[str, Json]) -> ProviderTool | None:
    found, family = open_block(tool.json), _FAMILIES.get(tool.kind)
    if family is None or word_in(found, "execution") == "client":
        return None
    if family is Family.MCP:
        return parse_server(found)
    filters, container = object_in(found, "filters"), object_in(found, "container")
    depth = word_in(found, "search_context_size")
    return ProviderTool(
        family,
        words_in(filters, "allowed_domains"),
        words_in(filters, "blocked_domains") or words_in(filters, "excluded_domains"),
        location_in(object_in(found, "user_location")),
        depth=depth if depth in DEPTHS else "",
        further=(
            *other_settings(found, _READ),
            *other_settings(filters, ("allowed_domains", "blocked_domains", "excluded_domains")),
            *other_settings(container, ("type",)),
        ),
        name=tool.kind,
    )


def render_tool(tool: ProviderTool, kind: str) -> WrittenTool | None:
    wire: dict[str, Any] = {"type": kind}
    written: tuple[str, ...] = ()
    match tool.family:
        case Family.WEB_SEARCH | Family.WEB_FETCH:
            written = ("allowed_domains", "location", "depth")
            if tool.allowed_domains:
                wire["filters"] = {"allowed_domains": tool.allowed_domains}
            if tool.location:
                wire["user_location"] = render_location(tool.location)
            if tool.depth:
                wire["search_context_size"] = tool.depth
        case Family.CODE:
            wire["container"] = {"type": "auto"}
        case Family.MCP:
            return _render_server(tool, kind)
        case Family.FILE_SEARCH:
            return None
    return WrittenTool(encode(wire), lost=lost_settings(tool, written))


def _render_server(tool: ProviderTool, kind: str) -> WrittenTool | None:
    """A server. Tools cannot be barred one by one."""
    server = tool.server
    if server is None or not server.url or server.barred:
        return None
    wire: dict[str, Any] = {"type": kind, "server_label": server.label, "server_url": server.url}
    if server.authorization:
        wire["authorization"] = server.authorization
    if server.headers:
        wire["headers"] = server.headers
    if server.read_only:
        wire["allowed_tools"] = {"read_only": True}
    if server.allowed is not None:
        wire["allowed_tools"] = {**wire.get("allowed_tools", {}), "tool_names": server.allowed}
    wire["require_approval"] = "never" if server.approved is None else "always"
    if server.approved:
        wire["require_approval"] = {"never": {"tool_names": server.approved}}
    if server.deferred:
        wire["defer_loading"] = True
    return WrittenTool(encode(wire), lost=tool.further)


def parse_choice(choice: Json) -> str:
    return word_in(open_block(choice), "type")


# Runs


def parse_run(block: Opaque) -> ToolRun | None:
    found = open_block(block.json)
    identity = word_in(found, "id")
    failed = "" if found.get("status") in (None, _DONE, "in_progress", "searching") else word_in(found, "status")
    match block.kind:
        case "web_search_call":
            return _parse_search(identity, found, failed)
        case "custom_tool_call":  # a search of its own posts, of which nothing but the question is shown
            asked = _parse_arguments(word_in(found, "input"))
            return ToolRun(Family.WEB_SEARCH, identity, arguments=encode(asked), error=failed)
        case "code_interpreter_call":
            logs = [word_in(one, "logs") for one in objects_in(found.get("outputs")) if one.get("type") == "logs"]
            output = "\n".join(logs) if isinstance(found.get("outputs"), list) else None
            arguments = encode({"code": word_in(found, "code")})
            return ToolRun(Family.CODE, identity, arguments=arguments, output=output, error=failed)
        case "file_search_call":
            arguments = encode({"queries": words_in(found, "queries")})
            pages = tuple([_parse_passage(one) for one in objects_in(found.get("results"))])
            return ToolRun(Family.FILE_SEARCH, identity, arguments=arguments, pages=pages, error=failed)
        case "image_generation_call" if word_in(found, "result"):
            return _parse_picture(identity, found, failed)
        case "mcp_call":
            return _parse_mcp(identity, found, failed)
        case "tool_search_call" if word_in(found, "execution") != "client":
            question = encode(object_in(found, "arguments"))
            return ToolRun(Family.TOOL_SEARCH, word_in(found, "call_id"), arguments=question, is_open=True)
        case "tool_search_output" if word_in(found, "execution") != "client":
            return ToolRun(Family.TOOL_SEARCH, word_in(found, "call_id"), tools=_parse_tools(found))
    return None


def _parse_picture(identity: str, found: Members, failed: str) -> ToolRun:
    prompt = word_in(found, "revised_prompt")
    source = Inline(f"image/{word_in(found, 'output_format') or 'png'}", quote(word_in(found, "result")))
    media = (Media(MediaKind.IMAGE, source),)
    return ToolRun(
        Family.IMAGE, identity, arguments=encode({"prompt": prompt} if prompt else {}), media=media, error=failed
    )


def _parse_search(identity: str, found: Members, failed: str) -> ToolRun:
    """A search, or a look at a page."""
    action = object_in(found, "action")
    results = objects_in(found.get("results")) or objects_in(action.get("sources"))
    pages = tuple([_parse_page(one) for one in results if word_in(one, "url")])
    if word_in(action, "type") in ("open_page", "find_in_page"):
        arguments = {name: action[name] for name in ("url", "pattern") if isinstance(action.get(name), str)}
        return ToolRun(Family.WEB_FETCH, identity, arguments=encode(arguments), pages=pages, error=failed)
    queries = words_in(action, "queries")
    query = word_in(action, "query") or (queries[0] if queries else "")
    asked = {"query": query} if len(queries) < 2 else {"query": query, "queries": queries}
    return ToolRun(Family.WEB_SEARCH, identity, arguments=encode(asked), pages=pages, error=failed)


def _parse_page(found: Members) -> FoundPage:
    text = word_in(found, "text") or word_in(found, "snippet")
    return FoundPage(word_in(found, "url"), word_in(found, "title"), text)


def _parse_passage(found: Members) -> FoundPage:
    return FoundPage("", word_in(found, "filename") or word_in(found, "file_id"), word_in(found, "text"))


def _parse_mcp(identity: str, found: Members, failed: str) -> ToolRun:
    error, output = found.get("error"), found.get("output")
    why, code = failed, None
    if isinstance(error, dict):
        code = error.get("code")
        why = word_in(error, "type") or "error"
        content = error.get("content")
        output = output or word_in(error, "message") or "\n".join([word_in(one, "text") for one in objects_in(content)])
    elif isinstance(error, str) and error:
        why, output = "error", output or error
    return ToolRun(
        Family.MCP,
        identity,
        word_in(found, "name"),
        encode(_parse_arguments(word_in(found, "arguments"))),
        output=output if isinstance(output, str) else None,
        error=why,
        code=code if isinstance(code, int) else 0,
        server=word_in(found, "server_label"),
        approval=word_in(found, "approval_request_id"),
    )


def parse_approval(block: Opaque) -> Approval | None:
    if block.kind not in (_QUESTION, _ANSWER):
        return None
    found = open_block(block.json)
    if block.kind == _ANSWER:
        identity = word_in(found, "approval_request_id")
        return Approval(identity, is_given=found.get("approve") is True, reason=word_in(found, "reason"))
    identity = word_in(found, "id")
    return Approval(identity, replace(_parse_mcp(identity, found, ""), output=None, approval=identity))


def render_approval(run: ToolRun) -> Opaque:
    asked = {"name": run.name, "arguments": (run.arguments or b"{}").decode(), "server_label": run.server}
    return _make_item({"id": vendor_id("mcpr_", run.id), "type": _QUESTION, **asked})


_QUESTION, _ANSWER = "mcp_approval_request", "mcp_approval_response"
_LISTING = "mcp_list_tools"


def render_listing(identity: str, label: str, tools: Sequence[Tool]) -> Opaque:
    wire = {"id": vendor_id("mcpl_", identity), "type": _LISTING, "server_label": label}
    return _make_item({**wire, "tools": [_render_listed(tool) for tool in tools], "error": None})


def _render_listed(tool: Tool) -> Members:
    about = unquote(tool.description) if tool.description else None
    return {"name": tool.name, "description": about, "input_schema": Raw(tool.schema or b"{}"), "annotations": None}


def parse_listing(block: Opaque) -> str:
    return word_in(open_block(block.json), "server_label") if block.kind == _LISTING else ""


def _parse_arguments(text: str) -> Members:
    try:
        return decode_object(text or "{}")
    except UNREADABLE:
        return {"arguments": text}


def _parse_tools(found: Members) -> tuple[Tool, ...]:
    try:
        declared = parse_late_tools(encode(objects_in(found.get("tools"))))
    except DragomanError:
        return ()
    return tuple([tool for one in declared for tool in ((one,) if isinstance(one, Tool) else one.meant or ())])


def render_run(run: ToolRun) -> tuple[Opaque, ...]:
    arguments = open_block(run.arguments or b"{}")
    status = "failed" if run.error else _DONE
    wire: Members
    match run.family:
        case Family.WEB_SEARCH | Family.WEB_FETCH:
            action = _render_action(run, arguments)
            wire = {"id": vendor_id("ws_", run.id), "type": "web_search_call", "status": status, "action": action}
        case Family.CODE:
            outputs = None if run.output is None else [{"type": "logs", "logs": run.output}]
            code = word_in(arguments, "code") or word_in(arguments, "command") or encode(arguments).decode()
            container = vendor_id("cntr_", run.id)
            wire = {"id": vendor_id("ci_", run.id), "type": "code_interpreter_call", "status": status, "code": code}
            wire = {**wire, "container_id": container, "outputs": outputs}
        case Family.FILE_SEARCH:
            found = [{"filename": page.title or page.url, "text": page.text} for page in run.pages]
            queries = words_in(arguments, "queries") or tuple(filter(None, [word_in(arguments, "query")]))
            wire = {"id": vendor_id("fs_", run.id), "type": "file_search_call", "status": status, "queries": queries}
            wire = {**wire, "results": found or None}
        case Family.MCP:
            wire = _render_mcp(run, status)
        case Family.TOOL_SEARCH:
            return _render_search(run, arguments)
        case _:
            return ()
    return (_make_item(wire),)


def _make_item(wire: Members) -> Opaque:
    return Opaque(kind=wire["type"], json=encode(wire), origin=ORIGIN)


def _render_action(run: ToolRun, arguments: Members) -> Members:
    if run.family is Family.WEB_FETCH:
        url = word_in(arguments, "url") or next((page.url for page in run.pages), "")
        return {"type": "open_page", "url": url}
    queries = words_in(arguments, "queries")
    query = word_in(arguments, "query") or (queries[0] if queries else "")
    sources = [{"type": "url", "url": page.url} for page in run.pages]
    return {"type": "search", "query": query, "queries": queries or (query,), "sources": sources or None}


def _render_mcp(run: ToolRun, status: str) -> Members:
    return {
        "id": vendor_id("mcp_", run.id),
        "type": "mcp_call",
        "status": status,
        "approval_request_id": run.approval or None,
        "arguments": (run.arguments or b"{}").decode(),
        "error": _render_mcp_error(run) if run.error else None,
        "name": run.name,
        "output": None if run.error else run.output,
        "server_label": run.server,
    }


def _render_mcp_error(run: ToolRun) -> Members:
    """The tool's own error, or that of its server."""
    words = run.output or run.error
    if run.error in _SERVER_ERRORS:
        return {"type": run.error, "code": run.code or _INTERNAL_ERROR, "message": words}
    return {"type": "mcp_tool_execution_error", "content": [{"type": "text", "text": words}]}


_SERVER_ERRORS = ("mcp_protocol_error", "http_error")
_INTERNAL_ERROR = -32603
"""JSON-RPC's number of an error that has no other."""


def _render_search(run: ToolRun, arguments: Members) -> tuple[Opaque, ...]:
    """The search and what it found, whole, as the vendor shows it."""
    shared = {"execution": "server", "call_id": None, "status": _DONE}
    found = [open_block(render_function(tool)) for tool in run.tools]
    call = {"id": vendor_id("tsc_", run.id), "type": "tool_search_call", **shared, "arguments": arguments}
    result = {"id": vendor_id("tso_", run.id), "type": "tool_search_output", **shared, "tools": found}
    return _make_item(call), _make_item(result)


# Streams


_STEPS: Mapping[str, tuple[str, ...]] = {
    "web_search_call": ("in_progress", "searching", "completed"),
    "file_search_call": ("in_progress", "searching", "completed"),
    "code_interpreter_call": ("in_progress", "interpreting", "completed"),
    "mcp_call": ("in_progress", "completed"),
    _LISTING: ("in_progress", "completed"),
}
"""The events between the beginning and the end of an item."""
_GROWING = {
    "code_interpreter_call": ("code", "code_interpreter_call_code"),
    "mcp_call": ("arguments", "mcp_call_arguments"),
}
"""The member that grows in a stream, and the name of its events."""


def stream_run(block: Opaque) -> tuple[Json, Sequence[tuple[bytes, Json]]]:
    """An item as it is when it begins, and the events until it is whole, each with its members."""
    steps = _STEPS.get(block.kind)
    if steps is None:
        return block.json, ()
    found = open_block(block.json)
    identity = encode({"item_id": word_in(found, "id")})[1:-1]
    begun = {name: value for name, value in found.items() if name not in ("results", "outputs", "output", "error")}
    if block.kind == _LISTING:
        begun["tools"] = []
    else:
        begun["status"] = "in_progress"
    if "action" in begun:
        begun["action"] = {"type": word_in(object_in(found, "action"), "type")}
    member, event = _GROWING.get(block.kind, ("", ""))
    events = [(f"response.{block.kind}.{step}".encode(), identity) for step in steps]
    if member:
        begun[member] = ""
        text = encode(word_in(found, member))
        grown = [(f"response.{event}.delta".encode(), identity + b',"delta":' + text)]
        grown.append((f"response.{event}.done".encode(), identity + b"," + encode(member) + b":" + text))
        events[1:1] = grown
    if found.get("status") == "failed":
        events[-1] = f"response.{block.kind}.failed".encode(), identity
    return encode(begun), events


CODEC = ProviderToolCodec(
    parse_tool,
    render_tool,
    parse_run,
    render_run,
    calls_limit="max_tool_calls",
    parse_choice=parse_choice,
    render_approval=render_approval,
    parse_approval=parse_approval,
    render_listing=render_listing,
    parse_listing=parse_listing,
)
