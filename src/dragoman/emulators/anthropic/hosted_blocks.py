"""Blocks of tools that Anthropic runs: the call, its result, and texts that cite what was found."""

from __future__ import annotations

from typing import Any

from dragoman.emulators.anthropic.refusals import AnthropicRefusal, invalid
from dragoman.emulators.provider import Hosted, HostedRun, ModelTurn, ReceivedRequest, WebPage
from dragoman.emulators.signatures import check_signature, mint
from dragoman.emulators.usage import answer_seed
from dragoman.emulators.wire import make_id, render_json

Block = dict[str, Any]
FOUND_ON_THE_WEB = "anthropic/web"
"""Who seals what was found: it is the same for all models."""
_FETCHED_AT = "2026-01-01T00:00:00.000000Z"


def run_blocks(request: ReceivedRequest, run: HostedRun, index: int) -> list[tuple[Block, str]]:
    """The call and its result, each with its arguments as text. A list of a server's tools is not shown."""
    if run.tool is Hosted.MCP:
        return _server_blocks(request, run, index) if run.name else []
    name, result, arguments = _RUNS[run.tool](request, run)
    identity = make_id("srvtoolu_01", 22, answer_seed(request), index)
    call = {"type": "server_tool_use", "id": identity, "name": name, "input": arguments, "caller": {"type": "direct"}}
    kind = f"{name}_tool_result" if run.tool is not Hosted.TOOLS else "tool_search_tool_result"
    answer = {"type": kind, "tool_use_id": identity, "content": result}
    if run.tool in (Hosted.SEARCH, Hosted.FETCH):
        answer["caller"] = {"type": "direct"}
    return [(call, render_json(arguments).decode()), (answer, "")]


def _server_blocks(request: ReceivedRequest, run: HostedRun, index: int) -> list[tuple[Block, str]]:
    identity, arguments = make_id("mcptoolu_01", 22, answer_seed(request), index), dict(run.arguments)
    call = {"type": "mcp_tool_use", "id": identity, "name": run.name, "input": arguments, "server_name": run.server}
    content = [{"type": "text", "text": run.output}]
    result = {"type": "mcp_tool_result", "tool_use_id": identity, "is_error": bool(run.error), "content": content}
    return [(call, render_json(arguments).decode()), (result, "")]


Rendered = tuple[str, Any, dict[str, Any]]
"""The name of a tool, the content of its result, and the arguments of the call."""


def _render_search(request: ReceivedRequest, run: HostedRun) -> Rendered:
    found = [
        {
            "type": "web_search_result",
            "title": page.title,
            "url": page.url,
            "encrypted_content": mint(FOUND_ON_THE_WEB, page.url + page.text),
            "page_age": None,
        }
        for page in run.pages
    ]
    return "web_search", found, dict(run.arguments)


def _render_fetch(request: ReceivedRequest, run: HostedRun) -> Rendered:
    page = run.pages[0]
    source = {"type": "text", "media_type": "text/plain", "data": page.text}
    document = {"type": "document", "source": source, "title": page.title, "citations": None}
    result = {"type": "web_fetch_result", "url": page.url, "retrieved_at": _FETCHED_AT, "content": document}
    return "web_fetch", result, dict(run.arguments)


def _render_code(request: ReceivedRequest, run: HostedRun) -> Rendered:
    """The first version of the tool runs Python, later ones a shell."""
    code, result = str(run.arguments["code"]), {"stdout": run.output, "stderr": "", "return_code": 0, "content": []}
    if any(tool.get("type") == "code_execution_20250522" for tool in request.body["tools"]):
        return "code_execution", {"type": "code_execution_result", **result}, {"code": code}
    command = {"command": f"python3 -c '{code}'"}
    return "bash_code_execution", {"type": "bash_code_execution_result", **result}, command


def _render_found(request: ReceivedRequest, run: HostedRun) -> Rendered:
    kinds = (str(tool.get("type")) for tool in request.body["tools"])
    kind = next(one for one in kinds if one.startswith("tool_search_tool"))
    by_pattern = "regex" in kind
    references = [{"type": "tool_reference", "tool_name": tool["name"]} for tool in run.found]
    result = {"type": "tool_search_tool_search_result", "tool_references": references}
    query = str(run.arguments["query"])
    arguments = {"pattern": query.replace(" ", "|")} if by_pattern else {"query": query}
    return "tool_search_tool_regex" if by_pattern else "tool_search_tool_bm25", result, arguments


_RUNS = {
    Hosted.SEARCH: _render_search,
    Hosted.FETCH: _render_fetch,
    Hosted.CODE: _render_code,
    Hosted.TOOLS: _render_found,
}


def text_blocks(turn: ModelTurn, text: str) -> list[Block]:
    """The text, cut where it rests on a page that was found by a search."""
    cited = [one for one in turn.cited if any(run.tool is Hosted.SEARCH for run in turn.runs)]
    blocks: list[Block] = []
    at = 0
    for span in cited:
        blocks += [{"type": "text", "text": text[at : span.start]}] if span.start > at else []
        words = text[span.start : span.end]
        blocks += [{"type": "text", "text": words, "citations": [_location(span.page, words)]}] if words else []
        at = span.end
    return [*blocks, {"type": "text", "text": text[at:]}] if at < len(text) else blocks


def _location(page: WebPage, words: str) -> Block:
    return {
        "type": "web_search_result_location",
        "cited_text": words[:150],
        "url": page.url,
        "title": page.title,
        "encrypted_index": mint(FOUND_ON_THE_WEB, page.url),
    }


def count_runs(turn: ModelTurn) -> dict[str, Any]:
    """What the usage says of such runs: nothing if there were none."""
    if not turn.runs:
        return {}
    searches = sum(run.tool is Hosted.SEARCH for run in turn.runs)
    fetches = sum(run.tool is Hosted.FETCH for run in turn.runs)
    return {"server_tool_use": {"web_search_requests": searches, "web_fetch_requests": fetches}}


def container(request: ReceivedRequest, turn: ModelTurn) -> dict[str, Any]:
    """Where code ran, if any did."""
    if all(run.tool is not Hosted.CODE for run in turn.runs):
        return {}
    identity = make_id("container_01", 22, answer_seed(request))
    return {"container": {"id": identity, "expires_at": "2026-01-31T00:00:00.000000Z"}}


def check_hosted(body: dict[str, Any], strict: bool) -> None:
    """What the service refuses of its own tools and of what they found before."""
    declared = [tool for tool in body.get("tools") or () if isinstance(tool, dict)]
    for index, tool in enumerate(declared):
        if tool.get("allowed_domains") and tool.get("blocked_domains"):
            raise invalid(f"tools.{index}", "Only one of `allowed_domains` and `blocked_domains` may be specified.")
    if declared and all(tool.get("defer_loading") for tool in declared):
        raise AnthropicRefusal("At least one tool must have defer_loading=false. All tools cannot be deferred.")
    for index, message in enumerate(body["messages"]):
        content = message.get("content")
        for place, block in enumerate(content if isinstance(content, list) else ()):
            if block["type"] == "web_search_tool_result":
                _check_found(block.get("content"), f"messages.{index}.content.{place}", strict)


def _check_found(found: Any, at: str, strict: bool) -> None:
    """Text: https://github.com/code-yeongyu/senpi/pull/150. What was left out is not refused."""
    for result in found if isinstance(found, list) else ():
        sealed = result.get("encrypted_content") if isinstance(result, dict) else None
        if sealed is not None and check_signature(FOUND_ON_THE_WEB, sealed, strict) != "ok":
            raise AnthropicRefusal(f"{at}: Invalid encrypted_content in search_result block")
