"""Tools that the provider runs: which a request declares, when a model uses them, and what they find.

Their world is made up. Every query has its pages, and every page a number that nobody else knows, so that a test can
see whether what was found has arrived. Every server of tools has one tool, which knows such numbers too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any
from urllib.parse import urlsplit

from dragoman.emulators.provider import CitedSpan, Hosted, HostedRun, WebPage

_TYPES = (
    (re.compile(r"(?:openrouter:)?web_search|x_search|browser_search|nova_grounding"), Hosted.SEARCH),
    (re.compile(r"(?:openrouter:)?web_fetch"), Hosted.FETCH),
    (re.compile(r"code_execution|code_interpreter|nova_code_interpreter"), Hosted.CODE),
    (re.compile(r"file_search"), Hosted.FILES),
    (re.compile(r"image_generation"), Hosted.IMAGE),
    (re.compile(r"mcp$|mcp_toolset"), Hosted.MCP),
    (re.compile(r"tool_search"), Hosted.TOOLS),
)
_KEYS = {
    "googlesearch": Hosted.SEARCH,
    "urlcontext": Hosted.FETCH,
    "codeexecution": Hosted.CODE,
    "filesearch": Hosted.FILES,
}
"""Members of an entry of Gemini's, without their spelling."""
_SEARCHING_MODELS = re.compile(
    r"(?:perplexity/)?sonar|groq/compound|compound-beta|gpt-4o(?:-mini)?-search|.{1,80}:online$"
)
"""Models that search the web unasked."""
_ASKS = {
    Hosted.SEARCH: re.compile(
        r"\b(?:search|look up|google|browse|web|online|internet|news|latest|today)", re.IGNORECASE
    ),
    Hosted.FETCH: re.compile(r"https?://", re.IGNORECASE),
    Hosted.CODE: re.compile(r"\b(?:python|code|comput|calculat|execut)", re.IGNORECASE),
    Hosted.FILES: re.compile(r"\b(?:files?|documents?|knowledge base|vector store)\b", re.IGNORECASE),
    Hosted.IMAGE: re.compile(r"\b(?:draw|image|picture|paint|photo)", re.IGNORECASE),
    Hosted.MCP: re.compile(r"\b(?:lookup|look up|mcp|reference number|ask)\b", re.IGNORECASE),
}
_ORDER = (Hosted.MCP, Hosted.FETCH, Hosted.FILES, Hosted.IMAGE, Hosted.CODE, Hosted.SEARCH)
_LEAD = re.compile(
    r"^[^\n]{0,80}?\b(?:search|look up|lookup|google|browse|find)\b(?: (?:the|a|my))?"
    r"(?: (?:web|internet|files?|documents?))?"
    r"(?: for| about| on)?(?: the query)?:?\s{0,3}",
    re.IGNORECASE,
)
_QUOTED = re.compile(r'"([^"\n]{1,200})"')
_ADDRESS = re.compile(r"https?://[^\s\"'`<>)]{1,500}")
_TERM = re.compile(r"-?\d{1,12}(?:\.\d{1,6})?(?:\s{0,2}[+*/-]\s{0,2}\d{1,12}(?:\.\d{1,6})?){1,8}")
_READ = 5_000
_LONGEST_QUERY = 200
_HOSTS = ("news.example.com", "wiki.example.org")
_PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SERVER_TOOL: Mapping[str, Any] = {
    "name": "lookup",
    "description": "Looks up the reference number of a topic.",
    "input_schema": {
        "type": "object",
        "properties": {"topic": {"type": "string"}},
        "required": ["topic"],
        "additionalProperties": False,
    },
}
"""What every server of tools offers."""


@dataclass(frozen=True, slots=True)
class HostedTool:
    """A declared tool of the provider's own."""

    tool: Hosted
    settings: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class HostedAnswer:
    """What the model says after it has used such tools."""

    runs: tuple[HostedRun, ...]
    text: str
    cited: tuple[CitedSpan, ...] = ()


def find_hosted_kind(entry: Mapping[str, Any]) -> Hosted | None:
    """Which of the provider's tools an entry of `tools` declares; None: it declares functions."""
    system = entry.get("systemTool")
    kind = system.get("name") if isinstance(system, dict) else entry.get("type")
    if not isinstance(kind, str):
        names = (key.replace("_", "").lower() for key in entry)
        return next((_KEYS[name] for name in names if name in _KEYS), None)
    return next((tool for pattern, tool in _TYPES if pattern.match(kind)), None)


def list_hosted_tools(body: Mapping[str, Any]) -> Iterator[HostedTool]:
    """The provider's tools that a request declares, or that its model has anyway."""
    config = body.get("toolConfig")
    declared = body.get("tools") or (config.get("tools") if isinstance(config, dict) else None)
    for entry in declared if isinstance(declared, list) else ():
        kind = find_hosted_kind(entry) if isinstance(entry, dict) else None
        if kind is not None:
            yield HostedTool(kind, _server_of(entry, body) if kind is Hosted.MCP else entry)
    model = body.get("model")
    if isinstance(body.get("web_search_options"), dict) or (isinstance(model, str) and _SEARCHING_MODELS.match(model)):
        yield HostedTool(Hosted.SEARCH, {})


def _server_of(entry: Mapping[str, Any], body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The server that an entry names, with its label and address under the names of Responses."""
    if "server_label" in entry:
        return entry
    servers = [one for one in body.get("mcp_servers") or () if isinstance(one, dict)]
    found = next((one for one in servers if one.get("name") == entry.get("mcp_server_name")), {})
    return {"server_label": found.get("name", ""), "server_url": found.get("url", ""), "require_approval": "never"}


def answer_with_hosted(
    tools: tuple[HostedTool, ...], task: str, choice: str, approvals: Mapping[str, bool], *, is_question: bool = False
) -> HostedAnswer | None:
    """The answer of a model that uses the tool that the task asks for; None if it asks for none.

    `is_question`: there is nothing but a search that could answer it."""
    task = task[:_READ]
    asked = [
        one
        for kind in _ORDER
        for one in tools
        if one.tool is kind
        and (choice == "required" or (is_question and kind is Hosted.SEARCH) or _ASKS[kind].search(task))
    ]
    if not asked or choice == "none":
        return None
    tool = asked[0]
    match tool.tool:
        case Hosted.MCP:
            return _ask_server(tool.settings, task, approvals)
        case Hosted.FETCH if (address := _ADDRESS.search(task)) is not None:
            return _from_pages(HostedRun(tool.tool, {"url": address[0]}, pages=(_page_at(address[0]),)))
        case Hosted.CODE:
            return _compute(task)
        case Hosted.IMAGE:
            return HostedAnswer((HostedRun(tool.tool, {"prompt": task[:_LONGEST_QUERY]}, _PIXEL),), "Here it is.")
        case Hosted.FILES:
            found = WebPage("notes.txt", "notes.txt", _fact(_query(task)))
            return _from_pages(HostedRun(tool.tool, {"query": _query(task)}, pages=(found,)))
        case Hosted.SEARCH:
            pages = _search(_query(task), tool.settings)
            return _from_pages(HostedRun(tool.tool, {"query": _query(task)}, pages=pages))
    return None


def reference_number(topic: str) -> int:
    """What the made-up world knows of a topic."""
    digest = blake2b(" ".join(topic.lower().split()).encode("utf-8", "replace"), digest_size=8).digest()
    return 100_000 + int.from_bytes(digest) % 900_000


def _fact(topic: str) -> str:
    return f"The reference number of {topic} is {reference_number(topic)}."


def _query(task: str) -> str:
    quoted = _QUOTED.search(task)
    if quoted is not None:
        return quoted[1]
    line = task.strip().splitlines()[0] if task.strip() else "nothing"
    return (_LEAD.sub("", line, count=1).strip(" .?!") or line)[:_LONGEST_QUERY]


def _search(query: str, settings: Mapping[str, Any]) -> tuple[WebPage, ...]:
    filters = settings.get("filters")
    wanted = [where.get("allowed_domains") for where in (settings, filters) if isinstance(where, dict)]
    blocked = settings.get("blocked_domains") or settings.get("excluded_domains") or ()
    allowed = next((one for one in wanted if isinstance(one, list) and one), None)
    hosts = [str(one) for one in allowed] if allowed else [one for one in _HOSTS if one not in blocked]
    slug = "-".join(re.findall(r"\w+", query.lower())[:8])
    return tuple(WebPage(f"https://{host}/{slug}", f"On {query}", _fact(query)) for host in hosts[:2])


def _page_at(url: str) -> WebPage:
    return WebPage(url, urlsplit(url).hostname or url, _fact(url))


def _from_pages(run: HostedRun) -> HostedAnswer:
    """An answer that quotes the first page, and cites it."""
    if not run.pages:
        return HostedAnswer((run,), "Nothing was found.")
    page = run.pages[0]
    lead = f'According to "{page.title}": '
    return HostedAnswer((run,), lead + page.text, (CitedSpan(len(lead), len(lead) + len(page.text), page),))


def _compute(task: str) -> HostedAnswer:
    """The sum that stands in the task, if there is one."""
    term = _TERM.search(task)
    code = f"print({term[0]})" if term else 'print("done")'
    output = f"{_value_of(term[0])}\n" if term else "done\n"
    return HostedAnswer((HostedRun(Hosted.CODE, {"code": code}, output),), f"The code says: {output.strip()}")


def _value_of(term: str) -> str:
    """The value of a sum of products, from left to right within each."""
    total, pieces = 0.0, re.findall(r"[+*/-]|\d+(?:\.\d+)?", term.lstrip("-"))
    sign, product = (-1.0 if term.startswith("-") else 1.0), float(pieces[0])
    for operator, number in zip(pieces[1::2], map(float, pieces[2::2]), strict=True):
        if operator in "+-":
            total, sign, product = total + sign * product, 1.0 if operator == "+" else -1.0, number
        elif operator == "/" and not number:
            return "ZeroDivisionError: division by zero"
        else:
            product = product * number if operator == "*" else product / number
    return f"{total + sign * product:.15g}"


def _ask_server(server: Mapping[str, Any], task: str, approvals: Mapping[str, bool]) -> HostedAnswer:
    label, topic = str(server.get("server_label") or ""), _query(task)
    listed = HostedRun(Hosted.MCP, {}, server=label, found=(SERVER_TOOL,))
    approval = server.get("require_approval", "always")
    free = approval.get("never") if isinstance(approval, dict) else None
    names = free.get("tool_names") if isinstance(free, dict) else None
    asks = approval != "never" and SERVER_TOOL["name"] not in (names or ())
    if asks and label not in approvals:
        call = HostedRun(Hosted.MCP, {"topic": topic}, server=label, name="lookup", waits=True)
        return HostedAnswer((listed, call), "")
    if asks and not approvals[label]:
        return HostedAnswer((), "The call was not approved, so I did not make it.")
    call = HostedRun(Hosted.MCP, {"topic": topic}, _fact(topic), server=label, name="lookup")
    return HostedAnswer((listed, call) if not asks else (call,), f"{label} says: {_fact(topic)}")
