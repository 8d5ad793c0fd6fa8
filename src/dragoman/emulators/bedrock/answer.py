"""Answers of Converse: whole, or as the events of a stream."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from dragoman.emulators.anthropic.models import claude_model
from dragoman.emulators.anthropic.thinking import sign
from dragoman.emulators.bedrock.families import family_of, unseen
from dragoman.emulators.bedrock.frames import render_event
from dragoman.emulators.provider import Hosted, HostedRun, ModelCall, ModelTurn, ReceivedRequest
from dragoman.emulators.usage import TokenUsage, answer_seed, count_usage
from dragoman.emulators.wire import arguments_object, fragments, make_id, render_json

Block = dict[str, Any]


def render_answer(request: ReceivedRequest, turn: ModelTurn) -> dict[str, Any]:
    """The whole answer."""
    return {
        "metrics": {"latencyMs": 418},
        "output": {"message": {"role": "assistant", "content": [block for block, _ in _blocks(request, turn)]}},
        "stopReason": _reason(turn),
        "usage": _render_usage(_usage(request, turn)),
    }


def render_stream(request: ReceivedRequest, turn: ModelTurn) -> Iterator[bytes]:
    """The same answer as events. Text and thinking begin with their first piece."""
    yield render_event("messageStart", {"role": "assistant"})
    for index, (block, arguments) in enumerate(_blocks(request, turn)):
        for kind, filled in (("toolUse", "input"), ("toolResult", "content")):
            if kind in block:
                start = {key: value for key, value in block[kind].items() if key != filled}
                yield render_event("contentBlockStart", {"contentBlockIndex": index, "start": {kind: start}})
        for delta in _deltas(block, arguments):
            yield render_event("contentBlockDelta", {"contentBlockIndex": index, "delta": delta})
        yield render_event("contentBlockStop", {"contentBlockIndex": index})
    yield render_event("messageStop", {"stopReason": _reason(turn)})
    usage = _render_usage(_usage(request, turn))
    yield render_event("metadata", {"metrics": {"latencyMs": 418}, "usage": usage})


def _blocks(request: ReceivedRequest, turn: ModelTurn) -> list[tuple[Block, str]]:
    """The blocks in order, each with its arguments as text (empty for other blocks)."""
    blocks: list[tuple[Block, str]] = []
    if turn.reasoning is not None:
        blocks.append((_thinking_block(request, turn.reasoning), ""))
    for index, run in enumerate(turn.runs):
        blocks += _run_blocks(request, run, index)
    text = turn.visible_text or turn.refusal
    if text:
        blocks.append(({"text": text}, ""))
    if turn.cited:
        citations = [{"location": {"web": _web_place(span.page.url)}} for span in turn.cited]
        blocks.append(({"citationsContent": {"citations": citations}}, ""))
    for index, call in enumerate(turn.calls):
        blocks.append(_tool_use(request, call, index))
    return blocks


_SYSTEM_TOOLS = {Hosted.SEARCH: "nova_grounding", Hosted.CODE: "nova_code_interpreter"}


def _run_blocks(request: ReceivedRequest, run: HostedRun, index: int) -> list[tuple[Block, str]]:
    """A tool that Nova ran, and what came of it: of a search that is not shown."""
    name = _SYSTEM_TOOLS.get(run.tool)
    if name is None:
        return []
    identity, given = make_id("tooluse_", 22, answer_seed(request), "run", index), dict(run.arguments)
    found: Block = {"text": "[HIDDEN]"}
    if run.tool is Hosted.CODE:
        given = {"snippet": run.arguments["code"]}
        found = {"json": {"exitCode": 0, "isError": False, "stdErr": "", "stdOut": run.output.strip()}}
    call = {"toolUseId": identity, "name": name, "input": given, "type": "server_tool_use"}
    result = {"toolUseId": identity, "content": [found], "status": "success", "type": f"{name}_result"}
    return [({"toolUse": call}, render_json(given).decode()), ({"toolResult": result}, "")]


def _web_place(url: str) -> Block:
    return {"url": url, "domain": urlsplit(url).hostname or ""}


def _thinking_block(request: ReceivedRequest, thinking: str) -> Block:
    if family_of(request.model).thinks_unsigned:
        return {"reasoningContent": {"reasoningText": {"text": thinking}}}
    if not thinking:
        return {"reasoningContent": {"redactedContent": sign(request.model, "redacted")}}
    shown = "" if _hides_thinking(request) else thinking
    return {"reasoningContent": {"reasoningText": {"text": shown, "signature": sign(request.model, shown)}}}


def _config(request: ReceivedRequest) -> dict[str, Any]:
    extra = request.body.get("additionalModelRequestFields")
    found = extra.get("thinking") if isinstance(extra, dict) else None
    return found if isinstance(found, dict) else {}


def thinks(request: ReceivedRequest) -> bool:
    if family_of(request.model).thinks_unsigned:
        return True
    kind = _config(request).get("type")
    return kind in ("enabled", "adaptive") if kind else claude_model(request.model).thinks_by_default


def _hides_thinking(request: ReceivedRequest) -> bool:
    display = _config(request).get("display")
    return display == "omitted" or (display is None and claude_model(request.model).omits_by_default)


def _tool_use(request: ReceivedRequest, call: ModelCall, index: int) -> tuple[Block, str]:
    arguments = call.arguments_text
    block = {
        "toolUseId": call.id or make_id("tooluse_", 22, answer_seed(request), index),
        "name": call.name,
        "input": arguments_object(arguments),
    }
    return {"toolUse": block}, arguments


def _deltas(block: Block, arguments: str) -> Iterator[Block]:
    if "text" in block:
        yield from ({"text": piece} for piece in fragments(block["text"]))
    elif "toolResult" in block:
        yield {"toolResult": block["toolResult"]["content"]}
    elif "citationsContent" in block:
        yield from ({"citation": one} for one in block["citationsContent"]["citations"])
    elif "toolUse" in block:
        yield {"toolUse": {"input": ""}}
        yield from ({"toolUse": {"input": piece}} for piece in fragments(arguments))
    else:
        yield from _thinking_deltas(block["reasoningContent"])


def _thinking_deltas(content: Block) -> Iterator[Block]:
    if "redactedContent" in content:
        yield {"reasoningContent": content}
        return
    inner = content["reasoningText"]
    yield from ({"reasoningContent": {"text": piece}} for piece in fragments(inner["text"]))
    if "signature" in inner:
        yield {"reasoningContent": {"signature": inner["signature"]}}


def _reason(turn: ModelTurn) -> str:
    if turn.stop == "length":
        return "max_tokens"
    if turn.stop == "filter" or turn.refusal is not None:
        return "content_filtered"
    if turn.stopped_by is not None:
        return "stop_sequence"
    return "tool_use" if turn.calls else "end_turn"


def prompt(request: ReceivedRequest) -> list[Any]:
    """The part of the body that the model reads."""
    return [unseen(request), *map(request.body.get, ("system", "messages", "toolConfig"))]


def _usage(request: ReceivedRequest, turn: ModelTurn) -> TokenUsage:
    return count_usage(prompt(request), turn)


def _render_usage(usage: TokenUsage) -> dict[str, Any]:
    """Cached tokens stand beside the others, and the sum holds them all. Two counts are sent twice."""
    details = [{"ttl": name, "inputTokens": tokens} for name, tokens in usage.written_by_lifetime.items()]
    return {
        "inputTokens": usage.uncached,
        "outputTokens": usage.output,
        "totalTokens": usage.total,
        "cacheReadInputTokens": usage.cached,
        "cacheReadInputTokenCount": usage.cached,
        "cacheWriteInputTokens": usage.written,
        "cacheWriteInputTokenCount": usage.written,
        **({"cacheDetails": details} if details else {}),
        "serverToolUsage": {},
    }
