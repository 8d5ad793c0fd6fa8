"""OpenRouter: lenient itself, and as strict as the provider behind it.

The first part of a model's name selects that provider. What OpenRouter cannot translate, the provider refuses, and its
error arrives in `metadata.raw`. The main checks of those providers are repeated here, so that this judge is
independent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import orjson

from dragoman.emulators.anthropic.caching import cache_policy as claude_policy
from dragoman.emulators.chat import request_types as chat_types
from dragoman.emulators.chat.answers import AnswerStyle, UsagePlace, plain_usage
from dragoman.emulators.chat.caching import gemini_policy, openai_policy
from dragoman.emulators.chat.found_pages import render_citations
from dragoman.emulators.chat.openai.messages import longest_id
from dragoman.emulators.chat.openai.models import chat_model
from dragoman.emulators.chat.openai.request_types import bracketed, json_type
from dragoman.emulators.chat.pairs import after_opening, orphan_results, role, unanswered_calls
from dragoman.emulators.chat.service import ChatRefusal, ChatService, Check, fits
from dragoman.emulators.prompt_cache import AUTOMATIC
from dragoman.emulators.provider import CachePolicy, EmulatedProvider, EmulatorOptions, FaultKind, ReceivedRequest
from dragoman.emulators.request_shape import (
    MismatchKind,
    Path,
    RecordShape,
    Shape,
    ShapeMismatch,
    boolean,
    complete,
    integer,
    items,
    mapping,
    nullable,
    number,
    one_of,
    table,
    tagged,
    text,
    text_up_to,
)
from dragoman.emulators.signatures import check_signature, is_masked, mint
from dragoman.emulators.usage import TokenUsage
from dragoman.emulators.wire import make_id, render_json, render_sse_comment

_ROLES = ("system", "developer", "user", "assistant", "tool")
_cached: Mapping[str, Shape] = {"cache_control": nullable(mapping)}
_AUDIO = complete(data=text, format=text)
_PARTS: Mapping[str, Shape] = {
    "text": chat_types.TEXT_PART.adding(_cached),
    "image_url": chat_types.IMAGE_PART.adding(_cached),
    "input_audio": RecordShape({**_cached, "type": text, "input_audio": _AUDIO}, required=("type", "input_audio")),
    "file": chat_types.FILE_PART.adding(_cached),
    "video_url": RecordShape({**_cached, "type": text, "video_url": mapping}, required=("type", "video_url")),
    "input_video": RecordShape({**_cached, "type": text, "video_url": mapping}, required=("type", "video_url")),
    "refusal": chat_types.REFUSAL_PART,
}
_CONTENT = chat_types.content(_PARTS)
_detail: Mapping[str, Shape] = {
    **dict.fromkeys(("text", "summary", "data", "signature", "id", "format"), nullable(text)),
    "type": text,
    "index": nullable(integer),
}
_DETAILS = items(
    tagged(
        "type",
        {
            "reasoning.text": RecordShape(_detail, required=("type",)),
            "reasoning.summary": RecordShape({**_detail, "summary": text}, required=("type", "summary")),
            "reasoning.encrypted": RecordShape({**_detail, "data": text}, required=("type", "data")),
        },
    )
)
_CALL = chat_types.FUNCTION_CALL.adding({**_cached, "index": nullable(integer)})
# After OpenRouter's OpenAPI of 2026-08-22 and recorded requests. It forbids no other keys, but a message with `done`
# was refused: keys that nobody has seen accepted are refused here.
_MESSAGES: Mapping[str, RecordShape] = {
    "system": chat_types.SYSTEM.adding({**_cached, "content": _CONTENT}),
    "developer": chat_types.SYSTEM.adding({**_cached, "content": _CONTENT}),
    "user": chat_types.USER.adding({**_cached, "content": _CONTENT}),
    "assistant": chat_types.ASSISTANT.adding(
        {
            **_cached,
            "content": nullable(_CONTENT),
            "tool_calls": nullable(items(_CALL)),
            "annotations": nullable(items(mapping)),  # of a file, to be sent back (openrouter.ai/docs, PDF inputs)
            "audio": nullable(mapping),
            "images": nullable(items(mapping)),
            "model": nullable(text),
            "reasoning": nullable(text),
            "reasoning_content": nullable(text),
            "reasoning_details": nullable(_DETAILS),
        }
    ),
    "tool": chat_types.TOOL_RESULT.adding({**_cached, "content": _CONTENT, "name": nullable(text)}),
}
_FUNCTION = chat_types.FUNCTION.adding({"name": text_up_to(64)})
_FUNCTION_TOOL = chat_types.FUNCTION_TOOL.adding({**_cached, "function": _FUNCTION})


def _tool(value: Any, path: Path) -> None:
    """A function, or one of OpenRouter's own tools, which are not checked."""
    kind = value.get("type") if isinstance(value, dict) else None
    if isinstance(kind, str) and kind not in ("function", "custom"):
        if ":" not in kind:
            raise ShapeMismatch(MismatchKind.TAG, (*path, "type"), kind, choices=("function",))
        return
    tagged("type", {"function": _FUNCTION_TOOL, "custom": chat_types.CUSTOM_TOOL})(value, path)


_number, _whole, _flag = nullable(number), nullable(integer), nullable(boolean)
_EFFORT = one_of("max", "xhigh", "high", "medium", "low", "minimal", "none")
_REASONING = RecordShape(
    {
        "effort": nullable(_EFFORT),
        "max_tokens": _whole,
        "summary": nullable(text),
        "exclude": _flag,
        "enabled": _flag,
    },
    open=True,
)
_CHOICE = chat_types.tool_choice(("none", "auto", "required", "any"), {"function": chat_types.NAMED_CHOICE})
_SCHEMA = chat_types.JSON_SCHEMA.adding({"description": nullable(text)}).opened()
_FORMATS: Mapping[str, Shape] = {
    **dict.fromkeys(("text", "json_object", "grammar", "python"), RecordShape({"type": text}, open=True)),
    "json_schema": complete(type=text, json_schema=_SCHEMA).opened(),
}
_REQUEST = RecordShape(
    {
        **dict.fromkeys(("temperature", "top_p", "min_p", "top_a", "repetition_penalty"), _number),
        **dict.fromkeys(("frequency_penalty", "presence_penalty"), _number),
        **dict.fromkeys(("max_tokens", "max_completion_tokens", "top_k", "top_logprobs", "seed", "n"), _whole),
        **dict.fromkeys(("logprobs", "stream", "parallel_tool_calls"), _flag),
        **dict.fromkeys(("model", "service_tier"), nullable(text)),
        "session_id": nullable(text_up_to(256)),
        "logit_bias": nullable(table(number)),
        "stream_options": nullable(RecordShape({"include_usage": boolean}, open=True)),
        "messages": chat_types.with_messages(_MESSAGES),
        "tools": nullable(items(_tool)),
        "tool_choice": nullable(_CHOICE),
        "response_format": nullable(tagged("type", _FORMATS)),
        "metadata": nullable(table(text)),
        "reasoning": nullable(_REASONING),
        "reasoning_effort": nullable(_EFFORT),
        "stop": chat_types.REQUEST.fields["stop"],
        "user": nullable(text),
    },
    open=True,
)
_UPSTREAM_NAMES = {"google": "Google", "anthropic": "Anthropic", "mistralai": "Mistral", "openai": "OpenAI"}
_CLAUDE = re.compile(r"claude-(?:[a-z]+-)?(\d)(?:[.-](\d{1,2}))?(?!\d)")
UpstreamCheck = Callable[[list[Any], str], None]


def render_error(refusal: ChatRefusal) -> Any:
    """`{"error": {code: number, message, metadata?}, "user_id"}`."""
    error: dict[str, Any] = {"message": refusal.message, "code": refusal.status, **refusal.more}
    return {"error": error, "user_id": "user_emulated"}


def _upstream_refusal(provider: str, status: int, raw: Any) -> ChatRefusal:
    text = raw if isinstance(raw, str) else render_json(raw).decode()
    more = {"metadata": {"raw": text, "provider_name": _UPSTREAM_NAMES.get(provider, provider)}}
    return ChatRefusal(status, "Provider returned error", more=more)


def _google_refusal(status: int, sentence: str) -> ChatRefusal:
    state = "INTERNAL" if status == 500 else "INVALID_ARGUMENT"
    return _upstream_refusal("google", status, {"error": {"code": status, "message": sentence, "status": state}})


def _anthropic_refusal(sentence: str) -> ChatRefusal:
    error = {"type": "invalid_request_error", "message": sentence}
    return _upstream_refusal("anthropic", 400, {"type": "error", "error": error})


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
    if inner is not None and effort is not None and inner != effort:
        raise ChatRefusal(400, '"reasoning.effort" and "reasoning_effort" must be equal if both are given')


def _refuse_mismatch(mismatch: ShapeMismatch, request: ReceivedRequest) -> ChatRefusal:
    return ChatRefusal(400, f"{_mismatch_words(mismatch)}: {bracketed(mismatch.path)}")


def _mismatch_words(mismatch: ShapeMismatch) -> str:
    match mismatch.kind:
        case MismatchKind.UNKNOWN:
            return f'Unrecognized key: "{mismatch.path[-1]}"'
        case MismatchKind.MISSING:
            return "Invalid input: expected a value, received undefined"
        case MismatchKind.TOO_LONG:
            return f"Too big: expected string to have <={mismatch.limit} characters"
        case MismatchKind.CHOICE | MismatchKind.TAG:
            return "Invalid option: expected one of " + "|".join(f'"{one}"' for one in mismatch.choices)
        case _:
            return f"Invalid input: expected {mismatch.expected}, received {json_type(mismatch.value).split()[-1]}"


def check_done(request: ReceivedRequest) -> None:
    """A stream's leftover in a message: OpenRouter passes it on, and Google refuses it."""
    if request.model.startswith("google/") and any("done" in message for message in request.body["messages"]):
        raise _google_refusal(
            400, "Invalid JSON payload received. Unknown name \"done\" at 'contents[0]': Cannot find field."
        )


def check_budget(request: ReceivedRequest) -> None:
    """Claude's budget for thinking is below the limit of the answer."""
    reasoning, limit = request.body.get("reasoning") or {}, request.body.get("max_tokens")
    budget = reasoning.get("max_tokens")
    if not request.model.startswith("anthropic/") or budget is None or limit is None or limit > max(budget, 1024):
        return
    raise _anthropic_refusal("`max_tokens` must be greater than `thinking.budget_tokens`.")


_ALWAYS_THINKS = re.compile(
    r"openai/gpt-5$|google/gemini-3\.7-flash|minimax/minimax-m2|stepfun/step-3\.5|deepseek/deepseek-r1"
)
"""Models of which its list or its refusals say that they cannot be told not to think."""


def check_mandatory(request: ReceivedRequest) -> None:
    """Thinking that is switched off on a model that always thinks."""
    if _is_asked(request) is False and _ALWAYS_THINKS.match(request.model):
        raise ChatRefusal(400, "Reasoning is mandatory for this endpoint and cannot be disabled.")


_CHOICES = {
    "openai": "'tool_choice' is only allowed when 'tools' are specified.",
    "anthropic": "tool_choice: tool_choice may only be specified while providing tools",
    "google": "Function calling config is set without function_declarations.",
}


def check_choice(request: ReceivedRequest) -> None:
    """A tool choice without tools, in the words of the provider behind OpenRouter."""
    vendor = request.model.split("/")[0]
    if request.body.get("tool_choice") is None or request.body.get("tools") or vendor not in _CHOICES:
        return
    raise _upstream_refusal(vendor, 400, {"error": {"message": _CHOICES[vendor]}})


def check_upstream(request: ReceivedRequest) -> None:
    """The checks of the provider behind OpenRouter."""
    check = _UPSTREAM_CHECKS.get(request.model.split("/")[0])
    if check and request.body["messages"]:
        check(request.body["messages"], request.model)


def _check_gemini(messages: list[Any], model: str) -> None:
    turns = after_opening(messages)
    if any(role(message) in ("system", "developer") for message in turns):
        raise _google_refusal(500, "Internal error encountered.")
    if turns and role(turns[0]) != "user":
        sentence = (
            "Please ensure that function call turn comes immediately after a user turn or after a function response"
        )
        raise _google_refusal(
            400, f"{sentence} turn." if turns[0].get("tool_calls") else "Please use a valid role: user, model."
        )
    silent = next((at for at, message in enumerate(turns) if _is_silent(message)), None)
    if silent is not None:
        sentence = f"* GenerateContentRequest.contents[{silent}].parts: contents.parts must not be empty."
        raise _google_refusal(400, sentence)
    odd = _odd_arguments(messages)
    if odd is not None:
        sentence = f"Invalid value at 'contents[{odd[0]}].parts[{odd[1]}].function_call.args'"
        raise _google_refusal(400, f"{sentence} (type.googleapis.com/google.protobuf.Struct)")
    if next(orphan_results(messages), None) is not None or next(unanswered_calls(messages), None) is not None:
        sentence = (
            "the number of function response parts is equal to the number of function call parts of the function call"
        )
        raise _google_refusal(400, f"Please ensure that {sentence} turn.")


_SAYS = ("content", "tool_calls", "reasoning_details", "reasoning", "reasoning_content")


def _is_silent(message: dict[str, Any]) -> bool:
    """Whether it makes no part of a content. Reasoning goes back to the model, in words too: it may make one."""
    return not any(map(message.get, _SAYS)) and role(message) in ("user", "assistant")


def _odd_arguments(messages: list[Any]) -> tuple[int, int] | None:
    """The first call whose arguments are no object: its message and its place."""
    for at, message in enumerate(messages):
        for place, tool_call in enumerate(message.get("tool_calls") or ()):
            try:
                arguments = orjson.loads(tool_call["function"]["arguments"] or "{}")
            except orjson.JSONDecodeError:
                return at, place
            if not isinstance(arguments, dict):
                return at, place
    return None


def _check_claude(messages: list[Any], model: str) -> None:
    turns = after_opening(messages)
    for at, message in enumerate(turns):
        if role(message) == "user" and message["content"] in ("", []):
            sentence = "all messages must have non-empty content except for the optional final assistant message"
            raise _anthropic_refusal(f"messages.{at}: {sentence}")
    if turns and role(turns[-1]) == "assistant" and _version(model) >= (4, 6):
        sentence = (
            "This model does not support assistant message prefill. The conversation must end with a user message."
        )
        raise _anthropic_refusal(sentence)
    odd = _odd_arguments(messages)
    if odd is not None:
        sentence = "tool_use.input: Input should be a valid dictionary"
        raise _anthropic_refusal(f"messages.{odd[0]}.content.{odd[1]}.{sentence}")
    _check_claude_pairs(messages)


def _version(model: str) -> tuple[int, int]:
    """The version of a Claude model; (0, 0) if the name has none."""
    found = _CLAUDE.search(model)
    return (int(found[1]), int(found[2] or 0)) if found else (0, 0)


def _check_claude_pairs(messages: list[Any]) -> None:
    unanswered = next(unanswered_calls(messages), None)
    if unanswered is not None:
        sentence = "`tool_use` ids were found without `tool_result` blocks immediately after"
        raise _anthropic_refusal(f"messages.{unanswered.at}: {sentence}: {', '.join(unanswered.missing)}.")
    orphan = next(orphan_results(messages), None)
    if orphan is not None:
        sentence = "unexpected `tool_use_id` found in `tool_result` blocks"
        raise _anthropic_refusal(f"messages.{orphan}.content.0: {sentence}: {messages[orphan].get('tool_call_id')}.")


def _check_id_lengths(messages: list[Any], model: str) -> None:
    limit = longest_id(chat_model(model))
    for at, message in enumerate(messages):
        for place, tool_call in enumerate(message.get("tool_calls") or ()):
            name = tool_call["id"]
            if len(name) > limit and not is_masked(name):
                path = f"messages[{at}].tool_calls[{place}].id"
                sentence = f"Expected a string with maximum length {limit}, but got a string with length {len(name)}"
                error = {"message": f"Invalid '{path}': string too long. {sentence} instead.", "param": path}
                raise _upstream_refusal("openai", 400, {"error": error | {"code": "string_above_max_length"}})


def _check_openai(messages: list[Any], model: str) -> None:
    _check_id_lengths(messages, model)
    unanswered, orphan = next(unanswered_calls(messages), None), next(orphan_results(messages), None)
    if unanswered is None and orphan is None:
        return
    sentence = (
        "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
        if unanswered is None
        else "An assistant message with 'tool_calls' must be followed by tool messages responding to each"
        f" 'tool_call_id'. The following tool_call_ids did not have response messages: {', '.join(unanswered.missing)}"
    )
    error = {"message": sentence, "type": "invalid_request_error", "param": "messages", "code": None}
    raise _upstream_refusal("openai", 400, {"error": error})


def _check_mistral(messages: list[Any], model: str) -> None:
    for before, message in pairwise(messages):
        after, now = role(before), role(message)
        if (now == "tool" and after == "user") or (now == "system" and after in ("assistant", "tool")):
            sentence = f"Unexpected role '{now}' after role '{after}'"
            error = {"object": "error", "message": sentence, "type": "invalid_request_message_order", "code": "3230"}
            raise _upstream_refusal("mistralai", 400, error)


_UPSTREAM_CHECKS: dict[str, UpstreamCheck] = {
    "google": _check_gemini,
    "anthropic": _check_claude,
    "openai": _check_openai,
    "mistralai": _check_mistral,
}


def _signature_check(strict: bool) -> Check:
    """Signatures of returned reasoning are this emulator's own, and unaltered."""

    def check(request: ReceivedRequest) -> None:
        for at, message in enumerate(request.body["messages"]):
            details = message.get("reasoning_details")
            for item in details if isinstance(details, list) else ():
                if isinstance(item, dict) and not _is_valid(item, strict):
                    raise _signature_refusal(request.model, at)

    return check


def _is_valid(item: dict[str, Any], strict: bool) -> bool:
    for key in ("signature", "data"):
        value = item.get(key)
        # null means no signature: unsigned reasoning is common behind OpenRouter
        if value is not None and check_signature("openrouter", value, strict) != "ok":
            return False
    return True


def _signature_refusal(model: str, at: int) -> ChatRefusal:
    if model.startswith("google/"):
        return _google_refusal(400, "Thought signature is not valid.")
    return _anthropic_refusal(f"messages.{at}.content.0: Invalid `signature` in `thinking` block")


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
        return ":thinking" in request.model or not (0, 0) < _version(request.model) < (5, 0)
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
        return [{"type": "reasoning.text", "text": text, "signature": signature, **claude}]
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
            check_done,
            fits(_REQUEST, _refuse_mismatch),
            check_budget,
            check_mandatory,
            check_choice,
            check_upstream,
            _signature_check(options.strict_signatures),
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
