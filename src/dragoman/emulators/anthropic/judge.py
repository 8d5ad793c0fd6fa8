"""The whole validation, in the order in which the service reports errors: fields, conversation, capabilities."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dragoman.emulators.anthropic import thinking
from dragoman.emulators.anthropic.compaction import check_compaction
from dragoman.emulators.anthropic.conversation import STRICTER_SINCE, check_conversation, check_version
from dragoman.emulators.anthropic.fields import check_fields
from dragoman.emulators.anthropic.hosted_blocks import check_hosted
from dragoman.emulators.anthropic.models import ClaudeModel, claude_model
from dragoman.emulators.anthropic.refusals import AnthropicRefusal, invalid, join_path
from dragoman.emulators.anthropic.schemas import check_compilable, check_schema
from dragoman.emulators.anthropic.tools import check_references, check_strict, check_tool_set
from dragoman.emulators.provider import EmulatorOptions, Operation, ReceivedRequest

MAX_CACHE_MARKS = 4


def check(request: ReceivedRequest, options: EmulatorOptions) -> None:
    """Raises the first `AnthropicRefusal`, or returns if the request is valid."""
    body: dict[str, Any] = request.body
    beta = f"{request.headers.get('anthropic-beta', '')} {body.get('anthropic_beta', '')}"
    counting = request.operation is Operation.COUNT
    version = request.headers.get("anthropic-version", "")
    in_path = _names_model(request.path)
    check_fields(body, beta, version, beta_route="beta" in request.query, counting=counting, model_in_path=in_path)
    if not options.knows(request.model):
        raise AnthropicRefusal(f"model: {request.model}", 404, "not_found_error")
    model = claude_model(request.model)
    check_conversation(body["messages"], model)
    if version >= STRICTER_SINCE:
        check_version(body["messages"])
    thinking.check_blocks(body["messages"], model, options.strict_signatures)
    _check_system(body)
    _check_cache_marks(body)
    if "prompt-caching-scope" not in beta or _names_model(request.path):
        _check_cache_scope(body, "")
    check_tool_set(body)
    check_references(body)
    check_hosted(body, options.strict_signatures)
    check_compaction(body, options.strict_signatures)
    _check_capabilities(body, model, beta)


def _names_model(path: str) -> bool:
    """Whether a cloud's path says which model is asked."""
    return "/publishers/" in path or path.startswith("/model/")


def _check_capabilities(body: dict[str, Any], model: ClaudeModel, beta: str) -> None:
    thinking.check_config(body, model, beta)
    _check_sampling(body, model)
    _check_limit(body, model)
    _check_container(body)
    check_strict(body.get("tools") or [])
    form = (body.get("output_config") or {}).get("format")
    if form:
        _check_structured(model)
        check_schema(form["schema"], ("output_config", "format", "schema"))
        check_compilable(form["schema"], "output_config.format.schema")


def _check_structured(model: ClaudeModel) -> None:
    """Structured output came with Sonnet 4.5 and Opus 4.1: https://github.com/envoyproxy/ai-gateway/issues/1846."""
    if model.before(4, 1):
        raise AnthropicRefusal("output_config.format: Extra inputs are not permitted")


def _check_sampling(body: dict[str, Any], model: ClaudeModel) -> None:
    if model.since(4, 7):
        for name, default in (("temperature", 1), ("top_p", 1), ("top_k", None)):
            if name in body and body[name] != default:
                raise AnthropicRefusal(f"`{name}` is deprecated for this model.")
    if model.since(4, 1) and "temperature" in body and "top_p" in body:
        raise AnthropicRefusal(
            "`temperature` and `top_p` cannot both be specified for this model. Please use only one."
        )


def _check_limit(body: dict[str, Any], model: ClaudeModel) -> None:
    limit, most = body.get("max_tokens", 0), model.max_output
    if limit > most:
        raise AnthropicRefusal(
            f"max_tokens: {limit} > {most}, which is the maximum allowed number of output tokens for {model.name}"
        )
    if body.get("max_tokens") == 0:
        _check_warming(body)


def _check_warming(body: dict[str, Any]) -> None:
    """A request for no tokens, which only writes the prompt cache. What it may not have is documented, the words are
    not: https://github.com/anthropics/skills, prompt-caching.md."""
    forced = (body.get("tool_choice") or {}).get("type") in ("any", "tool")
    form = (body.get("output_config") or {}).get("format")
    for name, given in (("stream", body.get("stream")), ("tool_choice", forced), ("output_config.format", form)):
        if given:
            raise AnthropicRefusal(f"{name}: not supported with `max_tokens` of 0")


def _check_container(body: dict[str, Any]) -> None:
    """Newer web tools run code too, to filter what they find."""
    kinds = [str(tool.get("type")) for tool in body.get("tools") or []]
    if isinstance(body.get("container"), str) and not any(
        "code_execution" in kind or kind.startswith(("web_search_2026", "web_fetch_2026")) for kind in kinds
    ):
        raise AnthropicRefusal(
            "container: Container identifier can only be provided when using the code execution tool"
        )


def _check_system(body: dict[str, Any]) -> None:
    """An empty block is refused, an empty text without a list is not."""
    system = body.get("system")
    if isinstance(system, list) and any(block.get("type") == "text" and not block["text"] for block in system):
        raise AnthropicRefusal("system: text content blocks must be non-empty")


def _check_cache_scope(value: Any, at: str) -> None:
    """Without its beta a hint has no scope. The clouds that name the model in the path do not have that beta."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            _check_cache_scope(item, join_path(at, index))
    elif isinstance(value, dict):
        hint = value.get("cache_control")
        if isinstance(hint, dict) and "scope" in hint:
            raise invalid(join_path(at, "cache_control.ephemeral.scope"), "Extra inputs are not permitted")
        for name in _HINTED.intersection(value):
            _check_cache_scope(value[name], join_path(at, name))


_HINTED = frozenset({"tools", "system", "messages", "content"})


def _check_cache_marks(body: dict[str, Any]) -> None:
    """At most four markers, and long lifetimes before short ones. A marker of the whole request is one of the four."""
    marks = [(at, place["cache_control"]) for at, place in _markable(body) if place.get("cache_control")]
    found = len(marks) + bool(body.get("cache_control"))
    if found > MAX_CACHE_MARKS:
        raise AnthropicRefusal(f"A maximum of 4 blocks with cache_control may be provided. Found {found}.")
    is_short = False
    for at, mark in marks:
        if mark.get("ttl") == "1h" and is_short:
            raise invalid(f"{at}.cache_control.ttl", _LATE_HOUR)
        is_short = is_short or mark.get("ttl") != "1h"


_LATE_HOUR = (
    "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that blocks are processed "
    "in the following order: `tools`, `system`, `messages`."
)


def _markable(body: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """What may carry a marker, in the order in which it is read, each with its path."""
    lists = {name: body.get(name) for name in ("tools", "system")}
    lists |= {f"messages.{at}.content": message.get("content") for at, message in enumerate(body["messages"])}
    for path, places in lists.items():
        for at, place in enumerate(places if isinstance(places, list) else []):
            yield f"{path}.{at}", place
