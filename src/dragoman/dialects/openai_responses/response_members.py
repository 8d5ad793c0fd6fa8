"""What a response repeats of its request, complete: the members that clients rely on, with their defaults."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Raw

from dragoman.conversation.parts import Json
from dragoman.dialects.raw_json import UNREADABLE, decode_items, decode_members
from dragoman.wire.json_reader import render_list, render_object

DEFAULTS: Mapping[str, Json] = {
    "background": b"false",
    "completed_at": b"null",
    "frequency_penalty": b"0.0",
    "instructions": b"null",
    "max_output_tokens": b"null",
    "max_tool_calls": b"null",
    "metadata": b"{}",
    "parallel_tool_calls": b"true",
    "presence_penalty": b"0.0",
    "previous_response_id": b"null",
    "prompt_cache_key": b"null",
    "reasoning": b'{"effort":null,"summary":null}',
    "safety_identifier": b"null",
    "service_tier": b'"default"',
    "store": b"true",
    "temperature": b"1.0",
    "text": b'{"format":{"type":"text"}}',
    "tool_choice": b'"auto"',
    "tools": b"[]",
    "top_logprobs": b"0",
    "top_p": b"1.0",
    "truncation": b'"disabled"',
    "user": b"null",
}
"""Members of the request that the answer repeats, with their defaults. An answer that came in this dialect repeats them
already. Only a completed answer has a time of completion."""


def repeated_members(request: Mapping[str, Json]) -> dict[str, Json]:
    """What the client said, completed where a response says more than a request must."""
    given = {key: value for key, value in request.items() if key in DEFAULTS and bytes(value) != b"null"}
    for key, complete in _COMPLETE.items():
        if key in given:
            given[key] = complete(given[key])
    return given


def _reasoning(given: Json) -> Json:
    return _with_defaults(given, {"effort": b"null", "summary": b"null"})


def _text(given: Json) -> Json:
    return _with_defaults(given, {"format": b'{"type":"text"}'})


def _tools(given: Json) -> Json:
    try:
        tools = decode_items(given)
    except UNREADABLE:
        return given
    return render_list([_tool(bytes(tool)) for tool in tools])


def _tool(given: Json) -> Json:
    """A tool. Only functions have members that the SDK's types require and a request may leave out."""
    return _with_defaults(given, {"description": b"null", "parameters": b"null", "strict": b"null"}, b'"function"')


def _with_defaults(given: Json, defaults: Mapping[str, Json], kind: bytes = b"") -> Json:
    """An object with the members that it does not have. `kind`: the only type that has them."""
    try:
        members: dict[str, Raw] = decode_members(given)
    except UNREADABLE:
        return given
    if members.keys() >= defaults.keys() or (kind and bytes(members.get("type", b"")) != kind):
        return given
    return render_object({**members, **{key: value for key, value in defaults.items() if key not in members}})


_COMPLETE: Mapping[str, Callable[[Json], Json]] = {"reasoning": _reasoning, "text": _text, "tools": _tools}
