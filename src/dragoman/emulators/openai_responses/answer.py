"""Answers in Responses format: the response object and its items."""

from __future__ import annotations

from typing import Any

from dragoman.emulators.logprobs import openai_logprobs
from dragoman.emulators.openai_responses.hosted_items import (
    item_id,
    namespace_of,
    render_citations,
    run_item,
    tool_usage,
)
from dragoman.emulators.openai_responses.models import model_of
from dragoman.emulators.openai_responses.pairs import encrypt
from dragoman.emulators.openai_responses.schemas import echo_tool
from dragoman.emulators.provider import CacheMiss, ModelCall, ModelTurn, ReceivedRequest
from dragoman.emulators.usage import (
    GROK_IN_RESPONSES,
    NO_OVERHEAD,
    UnseenTokens,
    answer_seed,
    count_tokens,
    count_usage,
)
from dragoman.emulators.wire import make_id, render_json

Item = dict[str, Any]
ENCRYPTED = "reasoning.encrypted_content"
LOGPROBS = "message.output_text.logprobs"
_CREATED = 1767225600  # 2026-01-01: a fixed date, so that the same request gets the same bytes
_DEFAULT_SETTINGS: dict[str, Any] = {
    "background": False,
    "frequency_penalty": 0.0,
    "instructions": None,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "presence_penalty": 0.0,
    "previous_response_id": None,
    "prompt_cache_key": None,
    "safety_identifier": None,
    "store": True,
    "temperature": 1.0,
    "text": {"format": {"type": "text"}, "verbosity": "medium"},
    "tool_choice": "auto",
    "top_logprobs": 0,
    "top_p": 1.0,
    "truncation": "disabled",
    "user": None,
}


def render_frame(request: ReceivedRequest, status: str = "in_progress") -> dict[str, Any]:
    """The response without output: its id, date and settings."""
    body: dict[str, Any] = request.body
    settings = {name: default if body.get(name) is None else body[name] for name, default in _DEFAULT_SETTINGS.items()}
    return {
        "id": item_id("resp_", request),
        "object": "response",
        "created_at": _CREATED,
        "status": status,
        "completed_at": None,
        "error": None,
        "incomplete_details": None,
        "model": request.model,
        "output": [],
        **settings,
        "tools": [echo_tool(tool) for tool in body.get("tools") or []],
        "reasoning": {"effort": None, "summary": None, **(body.get("reasoning") or {})},
        "service_tier": "default",
        "usage": None,
    }


def render_answer(request: ReceivedRequest, turn: ModelTurn) -> dict[str, Any]:
    """The whole response."""
    reason = _cut_short(turn)
    return {
        **render_frame(request, "incomplete" if reason else "completed"),
        "completed_at": None if reason else _CREATED,
        "incomplete_details": {"reason": reason} if reason else None,
        "output": items(request, turn),
        "usage": render_usage(request, turn),
        **(tool_usage(turn) if turn.runs else {}),
        **_render_diagnostics(turn.cache.miss),
    }


def _render_diagnostics(miss: CacheMiss | None) -> dict[str, Any]:
    """What the answer says about the cache, if the request named a response to compare with."""
    if miss is None:
        return {}
    if miss.reason in ("", "not_found"):
        kind = "comparison_response_not_found" if miss.reason else "cache_hit"
        return {"prompt_cache_diagnostics": {"type": kind}}
    found = {"type": "cache_miss", "reason": miss.reason, "cache_missed_tokens": miss.tokens}
    return {"prompt_cache_diagnostics": found}


def is_triggered(request: ReceivedRequest) -> bool:
    """Whether the request asks for nothing but a compaction: its last item says so."""
    given = request.body.get("input")
    return isinstance(given, list) and bool(given) and given[-1].get("type") == "compaction_trigger"


def _crosses_threshold(request: ReceivedRequest) -> bool:
    """Whether the prompt is longer than the request lets it grow before it is compacted."""
    entries = request.body.get("context_management") or ()
    tokens = count_tokens(prompt(request))
    return any(one.get("compact_threshold") is not None and tokens > one["compact_threshold"] for one in entries)


def _compaction(request: ReceivedRequest) -> Item:
    return {"type": "compaction", "id": item_id("cmp_", request), "encrypted_content": encrypt(answer_seed(request))}


def render_compacted(request: ReceivedRequest) -> dict[str, Any]:
    """The answer of `/responses/compact`: the user messages, in the form of items, and the rest encrypted."""
    given = request.body.get("input", ())
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    kept = [
        {"type": "message", "id": item_id("msg_", request, index), "status": "completed", **item, **_list_content(item)}
        for index, item in enumerate(items)
        if item.get("role") == "user"
    ]
    return {
        "id": item_id("resp_", request),
        "object": "response.compaction",
        "created_at": _CREATED,
        "output": [*kept, _compaction(request)],
        "usage": render_usage(request, ModelTurn(text="")),
    }


def _list_content(item: Item) -> Item:
    """The content of a message that a client wrote as one text."""
    text = item["content"]
    return {"content": [{"type": "input_text", "text": text}]} if isinstance(text, str) else {}


def items(request: ReceivedRequest, turn: ModelTurn) -> list[Item]:
    """The output: a compaction, reasoning, what OpenAI ran itself, then a message, then calls."""
    if is_triggered(request):
        return [_compaction(request)]
    status = "incomplete" if _cut_short(turn) else "completed"
    output: list[Item] = [_compaction(request)] if _crosses_threshold(request) else []
    if turn.reasoning is not None:
        output.append(_reasoning(request, turn.reasoning))
    for index, run in enumerate(turn.runs):
        output += run_item(request, run, index)
    content = _content(request, turn)
    if content:
        message = {"type": "message", "id": item_id("msg_", request), "status": status, "role": "assistant"}
        output.append({**message, "content": content})
    output.extend(_function_call(request, tool_call, index) for index, tool_call in enumerate(turn.calls))
    return output


def _reasoning(request: ReceivedRequest, thinking: str) -> Item:
    """A reasoning item. Its summary and its encrypted content come only if the request asks for them."""
    asked = (request.body.get("reasoning") or {}).get("summary") is not None
    summary = [{"type": "summary_text", "text": thinking}] if thinking and asked else []
    item = {"type": "reasoning", "id": item_id("rs_", request), "summary": summary, "content": []}
    if ENCRYPTED in (request.body.get("include") or ()):
        item["encrypted_content"] = encrypt(thinking)
    return item


def thinks(request: ReceivedRequest) -> bool:
    """Whether the model reasons on this request. A model of unknown make does if it has thoughts."""
    model = model_of(request.model)
    effort = (request.body.get("reasoning") or {}).get("effort")
    return model.is_reasoning(effort) if model.reasons or model.never_reasons else effort != "none"


def _content(request: ReceivedRequest, turn: ModelTurn) -> list[Item]:
    parts: list[Item] = []
    text = turn.visible_text
    if text:
        asked = LOGPROBS in (request.body.get("include") or ()) or request.body.get("top_logprobs")
        probable = openai_logprobs(text, request.body.get("top_logprobs")) if asked else []
        parts.append({"type": "output_text", "text": text, "annotations": render_citations(turn), "logprobs": probable})
    if turn.refusal is not None:
        parts.append({"type": "refusal", "refusal": turn.refusal})
    return parts


def _function_call(request: ReceivedRequest, tool_call: ModelCall, index: int) -> Item:
    if not isinstance(tool_call.arguments, str) and _has_form(request, tool_call.name):
        return {
            "type": f"{tool_call.name}_call",
            "id": item_id(_FORMS[tool_call.name], request, index),
            "status": "completed",
            "call_id": tool_call.id or make_id("call_", 24, answer_seed(request), index),
            **tool_call.arguments,
            **({"pending_safety_checks": []} if tool_call.name == "computer" else {}),
        }
    arguments = (
        tool_call.arguments if isinstance(tool_call.arguments, str) else render_json(tool_call.arguments).decode()
    )
    return {
        "type": "function_call",
        "id": item_id("fc_", request, index),
        "status": "completed",
        "call_id": tool_call.id or make_id("call_", 24, answer_seed(request), index),
        "name": tool_call.name,
        "arguments": arguments,
        **namespace_of(request, tool_call.name),
    }


_FORMS = {"computer": "cu_", "shell": "sh_", "local_shell": "lsh_", "apply_patch": "apc_"}
"""Tools that the client runs, whose calls have items of their own, and how the ids of these begin."""


def _has_form(request: ReceivedRequest, name: str) -> bool:
    kinds = [tool.get("type") for tool in request.body.get("tools") or ()]
    return name in _FORMS and (name in kinds or (name == "computer" and "computer_use_preview" in kinds))


def _cut_short(turn: ModelTurn) -> str | None:
    return {"length": "max_output_tokens", "filter": "content_filter"}.get(turn.stop or "")


def unseen(request: ReceivedRequest) -> UnseenTokens:
    """What the service puts into the prompt."""
    return (GROK_IN_RESPONSES if "grok" in request.model else NO_OVERHEAD).unseen(None)


def prompt(request: ReceivedRequest) -> list[Any]:
    """What the model reads."""
    return [unseen(request), *[request.body.get(name) for name in ("instructions", "input", "tools")]]


def render_usage(request: ReceivedRequest, turn: ModelTurn) -> dict[str, Any]:
    """Token counts that add up."""
    turn = ModelTurn(text="") if is_triggered(request) else turn
    counted = count_usage(prompt(request), turn)
    written = {f"ttl_{name}_tokens": counted.written_by_lifetime.get(name, 0) for name in ("30m", "12h")}
    return {
        "input_tokens": counted.input,
        "input_tokens_details": {
            "cached_tokens": counted.cached,
            "cache_write_tokens": counted.written,
            **({"cache_write_tokens_details": written} if counted.written else {}),
        },
        "output_tokens": counted.output,
        "output_tokens_details": {"reasoning_tokens": counted.reasoning},
        "total_tokens": counted.total,
    }
