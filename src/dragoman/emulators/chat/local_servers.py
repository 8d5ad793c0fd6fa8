"""What local servers check before they render the template: llama.cpp, vLLM, SGLang, Ollama, LM Studio.

The checks follow the servers' own source code.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import orjson

from dragoman.emulators.chat.answers import AnswerStyle, cached_usage
from dragoman.emulators.chat.openai.tools import find_lookaround
from dragoman.emulators.chat.service import ChatRefusal, ChatService, Check, fits, sounds
from dragoman.emulators.ollama.models import capabilities, full_name, never_thinks
from dragoman.emulators.provider import FaultKind, ReceivedRequest
from dragoman.emulators.request_shape import (
    MismatchKind,
    RecordShape,
    Shape,
    ShapeMismatch,
    boolean,
    complete,
    either,
    items,
    mapping,
    nullable,
    one_of,
    tagged,
    text,
    text_among,
)
from dragoman.emulators.wire import make_id


def _render_llamacpp_error(refusal: ChatRefusal) -> Any:
    kind = "server_error" if refusal.status >= 500 else refusal.kind
    return {"error": {"code": refusal.status, "message": refusal.message, "type": kind, **refusal.more}}


def _render_plain_error(refusal: ChatRefusal) -> Any:
    return {"error": refusal.message}


def _render_vllm_error(refusal: ChatRefusal) -> Any:
    names = {404: "NotFoundError", 401: "AuthenticationError", 500: "InternalServerError"}
    kind = names.get(refusal.status, "BadRequestError")
    error = {"message": refusal.message, "type": kind, "param": refusal.param, "code": refusal.status}
    return {"error": error}


def check_messages(request: ReceivedRequest) -> None:
    """Messages are a list of objects with roles. Every server needs this to render a template."""
    messages = request.body.get("messages")
    if not isinstance(messages, list):
        raise ChatRefusal(400, "'messages' is required" if messages is None else "Expected 'messages' to be an array")
    for message in messages:
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            shown = orjson.dumps(message).decode()
            raise ChatRefusal(400, f"Failed to parse messages: Missing 'role' in message: {shown}")


# llama.cpp

_LLAMACPP_PARTS = ("text", "image_url", "input_audio", "input_video")
_LLAMACPP_NUMBERS = (
    *("temperature", "top_p", "top_k", "min_p", "max_tokens"),
    *("seed", "presence_penalty", "frequency_penalty"),
)
_LLAMACPP_TYPES = ((bool, "boolean"), (str, "string"), (list, "array"), (dict, "object"))
_LLAMACPP_FORMATS = ("text", "json_object", "json_schema")


def _check_llamacpp_messages(request: ReceivedRequest) -> None:
    for message in request.body["messages"]:
        _check_llamacpp_content(message)
        _check_llamacpp_calls(message.get("tool_calls"))
    last = [message["role"] for message in request.body["messages"][-2:]]
    if last == ["assistant", "assistant"]:
        raise ChatRefusal(400, "Cannot have 2 or more assistant messages at the end of the list.")


def _check_llamacpp_content(message: dict[str, Any]) -> None:
    if message["role"] != "assistant" and "content" not in message:
        raise ChatRefusal(400, "All non-assistant messages must contain 'content'")
    if message["role"] == "assistant" and "content" not in message and not message.get("tool_calls"):
        raise ChatRefusal(400, "Assistant message must contain either 'content' or 'tool_calls'!")
    content = message.get("content")
    if content is None or isinstance(content, str):
        return
    if not isinstance(content, list):
        raise ChatRefusal(400, "Expected 'content' to be a string or an array")
    for part in content:
        kind = part.get("type") if isinstance(part, dict) else None
        if kind not in _LLAMACPP_PARTS:
            raise ChatRefusal(400, "unsupported content[].type")


def _refuse_llamacpp_pictures(request: ReceivedRequest) -> None:
    contents = [message.get("content") for message in request.body["messages"]]
    parts = [part for content in contents if isinstance(content, list) for part in content]
    if any(part["type"] == "image_url" for part in parts):
        sentence = "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"
        raise ChatRefusal(500, sentence)


def _check_llamacpp_calls(calls: Any) -> None:
    for tool_call in calls if isinstance(calls, list) else ():
        shown = orjson.dumps(tool_call).decode()
        if not isinstance(tool_call, dict) or "type" not in tool_call:
            raise ChatRefusal(400, f"Missing tool call type: {shown}")
        if tool_call["type"] != "function":
            raise ChatRefusal(400, f"Unsupported tool call type: {shown}")


def _check_llamacpp_tools(tools: Any) -> None:
    for tool in tools if isinstance(tools, list) else ():
        shown = orjson.dumps(tool).decode()
        if not isinstance(tool, dict) or "type" not in tool:
            raise ChatRefusal(500, f"Failed to parse tools: Missing tool type: {shown}")
        if tool["type"] != "function":
            raise ChatRefusal(500, f"Failed to parse tools: Unsupported tool type: {shown}")
        if "function" not in tool:
            raise ChatRefusal(500, f"Failed to parse tools: Missing tool function: {shown}")


def _check_llamacpp_settings(request: ReceivedRequest) -> None:
    body = request.body
    for name in _LLAMACPP_NUMBERS:
        kind = next((sentence for of, sentence in _LLAMACPP_TYPES if isinstance(body.get(name), of)), None)
        if kind is not None:
            sentence = f"[json.exception.type_error.302] type must be number, but is {kind}"
            raise ChatRefusal(400, f"Field '{name}': {sentence}")
    choice = body.get("tool_choice")
    if isinstance(choice, str) and choice not in ("auto", "none", "required"):
        raise ChatRefusal(400, f"Invalid tool_choice: {choice}")
    _check_llamacpp_tools(body.get("tools"))
    _check_llamacpp_format(body)
    _check_llamacpp_conflicts(request)


def _check_llamacpp_format(body: dict[str, Any]) -> None:
    response_format = body.get("response_format")
    kind = response_format.get("type") if isinstance(response_format, dict) else None
    if kind is not None and kind not in _LLAMACPP_FORMATS:
        raise ChatRefusal(400, f'response_format type must be one of "text" or "json_object", but got: {kind}')


def _check_llamacpp_conflicts(request: ReceivedRequest) -> None:
    body = request.body
    # recorded: a schema in `response_format` beside a grammar is accepted; only the server's own two keys conflict
    if body.get("grammar") and body.get("json_schema"):
        raise ChatRefusal(500, "Cannot use both json_schema and grammar")
    if body.get("grammar") and body.get("tools"):
        raise ChatRefusal(400, "Cannot use custom grammar constraints with tools.")
    if body.get("tools") and body.get("logprobs") and request.stream:
        raise ChatRefusal(400, "logprobs is not supported with tools + stream")


# vLLM

_VLLM_PARTS = (
    *("text", "refusal", "image_url", "input_image", "image_embeds", "image_pil", "audio_url"),
    *("input_audio", "audio_embeds", "video_url", "prompt_embeds", "thinking", "tool_reference"),
)


def _check_vllm_messages(request: ReceivedRequest) -> None:
    if any(sound.startswith("data:") for sound in sounds(request)):
        raise ChatRefusal(400, "Incorrect padding")  # seen 2026-08-11, QwenLM/Qwen-MM-Plugins#8
    for message in request.body["messages"]:
        content = message.get("content")
        for part in content if isinstance(content, list) else ():
            kind = part.get("type") if isinstance(part, dict) else "text"
            if kind not in _VLLM_PARTS and not (isinstance(part, dict) and "type" not in part):
                listed = ", ".join(_VLLM_PARTS)
                raise ChatRefusal(400, f"Unsupported chat content part type: '{kind}'. Supported types: {listed}.")
        _check_vllm_calls(message.get("tool_calls"))


def _check_vllm_calls(calls: Any) -> None:
    for tool_call in calls if isinstance(calls, list) else ():
        lacking = next((key for key in ("id", "type") if isinstance(tool_call, dict) and key not in tool_call), None)
        if lacking is not None:
            raise ChatRefusal(
                400, f"1 validation error for ChatCompletionRequest: tool_calls.{lacking}: Field required"
            )
        function = tool_call.get("function") if isinstance(tool_call, dict) else None
        if not isinstance(function, dict):
            raise ChatRefusal(400, "tool_calls entries must be objects of type function")
        arguments = function.get("arguments")
        try:
            orjson.loads(arguments or "{}") if isinstance(arguments, str | None) else None
        except orjson.JSONDecodeError as error:
            raise ChatRefusal(400, f"tool call arguments must be valid JSON: {error}") from None


def _check_vllm_settings(request: ReceivedRequest) -> None:
    body = request.body
    tools, choice = body.get("tools"), body.get("tool_choice")
    if tools == []:
        sentence = "`tools` must not be an empty array. Either provide at least one tool or omit the field entirely."
        raise ChatRefusal(400, sentence)
    if choice not in (None, "none") and not tools:
        raise ChatRefusal(400, "When using `tool_choice`, `tools` must be set.")
    if isinstance(choice, str) and choice not in ("none", "auto", "required"):
        sentence = f"Invalid value for `tool_choice`: {choice}! Only named tools, "
        raise ChatRefusal(400, sentence + '"none", "auto" or "required" are supported.')
    if isinstance(choice, dict) and not _names_tool(choice, tools):
        raise ChatRefusal(400, "The tool specified in `tool_choice` does not match any of the specified `tools`")
    if body.get("stream_options") is not None and not request.stream:
        raise ChatRefusal(400, "Stream options can only be defined when `stream=True`.")
    if body.get("continue_final_message") and body.get("add_generation_prompt"):
        sentence = "Cannot set both `continue_final_message` and `add_generation_prompt` to True."
        raise ChatRefusal(400, sentence)


_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
# the request class of 2026-08-22; unknown keys are ignored at every level
_VLLM_REQUEST = RecordShape(
    {
        "reasoning_effort": nullable(one_of(*_EFFORTS)),
        "tools": nullable(
            items(RecordShape({"type": one_of("function"), "function": mapping}, ("function",), open=True))
        ),
    },
    open=True,
)


def _pydantic_refusal(mismatch: ShapeMismatch, request: ReceivedRequest) -> ChatRefusal:
    place = ".".join(map(str, mismatch.path))
    expected = mismatch.expected or mismatch.choices
    sentence = "Field required" if mismatch.kind is MismatchKind.MISSING else f"Input should be {expected}"
    return ChatRefusal(400, f"1 validation error for ChatCompletionRequest: {place}: {sentence}", param=place)


def _names_tool(choice: dict[str, Any], tools: Any) -> bool:
    function = choice.get("function")
    name = function.get("name") if isinstance(function, dict) else None
    declared = [tool.get("function") for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []
    return any(isinstance(one, dict) and one.get("name") == name for one in declared)


# SGLang

_SGLANG_ROLES = ("system", "assistant", "tool", "function", "developer", "latest_reminder", "user")


_TEXT_OR_OBJECT = either("a valid string", text=text, keys=mapping)
_LINK = complete(url=text).opened()
_SGLANG_PICTURE = RecordShape({"url": text, "detail": nullable(one_of("auto", "low", "high"))}, ("url",), open=True)
_SGLANG_SOUND = complete(data=text, format=one_of("wav", "mp3")).opened()
_SGLANG_PARTS: Mapping[str, Shape] = {
    "text": complete(text=text).opened(),
    "thinking": mapping,
    "reasoning": mapping,
    "image_url": complete(image_url=_SGLANG_PICTURE).opened(),
    "video_url": complete(video_url=_LINK).opened(),
    "audio_url": complete(audio_url=_LINK).opened(),
    "input_audio": complete(input_audio=_SGLANG_SOUND).opened(),
    "tool_reference": complete(name=text).opened(),
}
_SGLANG_CALLED = RecordShape({"name": nullable(text), "arguments": nullable(_TEXT_OR_OBJECT)}, open=True)
_SGLANG_CALL = complete(function=_SGLANG_CALLED).adding({"id": nullable(text), "type": one_of("function")}).opened()
_SGLANG_FUNCTION = RecordShape({"name": text, "description": nullable(text), "strict": boolean}, ("name",), open=True)
_SGLANG_MESSAGE = RecordShape(
    {
        "content": nullable(either("a valid string", text=text, items=items(tagged("type", _SGLANG_PARTS)))),
        "tool_calls": nullable(items(_SGLANG_CALL)),
    },
    open=True,
)
# the request class of 2026-08-23; unknown keys are ignored at every level
_SGLANG_REQUEST = RecordShape(
    {
        "messages": items(_SGLANG_MESSAGE),
        "tools": nullable(items(RecordShape({"type": text, "function": _SGLANG_FUNCTION}, ("function",), open=True))),
        "reasoning_effort": text_among(*_EFFORTS),
        "tool_choice": either(
            "a valid string",
            text=one_of("auto", "required", "none"),
            keys=RecordShape({"type": one_of("function"), "function": mapping}, ("function",), open=True),
        ),
    },
    open=True,
)


def _check_sglang_messages(request: ReceivedRequest) -> None:
    messages = request.body["messages"]
    if not messages:
        raise ChatRefusal(400, "Messages cannot be empty.")
    for message in messages:
        if message["role"].lower() not in _SGLANG_ROLES:
            listed = ", ".join(f"'{one}'" for one in _SGLANG_ROLES)
            raise ChatRefusal(400, f"'role' must be one of {listed} (case-insensitive).")
        if message["role"] == "user" and not isinstance(message.get("content"), str | list):
            raise ChatRefusal(400, "Input should be a valid string", param="content")


def _check_sglang_settings(request: ReceivedRequest) -> None:
    choice, tools = request.body.get("tool_choice"), request.body.get("tools")
    if tools or choice in (None, "auto", "none"):
        return
    kind = "required" if choice == "required" else "a specific tool"
    raise ChatRefusal(400, f"Tools cannot be empty if tool choice is set to {kind}.")


# Ollama

_OLLAMA_EFFORTS = ("minimal", "low", "medium", "high", "xhigh", "ultra", "max", "none")


def _check_ollama_messages(request: ReceivedRequest) -> None:
    for message in request.body["messages"]:
        _check_ollama_content(message)
        _check_ollama_calls(message.get("tool_calls"))


def _check_ollama_content(message: dict[str, Any]) -> None:
    content = message.get("content")
    if isinstance(content, str) or (content is None and message.get("tool_calls")):
        return
    if not isinstance(content, list):
        shown = "<nil>" if content is None else type(content).__name__
        raise ChatRefusal(400, f"invalid message content type: {shown}")
    for part in content:
        kind = part.get("type") if isinstance(part, dict) else None
        if kind not in ("text", "image_url", "input_audio"):
            raise ChatRefusal(400, "invalid message format")
        if kind == "image_url":
            _check_ollama_image(part.get("image_url"))


def _check_ollama_image(image: Any) -> None:
    url = image.get("url") if isinstance(image, dict) else image
    if not isinstance(url, str):
        raise ChatRefusal(400, "invalid message format")
    if url.startswith(("http://", "https://")):
        sentence = "image URLs are not currently supported, please use base64 encoded data instead"
        raise ChatRefusal(400, sentence)
    kinds = tuple(f"data:image/{kind};base64," for kind in ("jpeg", "jpg", "png", "webp"))
    if not url.startswith(kinds):
        raise ChatRefusal(400, "invalid image input")


def _check_ollama_calls(calls: Any) -> None:
    for tool_call in calls if isinstance(calls, list) else ():
        function = tool_call.get("function") if isinstance(tool_call, dict) else None
        arguments = function.get("arguments") if isinstance(function, dict) else None
        try:
            fits = isinstance(arguments, str) and isinstance(orjson.loads(arguments), dict)
        except orjson.JSONDecodeError:
            fits = False
        if not fits:
            raise ChatRefusal(400, "invalid tool call arguments")


def _check_ollama_settings(request: ReceivedRequest) -> None:
    effort = request.body.get("reasoning_effort")
    if effort not in (*_OLLAMA_EFFORTS, None):
        sentence = f"invalid reasoning value: '{effort}' (must be one of: {', '.join(_OLLAMA_EFFORTS)})"
        raise ChatRefusal(400, sentence)
    model = request.body.get("model")
    if isinstance(model, str):
        _check_ollama_abilities(request.body, model)


def _check_ollama_abilities(body: dict[str, Any], model: str) -> None:
    """Models that think without levels are only switched on and off."""
    effort = body.get("reasoning_effort")
    if body.get("tools") and "tools" not in capabilities(model):
        raise ChatRefusal(400, f"{full_name(model)} does not support tools", "api_error")
    if effort in (None, "none"):
        return
    if never_thinks(model):
        raise ChatRefusal(400, f'"{model}" does not support thinking', "api_error")
    if _WITHOUT_LEVELS.match(model):
        raise ChatRefusal(400, f'think value "{effort}" is not supported for this model')


_WITHOUT_LEVELS = re.compile(r"qwen3|deepseek-r1|deepseek-v3\.1|magistral", re.IGNORECASE)


def _refuse_grammars(request: ReceivedRequest) -> None:
    """Schemas that llama.cpp can make no grammar of: https://github.com/lidge-jun/opencodex/issues/2135"""
    body = request.body
    tools = body.get("tools") if isinstance(body.get("tools"), list) else ()
    schemas = [_member(_member(tool, "function"), "parameters") for tool in tools or ()]
    schemas.append(_member(_member(body.get("response_format"), "json_schema"), "schema"))
    if any(find_lookaround(schema) is not None for schema in schemas):
        raise ChatRefusal(400, "Failed to initialize samplers: failed to parse grammar")


def _member(value: Any, name: str) -> Any:
    """A member of an object; None if the value is something else."""
    return value.get(name) if isinstance(value, dict) else None


# LM Studio


def _check_lmstudio_settings(request: ReceivedRequest) -> None:
    if isinstance(request.body.get("tool_choice"), dict):
        raise ChatRefusal(400, "Invalid tool_choice type: 'object'. Supported string values: none, auto, required")


def _refuse_shown_results(request: ReceivedRequest) -> None:
    """A tool's message has no pictures: https://github.com/QwenLM/qwen-code/issues/3616"""
    contents = [message.get("content") for message in request.body["messages"] if message.get("role") == "tool"]
    parts = [part for content in contents if isinstance(content, list) for part in content]
    if any(isinstance(part, dict) and part.get("type") == "image_url" for part in parts):
        sentence = "Please check the structure of your 'messages' and try again."
        raise ChatRefusal(400, f"Invalid 'messages' in payload. {sentence}")


def _context_fault(sentence: str) -> dict[FaultKind, ChatRefusal]:
    return {FaultKind.CONTEXT: ChatRefusal(400, sentence)}


SERVERS: Mapping[str, ChatService] = {
    "plain": ChatService(checks=(check_messages,), example_model="local-model"),
    "llamacpp": ChatService(
        checks=(check_messages, _check_llamacpp_messages, _check_llamacpp_settings, _refuse_grammars),
        render_error=_render_llamacpp_error,
        style=AnswerStyle(
            call_id=lambda seed, index: make_id("", 32, seed, index),
            reasoning_field="reasoning_content",
            empty_content="",
            logprobs=None,
            top_fields={"system_fingerprint": "b1-emulated"},
            render_usage=cached_usage,
        ),
        faults={
            FaultKind.AUTH: ChatRefusal(401, "Invalid API Key", "authentication_error"),
            FaultKind.CONTEXT: ChatRefusal(
                400,
                "request ({tokens} tokens) exceeds the available context size ({limit[512]} tokens), try increasing it",
                "exceed_context_size_error",
                more={"n_ctx": 512},
            ),
            FaultKind.OVERLOADED: ChatRefusal(503, "Loading model", "unavailable_error"),
        },
        example_model="Qwen3-1.7B-Q4_K_M",
    ),
    "vllm": ChatService(
        checks=(
            check_messages,
            _check_vllm_messages,
            fits(_VLLM_REQUEST, _pydantic_refusal),
            _check_vllm_settings,
        ),
        render_error=_render_vllm_error,
        style=AnswerStyle(
            call_id=lambda seed, index: make_id("chatcmpl-tool-", 32, seed, index), reasoning_field="reasoning"
        ),
        faults={
            FaultKind.MODEL: ChatRefusal(404, "The model `{model}` does not exist."),
            **_context_fault(
                "This model's maximum context length is {limit[32768]} tokens. However, you requested 0 output tokens"
                " and your prompt contains {tokens} input tokens, for a total of {tokens} tokens. Please reduce the"
                " length of the input prompt or the number of requested output tokens."
            ),
        },
        example_model="Qwen/Qwen3-8B",
    ),
    "sglang": ChatService(
        checks=(
            check_messages,
            _check_sglang_messages,
            fits(_SGLANG_REQUEST, _pydantic_refusal),
            _check_sglang_settings,
        ),
        render_error=_render_vllm_error,
        style=AnswerStyle(reasoning_field="reasoning_content"),
        faults=_context_fault(
            "The input ({tokens} tokens) is longer than the model's context length ({limit[32768]} tokens)."
        ),
        example_model="Qwen/Qwen3-8B",
    ),
    "ollama-openai": ChatService(
        checks=(check_messages, _check_ollama_messages, _check_ollama_settings),
        style=AnswerStyle(
            call_id=lambda seed, index: make_id(
                "call_", 8, seed, index, alphabet="abcdefghijklmnopqrstuvwxyz0123456789"
            ),
            reasoning_field="reasoning",
            whole_calls=True,
            numbered_calls=True,
            empty_content="",
            logprobs=False,
            one_choice=True,
            top_fields={"system_fingerprint": "fp_ollama"},
        ),
        faults={
            FaultKind.AUTH: ChatRefusal(401, "Unauthorized", "api_error"),
            FaultKind.MODEL: ChatRefusal(404, "model '{model}' not found", "api_error"),
            **_context_fault("prompt too long; exceeded max context length by {excess} tokens"),
        },
        example_model="qwen3:8b",
    ),
    "lmstudio": ChatService(
        checks=(check_messages, _check_lmstudio_settings, _refuse_shown_results, _refuse_grammars),
        render_error=_render_plain_error,
        style=AnswerStyle(reasoning_field="reasoning_content"),
        faults=_context_fault("tokens to keep from the initial prompt is greater than the context length"),
        example_model="qwen3-8b",
    ),
}
WITHOUT_VISION: Mapping[str, Check] = {"llamacpp": _refuse_llamacpp_pictures}
"""What servers also check if their model reads no pictures, as far as that is known."""
