"""What local servers check before the template runs: llama.cpp, vLLM, SGLang, Ollama, LM Studio, or nothing at all.

Read from the servers' own sources, as the contracts quote them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from dragoman.emulators.chat_answers import Voice
from dragoman.emulators.chat_service import NOT_JSON, Check, Complaint, Shape, openai_shape
from dragoman.emulators.provider import FaultKind, Received
from dragoman.emulators.wire import token


def _llamacpp_shape(complaint: Complaint) -> Any:
    sort = "server_error" if complaint.status >= 500 else complaint.type
    return {"error": {"code": complaint.status, "message": complaint.message, "type": sort, **complaint.more}}


def _vllm_shape(complaint: Complaint) -> Any:
    names = {404: "NotFoundError", 401: "AuthenticationError", 500: "InternalServerError"}
    sort = names.get(complaint.status, "BadRequestError")
    error = {"message": complaint.message, "type": sort, "param": complaint.param, "code": complaint.status}
    return {"error": error}


def plain(call: Received) -> Complaint | None:
    """Messages are a list of objects with roles: what every server needs to run a template."""
    messages = call.body.get("messages")
    if not isinstance(messages, list):
        return Complaint(400, "'messages' is required" if messages is None else "Expected 'messages' to be an array")
    for message in messages:
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            shown = orjson.dumps(message).decode()
            return Complaint(400, f"Failed to parse messages: Missing 'role' in message: {shown}")
    return None


# llama.cpp

_CPP_PARTS = ("text", "image_url", "input_audio", "input_video")
_CPP_NUMBERS = ("temperature", "top_p", "top_k", "min_p", "max_tokens", "seed", "presence_penalty", "frequency_penalty")
_CPP_TYPES = ((bool, "boolean"), (str, "string"), (list, "array"), (dict, "object"))
_CPP_FORMATS = ("text", "json_object", "json_schema")


def _cpp_messages(vision: bool) -> Check:
    def check(call: Received) -> Complaint | None:
        for message in call.body["messages"]:
            complaint = _cpp_content(message, vision) or _cpp_calls(message.get("tool_calls"))
            if complaint is not None:
                return complaint
        last = [message["role"] for message in call.body["messages"][-2:]]
        if last == ["assistant", "assistant"]:
            return Complaint(400, "Cannot have 2 or more assistant messages at the end of the list.")
        return None

    return check


def _cpp_content(message: dict[str, Any], vision: bool) -> Complaint | None:
    if message["role"] != "assistant" and "content" not in message:
        return Complaint(400, "All non-assistant messages must contain 'content'")
    if message["role"] == "assistant" and "content" not in message and not message.get("tool_calls"):
        return Complaint(400, "Assistant message must contain either 'content' or 'tool_calls'!")
    content = message.get("content")
    if content is None or isinstance(content, str):
        return None
    if not isinstance(content, list):
        return Complaint(400, "Expected 'content' to be a string or an array")
    for part in content:
        sort = part.get("type") if isinstance(part, dict) else None
        if sort not in _CPP_PARTS:
            return Complaint(400, "unsupported content[].type")
        if sort == "image_url" and not vision:
            words = "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"
            return Complaint(500, words)
    return None


def _cpp_calls(calls: Any) -> Complaint | None:
    for made in calls if isinstance(calls, list) else ():
        shown = orjson.dumps(made).decode()
        if not isinstance(made, dict) or "type" not in made:
            return Complaint(400, f"Missing tool call type: {shown}")
        if made["type"] != "function":
            return Complaint(400, f"Unsupported tool call type: {shown}")
    return None


def _cpp_settings(call: Received) -> Complaint | None:
    body = call.body
    for name in _CPP_NUMBERS:
        sort = next((words for of, words in _CPP_TYPES if isinstance(body.get(name), of)), None)
        if sort is not None:
            words = f"[json.exception.type_error.302] type must be number, but is {sort}"
            return Complaint(400, f"Field '{name}': {words}")
    choice = body.get("tool_choice")
    if isinstance(choice, str) and choice not in ("auto", "none", "required"):
        return Complaint(400, f"Invalid tool_choice: {choice}")
    return _cpp_format(body) or _cpp_clashes(call)


def _cpp_format(body: dict[str, Any]) -> Complaint | None:
    wanted = body.get("response_format")
    sort = wanted.get("type") if isinstance(wanted, dict) else None
    if sort is None or sort in _CPP_FORMATS:
        return None
    return Complaint(400, f'response_format type must be one of "text" or "json_object", but got: {sort}')


def _cpp_clashes(call: Received) -> Complaint | None:
    body = call.body
    # a schema in `response_format` beside a grammar is taken (recorded); only the server's own two keys clash
    if body.get("grammar") and body.get("json_schema"):
        return Complaint(500, "Cannot use both json_schema and grammar")
    if body.get("grammar") and body.get("tools"):
        return Complaint(400, "Cannot use custom grammar constraints with tools.")
    if body.get("tools") and body.get("logprobs") and call.stream:
        return Complaint(400, "logprobs is not supported with tools + stream")
    return None


# vLLM

_VLLM_PARTS = (
    "text",
    "refusal",
    "image_url",
    "input_image",
    "image_embeds",
    "image_pil",
    "audio_url",
    "input_audio",
    "audio_embeds",
    "video_url",
    "prompt_embeds",
    "thinking",
    "tool_reference",
)


def _vllm_messages(call: Received) -> Complaint | None:
    for message in call.body["messages"]:
        content = message.get("content")
        for part in content if isinstance(content, list) else ():
            sort = part.get("type") if isinstance(part, dict) else "text"
            if sort not in _VLLM_PARTS and not (isinstance(part, dict) and "type" not in part):
                listed = ", ".join(_VLLM_PARTS)
                return Complaint(400, f"Unsupported chat content part type: '{sort}'. Supported types: {listed}.")
        complaint = _vllm_calls(message.get("tool_calls"))
        if complaint is not None:
            return complaint
    return None


def _vllm_calls(calls: Any) -> Complaint | None:
    for made in calls if isinstance(calls, list) else ():
        function = made.get("function") if isinstance(made, dict) else None
        if not isinstance(function, dict):
            return Complaint(400, "tool_calls entries must be objects of type function")
        arguments = function.get("arguments")
        try:
            orjson.loads(arguments or "{}") if isinstance(arguments, str | None) else None
        except orjson.JSONDecodeError as error:
            return Complaint(400, f"tool call arguments must be valid JSON: {error}")
    return None


def _vllm_settings(call: Received) -> Complaint | None:
    body = call.body
    tools, choice = body.get("tools"), body.get("tool_choice")
    if tools == []:
        words = "`tools` must not be an empty array. Either provide at least one tool or omit the field entirely."
        return Complaint(400, words)
    if choice not in (None, "none") and not tools:
        return Complaint(400, "When using `tool_choice`, `tools` must be set.")
    if isinstance(choice, str) and choice not in ("none", "auto", "required"):
        words = f"Invalid value for `tool_choice`: {choice}! Only named tools, "
        return Complaint(400, words + '"none", "auto" or "required" are supported.')
    if isinstance(choice, dict) and not _names_tool(choice, tools):
        return Complaint(400, "The tool specified in `tool_choice` does not match any of the specified `tools`")
    if body.get("stream_options") is not None and not call.stream:
        return Complaint(400, "Stream options can only be defined when `stream=True`.")
    if body.get("continue_final_message") and body.get("add_generation_prompt"):
        words = "Cannot set both `continue_final_message` and `add_generation_prompt` to True."
        return Complaint(400, words)
    return None


def _names_tool(choice: dict[str, Any], tools: Any) -> bool:
    function = choice.get("function")
    name = function.get("name") if isinstance(function, dict) else None
    declared = [tool.get("function") for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []
    return any(isinstance(one, dict) and one.get("name") == name for one in declared)


# SGLang

_SGLANG_ROLES = ("system", "assistant", "tool", "function", "developer", "latest_reminder", "user")


def _sglang_messages(call: Received) -> Complaint | None:
    messages = call.body["messages"]
    if not messages:
        return Complaint(400, "Messages cannot be empty.")
    for message in messages:
        if message["role"].lower() not in _SGLANG_ROLES:
            listed = ", ".join(f"'{one}'" for one in _SGLANG_ROLES)
            return Complaint(400, f"'role' must be one of {listed} (case-insensitive).")
        if message["role"] == "user" and not isinstance(message.get("content"), str | list):
            return Complaint(400, "Input should be a valid string", param="content")
    return None


def _sglang_settings(call: Received) -> Complaint | None:
    choice, tools = call.body.get("tool_choice"), call.body.get("tools")
    if tools or choice in (None, "auto", "none"):
        return None
    kind = "required" if choice == "required" else "a specific tool"
    return Complaint(400, f"Tools cannot be empty if tool choice is set to {kind}.")


# Ollama

_EFFORTS = ("minimal", "low", "medium", "high", "xhigh", "ultra", "max", "none")


def _ollama_messages(call: Received) -> Complaint | None:
    for message in call.body["messages"]:
        complaint = _ollama_content(message) or _ollama_calls(message.get("tool_calls"))
        if complaint is not None:
            return complaint
    return None


def _ollama_content(message: dict[str, Any]) -> Complaint | None:
    content = message.get("content")
    if isinstance(content, str) or (content is None and message.get("tool_calls")):
        return None
    if not isinstance(content, list):
        shown = "<nil>" if content is None else type(content).__name__
        return Complaint(400, f"invalid message content type: {shown}")
    for part in content:
        sort = part.get("type") if isinstance(part, dict) else None
        if sort not in ("text", "image_url", "input_audio"):
            return Complaint(400, "invalid message format")
        if sort == "image_url":
            complaint = _ollama_image(part.get("image_url"))
            if complaint is not None:
                return complaint
    return None


def _ollama_image(image: Any) -> Complaint | None:
    url = image.get("url") if isinstance(image, dict) else image
    if not isinstance(url, str):
        return Complaint(400, "invalid message format")
    if url.startswith(("http://", "https://")):
        words = "image URLs are not currently supported, please use base64 encoded data instead"
        return Complaint(400, words)
    kinds = tuple(f"data:image/{kind};base64," for kind in ("jpeg", "jpg", "png", "webp"))
    return None if url.startswith(kinds) else Complaint(400, "invalid image input")


def _ollama_calls(calls: Any) -> Complaint | None:
    for made in calls if isinstance(calls, list) else ():
        function = made.get("function") if isinstance(made, dict) else None
        arguments = function.get("arguments") if isinstance(function, dict) else None
        try:
            fits = isinstance(arguments, str) and isinstance(orjson.loads(arguments), dict)
        except orjson.JSONDecodeError:
            fits = False
        if not fits:
            return Complaint(400, "invalid tool call arguments")
    return None


def _ollama_settings(call: Received) -> Complaint | None:
    effort = call.body.get("reasoning_effort")
    if effort is None or effort in _EFFORTS:
        return None
    return Complaint(400, f"invalid reasoning value: '{effort}' (must be one of: {', '.join(_EFFORTS)})")


@dataclass(frozen=True, slots=True)
class Server:
    """One local server: its checks, its errors and how it sounds."""

    checks: Callable[[bool], tuple[Check, ...]] = lambda vision: (plain,)
    shape: Shape = openai_shape
    voice: Voice = field(default_factory=Voice)
    faults: Mapping[FaultKind, Complaint] = field(default_factory=dict)
    not_json: Complaint = NOT_JSON
    model: str = "local-model"


def _context(words: str) -> dict[FaultKind, Complaint]:
    return {FaultKind.CONTEXT: Complaint(400, words)}


SERVERS: Mapping[str, Server] = {
    "plain": Server(),
    "llamacpp": Server(
        checks=lambda vision: (plain, _cpp_messages(vision), _cpp_settings),
        shape=_llamacpp_shape,
        voice=Voice(
            call_id=lambda seed, index: token("", 32, seed, index),
            reasoning="reasoning_content",
            empty_content="",
            logprobs=False,
            top={"system_fingerprint": "b1-emulated"},
        ),
        faults={
            FaultKind.AUTH: Complaint(401, "Invalid API Key", "authentication_error"),
            FaultKind.CONTEXT: Complaint(
                400,
                "request ({tokens} tokens) exceeds the available context size (512 tokens), try increasing it",
                "exceed_context_size_error",
                more={"n_ctx": 512},
            ),
            FaultKind.OVERLOADED: Complaint(503, "Loading model", "unavailable_error"),
        },
        model="Qwen3-1.7B-Q4_K_M",
    ),
    "vllm": Server(
        checks=lambda vision: (plain, _vllm_messages, _vllm_settings),
        shape=_vllm_shape,
        voice=Voice(call_id=lambda seed, index: token("chatcmpl-tool-", 32, seed, index), reasoning="reasoning"),
        faults={
            FaultKind.MODEL: Complaint(404, "The model `{model}` does not exist."),
            **_context(
                "This model's maximum context length is 32768 tokens. However, you requested 0 output tokens and your"
                " prompt contains {tokens} input tokens, for a total of {tokens} tokens. Please reduce the length of"
                " the input prompt or the number of requested output tokens."
            ),
        },
        model="Qwen/Qwen3-8B",
    ),
    "sglang": Server(
        checks=lambda vision: (plain, _sglang_messages, _sglang_settings),
        shape=_vllm_shape,
        voice=Voice(reasoning="reasoning_content"),
        faults=_context("The input ({tokens} tokens) is longer than the model's context length (32768 tokens)."),
        model="Qwen/Qwen3-8B",
    ),
    "ollama": Server(
        checks=lambda vision: (plain, _ollama_messages, _ollama_settings),
        voice=Voice(
            call_id=lambda seed, index: token("call_", 8, seed, index, alphabet="abcdefghijklmnopqrstuvwxyz0123456789"),
            reasoning="reasoning",
            whole_calls=True,
            numbered_calls=True,
            empty_content="",
            logprobs=False,
            top={"system_fingerprint": "fp_ollama"},
        ),
        faults={
            FaultKind.AUTH: Complaint(401, "Unauthorized", "api_error"),
            FaultKind.MODEL: Complaint(404, "model '{model}' not found", "api_error"),
            **_context("prompt too long; exceeded max context length by {tokens} tokens"),
        },
        model="qwen3:8b",
    ),
    "lmstudio": Server(
        voice=Voice(reasoning="reasoning_content"),
        faults=_context("tokens to keep from the initial prompt is greater than the context length"),
        model="qwen3-8b",
    ),
}
