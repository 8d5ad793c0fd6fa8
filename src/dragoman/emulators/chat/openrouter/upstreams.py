"""The providers behind OpenRouter. What OpenRouter cannot translate, the provider refuses, and its error arrives in
`metadata.raw`. The main checks of those providers are repeated here, so that this judge is independent.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import orjson

from dragoman.emulators.anthropic.schemas import limit_refused, nodes
from dragoman.emulators.chat.openai.messages import longest_id
from dragoman.emulators.chat.openai.models import chat_model
from dragoman.emulators.chat.pairs import after_opening, find_unanswered_calls, orphan_results, role
from dragoman.emulators.chat.service import ChatRefusal, Check
from dragoman.emulators.provider import ReceivedRequest
from dragoman.emulators.signatures import check_signature, is_masked, split_route
from dragoman.emulators.wire import render_json

_UPSTREAM_NAMES = {"google": "Google", "anthropic": "Anthropic", "mistralai": "Mistral", "openai": "OpenAI"}
_CLAUDE = re.compile(r"claude-(?:[a-z]+-)?(\d)(?:[.-](\d{1,2}))?(?!\d)")
UpstreamCheck = Callable[[list[Any], str], None]


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


def check_done(request: ReceivedRequest) -> None:
    """A stream's leftover in a message: OpenRouter passes it on, and Google refuses it."""
    if request.model.startswith("google/") and any("done" in message for message in request.body["messages"]):
        raise _google_refusal(
            400, "Invalid JSON payload received. Unknown name \"done\" at 'contents[0]': Cannot find field."
        )


_BLIND = re.compile(
    r"^(?:deepseek/|moonshotai/kimi-k2(?:-|$)|minimax/minimax-m[12]|z-ai/glm-(?:4\.[5-7]|5(?:\.[0-2])?)(?:-|$)"
    r"|qwen/qwen3-(?:coder|\d+b)|openai/(?:gpt-oss|gpt-3\.5|o3-mini|gpt-4$)|meta-llama/llama-3(?:\.[13])?-"
    r"|mistralai/codestral|x-ai/grok-3)"
)


def check_sight(request: ReceivedRequest) -> None:
    """Pictures for a model that sees nothing: there is no host for them."""
    contents = [message.get("content") for message in request.body["messages"]]
    parts = [part for content in contents if isinstance(content, list) for part in content]
    if _BLIND.search(request.model) and any(part.get("type") == "image_url" for part in parts):
        raise ChatRefusal(404, "No endpoints found that support image input")


def check_budget(request: ReceivedRequest) -> None:
    """Claude's budget for thinking is below the limit of the answer."""
    reasoning, limit = request.body.get("reasoning") or {}, request.body.get("max_tokens")
    budget = reasoning.get("max_tokens")
    if not request.model.startswith("anthropic/") or budget is None or limit is None or limit > max(budget, 1024):
        return
    raise _anthropic_refusal("`max_tokens` must be greater than `thinking.budget_tokens`.")


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


def check_hints(request: ReceivedRequest) -> None:
    """Claude takes four hints for its prompt cache."""
    count = _count_hints(request.body["messages"]) + _count_hints(request.body.get("tools"))
    if request.model.startswith("anthropic/") and count > 4:
        raise _anthropic_refusal(f"A maximum of 4 blocks with cache_control may be provided. Found {count}.")


def check_schema(request: ReceivedRequest) -> None:
    """The schema of Claude's answer: https://github.com/sherifkozman/the-llm-council/pull/55"""
    wanted = (request.body.get("response_format") or {}).get("json_schema") or {}
    if not request.model.startswith("anthropic/") or not isinstance(wanted.get("schema"), dict):
        return
    refused = filter(None, (limit_refused(node) for node in nodes(wanted["schema"]) if isinstance(node, dict)))
    for sentence in refused:
        raise _anthropic_refusal(f"output_config.format.schema: {sentence}")


def _count_hints(value: Any) -> int:
    if isinstance(value, list):
        return sum(map(_count_hints, value))
    if not isinstance(value, dict):
        return 0
    return (value.get("cache_control") is not None) + _count_hints(value.get("content"))


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
    if next(orphan_results(messages), None) is not None or next(find_unanswered_calls(messages), None) is not None:
        sentence = (
            "the number of function response parts is equal to the number of function call parts of the function call"
        )
        raise _google_refusal(400, f"Please ensure that {sentence} turn.")
    _check_gemini_steps(messages, model)


_SKIP = "skip_thought_signature_validator"
_FORMATS = {
    "google": "google-gemini-v1",
    "anthropic": "anthropic-claude-v1",
    "openai": "openai-responses-v1",
    "x-ai": "xai-responses-v1",
}


def _check_gemini_steps(messages: list[Any], model: str) -> None:
    """Gemini 3 wants a signature for each step since the last turn of the user: one entry, under the id of its first
    call or without one."""
    if re.match(r"google/gemini-[3-9]", model) is None:
        return
    last = max((at for at, message in enumerate(messages) if role(message) == "user"), default=-1)
    for at, message in enumerate(messages):
        calls = message.get("tool_calls") or ()
        if at <= last or not calls:
            continue
        entries = [
            item for item in message.get("reasoning_details") or () if isinstance(item, dict) and item.get("data")
        ]
        if not entries:
            name = calls[0]["function"]["name"]
            raise _google_refusal(
                400,
                "Gemini models require OpenRouter reasoning details to be preserved in each request. Upstream error:"
                f" Function call is missing a thought_signature in functionCall parts. Additional data, function call"
                f" `default_api:{name}` , position {at + 1}.",
            )
        skips = [item for item in entries if item["data"] == _SKIP]
        if skips and (len(entries) > 1 or skips[0].get("id") != calls[0]["id"] or skips[0].get("index") != 0):
            raise _google_refusal(400, "Unable to submit request because Thought signature is not valid")


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


def check_thinking(request: ReceivedRequest) -> None:
    """Claude up to 4.5, told to think, wants its thinking back with the last calls, and is not made to call."""
    reasoning = request.body.get("reasoning")
    thinks = isinstance(reasoning, dict) and reasoning.get("enabled") is not False
    thinks = thinks and any(reasoning.get(key) for key in ("effort", "max_tokens", "enabled"))
    if not thinks or not (0, 0) < claude_version(request.model) < (4, 6) or reasoning.get("effort") == "none":
        return
    if request.body.get("tool_choice") not in (None, "auto", "none"):
        raise _anthropic_refusal("Thinking may not be enabled when tool_choice forces tool use.")
    messages = request.body["messages"]
    at = len(messages) - 1
    while at >= 0 and role(messages[at]) == "tool":
        at -= 1
    if at == len(messages) - 1 or at < 0 or role(messages[at]) != "assistant":
        return
    entries = messages[at].get("reasoning_details")
    if not any(item.get("signature") or item.get("data") for item in entries or () if isinstance(item, dict)):
        raise _anthropic_refusal(
            f"messages.{at}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When"
            " `thinking` is enabled, a final `assistant` message must start with a thinking block."
        )


def _check_claude(messages: list[Any], model: str) -> None:
    turns = after_opening(messages)
    for turn in turns:
        content = turn.get("content")
        if (
            role(turn) == "assistant"
            and isinstance(content, str)
            and not content.strip()
            and not turn.get("tool_calls")
        ):
            raise _anthropic_refusal("messages: text content blocks must be non-empty")
    last = turns[-1].get("content") if turns and role(turns[-1]) == "assistant" else ""
    if isinstance(last, str) and last != last.rstrip():
        raise _anthropic_refusal("messages: final assistant content cannot end with trailing whitespace")
    for at, message in enumerate(turns):
        if role(message) == "user" and message["content"] in ("", []):
            sentence = "all messages must have non-empty content except for the optional final assistant message"
            raise _anthropic_refusal(f"messages.{at}: {sentence}")
    if turns and role(turns[-1]) == "assistant" and claude_version(model) >= (4, 6):
        sentence = (
            "This model does not support assistant message prefill. The conversation must end with a user message."
        )
        raise _anthropic_refusal(sentence)
    odd = _odd_arguments(messages)
    if odd is not None:
        sentence = "tool_use.input: Input should be a valid dictionary"
        raise _anthropic_refusal(f"messages.{odd[0]}.content.{odd[1]}.{sentence}")
    _check_claude_pairs(messages)


def claude_version(model: str) -> tuple[int, int]:
    """The version of a Claude model; (0, 0) if the name has none."""
    found = _CLAUDE.search(model)
    return (int(found[1]), int(found[2] or 0)) if found else (0, 0)


def _check_claude_pairs(messages: list[Any]) -> None:
    unanswered = next(find_unanswered_calls(messages), None)
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
    unanswered, orphan = next(find_unanswered_calls(messages), None), next(orphan_results(messages), None)
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


def signature_check(strict: bool) -> Check:
    """Signatures of returned reasoning are this emulator's own and unaltered, and of the model that is asked."""

    def check(request: ReceivedRequest) -> None:
        for at, message in enumerate(request.body["messages"]):
            details = message.get("reasoning_details")
            for item in details if isinstance(details, list) else ():
                for key in ("signature", "data") if isinstance(item, dict) else ():
                    _check_format(item, key, request.model, at)
                    if not _is_skip(item, request.model):
                        _check_proof(item.get(key), request.model, at, strict)

    return check


def _is_skip(item: dict[str, Any], model: str) -> bool:
    """Whether it is the value with which Gemini 3 checks no signature."""
    return item.get("data") == _SKIP and re.match(r"google/gemini-[3-9]", model) is not None


def _check_format(item: dict[str, Any], key: str, model: str, at: int) -> None:
    """What another vendor's model signed or encrypted is refused."""
    own, given = _FORMATS.get(model.split("/")[0]), item.get("format")
    if item.get(key) is None or own is None or given in (None, "", "unknown") or str(given).endswith(own):
        return
    if given in _FORMATS.values():
        raise _signature_refusal(model, at)


def _check_proof(value: object, model: str, at: int, strict: bool) -> None:
    if value is None:
        return  # unsigned reasoning is common behind OpenRouter
    signature, made_by = split_route(value)
    if made_by and made_by != model:
        sentence = (
            "Your request contains encrypted reasoning or compaction content that was produced under a different model."
            " Encrypted payloads can only be replayed to the endpoint that created them. Send this conversation to the"
            " original model, or start a new conversation without the encrypted items."
        )
        raise ChatRefusal(404, sentence, more={"metadata": {"pinned_endpoint_slug": made_by}})
    if check_signature("openrouter", signature, strict) != "ok":
        raise _signature_refusal(model, at)


def _signature_refusal(model: str, at: int) -> ChatRefusal:
    if model.startswith("google/"):
        return _google_refusal(400, "Thought signature is not valid.")
    return _anthropic_refusal(f"messages.{at}.content.0: Invalid `signature` in `thinking` block")
