"""The whole validation: all parse errors at once, then the model's name, then the first error of the content."""

from __future__ import annotations

from typing import Any

from dragoman.emulators.gemini.cached_contents import check_beside
from dragoman.emulators.gemini.flavour import Flavour, GeminiModel, GeminiRefusal, model_of
from dragoman.emulators.gemini.messages import ENUMS
from dragoman.emulators.gemini.proto import ProtoJsonParser
from dragoman.emulators.gemini.schemas import check_mixed, check_schema, check_tools
from dragoman.emulators.gemini.thoughts import check_signatures
from dragoman.emulators.gemini.turns import check_contents
from dragoman.emulators.provider import EmulatorOptions, Operation, ReceivedRequest

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


def check(request: ReceivedRequest, flavour: Flavour, options: EmulatorOptions) -> None:
    """Raises the first `GeminiRefusal`, or returns if the request is valid."""
    counting = request.operation is Operation.COUNT
    body = parse_body(request.body, "CountTokensRequest" if counting else "GenerateContentRequest", flavour)
    if not options.knows(request.model):
        raise unknown_model(request, flavour)
    body = body.get("generateContentRequest", body)
    model = model_of(request.model)
    check_beside(body, flavour)
    check_tools(body, flavour)
    check_mixed(body, flavour, model)
    check_contents(body.get("contents", []), flavour, model)
    check_signatures(body["contents"], flavour, model, options.strict_signatures)
    _check_settings(body.get("generationConfig", {}), flavour, model)


def parse_body(body: dict[str, Any], message: str, flavour: Flavour) -> dict[str, Any]:
    """The body in one spelling. Raises a refusal that lists every unknown field."""
    parser = ProtoJsonParser(flavour.table, ENUMS, flavour.package)
    parsed = parser.parse(message, body)
    if not parser.violations:
        return parsed
    listed = [{"field": at, "description": sentence} for at, sentence in parser.violations]
    details = [{"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": listed}]
    raise GeminiRefusal("\n".join(sentence for _, sentence in parser.violations), details=details)


def unknown_model(request: ReceivedRequest, flavour: Flavour) -> GeminiRefusal:
    """The refusal of an unknown model."""
    if flavour.is_vertex:
        place = request.path.split("/", 2)[2].rsplit(":", 1)[0]
        return GeminiRefusal(f"Publisher Model `{place}` not found.", 404, "NOT_FOUND")
    version = request.path.split("/")[1]
    verb = "countTokens" if request.operation is Operation.COUNT else "generateContent"
    return GeminiRefusal(
        f"models/{request.model} is not found for API version {version}, or is not supported for {verb}. "
        "Call ListModels to see the list of available models and their supported methods.",
        404,
        "NOT_FOUND",
    )


def _check_settings(config: dict[str, Any], flavour: Flavour, model: GeminiModel) -> None:
    for name, (low, high) in _RANGES.items():
        if name in config and not low <= config[name] <= high:
            raise _out_of_range(name, config[name], low, high, flavour)
    if config.get("maxOutputTokens", 1) < 1:
        raise flavour.field_refusal("generation_config.max_output_tokens", "max_output_tokens must be positive.")
    if (count := len(config.get("stopSequences") or ())) > 5:
        raise flavour.field_refusal(
            "generation_config.stop_sequences",
            "the number of stop_sequences must not exceed 5",
            f"it has a stopSequences value of {count} but the supported range is from 1 (inclusive) to 6 (exclusive). "
            "Update the value and try again.",
        )
    if config.get("candidateCount", 1) > 1 and model.since(3) and not flavour.is_vertex:
        raise GeminiRefusal("Multiple candidates is not enabled for this model")
    penalised = config.get("presencePenalty") or config.get("frequencyPenalty")
    if (
        penalised and model.since(2, 5) and not flavour.is_vertex
    ):  # https://github.com/google-gemini/cookbook/issues/1290
        raise GeminiRefusal("Penalty is not enabled for this model")
    _check_thinking(config.get("thinkingConfig", {}), model, flavour)
    if "responseSchema" in config:
        check_schema(config["responseSchema"], "generation_config.response_schema", flavour)


def _out_of_range(name: str, value: float, low: float, high: float, flavour: Flavour) -> GeminiRefusal:
    ending = f"{high + 0.0001} (exclusive)" if name == "temperature" else f"{high:g} (inclusive)"
    return flavour.field_refusal(
        f"generation_config.{_SPELLED.get(name, name)}",
        f"must be in the range [{low}, {high}].",
        f"it has a {name} value of {value:g} but the supported range is from {low:g} (inclusive) to {ending}. "
        "Update the value and try again.",
    )


def _check_thinking(config: dict[str, Any], model: GeminiModel, flavour: Flavour) -> None:
    budget, level = config.get("thinkingBudget"), config.get("thinkingLevel")
    wants = config.get("includeThoughts") or budget not in (None, 0) or level is not None
    if wants and not model.thinks:
        raise GeminiRefusal("Unable to submit request because thinking is not supported by this model.")
    if budget is not None and level is not None:
        raise GeminiRefusal("You can only set only one of thinking budget and thinking level.")
    if level is not None:
        _check_level(level, model)
    if budget is not None:
        _check_budget(int(budget), model, flavour)


def _check_level(level: str, model: GeminiModel) -> None:
    if model.before(3):
        raise GeminiRefusal("Thinking level is not supported for this model.")
    if level in model.refused_levels:
        raise GeminiRefusal(
            f"Thinking level {level} is not supported for this model. Please retry with other thinking level."
        )


def _check_budget(budget: int, model: GeminiModel, flavour: Flavour) -> None:
    if model.budgets is None or budget == -1:
        return
    smallest, largest, can_be_off = model.budgets
    if budget == 0 and not can_be_off:
        sentence = "The model does not support setting thinking_budget to 0."
        raise GeminiRefusal(f"Unable to submit request because {sentence}" if flavour.is_vertex else sentence)
    if budget and not smallest <= budget <= largest:
        raise GeminiRefusal(
            f"The thinking budget ({budget}) is invalid. Please choose a value between {smallest} and {largest}."
        )
