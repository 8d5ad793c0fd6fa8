"""OpenAI's checks of the parameters: known names, types and ranges, then what the model at hand supports."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from dragoman.emulators.chat_service import Complaint
from dragoman.emulators.openai_models import Family, family
from dragoman.emulators.openai_types import (
    above,
    below,
    kind,
    not_among,
    unknown,
    unsupported_parameter,
    unsupported_value,
    wrong_type,
)
from dragoman.emulators.provider import Received
from dragoman.emulators.wire import compact


@dataclass(frozen=True, slots=True)
class Spec:
    """The type of a parameter in OpenAI's words, and its range or values."""

    of: str
    least: float | None = None
    most: float | None = None
    values: tuple[str, ...] = ()


_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")

# in the order in which the service walks them
SPECS: dict[str, Spec] = {
    "functions": Spec("an array"),
    "parallel_tool_calls": Spec("a boolean"),
    "max_completion_tokens": Spec("an integer", 1),
    "max_tokens": Spec("an integer", 1),
    "temperature": Spec("a decimal", 0, 2),
    "top_p": Spec("a decimal", 0, 1),
    "n": Spec("an integer", 1, 128),
    "stop": Spec("one of a string or array"),
    "presence_penalty": Spec("a decimal", -2, 2),
    "frequency_penalty": Spec("a decimal", -2, 2),
    "logit_bias": Spec("an object"),
    "logprobs": Spec("a boolean"),
    "top_logprobs": Spec("an integer", 0, 20),
    "seed": Spec("an integer"),
    "user": Spec("a string"),
    "safety_identifier": Spec("a string"),
    "reasoning_effort": Spec("a string", values=_EFFORTS),
    "modalities": Spec("an array"),
    "audio": Spec("an object"),
    "prediction": Spec("an object"),
    "web_search_options": Spec("an object"),
    "prompt_cache_key": Spec("a string"),
    "prompt_cache_retention": Spec("a string"),
    "service_tier": Spec("a string", values=("auto", "default", "flex", "priority", "fast")),
    "stream": Spec("a boolean"),
    "stream_options": Spec("an object"),
    "store": Spec("a boolean"),
    "metadata": Spec("an object"),
    "verbosity": Spec("a string", values=("low", "medium", "high")),
}
KNOWN = frozenset(
    {"model", "messages", "tools", "tool_choice", "function_call", "response_format"}
    | {"moderation", "prompt_cache_options"}
    | SPECS.keys()
)


def known(call: Received) -> Complaint | None:
    """No key that the endpoint has never heard of. Each validator has its own words."""
    stray = next((key for key in call.body if key not in KNOWN), None)
    if stray is None:
        return None
    if not family(call.model).newer_validator:
        return Complaint(400, f"Unrecognized request argument supplied: {stray}")
    near = get_close_matches(stray, sorted(KNOWN), n=2)
    complaint = unknown(stray)
    if not near:
        return complaint
    hint = " Did you mean " + " or ".join(f"'{one}'" for one in near) + "?"
    return Complaint(400, complaint.message + hint, param=stray, code="unknown_parameter")


def typed(call: Received) -> Complaint | None:
    """Types and ranges of every parameter; null stands for absence."""
    for name, spec in SPECS.items():
        value = call.body.get(name)
        complaint = None if value is None else _fits(name, value, spec)
        if complaint is not None:
            return complaint
    return _stops(call.body.get("stop")) or _stream_options(call) or _metadata(call.body.get("metadata"))


def _fits(name: str, value: Any, spec: Spec) -> Complaint | None:
    if not _is(value, spec.of):
        return wrong_type(name, spec.of, value)
    noun = spec.of.rsplit(" ", 1)[-1]
    if spec.least is not None and value < spec.least:
        return below(name, noun, spec.least, value)
    if spec.most is not None and value > spec.most:
        return above(name, noun, spec.most, float(value) if noun == "decimal" else value)
    return not_among(name, value, spec.values) if spec.values and value not in spec.values else None


def _is(value: Any, of: str) -> bool:
    actual = kind(value)
    return actual in of or (of == "a decimal" and actual == "an integer") or (actual.split(" ")[-1] in of.split(" "))


def _stops(stop: Any) -> Complaint | None:
    if isinstance(stop, list) and len(stop) > 4:
        words = f"array too long. Expected an array with maximum length 4, but got an array with length {len(stop)}"
        return Complaint(400, f"Invalid 'stop': {words} instead.", param="stop", code="array_above_max_length")
    return None


def _stream_options(call: Received) -> Complaint | None:
    options = call.body.get("stream_options")
    if options is None:
        return None
    if not call.stream:
        words = "The 'stream_options' parameter is only allowed when 'stream' is enabled."
        return Complaint(400, words, param="stream_options")
    stray = next((key for key in options if key not in ("include_usage", "include_obfuscation")), None)
    return unknown(f"stream_options.{stray}") if stray is not None else None


def _metadata(metadata: Any) -> Complaint | None:
    if metadata is None:
        return None
    if len(metadata) > 16:
        words = "too many properties. Expected an object with at most 16 properties"
        return Complaint(400, f"Invalid 'metadata': {words}.", param="metadata", code="object_above_max_properties")
    for key, value in metadata.items():
        if not isinstance(value, str):
            return wrong_type(f"metadata.{key}", "a string", value)
        if len(key) > 64 or len(value) > 512:
            words = "string too long. Expected keys of at most 64 and values of at most 512 characters."
            return Complaint(400, f"Invalid 'metadata': {words}", param="metadata", code="string_above_max_length")
    return None


def supported(call: Received) -> Complaint | None:
    """What this model does not take."""
    model = family(call.model)
    return _limits(call, model) or _while_reasoning(call, model) or _of_model(call, model) or _effort(call, model)


def _limits(call: Received, model: Family) -> Complaint | None:
    if model.reasons and call.body.get("max_tokens") is not None:
        return unsupported_parameter("max_tokens", " Use 'max_completion_tokens' instead.")
    return None


def _while_reasoning(call: Received, model: Family) -> Complaint | None:
    effort = call.body.get("reasoning_effort") or model.default_effort
    if not model.reasons or effort == "none":
        return None
    temperature = call.body.get("temperature")
    if temperature is not None and temperature != 1:
        return unsupported_value("temperature", temperature, " Only the default (1) value is supported.")
    if not model.is_since(5, 6):
        return None
    for name in ("top_p", "presence_penalty", "frequency_penalty", "logprobs"):
        value = call.body.get(name)
        if value not in (None, False, 0, 1):
            return unsupported_parameter(name)
    return None


def _of_model(call: Received, model: Family) -> Complaint | None:
    body = call.body
    if body.get("stop") is not None and _refuses_stop(model):
        return unsupported_parameter("stop")
    if model.is_since(5, 6):
        for name in ("logit_bias", "prediction"):
            if body.get(name) is not None:
                return unsupported_parameter(name)
        if (body.get("n") or 1) > 8:
            return above("n", "integer", 8, body["n"])
    if body.get("top_logprobs") and not body.get("logprobs"):
        words = "The 'logprobs' parameter must be enabled to use 'top_logprobs'."
        return Complaint(400, words, param="top_logprobs")
    if body.get("web_search_options") is not None and "search" not in model.model and model.version > (0, 0):
        return Complaint(400, "Web search options not supported with this model.", param="web_search_options")
    return None


def _refuses_stop(model: Family) -> bool:
    if not model.reasons:
        return False
    if re.match(r"o1-mini|o3(?!-mini)|o4", model.model):
        return True
    return model.version == (5, 0) or model.is_since(5, 6)


def _effort(call: Received, model: Family) -> Complaint | None:
    effort = call.body.get("reasoning_effort")
    if effort is None:
        return None
    lacking = _lacking(model)
    if effort in lacking:
        rest = ", ".join(f"'{one}'" for one in _EFFORTS if one not in lacking)
        return unsupported_value("reasoning_effort", effort, f" Supported values are: {rest}.")
    if effort != "none" and model.is_since(5, 4) and model.reasons and call.body.get("tools"):
        words = (
            f"Function tools with reasoning_effort are not supported for {call.model} in /v1/chat/completions."
            " To use function tools, use /v1/responses or set reasoning_effort to 'none'."
        )
        return Complaint(400, words, param="reasoning_effort")
    return None


def _lacking(model: Family) -> tuple[str, ...]:
    if model.version == (5, 6):
        return ("minimal", "max")
    return ("none", "minimal") if model.model.startswith("o4-mini") else ()


def says_json(call: Received) -> Complaint | None:
    """`json_object` wants the word in the messages."""
    wanted = call.body.get("response_format")
    if not isinstance(wanted, dict) or wanted.get("type") != "json_object":
        return None
    if b"json" in compact(call.body["messages"]).lower():
        return None
    words = "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'."
    return Complaint(400, words, param="messages")
