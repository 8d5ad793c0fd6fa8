"""OpenAI's checks of the parameters: known names, types and ranges, then what the model supports."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from dragoman.emulators.chat.openai.models import ChatModel, chat_model
from dragoman.emulators.chat.openai.request_types import (
    above,
    below,
    json_type,
    not_among,
    too_long,
    unknown,
    unsupported_parameter,
    unsupported_value,
    wrong_type,
)
from dragoman.emulators.chat.service import ChatRefusal
from dragoman.emulators.provider import ReceivedRequest
from dragoman.emulators.wire import render_json


@dataclass(frozen=True, slots=True)
class ParameterSpec:
    """What a parameter may be."""

    type: str
    """Its type in OpenAI's words."""
    minimum: float | None = None
    """Of a number."""
    maximum: float | None = None
    """Of a number."""
    choices: tuple[str, ...] = ()
    """Of a text; empty: any."""


_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")

# in the order in which OpenAI checks them
PARAMETERS: dict[str, ParameterSpec] = {
    "functions": ParameterSpec("an array"),
    "parallel_tool_calls": ParameterSpec("a boolean"),
    "max_completion_tokens": ParameterSpec("an integer", 1),
    "max_tokens": ParameterSpec("an integer", 1),
    "temperature": ParameterSpec("a decimal", 0, 2),
    "top_p": ParameterSpec("a decimal", 0, 1),
    "n": ParameterSpec("an integer", 1, 128),
    "stop": ParameterSpec("one of a string or array"),
    "presence_penalty": ParameterSpec("a decimal", -2, 2),
    "frequency_penalty": ParameterSpec("a decimal", -2, 2),
    "logit_bias": ParameterSpec("an object"),
    "logprobs": ParameterSpec("a boolean"),
    "top_logprobs": ParameterSpec("an integer", 0, 20),
    "seed": ParameterSpec("an integer"),
    "user": ParameterSpec("a string"),
    "safety_identifier": ParameterSpec("a string"),
    "reasoning_effort": ParameterSpec("a string", choices=_EFFORTS),
    "modalities": ParameterSpec("an array"),
    "audio": ParameterSpec("an object"),
    "prediction": ParameterSpec("an object"),
    "web_search_options": ParameterSpec("an object"),
    "prompt_cache_key": ParameterSpec("a string"),
    "prompt_cache_retention": ParameterSpec("a string"),
    "service_tier": ParameterSpec("a string", choices=("auto", "default", "flex", "priority", "fast")),
    "stream": ParameterSpec("a boolean"),
    "stream_options": ParameterSpec("an object"),
    "store": ParameterSpec("a boolean"),
    "metadata": ParameterSpec("an object"),
    "verbosity": ParameterSpec("a string", choices=("low", "medium", "high")),
}
KNOWN_PARAMETERS = frozenset(
    {"model", "messages", "tools", "tool_choice", "function_call", "response_format"}
    | {"moderation", "prompt_cache_options"}
    | PARAMETERS.keys()
)


_FORGOTTEN = {"audio", "modalities", "web_search_options"}
"""Unknown to gpt-5.6 and later (measured in August 2026)."""


def check_known(request: ReceivedRequest) -> ChatRefusal | None:
    """No unknown key. OpenAI's two validators report one differently."""
    model = chat_model(request.model)
    known = KNOWN_PARAMETERS - _FORGOTTEN if model.since(5, 6) else KNOWN_PARAMETERS
    stray = next((key for key in request.body if key not in known), None)
    if stray is None:
        return None
    if not model.has_newer_validator:
        return ChatRefusal(400, f"Unrecognized request argument supplied: {stray}")
    near = get_close_matches(stray, sorted(known), n=2)
    refusal = unknown(stray)
    if not near:
        return refusal
    hint = " Did you mean " + " or ".join(f"'{one}'" for one in near) + "?"
    return ChatRefusal(400, refusal.message + hint, param=stray, code="unknown_parameter")


def check_types(request: ReceivedRequest) -> ChatRefusal | None:
    """The type and range of every parameter. Null counts as absent."""
    for name, spec in PARAMETERS.items():
        value = request.body.get(name)
        refusal = None if value is None else _check_value(name, value, spec)
        if refusal is not None:
            return refusal
    body = request.body
    return _check_stop(body.get("stop")) or _check_stream_options(request) or _check_metadata(body.get("metadata"))


def _check_value(name: str, value: Any, spec: ParameterSpec) -> ChatRefusal | None:
    if not _has_type(value, spec.type):
        return wrong_type(name, spec.type, value)
    noun = spec.type.rsplit(" ", 1)[-1]
    if spec.minimum is not None and value < spec.minimum:
        return below(name, noun, spec.minimum, value)
    if spec.maximum is not None and value > spec.maximum:
        return above(name, noun, spec.maximum, float(value) if noun == "decimal" else value)
    return not_among(name, value, spec.choices) if spec.choices and value not in spec.choices else None


def _has_type(value: Any, expected: str) -> bool:
    actual = json_type(value)
    if expected == "a decimal" and actual == "an integer":
        return True
    return actual in expected or actual.split(" ")[-1] in expected.split(" ")


def _check_stop(stop: Any) -> ChatRefusal | None:
    if isinstance(stop, list) and len(stop) > 4:
        sentence = f"array too long. Expected an array with maximum length 4, but got an array with length {len(stop)}"
        return ChatRefusal(400, f"Invalid 'stop': {sentence} instead.", param="stop", code="array_above_max_length")
    return None


def _check_stream_options(request: ReceivedRequest) -> ChatRefusal | None:
    options = request.body.get("stream_options")
    if options is None:
        return None
    if not request.stream:
        sentence = "The 'stream_options' parameter is only allowed when 'stream' is enabled."
        return ChatRefusal(400, sentence, param="stream_options")
    stray = next((key for key in options if key not in ("include_usage", "include_obfuscation")), None)
    return unknown(f"stream_options.{stray}") if stray is not None else None


def _check_metadata(metadata: Any) -> ChatRefusal | None:
    if metadata is None:
        return None
    if len(metadata) > 16:
        sentence = (
            "too many properties. Expected an object with at most 16 properties,"
            f" but got an object with {len(metadata)} properties instead."
        )
        return ChatRefusal(400, f"Invalid 'metadata': {sentence}", param="metadata", code="object_above_max_properties")
    for key, value in metadata.items():
        if not isinstance(value, str):
            return wrong_type(f"metadata.{key}", "a string", value)
        if len(key) > 64:
            sentence = f"'{key[:3]}...{key[-3:]}' is too long. Expected a string with maximum length 64."
            return ChatRefusal(
                400,
                f"Invalid property name in 'metadata': {sentence}",
                param=f"metadata.{key}",
                code="property_name_above_max_length",
            )
        if len(value) > 512:
            return too_long(f"metadata.{key}", 512, value)
    return None


def check_supported(request: ReceivedRequest) -> ChatRefusal | None:
    """Parameters that this model does not support."""
    model = chat_model(request.model)
    return (
        _check_limit_name(request, model)
        or _check_while_reasoning(request, model)
        or _check_model_parameters(request, model)
        or _check_effort(request, model)
    )


def _check_limit_name(request: ReceivedRequest, model: ChatModel) -> ChatRefusal | None:
    if model.reasons and request.body.get("max_tokens") is not None:
        return unsupported_parameter("max_tokens", " Use 'max_completion_tokens' instead.")
    if None not in (request.body.get("max_tokens"), request.body.get("max_completion_tokens")):
        sentence = "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported."
        return ChatRefusal(400, sentence, param="max_tokens", code="invalid_parameter_combination")
    return None


def _check_while_reasoning(request: ReceivedRequest, model: ChatModel) -> ChatRefusal | None:
    effort = request.body.get("reasoning_effort") or model.default_effort
    if not model.reasons or effort == "none":
        return None
    temperature = request.body.get("temperature")
    if temperature is not None and temperature != 1:
        return unsupported_value("temperature", temperature, " Only the default (1) value is supported.")
    for name in ("top_p", "presence_penalty", "frequency_penalty", "logprobs"):
        value = request.body.get(name)
        if value is True or value not in (None, False, 0, 1):
            return unsupported_parameter(name)
    return None


def _check_model_parameters(request: ReceivedRequest, model: ChatModel) -> ChatRefusal | None:
    body = request.body
    if body.get("stop") is not None and _refuses_stop(model):
        return unsupported_parameter("stop")
    if model.since(5, 6):
        for name in ("logit_bias", "prediction"):
            if body.get(name) is not None:
                return unsupported_parameter(name)
        if (body.get("n") or 1) > 8:
            return above("n", "integer", 8, body["n"])
        if (body.get("top_logprobs") or 0) > 5:
            return above("top_logprobs", "integer", 5, body["top_logprobs"])
    if body.get("top_logprobs") and not body.get("logprobs"):
        sentence = "The 'logprobs' parameter must be enabled to use 'top_logprobs'."
        return ChatRefusal(400, sentence, param="top_logprobs")
    if body.get("web_search_options") is not None and "search" not in model.name and model.version > (0, 0):
        return ChatRefusal(400, "Web search options not supported with this model.", param="web_search_options")
    return None


def _refuses_stop(model: ChatModel) -> bool:
    if not model.reasons:
        return False
    if re.match(r"o1-mini|o3(?!-mini)|o4", model.name):
        return True
    return model.version == (5, 0) or model.since(5, 6)


def _check_effort(request: ReceivedRequest, model: ChatModel) -> ChatRefusal | None:
    effort = request.body.get("reasoning_effort")
    if effort is None:
        # from gpt-5.6 on the model's own effort counts (measured, litellm#34569)
        return _refused_tools(request) if model.since(5, 6) and model.reasons and request.body.get("tools") else None
    if model.never_reasons:
        return ChatRefusal(400, "Unrecognized request argument supplied: reasoning_effort")
    unsupported = _unsupported_efforts(model)
    if effort in unsupported and model.version == (5, 0):
        sentence = f"Unsupported value: '{effort}' is not supported with the '{model.name}' model."
        supported = " Supported values are: 'minimal', 'low', 'medium', and 'high'."
        return ChatRefusal(400, sentence + supported, param="reasoning_effort", code="unsupported_value")
    if effort in unsupported:
        rest = ", ".join(f"'{one}'" for one in _EFFORTS if one not in unsupported)
        return unsupported_value("reasoning_effort", effort, f" Supported values are: {rest}.")
    if effort != "none" and model.since(5, 4) and model.reasons and request.body.get("tools"):
        return _refused_tools(request)
    return None


def check_retention(request: ReceivedRequest) -> ChatRefusal | None:
    """How long a prompt is cached: since 5.6 not in memory alone."""
    if request.body.get("prompt_cache_retention") != "in_memory" or not chat_model(request.model).since(5, 6):
        return None
    sentence = "This model is compatible only with 24h extended prompt caching"
    return ChatRefusal(400, sentence, param="prompt_cache_retention", code="invalid_parameter")


def check_tools_with_effort(request: ReceivedRequest) -> ChatRefusal | None:
    """Function tools, for a deployment that is named after a model that thinks."""
    model, effort = chat_model(request.model), request.body.get("reasoning_effort")
    since = (5, 6) if effort is None else (5, 4)
    refused = request.body.get("tools") and effort != "none" and model.reasons and model.since(*since)
    return _refused_tools(request) if refused else None


def _refused_tools(request: ReceivedRequest) -> ChatRefusal:
    sentence = (
        f"Function tools with reasoning_effort are not supported for {request.model} in /v1/chat/completions."
        " To use function tools, use /v1/responses or set reasoning_effort to 'none'."
    )
    return ChatRefusal(400, sentence, param="reasoning_effort")


_WITHOUT_NONE = ("gpt-6-astra", "gpt-6.1-sol")
"""Models that always reason (OpenAI's changelog, 2026-09-29)."""


def _unsupported_efforts(model: ChatModel) -> tuple[str, ...]:
    if model.name.startswith(_WITHOUT_NONE):
        return ("none", "minimal", "max")
    if model.version == (5, 0) and model.reasons:
        return ("none", "xhigh", "max")
    if model.version == (5, 6):
        return ("minimal", "max")
    return ("none", "minimal") if model.name.startswith("o4-mini") else ()


def check_json_mentioned(request: ReceivedRequest) -> ChatRefusal | None:
    """`json_object` requires the word "json" in the messages."""
    response_format = request.body.get("response_format")
    if not isinstance(response_format, dict) or response_format.get("type") != "json_object":
        return None
    if b"json" in render_json(request.body["messages"]).lower():
        return None
    sentence = "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'."
    return ChatRefusal(400, sentence, param="messages")
