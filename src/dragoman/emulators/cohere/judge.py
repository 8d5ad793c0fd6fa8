"""The whole validation, in the order in which the errors are reported: types, turns, calls, tools, settings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from dragoman.emulators.chat.pairs import call_ids, find_unanswered_calls, orphan_results, role
from dragoman.emulators.cohere.request_types import REQUEST, sentence
from dragoman.emulators.cohere.schemas import schema_errors
from dragoman.emulators.emulated_api import ProviderRefusal
from dragoman.emulators.request_shape import ShapeMismatch

_TOOL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RANGES = {"temperature": (0, 2), "p": (0.01, 0.99), "k": (0, 500)}
_RANGES |= {"frequency_penalty": (0, 1), "presence_penalty": (0, 1)}
MAX_STOPS = 5


class CohereRefusal(ProviderRefusal):
    """A refusal: its status and sentence."""


def check(body: dict[str, Any]) -> None:
    """Raise the first error that the service would report."""
    if not body.get("model"):
        raise CohereRefusal("a model parameter is required for this endpoint.")
    try:
        REQUEST(body, ())
    except ShapeMismatch as found:
        status, words = sentence(found)
        raise CohereRefusal(words, status) from None
    for errors in (_turn_errors, _call_errors, _tool_errors, _setting_errors, _format_errors):
        for words in errors(body):
            raise CohereRefusal(words)


def _turn_errors(body: dict[str, Any]) -> Iterator[str]:
    messages = body["messages"]
    if not messages:
        yield "invalid request: list of messages must be at least 1 message long."
    for message in messages:
        if role(message) == "user" and not _says_something(message["content"]):
            yield "invalid request: message must not be empty in a turn"


def _says_something(content: Any) -> bool:
    if isinstance(content, str):
        return bool(content)
    return any(part.get("text") or part["type"] != "text" for part in content)


def _call_errors(body: dict[str, Any]) -> Iterator[str]:
    messages = body["messages"]
    for message in messages:
        ids = call_ids(message)
        if len(set(ids)) < len(ids):
            yield "invalid request: cannot have duplicate tool ids"
    for found in find_unanswered_calls(messages):
        yield (
            "invalid request: An assistant message with 'tool_calls' must be followed by tool messages responding to"
            " each 'tool_call_id'. The following tool_call_ids did not have response messages: "
            + ", ".join(found.missing)
        )
    for _ in orphan_results(messages):
        yield "invalid request: tool call id not found in previous tool calls"
    yield from _find_repeated(messages)


def _find_repeated(messages: list[Any]) -> Iterator[str]:
    answered: set[str] = set()
    for message in messages:
        if role(message) != "tool":
            answered = set()
            continue
        if message["tool_call_id"] in answered:
            yield "invalid request: cannot have duplicate tool ids"
        answered.add(message["tool_call_id"])


def _tool_errors(body: dict[str, Any]) -> Iterator[str]:
    for tool in body.get("tools") or ():
        name = tool["function"]["name"]
        if _TOOL_NAME.fullmatch(name) is None:
            yield (
                "invalid request: tool names can only contain certain characters (A-Za-z0-9_) and can't begin with a"
                f" digit (provided name: '{name}')."
            )


def _setting_errors(body: dict[str, Any]) -> Iterator[str]:
    for name, (least, most) in _RANGES.items():
        value = body.get(name)
        if value is not None and not least <= value <= most:
            yield f"invalid request: {name} must be between {least} and {float(most)} inclusive."
    if body.get("frequency_penalty") and body.get("presence_penalty"):
        yield "invalid request: cannot specify both frequency_penalty and presence_penalty."
    if len(body.get("stop_sequences") or ()) > MAX_STOPS:
        yield f"invalid request: stop_sequences must have at most {MAX_STOPS} items."
    budget = (body.get("thinking") or {}).get("token_budget")
    if budget is not None and budget <= 0:
        yield "invalid request: thinking token_budget must be a positive integer."
    if (body.get("max_tokens") or 0) < 0:
        yield "invalid request: max_tokens must be greater than or equal to 0."
    ids = [one.get("id") for one in body.get("documents") or () if isinstance(one, dict) and one.get("id")]
    if len(set(ids)) < len(ids):
        yield "invalid request: document ids must be unique."


def _format_errors(body: dict[str, Any]) -> Iterator[str]:
    form = body.get("response_format") or {}
    if form.get("type") != "json_object":
        return
    if body.get("tools") or body.get("documents"):
        yield "invalid request: response_format is not supported with tools or documents."
    schema = form.get("json_schema")
    if schema is not None:
        yield from (f"invalid request: {error}" for error in schema_errors(schema))
