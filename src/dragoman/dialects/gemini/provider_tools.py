"""Tools that Google runs for Gemini: their declarations, the parts of their runs, and what an answer's end tells.

Newer models show a search as two parts if the request asks for that. Otherwise the queries and the pages stand in the
metadata at the end of the answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from dragoman.conversation.parts import Json, Opaque
from dragoman.conversation.provider_tools import (
    CitationRange,
    Family,
    FoundPage,
    GroundedSpan,
    McpServer,
    ProviderTool,
    ProviderToolCodec,
    ToolRun,
    WrittenTool,
)
from dragoman.conversation.tools import NativeTool
from dragoman.dialects.gemini import ORIGIN
from dragoman.dialects.gemini.schema import camel
from dragoman.dialects.shared.parsing import vendor_id
from dragoman.dialects.shared.provider_tools import (
    NOTHING,
    Members,
    lost_settings,
    number_in,
    object_in,
    objects_in,
    open_block,
    other_settings,
    take_bearer,
    word_in,
    words_in,
)
from dragoman.dialects.shared.raw_json import encode

_FAMILIES: Mapping[str, Family] = {
    "googleSearch": Family.WEB_SEARCH,
    "googleSearchRetrieval": Family.WEB_SEARCH,
    "enterpriseWebSearch": Family.WEB_SEARCH,
    "urlContext": Family.WEB_FETCH,
    "codeExecution": Family.CODE,
    "fileSearch": Family.FILE_SEARCH,
}
_TOOL_TYPES: Mapping[str, Family] = {
    "GOOGLE_SEARCH_WEB": Family.WEB_SEARCH,
    "GOOGLE_SEARCH": Family.WEB_SEARCH,
    "URL_CONTEXT": Family.WEB_FETCH,
    "FILE_SEARCH": Family.FILE_SEARCH,
}
_GROUNDING, _FETCHED = "groundingMetadata", "urlContextMetadata"
_MOST_SUPPORTS = 1000
_GOOD = "OUTCOME_OK"
_SIGNED = b'"thoughtSignature"'
_SERVERS = "mcpServers"
_SHOWN_TO_USER = "search_suggestions"
"""Markup for a page, of which the model reads nothing."""
_RETRIEVED = "URL_RETRIEVAL_STATUS_SUCCESS"


def _inner(found: Members, kind: str) -> Members:
    """The one object of an entry or a part, in either spelling."""
    return next((value for key, value in found.items() if camel(key) == kind and isinstance(value, dict)), NOTHING)


# Declarations


def parse_tool(tool: NativeTool, members: Mapping[str, Json]) -> ProviderTool | None:
    opened = open_block(tool.json)
    kind = tool.kind or camel(next(iter(opened), ""))
    family = _FAMILIES.get(kind)
    if family is None:
        return _parse_servers(tool) if kind == _SERVERS else None
    found = {camel(key): value for key, value in _inner(opened, kind).items()}
    return ProviderTool(
        family,
        blocked_domains=words_in(found, "excludeDomains"),
        further=other_settings(found, ("excludeDomains", "dynamicRetrievalConfig")),
    )


def _parse_servers(tool: NativeTool) -> ProviderTool | None:
    """The server of an entry. Other vendors have an entry for each, so one of several servers is left to Google."""
    listed = next((objects_in(value) for key, value in open_block(tool.json).items() if camel(key) == _SERVERS), [])
    servers = [{camel(key): value for key, value in one.items()} for one in listed]
    if len(servers) != 1 or not word_in(servers[0], "name"):
        return None
    reached = object_in(servers[0], "streamableHttpTransport")
    headers = {name: value for name, value in object_in(reached, "headers").items() if isinstance(value, str)}
    authorization = take_bearer(headers)
    server = McpServer(word_in(servers[0], "name"), word_in(reached, "url"), authorization, headers)
    return ProviderTool(Family.MCP, server=server)


def render_tool(tool: ProviderTool, kind: str) -> WrittenTool | None:
    if tool.family not in (Family.WEB_SEARCH, Family.WEB_FETCH, Family.CODE):
        return None
    return WrittenTool(encode({kind: {}}), lost=lost_settings(tool, ()))


# Runs


def parse_run(block: Opaque) -> ToolRun | None:
    run = _parse_run(block)
    return replace(run, goes_back=True) if run is not None and _SIGNED in block.json else run


def _parse_run(block: Opaque) -> ToolRun | None:
    found = _inner(open_block(block.json), block.kind)
    identity = word_in(found, "id")
    match block.kind:
        case "executableCode":
            return ToolRun(Family.CODE, identity, arguments=encode({"code": word_in(found, "code")}), is_open=True)
        case "codeExecutionResult":
            outcome = word_in(found, "outcome")
            failed = "" if outcome in ("", _GOOD) else outcome
            return ToolRun(Family.CODE, identity, output=word_in(found, "output"), error=failed)
        case "toolCall" if family := _TOOL_TYPES.get(word_in(found, "toolType")):
            return ToolRun(family, identity, arguments=encode(_parse_asked(object_in(found, "args"))), is_open=True)
        case "toolResponse" if family := _TOOL_TYPES.get(word_in(found, "toolType")):
            return _parse_response(family, identity, object_in(found, "response"))
    return None


def _parse_response(family: Family, identity: str, response: Members) -> ToolRun:
    """The pages that were found. What else the model was given to read is told as it stands."""
    listed = response.get("result")
    results = listed if isinstance(listed, list) else [listed]
    pages = _parse_urls(
        [{"url": one} if isinstance(one, str) else one for one in results if isinstance(one, (str, dict))]
    )
    known = {_SHOWN_TO_USER, "result"} if len(pages) == len(results) else {_SHOWN_TO_USER}
    rest = {key: value for key, value in response.items() if key not in known}
    return ToolRun(family, identity, output=encode(rest).decode() if rest else None, pages=pages)


def _parse_asked(args: Members) -> Members:
    queries, urls = words_in(args, "queries"), words_in(args, "urls")
    if queries:
        return {"query": queries[0]} if len(queries) == 1 else {"query": queries[0], "queries": queries}
    return {"url": urls[0]} if len(urls) == 1 else args


def _parse_urls(results: Sequence[Members]) -> tuple[FoundPage, ...]:
    return tuple([FoundPage(word_in(one, "url"), word_in(one, "title")) for one in results if word_in(one, "url")])


def render_run(run: ToolRun) -> tuple[Opaque, ...]:
    """A run of code as two parts. Searches and fetches stand at the end of the answer."""
    if run.family is not Family.CODE:
        return ()
    arguments = open_block(run.arguments or b"{}")
    code = word_in(arguments, "code") or word_in(arguments, "command") or encode(arguments).decode()
    call = {"executableCode": {"language": "PYTHON", "code": code}}
    outcome = {"outcome": "OUTCOME_FAILED" if run.error else _GOOD, "output": run.output or run.error}
    return _make_part("executableCode", call), _make_part("codeExecutionResult", {"codeExecutionResult": outcome})


def _make_part(kind: str, wire: Members) -> Opaque:
    return Opaque(kind=kind, json=encode(wire), origin=ORIGIN)


# The end of an answer


def parse_ending(members: Mapping[str, Json]) -> tuple[ToolRun, ...]:
    grounding, fetched = (open_block(members.get(name, b"{}")) for name in (_GROUNDING, _FETCHED))
    runs: list[ToolRun] = []
    queries = words_in(grounding, "webSearchQueries")
    if queries:
        pages = [_parse_chunk(chunk) for chunk in objects_in(grounding.get("groundingChunks"))]
        asked = _parse_asked({"queries": list(queries)})
        found = tuple([page for page in pages if page.url])
        runs.append(ToolRun(Family.WEB_SEARCH, _make_id(queries), arguments=encode(asked), pages=found))
    for one in objects_in(fetched.get("urlMetadata")):
        url, status = word_in(one, "retrievedUrl"), word_in(one, "urlRetrievalStatus")
        failed = "" if status == _RETRIEVED else status
        pages = [FoundPage(url)] if not failed else []
        asked = {"url": url}
        runs.append(
            ToolRun(Family.WEB_FETCH, _make_id((url,)), arguments=encode(asked), pages=tuple(pages), error=failed)
        )
    return tuple(runs)


def _make_id(words: Sequence[str]) -> str:
    """Runs that stand in metadata have no id. What they asked tells one from another."""
    return vendor_id("run_", "\n".join(words))


def _parse_chunk(chunk: Members) -> FoundPage:
    web = object_in(chunk, "web")
    return FoundPage(word_in(web, "uri"), word_in(web, "title"))


def parse_spans(members: Mapping[str, Json]) -> tuple[GroundedSpan, ...]:
    """What of the text rests on which pages. Offsets count bytes."""
    grounding = open_block(members.get(_GROUNDING, b"{}"))
    urls = [_parse_chunk(chunk).url for chunk in objects_in(grounding.get("groundingChunks"))]
    spans: list[GroundedSpan] = []
    for support in objects_in(grounding.get("groundingSupports"))[:_MOST_SUPPORTS]:
        segment, places = object_in(support, "segment"), support.get("groundingChunkIndices")
        start, end = number_in(segment, "startIndex") or 0, number_in(segment, "endIndex") or 0
        known = [place for place in places if isinstance(place, int)] if isinstance(places, list) else []
        cited = [urls[place] for place in known if 0 <= place < len(urls) and urls[place]]
        spans += [GroundedSpan(url, start, end, word_in(segment, "text")) for url in cited]
    return tuple(spans)


def _render_span(span: GroundedSpan, urls: Sequence[str]) -> Members:
    segment = {**({"startIndex": span.start} if span.start else {}), "endIndex": span.end, "text": span.text}
    return {"segment": segment, "groundingChunkIndices": [urls.index(span.url)]}


def render_ending(
    runs: Sequence[ToolRun], cited: Sequence[FoundPage], spans: Sequence[GroundedSpan] = ()
) -> Mapping[str, Json]:
    searches = [run for run in runs if run.family is Family.WEB_SEARCH]
    fetches = [run for run in runs if run.family is Family.WEB_FETCH]
    wire: dict[str, Json] = {}
    pages = {page.url: page for page in (*(page for run in searches for page in run.pages), *cited) if page.url}
    if searches:
        asked = [open_block(run.arguments or b"{}") for run in searches]
        queries = [query for one in asked for query in (words_in(one, "queries") or (word_in(one, "query"),)) if query]
        chunks = [{"web": {"uri": page.url, "title": page.title or page.url}} for page in pages.values()]
        grounding = {"webSearchQueries": queries, "groundingChunks": chunks}
        urls = list(pages)
        supports = [_render_span(span, urls) for span in spans[:_MOST_SUPPORTS] if span.url in pages]
        wire[_GROUNDING] = encode({**grounding, "groundingSupports": supports} if supports else grounding)
    if fetches:
        looked = [_render_fetched(run) for run in fetches]
        wire[_FETCHED] = encode({"urlMetadata": looked})
    return wire


def _render_fetched(run: ToolRun) -> Members:
    url = word_in(open_block(run.arguments or b"{}"), "url") or next((page.url for page in run.pages), "")
    status = "URL_RETRIEVAL_STATUS_ERROR" if run.error else _RETRIEVED
    return {"retrievedUrl": url, "urlRetrievalStatus": status}


CODEC = ProviderToolCodec(
    parse_tool,
    render_tool,
    parse_run,
    render_run,
    parse_ending=parse_ending,
    render_ending=render_ending,
    parse_spans=parse_spans,
    cites=CitationRange.ANSWER,
)
