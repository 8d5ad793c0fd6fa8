"""What answers in Chat format say of searches that the service ran: each service in its own place."""

from __future__ import annotations

from typing import Any

from dragoman.emulators.provider import Hosted, ModelTurn
from dragoman.emulators.wire import render_json

Fields = dict[str, Any]


def render_citations(turn: ModelTurn) -> Fields:
    """OpenAI's search models and OpenRouter: citations of the message."""
    cited = [
        {"start_index": span.start, "end_index": span.end, "title": span.page.title, "url": span.page.url}
        for span in turn.cited
    ]
    return {"annotations": [{"type": "url_citation", "url_citation": one} for one in cited]} if cited else {}


def list_executed_tools(turn: ModelTurn) -> Fields:
    """Groq's compound systems: every run with its arguments and its output, beside the text."""
    runs = []
    for index, run in enumerate(turn.runs):
        found = [{"title": page.title, "url": page.url, "content": page.text, "score": 0.9} for page in run.pages]
        output = run.output or "\n\n".join(
            f"Title: {page.title}\nURL: {page.url}\nContent: {page.text}\nScore: 0.9000" for page in run.pages
        )
        kind = {Hosted.CODE: "python", Hosted.FETCH: "visit"}.get(run.tool, "search")
        arguments = render_json(dict(run.arguments)).decode()
        usual = {"index": index, "type": kind, "arguments": arguments, "output": output}
        runs.append({**usual, "search_results": {"results": found}} if found else usual)
    return {"executed_tools": runs} if runs else {}


def search_results(turn: ModelTurn) -> Fields:
    """Perplexity: all pages, beside the choices."""
    pages = [page for run in turn.runs for page in run.pages]
    listed = [
        {
            "title": page.title,
            "url": page.url,
            "date": "2026-01-01",
            "last_updated": "2026-01-01",
            "snippet": page.text,
            "source": "web",
        }
        for page in pages
    ]
    return {"citations": [page.url for page in pages], "search_results": listed}
