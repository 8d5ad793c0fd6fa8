"""Items of tools that OpenAI runs: searches, code, files, images, servers of tools and the search for tools."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from dragoman.emulators.openai_responses.refusals import ResponsesRefusal
from dragoman.emulators.provider import Hosted, HostedRun, ModelTurn, ReceivedRequest
from dragoman.emulators.usage import answer_seed
from dragoman.emulators.wire import fragments, make_id, render_json

Item = dict[str, Any]
Event = dict[str, Any]
_HEX = "0123456789abcdef"
_SOURCES, _RESULTS = "web_search_call.action.sources", "web_search_call.results"


def check_servers(body: dict[str, Any]) -> None:
    """A server that cannot be reached, which here is one under a name that never exists, fails the whole request."""
    for tool in body.get("tools") or ():
        if tool.get("type") == "mcp" and (urlsplit(str(tool.get("server_url"))).hostname or "").endswith(".invalid"):
            sentence = (
                f"Error retrieving tool list from MCP server: '{tool.get('server_label')}'. "
                "Http status code: 424 (Failed Dependency)"
            )
            raise ResponsesRefusal(sentence, "tools", "http_error", status=424, kind="external_connector_error")


def run_item(request: ReceivedRequest, run: HostedRun, index: int) -> list[Item]:
    """The items of one run."""
    return _ITEMS[run.tool](request, run, index)


def item_id(prefix: str, request: ReceivedRequest, index: int = 0) -> str:
    """An id in OpenAI's format."""
    return make_id(prefix, 50, prefix, answer_seed(request), index, alphabet=_HEX)


def _is_included(request: ReceivedRequest, name: str) -> bool:
    return name in (request.body.get("include") or ())


def _render_search(request: ReceivedRequest, run: HostedRun, index: int) -> list[Item]:
    query = run.arguments["query"]
    action: Item = {"type": "search", "query": query, "queries": [query]}
    if _is_included(request, _SOURCES):
        action["sources"] = [{"type": "url", "url": page.url} for page in run.pages]
    item: Item = {
        "type": "web_search_call",
        "id": item_id("ws_", request, index),
        "status": "completed",
        "action": action,
    }
    if _is_included(request, _RESULTS):
        item["results"] = [{"url": page.url, "title": page.title, "snippet": page.text} for page in run.pages]
    return [item]


def _render_fetch(request: ReceivedRequest, run: HostedRun, index: int) -> list[Item]:
    action = {"type": "open_page", "url": run.arguments["url"]}
    return [{"type": "web_search_call", "id": item_id("ws_", request, index), "status": "completed", "action": action}]


def _render_code(request: ReceivedRequest, run: HostedRun, index: int) -> list[Item]:
    shown = [{"type": "logs", "logs": run.output}] if _is_included(request, "code_interpreter_call.outputs") else None
    item = {
        "type": "code_interpreter_call",
        "id": item_id("ci_", request, index),
        "status": "completed",
        "code": run.arguments["code"],
        "container_id": item_id("cntr_", request, index),
        "outputs": shown,
    }
    return [item]


def _render_lookup(request: ReceivedRequest, run: HostedRun, index: int) -> list[Item]:
    results = [
        {"file_id": "file-emulated", "filename": page.title, "score": 0.9, "text": page.text, "attributes": {}}
        for page in run.pages
    ]
    item = {
        "type": "file_search_call",
        "id": item_id("fs_", request, index),
        "status": "completed",
        "queries": [run.arguments["query"]],
        "results": results if _is_included(request, "file_search_call.results") else None,
    }
    return [item]


def _render_image(request: ReceivedRequest, run: HostedRun, index: int) -> list[Item]:
    item = {
        "type": "image_generation_call",
        "id": item_id("ig_", request, index),
        "status": "completed",
        "action": "generate",
        "background": "opaque",
        "output_format": "png",
        "quality": "high",
        "result": run.output,
        "revised_prompt": run.arguments["prompt"],
        "size": "1024x1024",
    }
    return [item]


def _render_server(request: ReceivedRequest, run: HostedRun, index: int) -> list[Item]:
    if not run.name:
        tools = [{**tool, "annotations": {"read_only": False}} for tool in run.found]
        listed = {"type": "mcp_list_tools", "id": item_id("mcpl_", request, index), "server_label": run.server}
        return [] if _has_list(request, run.server) else [{**listed, "tools": tools}]
    call = {"server_label": run.server, "name": run.name, "arguments": render_json(dict(run.arguments)).decode()}
    if run.waits:
        return [{"type": "mcp_approval_request", "id": item_id("mcpr_", request, index), **call}]
    given = request.body.get("input")
    answers = [one for one in given if one.get("type") == "mcp_approval_response"] if isinstance(given, list) else []
    item = {
        "type": "mcp_call",
        "id": item_id("mcp_", request, index),
        "status": "completed",
        "approval_request_id": answers[-1]["approval_request_id"] if answers else None,
        **call,
        "error": None,
        "output": run.output,
    }
    return [item]


def _has_list(request: ReceivedRequest, label: str) -> bool:
    """Whether the conversation holds the list of the server's tools already: then it is not asked again."""
    given = request.body.get("input")
    items = given if isinstance(given, list) else []
    return any(one.get("type") == "mcp_list_tools" and one.get("server_label") == label for one in items)


def _render_found(request: ReceivedRequest, run: HostedRun, index: int) -> list[Item]:
    usual: Item = {"call_id": None, "execution": "server", "status": "completed"}
    paths = [tool["name"] for tool in run.found]
    call = {"type": "tool_search_call", "id": item_id("tsc_", request, index), **usual, "arguments": {"paths": paths}}
    tools = list(run.found)
    return [call, {"type": "tool_search_output", "id": item_id("tso_", request, index), **usual, "tools": tools}]


_ITEMS = {
    Hosted.SEARCH: _render_search,
    Hosted.FETCH: _render_fetch,
    Hosted.CODE: _render_code,
    Hosted.FILES: _render_lookup,
    Hosted.IMAGE: _render_image,
    Hosted.MCP: _render_server,
    Hosted.TOOLS: _render_found,
}


def render_citations(turn: ModelTurn) -> list[Item]:
    """What the text rests on."""
    from_files = any(run.tool is Hosted.FILES for run in turn.runs)
    return [
        {"type": "file_citation", "file_id": "file-emulated", "filename": span.page.title, "index": span.end}
        if from_files
        else {
            "type": "url_citation",
            "start_index": span.start,
            "end_index": span.end,
            "title": span.page.title,
            "url": span.page.url,
        }
        for span in turn.cited
    ]


def namespace_of(request: ReceivedRequest, name: str) -> dict[str, str]:
    """The namespace of a called function that was looked for: its own name if it stands in none."""
    for tool in request.body.get("tools") or ():
        if tool.get("type") == "namespace" and any(one.get("name") == name for one in tool.get("tools") or ()):
            return {"namespace": tool["name"]}
        if tool.get("name") == name and tool.get("defer_loading"):
            return {"namespace": name}
    return {}


def tool_usage(turn: ModelTurn) -> dict[str, Any]:
    """What the response says of the tools that were run."""
    return {"tool_usage": {"web_search": {"num_requests": sum(run.tool is Hosted.SEARCH for run in turn.runs)}}}


_STEPS = {
    "web_search_call": ("web_search_call", ("in_progress", "searching", "completed")),
    "file_search_call": ("file_search_call", ("in_progress", "searching", "completed")),
    "code_interpreter_call": ("code_interpreter_call", ("in_progress", "interpreting", "completed")),
    "image_generation_call": ("image_generation_call", ("in_progress", "generating", "completed")),
    "mcp_list_tools": ("mcp_list_tools", ("in_progress", "completed")),
    "mcp_call": ("mcp_call", ("in_progress", "completed")),
}
_UNFILLED: dict[str, Item] = {
    "web_search_call": {"status": "in_progress"},
    "file_search_call": {"status": "in_progress", "queries": [], "results": None},
    "code_interpreter_call": {"status": "in_progress", "code": "", "outputs": None},
    "image_generation_call": {"status": "in_progress", "result": None},
    "mcp_list_tools": {"tools": []},
    "mcp_call": {"status": "in_progress", "arguments": "", "output": None},
}
"""What differs in an item when it begins, by its type."""
_FILLED = {
    "code_interpreter_call": ("code", "code_interpreter_call_code"),
    "mcp_call": ("arguments", "mcp_call_arguments"),
}
"""Members that come in pieces, and the name of their events."""


def item_events(index: int, item: Item) -> Iterator[Event]:
    """The events of an item. One without steps of its own is only added and done."""
    kind, place = item["type"], {"item_id": item["id"], "output_index": index}
    empty = {**item, **_UNFILLED.get(kind, {})}
    if kind == "web_search_call":
        empty["action"] = {"type": item["action"]["type"]}
    yield {"type": "response.output_item.added", "output_index": index, "item": empty}
    name, steps = _STEPS.get(kind, ("", ()))
    for step in steps[:1]:
        yield {"type": f"response.{name}.{step}", **place}
    if kind in _FILLED:
        member, event = _FILLED[kind]
        for piece in fragments(item[member]):
            yield {"type": f"response.{event}.delta", **place, "delta": piece}
        yield {"type": f"response.{event}.done", **place, member: item[member]}
    for step in steps[1:]:
        yield {"type": f"response.{name}.{step}", **place}
    yield {"type": "response.output_item.done", "output_index": index, "item": item}
