"""The whole validation, in the order in which the service reports faults: fields, conversation, capabilities."""

from __future__ import annotations

from typing import Any

from dragoman.emulators.anthropic import thinking
from dragoman.emulators.anthropic.claude import Claude, claude
from dragoman.emulators.anthropic.conversation import check_conversation
from dragoman.emulators.anthropic.fields import check_fields
from dragoman.emulators.anthropic.schemas import compilable, well_formed
from dragoman.emulators.anthropic.shape import Fault
from dragoman.emulators.anthropic.tools import check_set, check_strict
from dragoman.emulators.provider import Operation, Options, Received

MAX_OUTPUT = 128_000
MAX_CACHE_MARKS = 4


def check(call: Received, options: Options) -> None:
    """Raises the first `Fault`; returns quietly if the request is good."""
    body: dict[str, Any] = call.body
    beta = f"{call.headers.get('anthropic-beta', '')} {body.get('anthropic_beta', '')}"
    counting = call.operation is Operation.COUNT
    check_fields(body, beta, "beta" in call.query, counting, model_in_path="/publishers/" in call.path)
    if not options.knows(call.model):
        raise Fault(f"model: {call.model}", 404, "not_found_error")
    model = claude(call.model)
    check_conversation(body["messages"], model)
    thinking.check_blocks(body["messages"], model, options.strict_signatures)
    _check_cache_marks(body)
    check_set(body)
    _check_capabilities(body, model, beta)


def _check_capabilities(body: dict[str, Any], model: Claude, beta: str) -> None:
    thinking.check_config(body, model, beta)
    _check_sampling(body, model)
    _check_limit(body, model)
    _check_container(body)
    check_strict(body.get("tools") or [])
    form = (body.get("output_config") or {}).get("format")
    if form:
        well_formed(form["schema"], "output_config.format.schema")
        compilable(form["schema"], "output_config.format.schema")


def _check_sampling(body: dict[str, Any], model: Claude) -> None:
    if model.since(4, 7):
        for name, default in (("temperature", 1), ("top_p", 1), ("top_k", None)):
            if name in body and body[name] != default:
                raise Fault(f"`{name}` is deprecated for this model.")
    if model.since(4, 1) and "temperature" in body and "top_p" in body:
        raise Fault("`temperature` and `top_p` cannot both be specified for this model. Please use only one.")


def _check_limit(body: dict[str, Any], model: Claude) -> None:
    limit = body.get("max_tokens", 0)
    if model.version is not None and limit > MAX_OUTPUT:
        raise Fault(
            f"max_tokens: {limit} > {MAX_OUTPUT}, which is the maximum allowed number of output tokens for {model.name}"
        )


def _check_container(body: dict[str, Any]) -> None:
    if isinstance(body.get("container"), str) and not any(
        "code_execution" in str(tool.get("type")) for tool in body.get("tools") or []
    ):
        raise Fault("container: Container identifier can only be provided when using the code execution tool")


def _check_cache_marks(body: dict[str, Any]) -> None:
    system = body.get("system")
    places = [*(body.get("tools") or []), *(system if isinstance(system, list) else [])]
    for message in body["messages"]:
        if isinstance(message.get("content"), list):
            places.extend(message["content"])
    found = sum(bool(place.get("cache_control")) for place in places)
    if found > MAX_CACHE_MARKS:
        raise Fault(f"A maximum of 4 blocks with cache_control may be provided. Found {found}.")
