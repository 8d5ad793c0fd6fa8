"""OpenRouter: tolerant itself, and as strict as whoever stands behind it.

The first part of a model's name tells the upstream. What OpenRouter cannot translate, the upstream refuses, and its
words arrive in `metadata.raw`. The upstreams' rules are kept here in small, so that this judge stands alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from dragoman.emulators.chat_answers import UsagePlace, Voice, plain_usage
from dragoman.emulators.chat_service import Chat, Complaint
from dragoman.emulators.openai_types import kind
from dragoman.emulators.pairs import gaps, orphans, role
from dragoman.emulators.provider import FaultKind, Options, Provider, Received
from dragoman.emulators.signatures import mint, verdict
from dragoman.emulators.usage import Usage
from dragoman.emulators.wire import comment, compact, token

_ROLES = ("system", "developer", "user", "assistant", "tool")
_NAMES = {"google": "Google", "anthropic": "Anthropic", "mistralai": "Mistral", "openai": "OpenAI"}
_CLAUDE = re.compile(r"claude-(?:[a-z]+-)?(\d)(?:[.-](\d{1,2}))?(?!\d)")
_ANYWHERE = "; the directive-only form (content: [] with output_config) is accepted at any position"
Upstream = Callable[[list[Any], str], "Complaint | None"]


def shape(complaint: Complaint) -> Any:
    """`{"error": {code: number, message, metadata?}, "user_id"}`."""
    error: dict[str, Any] = {"message": complaint.message, "code": complaint.status, **complaint.more}
    return {"error": error, "user_id": "user_emulated"}


def _from(provider: str, status: int, raw: Any) -> Complaint:
    text = raw if isinstance(raw, str) else compact(raw).decode()
    more = {"metadata": {"raw": text, "provider_name": _NAMES.get(provider, provider)}}
    return Complaint(status, "Provider returned error", more=more)


def _google(status: int, words: str) -> Complaint:
    state = "INTERNAL" if status == 500 else "INVALID_ARGUMENT"
    return _from("google", status, {"error": {"code": status, "message": words, "status": state}})


def _anthropic(words: str) -> Complaint:
    return _from("anthropic", 400, {"type": "error", "error": {"type": "invalid_request_error", "message": words}})


def own(call: Received) -> Complaint | None:
    """What OpenRouter itself checks."""
    messages = call.body.get("messages")
    if messages is None:
        return Complaint(400, 'Input required: specify "prompt" or "messages"')
    if not isinstance(messages, list):
        return Complaint(400, f"Invalid input: expected array, received {kind(messages).split()[-1]}")
    for at, message in enumerate(messages):
        if role(message) not in _ROLES:
            return Complaint(400, f"Invalid input: messages[{at}].role")
        if not _content_fits(message):
            return Complaint(400, f"Invalid input: messages[{at}].content")
    return _efforts(call.body)


def _content_fits(message: dict[str, Any]) -> bool:
    content = message.get("content")
    if content is None:
        return role(message) == "assistant"
    return isinstance(content, str) or (isinstance(content, list) and all(isinstance(part, dict) for part in content))


def _efforts(body: dict[str, Any]) -> Complaint | None:
    reasoning, effort = body.get("reasoning"), body.get("reasoning_effort")
    inner = reasoning.get("effort") if isinstance(reasoning, dict) else None
    if inner is not None and effort is not None and inner != effort:
        return Complaint(400, '"reasoning.effort" and "reasoning_effort" must be equal if both are given')
    return None


def upstream(call: Received) -> Complaint | None:
    """The rules of the service behind."""
    maker = call.model.split("/")[0]
    rules = _UPSTREAMS.get(maker)
    return rules(call.body["messages"], call.model) if rules and call.body["messages"] else None


def _gemini(messages: list[Any], model: str) -> Complaint | None:
    turns = _after_opening(messages)
    if any(role(message) in ("system", "developer") for message in turns):
        return _google(500, "Internal error encountered.")
    if any("done" in message for message in messages):
        return _google(400, "Invalid JSON payload received. Unknown name \"done\" at 'contents[0]': Cannot find field.")
    if turns and role(turns[0]) != "user":
        words = "Please ensure that function call turn comes immediately after a user turn or after a function response"
        return _google(400, f"{words} turn." if turns[0].get("tool_calls") else "Please use a valid role: user, model.")
    if next(orphans(messages), None) is not None or next(gaps(messages), None) is not None:
        words = (
            "the number of function response parts is equal to the number of function call parts of the function call"
        )
        return _google(400, f"Please ensure that {words} turn.")
    return None


def _claude(messages: list[Any], model: str) -> Complaint | None:
    turns = _after_opening(messages)
    late = _late_system(turns, model)
    if late is not None:
        return late
    for at, message in enumerate(turns):
        if role(message) == "user" and message["content"] in ("", []):
            words = "all messages must have non-empty content except for the optional final assistant message"
            return _anthropic(f"messages.{at}: {words}")
    if turns and role(turns[-1]) == "assistant" and _version(model) >= (4, 6):
        words = "This model does not support assistant message prefill. The conversation must end with a user message."
        return _anthropic(words)
    return _claude_pairs(messages)


def _version(model: str) -> tuple[int, int]:
    """Claude's generation; (0, 0) where the name does not tell."""
    found = _CLAUDE.search(model)
    return (int(found[1]), int(found[2] or 0)) if found else (0, 0)


def _late_system(turns: list[Any], model: str) -> Complaint | None:
    places = [at for at, message in enumerate(turns) if role(message) in ("system", "developer")]
    for at in places:
        if at + 1 in places:  # a run counts as one; its last member is reported
            continue
        if _version(model) < (4, 8):
            return _anthropic("role 'system' is not supported on this model")
        first = at
        while first - 1 in places:
            first -= 1
        if first == 0 or role(turns[first - 1]) not in ("user", "tool"):
            words = "must follow a 'user' message or an 'assistant' message ending in a server tool result"
            return _anthropic(f"messages.{at}: role 'system' {words}{_ANYWHERE}")
        if at + 1 < len(turns) and role(turns[at + 1]) != "assistant":
            words = "must precede an 'assistant' message or end the array"
            return _anthropic(f"messages.{at}: role 'system' {words}{_ANYWHERE}")
    return None


def _claude_pairs(messages: list[Any]) -> Complaint | None:
    gap = next(gaps(messages), None)
    if gap is not None:
        words = "`tool_use` ids were found without `tool_result` blocks immediately after"
        return _anthropic(f"messages.{gap.at}: {words}: {', '.join(gap.missing)}.")
    orphan = next(orphans(messages), None)
    if orphan is not None:
        words = "unexpected `tool_use_id` found in `tool_result` blocks"
        return _anthropic(f"messages.{orphan}.content.0: {words}: {messages[orphan].get('tool_call_id')}.")
    return None


def _openai(messages: list[Any], model: str) -> Complaint | None:
    gap, orphan = next(gaps(messages), None), next(orphans(messages), None)
    if gap is None and orphan is None:
        return None
    words = (
        "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
        if gap is None
        else "An assistant message with 'tool_calls' must be followed by tool messages responding to each"
        f" 'tool_call_id'. The following tool_call_ids did not have response messages: {', '.join(gap.missing)}"
    )
    error = {"message": words, "type": "invalid_request_error", "param": "messages", "code": None}
    return _from("openai", 400, {"error": error})


def _mistral(messages: list[Any], model: str) -> Complaint | None:
    for before, message in pairwise(messages):
        after, now = role(before), role(message)
        if (now == "tool" and after == "user") or (now == "system" and after in ("assistant", "tool")):
            words = f"Unexpected role '{now}' after role '{after}'"
            error = {"object": "error", "message": words, "type": "invalid_request_message_order", "code": "3230"}
            return _from("mistralai", 400, error)
    return None


_UPSTREAMS: dict[str, Upstream] = {
    "google": _gemini,
    "anthropic": _claude,
    "openai": _openai,
    "mistralai": _mistral,
}


def _after_opening(messages: list[Any]) -> list[Any]:
    start = 0
    while start < len(messages) and role(messages[start]) in ("system", "developer"):
        start += 1
    return messages[start:]


def _signed(strict: bool) -> Callable[[Received], Complaint | None]:
    """Reasoning that comes back with a signature carries one of ours, whole and unaltered."""

    def check(call: Received) -> Complaint | None:
        for at, message in enumerate(call.body["messages"]):
            details = message.get("reasoning_details")
            for item in details if isinstance(details, list) else ():
                if isinstance(item, dict) and not _holds(item, strict):
                    return _unsigned(call.model, at)
        return None

    return check


def _holds(item: dict[str, Any], strict: bool) -> bool:
    for key in ("signature", "data"):
        value = item.get(key)
        # a null signature stands for none: unsigned reasoning is common behind OpenRouter
        if value is not None and verdict("openrouter", value, strict) != "ok":
            return False
    return True


def _unsigned(model: str, at: int) -> Complaint:
    if model.startswith("google/"):
        return _google(400, "Thought signature is not valid.")
    return _anthropic(f"messages.{at}.content.0: Invalid `signature` in `thinking` block")


def _details(call: Received, text: str) -> list[Any]:
    """Reasoning in the form of the upstream's maker."""
    signature = mint("openrouter", text)
    shared = {"index": 0, "id": token("rs_", 16, text)}
    if call.model.startswith("google/"):
        summary = {"type": "reasoning.text", "text": text, "format": "google-gemini-v1", "index": 0}
        return [summary, {"type": "reasoning.encrypted", "data": signature, "format": "google-gemini-v1", **shared}]
    if call.model.startswith("anthropic/"):
        claude = {"format": "anthropic-claude-v1", "index": 0}
        return [{"type": "reasoning.text", "text": text, "signature": signature, **claude}]
    return [{"type": "reasoning.summary", "summary": text, "format": "unknown", "index": 0}]


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        **plain_usage(usage),
        "cost": usage.total / 1_000_000,
        "is_byok": False,
        "prompt_tokens_details": {"cached_tokens": usage.cached, "cache_write_tokens": 0, "audio_tokens": 0},
        "cost_details": {"upstream_inference_cost": usage.total / 1_000_000},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning, "audio_tokens": 0},
    }


def _error_frame(complaint: Complaint, call: Received) -> Any:
    """An error after the start: a chunk with `error` at its top and the finish reason `error`, inside a 200."""
    error = {"code": complaint.status, "message": complaint.message, "metadata": {"error_type": "provider_unavailable"}}
    choice = {
        "index": 0,
        "delta": {"role": "assistant", "content": ""},
        "finish_reason": "error",
        "native_finish_reason": "error",
    }
    head = {"id": token("gen-", 24, call.model), "object": "chat.completion.chunk", "model": call.model}
    return {**head, "error": error, "choices": [choice]}


VOICE = Voice(
    answer_id=lambda seed: token("gen-1767225600-", 20, seed),
    reasoning="reasoning",
    details=_details,
    usage=UsagePlace.FINISH,
    usage_shape=_usage,
    numbered_calls=True,
    opening=(comment("OPENROUTER PROCESSING"), comment("OPENROUTER PROCESSING")),
    top={"provider": "Emulated"},
    message={"refusal": None, "reasoning": None},
    choice=lambda reason: {"native_finish_reason": reason},
)

FAULTS = {
    FaultKind.AUTH: Complaint(401, "No cookie auth credentials found"),
    FaultKind.MODEL: Complaint(400, "{model} is not a valid model ID"),
    FaultKind.RATE: Complaint(429, "Rate limit exceeded: limit_rpm/{model}. High demand, please retry shortly."),
    FaultKind.SERVER: Complaint(500, "Internal Server Error"),
    FaultKind.OVERLOADED: Complaint(503, "No allowed providers are available for the selected model."),
    FaultKind.CONTEXT: Complaint(
        400,
        "This endpoint's maximum context length is 200000 tokens. However, you requested about {tokens} tokens"
        " ({tokens} of text input). Please reduce the length of either one, or use the context-compression plugin to"
        " compress your prompt automatically.",
    ),
}


def provider(options: Options) -> Provider:
    """The emulator of `openrouter.ai`."""
    return Chat(
        name="openrouter",
        options=options,
        checks=(own, upstream, _signed(options.strict_signatures)),
        voice=VOICE,
        root="/api/v1",
        shape=shape,
        faults=FAULTS,
        not_json=Complaint(400, "Invalid JSON body"),
        error_frame=_error_frame,
        stream_type="text/event-stream",
        example_model="openai/gpt-4o-mini",
        offers=("openai/gpt-4o-mini", "anthropic/claude-haiku-4.5", "google/gemini-2.5-flash"),
    )
