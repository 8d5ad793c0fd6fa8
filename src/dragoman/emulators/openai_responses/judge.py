"""The whole validation: model, fields, items, empty input, then what the model supports."""

from __future__ import annotations

import json
from typing import Any

from dragoman.emulators.chat.openai.request_types import listed, missing, unknown, wrong_type
from dragoman.emulators.openai_responses.fields import check_fields, has_state
from dragoman.emulators.openai_responses.hosted_items import check_servers
from dragoman.emulators.openai_responses.models import ResponsesModel, model_of
from dragoman.emulators.openai_responses.pairs import check_items
from dragoman.emulators.openai_responses.refusals import ResponsesRefusal
from dragoman.emulators.provider import EmulatorOptions, ReceivedRequest

_RETENTION = "prompt_cache_retention"
_SAMPLING = ("temperature", "top_p", "presence_penalty", "frequency_penalty")


def check(request: ReceivedRequest, options: EmulatorOptions) -> None:
    """Raises the first `ResponsesRefusal`, or returns if the request is valid."""
    body: dict[str, Any] = request.body
    _check_model(body, options)
    check_fields(body)
    items = body.get("input")
    if isinstance(items, list):
        check_items(items, body.get("store") is not False, has_state(body), options.strict_signatures)
    if not items and not has_state(body):
        raise ResponsesRefusal(
            "One of \"input\" or \"previous_response_id\" or 'prompt' or 'conversation' must be provided.",
            None,
            "missing_required_parameter",
        )
    _check_json_mentioned(body)
    _check_capabilities(body, model_of(request.model))
    check_servers(body)


def _check_model(body: dict[str, Any], options: EmulatorOptions) -> None:
    name = body.get("model")
    if name is None:
        if body.get("prompt"):
            return
        raise missing("model")
    if not isinstance(name, str):
        raise wrong_type("model", "a string", name)
    if not options.knows(name):
        raise ResponsesRefusal(f"The requested model '{name}' does not exist.", "model", "model_not_found")


def _check_json_mentioned(body: dict[str, Any]) -> None:
    """`json_object` requires the word in the messages. Whether instructions count is not known."""
    wanted = ((body.get("text") or {}).get("format") or {}).get("type") == "json_object"
    if (
        wanted
        and not has_state(body)
        and "json" not in json.dumps([body.get("input"), body.get("instructions")]).lower()
    ):
        sentence = "must contain the word 'json' in some form to use 'text.format' of type 'json_object'."
        raise ResponsesRefusal(f"Response input messages {sentence}", "input")


def _check_capabilities(body: dict[str, Any], model: ResponsesModel) -> None:
    reasoning = body.get("reasoning") or {}
    effort = reasoning.get("effort")
    if "generate_summary" in reasoning and model.reasons:
        raise unknown("reasoning.generate_summary")
    if effort and model.never_reasons:
        raise _refuse_unsupported("reasoning.effort", "unsupported_parameter")
    if effort and effort not in model.efforts:
        raise ResponsesRefusal(
            f"Unsupported value: '{effort}' is not supported with the '{model.name}' model. "
            f"Supported values are: {listed(model.efforts)}.",
            "reasoning.effort",
            "unsupported_value",
        )
    if model.is_reasoning(effort):
        _check_sampling(body)
    _check_verbosity((body.get("text") or {}).get("verbosity"), model)


def check_retention(request: ReceivedRequest) -> None:
    """How long a prompt is cached: since 5.6 not in memory alone."""
    version = model_of(request.model).version
    if request.body.get(_RETENTION) == "in_memory" and version is not None and version >= (5, 6):
        sentence = "This model is compatible only with 24h extended prompt caching"
        raise ResponsesRefusal(sentence, _RETENTION, "invalid_parameter")


def _check_sampling(body: dict[str, Any]) -> None:
    for name in _SAMPLING:
        if body.get(name) is not None:
            raise _refuse_unsupported(name)
    if body.get("top_logprobs") or "message.output_text.logprobs" in (body.get("include") or []):
        raise ResponsesRefusal("logprobs are not supported with reasoning models.", "include")


def _check_verbosity(verbosity: str | None, model: ResponsesModel) -> None:
    if verbosity not in (None, "medium") and model.never_reasons:
        raise ResponsesRefusal(
            f"Unsupported value: '{verbosity}' is not supported with the '{model.name}' model. "
            "Supported values are: 'medium'.",
            "text.verbosity",
            "unsupported_value",
        )


def _refuse_unsupported(name: str, code: str | None = None) -> ResponsesRefusal:
    return ResponsesRefusal(f"Unsupported parameter: '{name}' is not supported with this model.", name, code)
