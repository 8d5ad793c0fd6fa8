"""OpenAI's checks of the parameters: known names, types and ranges, then what the model supports."""

from __future__ import annotations

import re
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

from dragoman.emulators.chat import request_types as chat_types
from dragoman.emulators.chat.openai.models import ChatModel, chat_model
from dragoman.emulators.chat.openai.request_types import (
    array_too_long,
    mismatch_refusal,
    unknown,
    unsupported_parameter,
    unsupported_value,
)
from dragoman.emulators.chat.service import ChatRefusal, fits
from dragoman.emulators.provider import ReceivedRequest
from dragoman.emulators.request_shape import Path, RecordShape, bounded, integer, mapping, nullable, text, text_up_to
from dragoman.emulators.wire import render_json

_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
KNOWN_PARAMETERS = frozenset(chat_types.REQUEST.fields)


_FORGOTTEN = {"audio", "modalities", "web_search_options"}
"""Unknown to gpt-5.6 and later (measured in August 2026)."""


# What the models before gpt-5 write at most: https://github.com/tailcallhq/forgecode/issues/1185, July 2025.
_MOST_TOKENS = (
    ("gpt-3.5-turbo", 4096),
    ("gpt-4-turbo", 4096),
    ("gpt-4o-2024-05-13", 4096),
    ("gpt-4o", 16384),
    ("gpt-4.1", 32768),
)


def check_known(request: ReceivedRequest) -> None:
    """No unknown key. OpenAI's two validators report one differently."""
    model = chat_model(request.model)
    known = KNOWN_PARAMETERS - _FORGOTTEN if model.since(5, 6) else KNOWN_PARAMETERS
    stray = next((key for key in request.body if key not in known), None)
    if stray is None:
        return
    if not model.has_newer_validator:
        raise ChatRefusal(400, f"Unrecognized request argument supplied: {stray}")
    near = get_close_matches(stray, sorted(known), n=2)
    refusal = unknown(stray)
    hint = " Did you mean " + " or ".join(f"'{one}'" for one in near) + "?" if near else ""
    raise replace(refusal, message=refusal.message + hint)


def stop(value: Any, path: Path) -> None:
    """What ends the answer."""
    chat_types.REQUEST.fields["stop"](value, path)
    if isinstance(value, list) and len(value) > 4:
        raise array_too_long("stop", 4, value)


def metadata(value: Any, path: Path) -> None:
    """A few texts."""
    mapping(value, path)
    if len(value) > 16:
        sentence = (
            "too many properties. Expected an object with at most 16 properties,"
            f" but got an object with {len(value)} properties instead."
        )
        raise ChatRefusal(400, f"Invalid 'metadata': {sentence}", param="metadata", code="object_above_max_properties")
    for key, member in value.items():
        text(member, (*path, key))
        if len(key) > 64:
            sentence = f"'{key[:3]}...{key[-3:]}' is too long. Expected a string with maximum length 64."
            raise ChatRefusal(
                400,
                f"Invalid property name in 'metadata': {sentence}",
                param=f"metadata.{key}",
                code="property_name_above_max_length",
            )
        text_up_to(512)(member, (*path, key))


def check_stream_options(request: ReceivedRequest) -> None:
    """They want a stream."""
    if request.body.get("stream_options") is not None and not request.stream:
        sentence = "The 'stream_options' parameter is only allowed when 'stream' is enabled."
        raise ChatRefusal(400, sentence, param="stream_options")


def check_supported(request: ReceivedRequest) -> None:
    """Parameters that this model does not support."""
    model = chat_model(request.model)
    _check_limit(request, model)
    _check_limit_name(request, model)
    _check_while_reasoning(request, model)
    _check_model_parameters(request, model)
    _check_effort(request, model)


def _check_limit(request: ReceivedRequest, model: ChatModel) -> None:
    most = next((most for name, most in _MOST_TOKENS if model.name.startswith(name)), 0)
    for key in ("max_tokens", "max_completion_tokens"):
        given = request.body.get(key) or 0
        if most and given > most:
            sentence = f"{key} is too large: {given}. This model supports at most {most} completion tokens, whereas you"
            raise ChatRefusal(400, f"{sentence} provided {given}.", param=key, code="invalid_value")


def _check_limit_name(request: ReceivedRequest, model: ChatModel) -> None:
    if model.reasons and request.body.get("max_tokens") is not None:
        raise unsupported_parameter("max_tokens", " Use 'max_completion_tokens' instead.")
    if None not in (request.body.get("max_tokens"), request.body.get("max_completion_tokens")):
        sentence = "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported."
        raise ChatRefusal(400, sentence, param="max_tokens", code="invalid_parameter_combination")


def _check_while_reasoning(request: ReceivedRequest, model: ChatModel) -> None:
    effort = request.body.get("reasoning_effort") or model.default_effort
    if not model.reasons or effort == "none":
        return
    temperature = request.body.get("temperature")
    if temperature is not None and temperature != 1:
        raise unsupported_value("temperature", temperature, " Only the default (1) value is supported.")
    for name in ("top_p", "presence_penalty", "frequency_penalty", "logprobs"):
        value = request.body.get(name)
        if value is True or value not in (None, False, 0, 1):
            raise unsupported_parameter(name)


def _check_model_parameters(request: ReceivedRequest, model: ChatModel) -> None:
    body = request.body
    if body.get("stop") is not None and _refuses_stop(model):
        raise unsupported_parameter("stop")
    if model.never_reasons and body.get("verbosity") not in (None, "medium"):
        raise unsupported_value("verbosity", body["verbosity"], " Supported values are: 'medium'.")
    if model.since(5, 6):
        for name in ("logit_bias", "prediction"):
            if body.get(name) is not None:
                raise unsupported_parameter(name)
        for name, most in (("n", 8), ("top_logprobs", 5)):
            fits(RecordShape({name: nullable(bounded(integer, most=most))}, open=True), mismatch_refusal)(request)
    if body.get("top_logprobs") and not body.get("logprobs"):
        sentence = "The 'logprobs' parameter must be enabled to use 'top_logprobs'."
        raise ChatRefusal(400, sentence, param="top_logprobs")
    if body.get("web_search_options") is not None and "search" not in model.name and model.version > (0, 0):
        raise ChatRefusal(400, "Web search options not supported with this model.", param="web_search_options")


def _refuses_stop(model: ChatModel) -> bool:
    if not model.reasons:
        return False
    if re.match(r"o1-mini|o3(?!-mini)|o4", model.name):
        return True
    return model.version == (5, 0) or model.since(5, 6)


def _check_effort(request: ReceivedRequest, model: ChatModel) -> None:
    effort = request.body.get("reasoning_effort")
    if effort is None:
        # from gpt-5.6 on the model's own effort counts (measured, litellm#34569)
        if model.since(5, 6) and model.reasons and request.body.get("tools"):
            raise _refuse_tools(request)
        return
    if model.never_reasons:
        raise ChatRefusal(400, "Unrecognized request argument supplied: reasoning_effort")
    unsupported = _find_unsupported(model)
    if effort in unsupported and model.version == (5, 0):
        sentence = f"Unsupported value: '{effort}' is not supported with the '{model.name}' model."
        supported = " Supported values are: 'minimal', 'low', 'medium', and 'high'."
        raise ChatRefusal(400, sentence + supported, param="reasoning_effort", code="unsupported_value")
    if effort in unsupported:
        rest = ", ".join(f"'{one}'" for one in _EFFORTS if one not in unsupported)
        raise unsupported_value("reasoning_effort", effort, f" Supported values are: {rest}.")
    if effort != "none" and model.since(5, 4) and model.reasons and request.body.get("tools"):
        raise _refuse_tools(request)


def check_retention(request: ReceivedRequest) -> None:
    """How long a prompt is cached: since 5.6 not in memory alone."""
    if request.body.get("prompt_cache_retention") != "in_memory" or not chat_model(request.model).since(5, 6):
        return
    sentence = "This model is compatible only with 24h extended prompt caching"
    raise ChatRefusal(400, sentence, param="prompt_cache_retention", code="invalid_parameter")


def check_tools_with_effort(request: ReceivedRequest) -> None:
    """Function tools, for a deployment that is named after a model that thinks."""
    model, effort = chat_model(request.model), request.body.get("reasoning_effort")
    since = (5, 6) if effort is None else (5, 4)
    refused = request.body.get("tools") and effort != "none" and model.reasons and model.since(*since)
    if refused:
        raise _refuse_tools(request)


def _refuse_tools(request: ReceivedRequest) -> ChatRefusal:
    sentence = (
        f"Function tools with reasoning_effort are not supported for {request.model} in /v1/chat/completions."
        " To use function tools, use /v1/responses or set reasoning_effort to 'none'."
    )
    return ChatRefusal(400, sentence, param="reasoning_effort")


_WITHOUT_NONE = ("gpt-6-astra", "gpt-6.1-sol")
"""Models that always reason (OpenAI's changelog, 2026-09-29)."""


def _find_unsupported(model: ChatModel) -> tuple[str, ...]:
    if model.name.startswith(_WITHOUT_NONE):
        return ("none", "minimal", "max")
    if model.version == (5, 0) and model.reasons:
        return ("none", "xhigh", "max")
    if model.version == (5, 6):
        return ("minimal", "max")
    return ("none", "minimal") if model.name.startswith("o4-mini") else ()


def lacks_json_word(request: ReceivedRequest) -> bool:
    """Whether the answer must be JSON, and no message speaks of it."""
    response_format = request.body.get("response_format")
    wanted = isinstance(response_format, dict) and response_format.get("type") == "json_object"
    return wanted and b"json" not in render_json(request.body["messages"]).lower()


def check_json_mentioned(request: ReceivedRequest) -> None:
    """`json_object` requires the word "json" in the messages."""
    if lacks_json_word(request):
        sentence = "must contain the word 'json' in some form, to use 'response_format' of type 'json_object'."
        raise ChatRefusal(400, f"'messages' {sentence}", param="messages")
