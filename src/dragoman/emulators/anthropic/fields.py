"""The top-level fields of a request: known ones in the order in which the service checks them, then unknown ones."""

from __future__ import annotations

from typing import Any

from dragoman.emulators.anthropic import blocks
from dragoman.emulators.anthropic.refusals import by_type, invalid, items_of, mapping, mismatch_refusal, record, typed
from dragoman.emulators.anthropic.tools import tool_choice, tools
from dragoman.emulators.request_shape import (
    Path,
    Shape,
    ShapeMismatch,
    anything,
    boolean,
    bounded,
    filled,
    integer,
    nullable,
    number,
    one_of,
    text,
    text_up_to,
)

# Fields that need a beta: the header names it by one of these prefixes, or the path ends with `?beta=true`.
BETAS = {
    "billing_policy": ("user-profiles-billing-",),
    "context_management": ("context-management-", "compact-"),
    "mcp_servers": ("mcp-client-",),
    "output_format": ("structured-outputs-",),
    "compaction": ("compact",),
    "fallbacks": ("fallback",),
    "tags": ("request-tags-",),
    "fallback_credit_token": ("fallback",),
    "thread": ("thread",),
}


def _messages(value: Any, path: Path) -> None:
    items_of(blocks.message)(value, path)
    if not value:
        raise invalid(path, "at least one message is required")
    if len(value) > 100_000:
        raise invalid(path, "List should have at most 100000 items after validation")


def _stop_sequences(value: Any, path: Path) -> None:
    """Reported in litellm#3286 and mcp-web-ui#5. The sentences name the list, not the item."""
    items_of(text)(value, path)
    if "" in value:
        raise invalid(path, "each stop sequence must be non-empty")
    if any(not one.strip() for one in value):
        raise invalid(path, "each stop sequence must contain non-whitespace")


def _user_id(value: Any, path: Path) -> None:
    """Reported in litellm#10106."""
    text_up_to(256)(value, path)
    user, _, host = value.partition("@")
    if user and "." in host:
        raise invalid(path, "user_id appears to contain an email address. Please send a uuid or hash value instead.")


def _fraction(value: Any, path: Path) -> None:
    number(value, path)
    if not 0 <= value <= 1:
        raise invalid(path, "range: 0..1")


_shown: dict[str, Shape] = {"type": anything, "display": nullable(text), "block_binding": anything}
thinking: Shape = by_type(
    {
        "enabled": record({**_shown, "budget_tokens": bounded(integer, 1024)}, required=("budget_tokens",)),
        "adaptive": record(_shown),
        "disabled": record({"type": anything}),
        "between_tools": record({"type": anything}),
    }
)
_format = nullable(by_type({"json_schema": typed(schema=mapping)}))
output_config: Shape = record(
    {
        "effort": nullable(one_of("low", "medium", "high", "xhigh", "max")),
        "format": _format,
        "task_budget": anything,
    }
)

FIELDS: dict[str, Shape] = {
    "model": filled,
    "tool_choice": tool_choice,
    "tools": tools,
    "messages": _messages,
    "system": blocks.system,
    "thinking": thinking,
    "output_config": output_config,
    "cache_control": blocks.cache_control,
    "max_tokens": bounded(integer, 0),
    "metadata": record({"user_id": nullable(_user_id)}),
    "stop_sequences": _stop_sequences,
    "temperature": _fraction,
    "service_tier": one_of("auto", "standard_only"),
    "top_k": bounded(integer, 0),
    "top_p": _fraction,
    "stream": boolean,
    "container": anything,
    "inference_geo": nullable(text),
    "diagnostics": anything,
    "speed": nullable(text),
}
_COUNT = ("model", "tool_choice", "tools", "messages", "system", "thinking", "output_config", "cache_control", "speed")
_REQUIRED = ("model", "messages", "max_tokens")
_SAMPLING = ("temperature", "top_p", "top_k")
_NO_SAMPLING_SINCE = "2026-10-21"
"""The version of the API that refuses these on every model, also at their defaults (Anthropic's migration page)."""


def check_fields(
    body: dict[str, Any], beta: str, version: str, *, beta_route: bool, counting: bool, model_in_path: bool
) -> None:
    """Check each field. `beta` is the text of the `anthropic-beta` header, `version` that of `anthropic-version`."""
    known = {name: FIELDS[name] for name in _COUNT} if counting else dict(FIELDS)
    if version >= _NO_SAMPLING_SINCE:
        known = {name: check for name, check in known.items() if name not in _SAMPLING}
    required = [name for name in _REQUIRED if name in known]
    if model_in_path:
        known = {"anthropic_version": filled, "anthropic_beta": anything, **known}
        required = ["anthropic_version", *required]
        if not counting:  # a question for tokens has another name in its path
            known.pop("model")
            required.remove("model")
    known |= {name: anything for name, marks in BETAS.items() if beta_route or any(mark in beta for mark in marks)}
    try:
        record(known, required=tuple(required))(body, ())
    except ShapeMismatch as mismatch:
        raise mismatch_refusal(mismatch) from None
