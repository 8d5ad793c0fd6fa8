"""What the server refuses: what its decoder cannot put into typed values, and what the model cannot do.

Order, pairs and roles are not checked: the model's template makes of them what it can.
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from typing import Any

from dragoman.emulators.emulated_api import ProviderRefusal
from dragoman.emulators.ollama.models import capabilities, full_name, has_levels
from dragoman.emulators.provider import EmulatorOptions, ReceivedRequest

_LEVELS = (True, False, "low", "medium", "high", "max")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-/:@]*")
_DURATION = re.compile(r"-?(?:\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h))+|0")
_INTEGERS = (
    *("num_ctx", "num_predict", "num_keep", "num_batch", "num_gpu"),
    *("main_gpu", "num_thread", "top_k", "seed", "repeat_last_n"),
)
_FLOATS = ("temperature", "top_p", "min_p", "typical_p", "repeat_penalty", "presence_penalty", "frequency_penalty")


UNKNOWN_MODEL = "model '{model}' not found"


class OllamaRefusal(ProviderRefusal):
    """A refusal: its status and its sentence."""


def check(request: ReceivedRequest, options: EmulatorOptions) -> None:
    """Raise OllamaRefusal with what the server says first."""
    body = request.body
    _check_types(body)
    for at, message in enumerate(body.get("messages") or ()):
        _check_message(message, at)
    for tool in body.get("tools") or ():
        _check_tool(tool)
    _check_think(body.get("think"))
    _check_keep_alive(body.get("keep_alive"))
    check_model(request.model, options)
    _check_abilities(body, request.model)
    _check_settings(body)


def check_model(model: str, options: EmulatorOptions) -> None:
    if not model:
        raise OllamaRefusal("model is required")
    if _NAME.fullmatch(model) is None:
        raise OllamaRefusal("invalid model name")
    if not options.knows(model):
        raise OllamaRefusal(UNKNOWN_MODEL.format(model=model), 404)


def _mismatch(value: Any, field: str, expected: str) -> OllamaRefusal:
    kinds = ((bool, "bool"), (str, "string"), (int | float, "number"), (list, "array"), (dict, "object"))
    found = next(name for kind, name in kinds if isinstance(value, kind))
    return OllamaRefusal(f"json: cannot unmarshal {found} into Go struct field {field} of type {expected}")


def _check_types(body: dict[str, Any]) -> None:
    _expect(body.get("model"), str, "ChatRequest.model", "string")
    _expect(body.get("messages"), list, "ChatRequest.messages", "[]api.Message")
    _expect(body.get("stream"), bool, "ChatRequest.stream", "bool")
    _expect(body.get("tools"), list, "ChatRequest.tools", "[]api.Tool")
    _expect(body.get("options"), dict, "ChatRequest.options", "map[string]interface {}")
    _expect(body.get("logprobs"), bool, "ChatRequest.logprobs", "bool")
    _expect(body.get("top_logprobs"), int, "ChatRequest.top_logprobs", "int")


def _expect(value: Any, kind: type, field: str, expected: str) -> None:
    """Null is what is not there."""
    if value is not None and (not isinstance(value, kind) or (kind is int and isinstance(value, bool))):
        raise _mismatch(value, field, expected)


def _check_message(message: Any, at: int) -> None:
    if not isinstance(message, dict):
        raise _mismatch(message if message is not None else {}, "ChatRequest.messages", "api.Message")
    for name in ("role", "content", "thinking", "tool_name", "tool_call_id"):
        _expect(message.get(name), str, f"Message.messages.{name}", "string")
    _expect(message.get("images"), list, "Message.messages.images", "[]api.ImageData")
    _expect(message.get("tool_calls"), list, "Message.messages.tool_calls", "[]api.ToolCall")
    for image in message.get("images") or ():
        _check_image(image)
    for call in message.get("tool_calls") or ():
        _check_call(call)


def _check_image(image: Any) -> None:
    _expect(image, str, "Message.messages.images", "api.ImageData")
    try:
        b64decode(image or "", validate=True)
    except (binascii.Error, ValueError):
        raise OllamaRefusal("illegal base64 data at input byte 0") from None


def _check_call(call: Any) -> None:
    if not isinstance(call, dict):
        raise _mismatch(call if call is not None else {}, "Message.messages.tool_calls", "api.ToolCall")
    _expect(call.get("id"), str, "ToolCall.messages.tool_calls.id", "string")
    function = call.get("function")
    _expect(function, dict, "ToolCall.messages.tool_calls.function", "api.ToolCallFunction")
    for name, kind, expected in (("name", str, "string"), ("index", int, "int")):
        _expect((function or {}).get(name), kind, f"ToolCallFunction.messages.tool_calls.function.{name}", expected)
    field = "ToolCallFunction.messages.tool_calls.function.arguments"
    _expect((function or {}).get("arguments"), dict, field, "api.ToolCallFunctionArguments")


def _check_tool(tool: Any) -> None:
    if not isinstance(tool, dict):
        raise _mismatch(tool if tool is not None else {}, "ChatRequest.tools", "api.Tool")
    _expect(tool.get("type"), str, "Tool.tools.type", "string")
    function = tool.get("function")
    _expect(function, dict, "Tool.tools.function", "api.ToolFunction")
    for name in ("name", "description"):
        _expect((function or {}).get(name), str, f"ToolFunction.tools.function.{name}", "string")
    _check_parameters((function or {}).get("parameters"))


def _check_parameters(parameters: Any) -> None:
    field = "ToolFunctionParameters.tools.function.parameters"
    _expect(parameters, dict, field, "api.ToolFunctionParameters")
    found = parameters or {}
    _expect(found.get("type"), str, f"{field}.type", "string")
    _expect(found.get("required"), list, f"{field}.required", "[]string")
    _expect(found.get("properties"), dict, f"{field}.properties", "map[string]api.ToolProperty")
    for entry in (found.get("properties") or {}).values():
        _check_property(entry, f"{field}.properties")


def _check_property(entry: Any, field: str) -> None:
    _expect(entry, dict, field, "api.ToolProperty")
    found = entry or {}
    kind = found.get("type")
    if kind is not None and not isinstance(kind, str | list):
        raise OllamaRefusal(f"invalid type: {kind}")
    _expect(found.get("description"), str, f"{field}.description", "string")
    _expect(found.get("enum"), list, f"{field}.enum", "[]interface {}")
    _expect(found.get("anyOf"), list, f"{field}.anyOf", "[]api.ToolProperty")
    _expect(found.get("properties"), dict, f"{field}.properties", "map[string]api.ToolProperty")
    for inner in [*(found.get("anyOf") or ()), *(found.get("properties") or {}).values()]:
        _check_property(inner, field)


def _check_think(think: Any) -> None:
    if think is None or (isinstance(think, bool | str) and think in _LEVELS):
        return
    if isinstance(think, str):
        sentence = '(must be "high", "medium", "low", "max", true, or false)'
        raise OllamaRefusal(f'invalid think value: "{think}" {sentence}')
    raise OllamaRefusal("think must be a boolean or string")


def _check_keep_alive(value: Any) -> None:
    if value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
        return
    if not isinstance(value, str):
        raise OllamaRefusal(f"Unsupported type: '{type(value).__name__}'")
    if _DURATION.fullmatch(value) is None:
        raise OllamaRefusal(f'time: invalid duration "{value}"')


def _check_abilities(body: dict[str, Any], model: str) -> None:
    able = capabilities(model)
    if "completion" not in able:
        raise OllamaRefusal(f'"{model}" does not support chat')
    if body.get("tools") and "tools" not in able:
        raise OllamaRefusal(f"{full_name(model)} does not support tools")
    if isinstance(body.get("think"), str) and not has_levels(model):
        raise OllamaRefusal(f'think value "{body["think"]}" is not supported for this model')
    if body.get("think") not in (None, False) and "thinking" not in able:
        raise OllamaRefusal(f'"{model}" does not support thinking')


def _check_settings(body: dict[str, Any]) -> None:
    likeliest = body.get("top_logprobs")
    if likeliest is not None and not 0 <= likeliest <= 20:
        raise OllamaRefusal("top_logprobs must be between 0 and 20")
    form = body.get("format")
    if form not in (None, "", "json") and not isinstance(form, dict):
        shown = f'"{form}"' if isinstance(form, str) else form
        raise OllamaRefusal(f'invalid format: {shown}; expected "json" or a valid JSON Schema object', 500)
    for name, value in (body.get("options") or {}).items():
        _check_option(name, value)


def _check_option(name: str, value: Any) -> None:
    """An option that the server does not know is only logged."""
    if value is None:
        return
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if name in _INTEGERS and not (is_number and value == int(value)):
        raise OllamaRefusal(f'option "{name}" must be of type integer', 500)
    if name in _FLOATS and not is_number:
        raise OllamaRefusal(f'option "{name}" must be of type float32', 500)
    if name == "stop" and not (isinstance(value, list) and all(isinstance(one, str) for one in value)):
        raise OllamaRefusal('option "stop" must be of type array', 500)
