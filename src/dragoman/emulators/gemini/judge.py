"""The whole validation: the reader's complaints all at once, then the model's name, then one fault at a time."""

from __future__ import annotations

from typing import Any

from dragoman.emulators.gemini.flavour import Fault, Manner, Model, model_of
from dragoman.emulators.gemini.messages import ENUMS
from dragoman.emulators.gemini.proto import Reader
from dragoman.emulators.gemini.schemas import check_schema, check_tools
from dragoman.emulators.gemini.thoughts import check_signatures
from dragoman.emulators.gemini.turns import check_contents
from dragoman.emulators.provider import Operation, Options, Received

_RANGES = {
    "temperature": (0.0, 2.0),
    "topP": (0.0, 1.0),
    "presencePenalty": (-2.0, 2.0),
    "frequencyPenalty": (-2.0, 2.0),
}
_SPELLED = {
    "topP": "top_p",
    "presencePenalty": "presence_penalty",
    "frequencyPenalty": "frequency_penalty",
}


def check(call: Received, manner: Manner, options: Options) -> None:
    """Raises the first `Fault`; returns quietly if the request is good."""
    counting = call.operation is Operation.COUNT
    request = parsed(call.body, "CountTokensRequest" if counting else "GenerateContentRequest", manner)
    if not options.knows(call.model):
        raise unknown_model(call, manner)
    request = request.get("generateContentRequest", request)
    model = model_of(call.model)
    _check_cached(request, manner)
    check_tools(request, manner)
    check_contents(request.get("contents", []), manner, model)
    check_signatures(request["contents"], manner, model, options.strict_signatures)
    _check_settings(request.get("generationConfig", {}), manner, model)


def parsed(body: dict[str, Any], message: str, manner: Manner) -> dict[str, Any]:
    """The body in one spelling, or every field the reader does not know."""
    reader = Reader(manner.table, ENUMS, manner.package)
    request = reader.read(message, body)
    if not reader.violations:
        return request
    listed = [{"field": at, "description": sentence} for at, sentence in reader.violations]
    details = [{"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": listed}]
    raise Fault("\n".join(sentence for _, sentence in reader.violations), details=details)


def unknown_model(call: Received, manner: Manner) -> Fault:
    """A model nobody has heard of."""
    if manner.is_vertex:
        place = call.path.split("/", 2)[2].rsplit(":", 1)[0]
        return Fault(f"Publisher Model `{place}` not found.", 404, "NOT_FOUND")
    version = call.path.split("/")[1]
    verb = "countTokens" if call.operation is Operation.COUNT else "generateContent"
    return Fault(
        f"models/{call.model} is not found for API version {version}, or is not supported for {verb}. "
        "Call ListModels to see the list of available models and their supported methods.",
        404,
        "NOT_FOUND",
    )


def _check_cached(request: dict[str, Any], manner: Manner) -> None:
    beside = any(request.get(name) for name in ("systemInstruction", "tools", "toolConfig"))
    if manner.is_vertex and "cachedContent" in request and beside:
        raise Fault(
            "Tool config, tools and system instruction should not be set in the request when using cached content."
        )


def _check_settings(config: dict[str, Any], manner: Manner, model: Model) -> None:
    for name, (low, high) in _RANGES.items():
        if name in config and not low <= config[name] <= high:
            raise _out_of_range(name, config[name], low, high, manner)
    if config.get("maxOutputTokens", 1) < 1:
        raise manner.field_fault("generation_config.max_output_tokens", "max_output_tokens must be positive.")
    _check_thinking(config.get("thinkingConfig", {}), model)
    if "responseSchema" in config:
        check_schema(config["responseSchema"], "generation_config.response_schema", manner)


def _out_of_range(name: str, value: float, low: float, high: float, manner: Manner) -> Fault:
    ending = f"{high + 0.0001} (exclusive)" if name == "temperature" else f"{high:g} (inclusive)"
    return manner.field_fault(
        f"generation_config.{_SPELLED.get(name, name)}",
        f"must be in the range [{low}, {high}].",
        f"it has a {name} value of {value:g} but the supported range is from {low:g} (inclusive) to {ending}. "
        "Update the value and try again.",
    )


def _check_thinking(config: dict[str, Any], model: Model) -> None:
    wants = config.get("includeThoughts") or config.get("thinkingBudget", 0) != 0 or "thinkingLevel" in config
    if wants and not model.thinks:
        raise Fault("Unable to submit request because thinking is not supported by this model.")
