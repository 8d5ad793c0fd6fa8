"""What an answer says of tools that Google runs: grounding, pages that were read, and code.

Gemini 3 shows its calls as parts if the request asks for that; older models show what was found beside the answer.
"""

from __future__ import annotations

from typing import Any

from dragoman.emulators.gemini.flavour import Flavour, model_of
from dragoman.emulators.gemini.thoughts import sign
from dragoman.emulators.provider import Hosted, HostedRun, ModelTurn, ReceivedRequest
from dragoman.emulators.usage import answer_seed, count_text_tokens
from dragoman.emulators.wire import make_id, render_json

Part = dict[str, Any]
_LOWER = "abcdefghijklmnopqrstuvwxyz0123456789"
_SHOWN = {Hosted.SEARCH: "GOOGLE_SEARCH_WEB", Hosted.FETCH: "URL_CONTEXT"}


def run_parts(request: ReceivedRequest, turn: ModelTurn, flavour: Flavour) -> list[Part]:
    """The parts that tell of the runs."""
    parts: list[Part] = []
    for index, run in enumerate(turn.runs):
        if run.tool is Hosted.CODE:
            parts += _execution(request, run, index, flavour)
        elif run.tool in _SHOWN and shows_calls(request):
            parts += _invocation(request, run, index, flavour)
    return parts


def shows_calls(request: ReceivedRequest) -> bool:
    config = request.body.get("toolConfig") or request.body.get("tool_config")
    names = ("includeServerSideToolInvocations", "include_server_side_tool_invocations")
    asked = isinstance(config, dict) and any(config.get(name) is True for name in names)
    return asked and model_of(request.model).since(3)


def _execution(request: ReceivedRequest, run: HostedRun, index: int, flavour: Flavour) -> list[Part]:
    """Gemini 3 names both by one id, and signs the code alone."""
    identity = make_id("", 8, "hosted", answer_seed(request), index, alphabet=_LOWER)
    named = {"id": identity} if model_of(request.model).since(3) else {}
    code: Part = {"executableCode": {**named, "code": f"{run.arguments['code']}\n", "language": "PYTHON"}}
    if named:
        code["thoughtSignature"] = sign(flavour, request.model, render_json(code).decode())
    return [code, {"codeExecutionResult": {**named, "outcome": "OUTCOME_OK", "output": run.output}}]


def _invocation(request: ReceivedRequest, run: HostedRun, index: int, flavour: Flavour) -> list[Part]:
    identity = make_id("", 8, "hosted", answer_seed(request), index, alphabet=_LOWER)
    arguments = {"queries": [run.arguments["query"]]} if run.tool is Hosted.SEARCH else {"urls": [run.arguments["url"]]}
    usual = {"id": identity, "toolType": _SHOWN[run.tool]}
    response: dict[str, Any] = {"result": [page.url for page in run.pages]}
    if run.tool is Hosted.SEARCH:  # the pages stand in the metadata alone
        response = {"search_suggestions": "<style></style>"}
    shown: list[Part] = [
        {"toolCall": {**usual, "args": arguments}},
        {"toolResponse": {**usual, "response": response}},
    ]
    return [{**part, "thoughtSignature": sign(flavour, request.model, render_json(part).decode())} for part in shown]


def metadata(turn: ModelTurn) -> dict[str, Any]:
    """What stands beside the last part: what was found, and what of the text rests on it. Offsets count bytes."""
    found = [run for run in turn.runs if run.tool in (Hosted.SEARCH, Hosted.FETCH, Hosted.FILES)]
    if not found:
        return {}
    pages = list(dict.fromkeys(page for run in found for page in run.pages))
    chunks = [
        {"retrievedContext": {"title": page.title, "text": page.text}}
        if found[0].tool is Hosted.FILES
        else {"web": {"uri": page.url, "title": page.title}}
        for page in pages
    ]
    text = turn.visible_text
    supports = []
    for span in turn.cited:
        start, end = (len(text[:at].encode()) for at in (span.start, span.end))
        segment = {**({"startIndex": start} if start else {}), "endIndex": end, "text": text[span.start : span.end]}
        supports.append({"segment": segment, "groundingChunkIndices": [pages.index(span.page)]})
    grounding: dict[str, Any] = {"groundingChunks": chunks, "groundingSupports": supports}
    queries = [run.arguments["query"] for run in found if run.tool is Hosted.SEARCH]
    if queries:
        grounding |= {"webSearchQueries": queries, "searchEntryPoint": {"renderedContent": "<div></div>"}}
    read = [run.arguments["url"] for run in found if run.tool is Hosted.FETCH]
    entries = [{"retrievedUrl": url, "urlRetrievalStatus": "URL_RETRIEVAL_STATUS_SUCCESS"} for url in read]
    return {"groundingMetadata": grounding, **({"urlContextMetadata": {"urlMetadata": entries}} if read else {})}


def tool_tokens(turn: ModelTurn) -> int:
    """The tokens of what the tools gave the model to read."""
    return sum(count_text_tokens(run.output + "".join(page.text for page in run.pages)) for run in turn.runs)
