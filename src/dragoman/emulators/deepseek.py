"""DeepSeek: ignores stray keys, deserialises strictly, and wants its reasoning back.

v4 thinks unless told not to. While it thinks, an assistant turn that called tools must bring back its
`reasoning_content` (empty text will do), and a tool cannot be forced.
"""

from __future__ import annotations

from typing import Any

from dragoman.emulators.chat_answers import UsagePlace, Voice, plain_usage
from dragoman.emulators.chat_service import Chat, Complaint
from dragoman.emulators.pairs import gaps, orphans
from dragoman.emulators.provider import FaultKind, Options, Provider, Received
from dragoman.emulators.usage import Usage
from dragoman.emulators.wire import token

_ROLES = ("system", "user", "assistant", "tool")


def refused(words: str) -> Complaint:
    return Complaint(400, words, code="invalid_request_error")


def _undeserialised(call: Received, words: str) -> Complaint:
    place = f" at line 1 column {len(call.raw)}"
    return refused(f"Failed to deserialize the JSON body into the target type: {words}{place}")


def typed(call: Received) -> Complaint | None:
    """The body must fit the service's types."""
    for key in ("messages", "model"):
        if call.body.get(key) is None:
            return _undeserialised(call, f"missing field `{key}`")
    messages = call.body["messages"]
    if not isinstance(messages, list):
        return _undeserialised(call, "messages: invalid type: expected a sequence")
    for at, message in enumerate(messages):
        fault = _message(message)
        if fault is not None:
            return _undeserialised(call, f"messages[{at}]{fault}")
    return None


def _message(message: Any) -> str | None:
    if not isinstance(message, dict):
        return ": invalid type, expected internally tagged enum"
    role = message.get("role")
    if role is None:
        return ": missing field `role`"
    if role not in _ROLES:
        expected = ", ".join(f"`{one}`" for one in _ROLES)
        return f".role: unknown variant `{role}`, expected one of {expected}"
    if role == "tool" and message.get("tool_call_id") is None:
        return ": missing field `tool_call_id`"
    if role in ("system", "user", "tool") and message.get("content") is None:
        return ": missing field `content`"
    return _parts(message.get("content")) or _calls(message.get("tool_calls"))


def _parts(content: Any) -> str | None:
    if content is None or isinstance(content, str):
        return None
    if not isinstance(content, list):
        return ": invalid type: expected a string or a list of content parts"
    sorts = [part.get("type") if isinstance(part, dict) else None for part in content]
    stray = next((sort for sort in sorts if sort != "text"), "text")
    return None if stray == "text" else f": unknown variant `{stray}`, expected `text`"


def _calls(calls: Any) -> str | None:
    if calls is None:
        return None
    if not isinstance(calls, list):
        return ".tool_calls: invalid type: expected a sequence"
    for at, made in enumerate(calls):
        if not isinstance(made, dict):
            return f".tool_calls[{at}]: invalid type: expected struct ToolCall"
        function = made.get("function")
        if not isinstance(function, dict):
            return f".tool_calls[{at}]: missing field `function`"
        if not isinstance(function.get("arguments"), str):
            return f".tool_calls[{at}].function.arguments: invalid type: expected a string"
    return None


def tools_typed(call: Received) -> Complaint | None:
    declared = call.body.get("tools") or []
    if not isinstance(declared, list):
        return _undeserialised(call, "tools: invalid type: expected a sequence")
    for at, tool in enumerate(declared):
        sort = tool.get("type") if isinstance(tool, dict) else None
        if sort != "function":
            return _undeserialised(call, f"tools[{at}].type: unknown variant `{sort}`, expected `function`")
        function = tool.get("function")
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            return _undeserialised(call, f"tools[{at}].function: missing field `name`")
    return None


def thinks(call: Received) -> bool:
    """Whether this request is answered by thinking: v4 does unless told not to; of others it is not known."""
    asked = call.body.get("thinking")
    if isinstance(asked, dict) and asked.get("type") in ("enabled", "disabled"):
        return bool(asked["type"] == "enabled")
    return "v4" in call.model


def choice(call: Received) -> Complaint | None:
    wanted = call.body.get("tool_choice")
    forced = wanted == "required" or isinstance(wanted, dict)
    return refused("Thinking mode does not support this tool_choice") if forced and thinks(call) else None


def reasoning(call: Received) -> Complaint | None:
    """The reasoning of every turn that called tools comes back. Known of v4 alone."""
    if not (thinks(call) and "v4" in call.model):
        return None
    for message in call.body["messages"]:
        if message.get("tool_calls") and message.get("reasoning_content") is None:
            return refused("The reasoning_content in the thinking mode must be passed back to the API.")
    return None


def paired(call: Received) -> Complaint | None:
    messages = call.body["messages"]
    gap = next(gaps(messages), None)
    orphan = next(orphans(messages), None)
    if orphan is not None and (gap is None or orphan < gap.at):
        return refused("Messages with role 'tool' must be a response to a preceding message with 'tool_calls'")
    if gap is not None:
        return refused(
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each"
            " 'tool_call_id'. (insufficient tool messages following tool_calls message)"
        )
    return None


def _usage(usage: Usage) -> dict[str, Any]:
    made = {
        **plain_usage(usage),
        "prompt_tokens_details": {"cached_tokens": usage.cached},
        "prompt_cache_hit_tokens": usage.cached,
        "prompt_cache_miss_tokens": usage.input - usage.cached,
    }
    if usage.reasoning:
        made["completion_tokens_details"] = {"reasoning_tokens": usage.reasoning}
    return made


VOICE = Voice(
    answer_id=lambda seed: token("", 32, seed, alphabet="0123456789abcdef"),
    call_id=lambda seed, index: token(f"call_{index:02d}_", 24, seed, index),
    reasoning="reasoning_content",
    usage=UsagePlace.FINISH,
    usage_shape=_usage,
    numbered_calls=True,
    empty_content="",
    top={"system_fingerprint": "fp_emulated_deepseek"},
)

FAULTS = {
    FaultKind.AUTH: Complaint(
        401,
        "Authentication Fails, Your api key: ****-key is invalid",
        "authentication_error",
        code="invalid_request_error",
    ),
    FaultKind.MODEL: Complaint(
        400,
        "The supported API model names are deepseek-v4-pro or deepseek-v4-flash, but you passed {model}.",
        code="invalid_request_error",
    ),
    FaultKind.CONTEXT: Complaint(
        400,
        "This model's maximum context length is 1048565 tokens. However, you requested {tokens} tokens ({tokens} in the"
        " messages, 0 in the completion). Please reduce the length of the messages or completion.",
        code="invalid_request_error",
    ),
}


def provider(options: Options) -> Provider:
    """The emulator of `api.deepseek.com`, with and without `/v1`."""
    return Chat(
        name="deepseek",
        options=options,
        checks=(typed, tools_typed, choice, reasoning, paired),
        voice=VOICE,
        root="",
        further_paths=("/v1/chat/completions", "/beta/chat/completions", "/beta/v1/chat/completions"),
        faults=FAULTS,
        not_json=refused("Failed to parse the request body as JSON: expected value at line 1 column 1"),
        example_model="deepseek-v4-flash",
        offers=("deepseek-v4-flash", "deepseek-v4-pro"),
    )
