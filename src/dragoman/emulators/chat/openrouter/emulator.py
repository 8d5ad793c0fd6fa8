"""OpenRouter: lenient itself, and as strict as the provider behind it.

The first part of a model's name selects that provider.
"""

from __future__ import annotations

import re
from typing import Any

from dragoman.emulators.anthropic.caching import cache_policy as claude_policy
from dragoman.emulators.chat.answers import AnswerStyle, UsagePlace, plain_usage
from dragoman.emulators.chat.caching import gemini_policy, openai_policy
from dragoman.emulators.chat.found_pages import render_citations
from dragoman.emulators.chat.openai.request_types import json_type
from dragoman.emulators.chat.openrouter import upstreams
from dragoman.emulators.chat.openrouter.request_types import REQUEST, refuse_mismatch
from dragoman.emulators.chat.pairs import role
from dragoman.emulators.chat.service import ChatRefusal, ChatService, fits
from dragoman.emulators.prompt_cache import AUTOMATIC
from dragoman.emulators.provider import CachePolicy, EmulatedProvider, EmulatorOptions, FaultKind, ReceivedRequest
from dragoman.emulators.signatures import mint, with_route
from dragoman.emulators.usage import TokenUsage
from dragoman.emulators.wire import make_id, render_sse_comment

_ROLES = ("system", "developer", "user", "assistant", "tool")


def render_error(refusal: ChatRefusal) -> Any:
    """`{"error": {code: number, message, metadata?}, "user_id"}`."""
    error: dict[str, Any] = {"message": refusal.message, "code": refusal.status, **refusal.more}
    return {"error": error, "user_id": "user_emulated"}


def check_own_rules(request: ReceivedRequest) -> None:
    """OpenRouter's own checks."""
    messages = request.body.get("messages")
    if messages is None:
        raise ChatRefusal(400, 'Input required: specify "prompt" or "messages"')
    if not isinstance(messages, list):
        raise ChatRefusal(400, f"Invalid input: expected array, received {json_type(messages).split()[-1]}")
    for at, message in enumerate(messages):
        if role(message) not in _ROLES:
            raise ChatRefusal(400, f"Invalid input: messages[{at}].role")
        if not _content_fits(message):
            raise ChatRefusal(400, f"Invalid input: messages[{at}].content")
    _check_efforts(request.body)


def _content_fits(message: dict[str, Any]) -> bool:
    content = message.get("content")
    if content is None:
        return role(message) == "assistant"
    return isinstance(content, str) or (isinstance(content, list) and all(isinstance(part, dict) for part in content))


def _check_efforts(body: dict[str, Any]) -> None:
    reasoning, effort = body.get("reasoning"), body.get("reasoning_effort")
    inner = reasoning.get("effort") if isinstance(reasoning, dict) else None
    if inner is not None and isinstance(reasoning, dict) and reasoning.get("max_tokens") is not None:
        raise ChatRefusal(400, 'Only one of "reasoning.effort" and "reasoning.max_tokens" can be specified')
    if inner is not None and effort is not None and inner != effort:
        raise ChatRefusal(400, '"reasoning.effort" and "reasoning_effort" must be equal if both are given')


_ALWAYS_THINKS = re.compile(
    r"openai/gpt-5$|google/gemini-3\.7-flash|minimax/minimax-m2|stepfun/step-3\.5|deepseek/deepseek-r1"
)
"""Models of which its list or its refusals say that they cannot be told not to think."""


def check_mandatory(request: ReceivedRequest) -> None:
    """Thinking that is switched off on a model that always thinks."""
    if _is_asked(request) is False and _ALWAYS_THINKS.match(request.model):
        raise ChatRefusal(400, "Reasoning is mandatory for this endpoint and cannot be disabled.")


def _is_asked(request: ReceivedRequest) -> bool | None:
    """Whether the request asks for reasoning (True), forbids it (False) or says nothing."""
    body = request.body
    reasoning = body.get("reasoning") if isinstance(body.get("reasoning"), dict) else {}
    effort = reasoning.get("effort") or body.get("reasoning_effort")
    if effort == "none" or reasoning.get("enabled") is False:
        return False
    asked = effort or reasoning.get("max_tokens") or reasoning.get("enabled") or body.get("include_reasoning")
    return True if asked else None


def _thinks(request: ReceivedRequest) -> bool:
    """As recorded: Claude before 5 and gpt-5.1 to 5.5 think only when they are asked, others unless it is forbidden."""
    asked = _is_asked(request)
    if asked is not None:
        return asked
    vendor = request.model.split("/")[0]
    if vendor == "anthropic":
        return ":thinking" in request.model or not (0, 0) < upstreams.claude_version(request.model) < (5, 0)
    return vendor != "openai" or re.search(r"gpt-(?:[34]|5\.[1-5])", request.model) is None


def _shows_thoughts(request: ReceivedRequest) -> bool:
    """Gemini's thoughts are shown only when they are asked for. `exclude` hides all."""
    reasoning = request.body.get("reasoning")
    if isinstance(reasoning, dict) and reasoning.get("exclude") is True:
        return False
    return not request.model.startswith("google/") or bool(_is_asked(request))


def _details(request: ReceivedRequest, text: str) -> list[Any]:
    """Reasoning in the format of the provider behind OpenRouter."""
    signature = mint("openrouter", text)
    shared = {"index": 0, "id": make_id("rs_", 16, text)}
    if request.model.startswith("google/"):
        summary = {"type": "reasoning.text", "text": text, "format": "google-gemini-v1", "index": 0}
        shown = [summary] if _shows_thoughts(request) else []
        return [*shown, {"type": "reasoning.encrypted", "data": signature, "format": "google-gemini-v1", **shared}]
    if request.model.startswith("anthropic/"):
        claude = {"format": "anthropic-claude-v1", "index": 0}
        routed = with_route(signature, f"{request.model}|anthropic")
        return [{"type": "reasoning.text", "text": text, "signature": routed, **claude}]
    return [{"type": "reasoning.summary", "summary": text, "format": "unknown", "index": 0}]


_WRITE_PRICES = {"5m": 1.25, "1h": 2.0, "30m": 1.25, "12h": 1.25}
_READ_PRICE = 0.1


def _render_usage(usage: TokenUsage) -> dict[str, Any]:
    """A token costs a millionth of a dollar: less if it is read from the prompt cache, more if it is written to it."""
    written = sum(_WRITE_PRICES[name] * tokens for name, tokens in usage.written_by_lifetime.items())
    cost = (usage.uncached + _READ_PRICE * usage.cached + written + usage.output) / 1_000_000
    return {
        **plain_usage(usage),
        "cost": cost,
        "is_byok": False,
        "prompt_tokens_details": {
            "cached_tokens": usage.cached,
            "cache_write_tokens": usage.written,
            "audio_tokens": 0,
        },
        "cost_details": {"upstream_inference_cost": cost},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning, "audio_tokens": 0},
    }


def _render_error_frame(refusal: ChatRefusal, request: ReceivedRequest) -> Any:
    """An error inside a stream: a chunk with a top-level `error` and the finish reason `error`."""
    error = {"code": refusal.status, "message": refusal.message, "metadata": {"error_type": "provider_unavailable"}}
    choice = {
        "index": 0,
        "delta": {"role": "assistant", "content": ""},
        "finish_reason": "error",
        "native_finish_reason": "error",
    }
    head = {"id": make_id("gen-", 24, request.model), "object": "chat.completion.chunk", "model": request.model}
    return {**head, "error": error, "choices": [choice]}


ANSWER_STYLE = AnswerStyle(
    answer_id=lambda seed: make_id("gen-1767225600-", 20, seed),
    reasoning_field="reasoning",
    reasoning_details=_details,
    thinks=_thinks,
    shows_thoughts=_shows_thoughts,
    usage_place=UsagePlace.FINISH,
    render_usage=_render_usage,
    numbered_calls=True,
    opening=(render_sse_comment("OPENROUTER PROCESSING"), render_sse_comment("OPENROUTER PROCESSING")),
    top_fields={"provider": "Emulated"},
    message_fields={"refusal": None, "reasoning": None},
    choice_fields=lambda reason: {"native_finish_reason": reason},
    one_choice=True,
    run_fields=render_citations,
)

FAULTS = {
    FaultKind.AUTH: ChatRefusal(401, "No cookie auth credentials found"),
    FaultKind.MODEL: ChatRefusal(400, "{model} is not a valid model ID"),
    FaultKind.RATE: ChatRefusal(429, "Rate limit exceeded: limit_rpm/{model}. High demand, please retry shortly."),
    FaultKind.SERVER: ChatRefusal(500, "Internal Server Error"),
    FaultKind.OVERLOADED: ChatRefusal(503, "No allowed providers are available for the selected model."),
    FaultKind.CONTEXT: ChatRefusal(
        400,
        "This endpoint's maximum context length is {limit[200000]} tokens. However, you requested about {tokens} tokens"
        " ({tokens} of text input). Please reduce the length of either one, or use the context-compression plugin to"
        " compress your prompt automatically.",
    ),
}


_UPSTREAM_CACHES = {"anthropic": claude_policy, "openai": openai_policy, "google": gemini_policy}


def _cache_policy(model: str) -> CachePolicy:
    """The cache is that of the upstream."""
    upstream = _UPSTREAM_CACHES.get(model.partition("/")[0])
    return upstream(model) if upstream else AUTOMATIC


def provider(options: EmulatorOptions) -> EmulatedProvider:
    """The emulator of `openrouter.ai`."""
    return ChatService(
        name="openrouter",
        options=options,
        checks=(
            check_own_rules,
            upstreams.check_done,
            fits(REQUEST, refuse_mismatch),
            upstreams.check_sight,
            upstreams.check_budget,
            check_mandatory,
            upstreams.check_choice,
            upstreams.check_hints,
            upstreams.check_schema,
            upstreams.check_thinking,
            upstreams.check_upstream,
            upstreams.signature_check(options.strict_signatures),
        ),
        style=ANSWER_STYLE,
        root="/api/v1",
        render_error=render_error,
        faults=FAULTS,
        unreadable=ChatRefusal(400, "Invalid JSON body"),
        render_error_frame=_render_error_frame,
        stream_type="text/event-stream",
        example_model="openai/gpt-4o-mini",
        cache_policy=_cache_policy,
        known_models=("openai/gpt-4o-mini", "anthropic/claude-haiku-4.5", "google/gemini-2.5-flash"),
    )
