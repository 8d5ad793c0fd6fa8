"""Answers in Cohere's format: whole, or as a stream of named events."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from dragoman.emulators.logprobs import cohere_logprobs, split_tokens
from dragoman.emulators.prompt_cache import BlockList
from dragoman.emulators.provider import CachePlan, CachePolicy, ModelCall, ModelTurn, ReceivedRequest
from dragoman.emulators.usage import COHERE, COHERE_REASONING, UnseenTokens, answer_seed, count_usage
from dragoman.emulators.wire import fragments, make_id, render_sse_event

_ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789"
_HEX = "0123456789abcdef"
_THINKERS = re.compile(r"reasoning|command-a-plus|north")
_OFF = ("OFF", "DISABLED")
_CITED = 12  # characters that a citation covers


def render_answer(request: ReceivedRequest, turn: ModelTurn) -> dict[str, Any]:
    """The whole answer. With calls its text is their plan, and not among its content."""
    blocks, calls = _blocks(request, turn), _calls(request, turn)
    message: dict[str, Any] = {"role": "assistant"}
    if blocks:
        message["content"] = blocks
    if calls and turn.visible_text:
        message["tool_plan"] = turn.visible_text
    if calls:
        message["tool_calls"] = calls
    citations = _citations(request, blocks)
    if citations:
        message["citations"] = citations
    answer = {"id": _id(request), "message": message, "finish_reason": _reason(turn), "usage": _usage(request, turn)}
    probable = [cohere_logprobs(token) for token in split_tokens(turn.visible_text)]
    return answer | ({"logprobs": probable} if request.body.get("logprobs") else {})


def render_stream(request: ReceivedRequest, turn: ModelTurn) -> Iterator[bytes]:
    """The same answer as events."""
    head = {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []}
    yield _event({"id": _id(request), "type": "message-start", "delta": {"message": head}})
    blocks, calls = _blocks(request, turn), _calls(request, turn)
    citations = _citations(request, blocks)
    for index, block in enumerate(blocks):
        kind = block["type"]
        yield _content("content-start", index, {"type": kind, kind: ""})
        tells = bool(request.body.get("logprobs")) and kind == "text"
        for piece in (split_tokens if tells else fragments)(block[kind]):  # a token is never cut
            probable = {"logprobs": cohere_logprobs(piece)} if tells else {}
            yield _content("content-delta", index, {kind: piece}, **probable)
        if kind == "text":
            yield from _citation_events(citations)
        yield _event({"type": "content-end", "index": index})
    if calls:
        for piece in fragments(turn.visible_text):
            yield _event({"type": "tool-plan-delta", "delta": {"message": {"tool_plan": piece}}})
    for index, call in enumerate(calls):
        yield from _call_events(index, call)
    delta = {"finish_reason": _reason(turn), "usage": _usage(request, turn)}
    yield _event({"type": "message-end", "delta": delta})
    yield render_sse_event("[DONE]")


def _event(payload: dict[str, Any]) -> bytes:
    return render_sse_event(payload, event=payload["type"])


def _content(name: str, index: int, content: dict[str, Any], **more: Any) -> bytes:
    return _event({"type": name, "index": index, "delta": {"message": {"content": content}}, **more})


def _citation_events(citations: list[dict[str, Any]]) -> Iterator[bytes]:
    for index, citation in enumerate(citations):
        yield _event({"type": "citation-start", "index": index, "delta": {"message": {"citations": citation}}})
        yield _event({"type": "citation-end", "index": index})


def _call_events(index: int, call: dict[str, Any]) -> Iterator[bytes]:
    """A call without arguments has no delta."""
    arguments = call["function"]["arguments"]
    head = {**call, "function": {**call["function"], "arguments": ""}}
    yield _event({"type": "tool-call-start", "index": index, "delta": {"message": {"tool_calls": head}}})
    for piece in fragments("" if arguments == "{}" else arguments):
        delta = {"message": {"tool_calls": {"function": {"arguments": piece}}}}
        yield _event({"type": "tool-call-delta", "index": index, "delta": delta})
    yield _event({"type": "tool-call-end", "index": index})


def _id(request: ReceivedRequest) -> str:
    lengths = (8, 4, 4, 4, 12)
    seed = answer_seed(request)
    return "-".join(make_id("", length, seed, at, alphabet=_HEX) for at, length in enumerate(lengths))


def _blocks(request: ReceivedRequest, turn: ModelTurn) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    if turn.reasoning:
        blocks.append({"type": "thinking", "thinking": turn.reasoning})
    text = turn.visible_text or turn.refusal
    if text and not turn.calls:
        blocks.append({"type": "text", "text": text})
    return blocks


def thinks(request: ReceivedRequest) -> bool:
    """Whether the model can think and is not told to do without: it does by default."""
    config = request.body.get("thinking") or {}
    return _THINKERS.search(request.model) is not None and config.get("type") != "disabled"


def _calls(request: ReceivedRequest, turn: ModelTurn) -> list[dict[str, Any]]:
    return [_call(request, call, index) for index, call in enumerate(turn.calls)]


def _call(request: ReceivedRequest, call: ModelCall, index: int) -> dict[str, Any]:
    identity = call.id or make_id(f"{call.name}_", 12, answer_seed(request), index, alphabet=_ALPHABET)
    return {"id": identity, "type": "function", "function": {"name": call.name, "arguments": call.arguments_text}}


def _citations(request: ReceivedRequest, blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Answers that rest on documents or on results cite them, unless the request says otherwise."""
    text = next((block["text"] for block in blocks if block["type"] == "text"), "")
    mode = (request.body.get("citation_options") or {}).get("mode") or ""
    source = _source(request.body)
    if not text or source is None or mode.upper() in _OFF:
        return []
    end = min(len(text), _CITED)
    return [{"start": 0, "end": end, "text": text[:end], "type": "TEXT_CONTENT", "sources": [source]}]


def _source(body: dict[str, Any]) -> dict[str, Any] | None:
    last = body["messages"][-1]
    if last.get("role") == "tool":
        content = last["content"] if isinstance(last["content"], str) else str(last["content"])
        return {"type": "tool", "id": f"{last['tool_call_id']}:0", "tool_output": {"content": content}}
    documents = body.get("documents")
    if not documents:
        return None
    first = documents[0] if isinstance(documents[0], dict) else {"data": {"text": documents[0]}}
    fields = first["data"] if isinstance(first["data"], dict) else {"text": first["data"]}
    identity = first.get("id") or "doc:0"
    return {"type": "document", "id": identity, "document": {"id": identity, **fields}}


def _reason(turn: ModelTurn) -> str:
    if turn.stop == "length":
        return "MAX_TOKENS"
    if turn.stop == "filter":
        return "ERROR"
    if turn.stopped_by is not None:
        return "STOP_SEQUENCE"
    return "TOOL_CALL" if turn.calls else "COMPLETE"


def _unseen(request: ReceivedRequest) -> UnseenTokens:
    return (COHERE_REASONING if "command-a-reasoning" in request.model else COHERE).unseen(request.body.get("tools"))


def prompt(request: ReceivedRequest) -> list[Any]:
    """The part of the body that the model reads."""
    return [_unseen(request), *[request.body.get(name) for name in ("messages", "documents", "tools")]]


def plan_cache(request: ReceivedRequest) -> CachePlan:
    """The prompt as the cache sees it. Its minimum and its step are those of recorded answers."""
    blocks = BlockList()
    blocks.add(_unseen(request))
    for name in ("tools", "documents", "messages"):
        for entry in request.body.get(name) or []:
            blocks.add(entry)
    return CachePlan(CachePolicy(112, step=16), blocks.blocks, request.model)


def _usage(request: ReceivedRequest, turn: ModelTurn) -> dict[str, Any]:
    used = count_usage(prompt(request), turn)
    tokens = {"input_tokens": used.input, "output_tokens": used.output}
    return {"billed_units": dict(tokens), "tokens": tokens, "cached_tokens": used.cached}
