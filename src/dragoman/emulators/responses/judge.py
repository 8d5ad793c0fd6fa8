"""The whole validation: model, fields, items, empty input, then what the model cannot do."""

from __future__ import annotations

from typing import Any

from dragoman.emulators.provider import Options, Received
from dragoman.emulators.responses.fields import check_fields, has_state
from dragoman.emulators.responses.models import Model, model_of
from dragoman.emulators.responses.pairs import check_items
from dragoman.emulators.responses.shape import Fault, listed, missing, mistyped, unknown

_O_EFFORTS = ("low", "medium", "high")
_SAMPLING = ("temperature", "top_p", "presence_penalty", "frequency_penalty")


def check(call: Received, options: Options) -> None:
    """Raises the first `Fault`; returns quietly if the request is good."""
    body: dict[str, Any] = call.body
    _check_model(body, options)
    check_fields(body)
    given = body.get("input")
    if isinstance(given, list):
        check_items(given, body.get("store") is not False, has_state(body), options.strict_signatures)
    if not given and not has_state(body):
        raise Fault(
            "One of \"input\" or \"previous_response_id\" or 'prompt' or 'conversation' must be provided.",
            None,
            "missing_required_parameter",
        )
    _check_capabilities(body, model_of(call.model))


def _check_model(body: dict[str, Any], options: Options) -> None:
    name = body.get("model")
    if name is None:
        if body.get("prompt"):
            return
        raise missing("model")
    if not isinstance(name, str):
        raise mistyped(name, "a string", "model")
    if not options.knows(name):
        raise Fault(f"The requested model '{name}' does not exist.", "model", "model_not_found")


def _check_capabilities(body: dict[str, Any], model: Model) -> None:
    reasoning = body.get("reasoning") or {}
    effort = reasoning.get("effort")
    if "generate_summary" in reasoning and model.reasons:
        raise unknown("reasoning.generate_summary")
    if effort and model.never_reasons:
        raise _unsupported("reasoning.effort", "unsupported_parameter")
    if effort and model.is_o and effort not in _O_EFFORTS:
        raise Fault(
            f"Unsupported value: '{effort}' is not supported with the '{model.name}' model. "
            f"Supported values are: {listed(_O_EFFORTS)}.",
            "reasoning.effort",
            "unsupported_value",
        )
    if model.is_reasoning(effort):
        _check_sampling(body)
    _check_verbosity((body.get("text") or {}).get("verbosity"), model)


def _check_sampling(body: dict[str, Any]) -> None:
    for name in _SAMPLING:
        if body.get(name) is not None:
            raise _unsupported(name)
    if body.get("top_logprobs") or "message.output_text.logprobs" in (body.get("include") or []):
        raise Fault("logprobs are not supported with reasoning models.", "include")


def _check_verbosity(verbosity: str | None, model: Model) -> None:
    if verbosity not in (None, "medium") and model.never_reasons:
        raise Fault(
            f"Unsupported value: '{verbosity}' is not supported with the '{model.name}' model. "
            "Supported values are: 'medium'.",
            "text.verbosity",
            "unsupported_value",
        )


def _unsupported(name: str, code: str | None = None) -> Fault:
    return Fault(f"Unsupported parameter: '{name}' is not supported with this model.", name, code)
