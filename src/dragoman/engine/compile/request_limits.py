"""How much one request may hold. Everything from outside is bounded before it is looked at.

A body that is short cannot hold much, so an ordinary request is not counted at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from dragoman.conversation.conversation import Ask, Conversation
from dragoman.conversation.messages import Message
from dragoman.conversation.parts import Call
from dragoman.dialects import registry
from dragoman.engine.compile.member_places import RequestPlaces, place_in
from dragoman.engine.compile.request_wrappers import find_wrapped
from dragoman.engine.history.sizes import measure_tools
from dragoman.engine.memory.continued_requests import SHORTEST, KnownBody, parse_remembered
from dragoman.errors import LimitExceeded, MalformedRequest, RequestError
from dragoman.wire.json_size import count_escapes, count_separators, count_values

Count = Annotated[int, Meta(ge=1)]


class RequestLimits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, repr_omit_defaults=True):
    """How much one request, and one answer, may hold. What is beyond a limit is refused with its number."""

    values: Annotated[
        Count, Meta(description="Values of the JSON body: every object, list, text and number. Beyond it: 413.")
    ] = 200_000
    escapes: Annotated[
        Count, Meta(description="Backslashes of the JSON body: each is slow to read. Beyond it: 413.")
    ] = 2_000_000
    messages: Annotated[Count, Meta(description="Messages of the conversation. Beyond it: 413.")] = 20_000
    parts: Annotated[Count, Meta(description="Parts of all messages together. Beyond it: 413.")] = 50_000
    calls: Annotated[Count, Meta(description="Tool calls of all messages together. Beyond it: 413.")] = 10_000
    tools: Annotated[Count, Meta(description="Tools that are declared. Beyond it: 413.")] = 2_000
    tool_name: Annotated[Count, Meta(description="Characters of a tool's name. Beyond it: 400.")] = 1_024
    encodings: Annotated[
        Count, Meta(description="Names in `Content-Encoding`, such as `gzip`, one inside the other. Beyond it: 415.")
    ] = 2
    answer: Annotated[Count, Meta(description="Bytes of a provider's answer that is not streamed. Beyond it: 502.")] = (
        33_554_432
    )


DEFAULT_LIMITS = RequestLimits()
SHORTEST_PART = 2
"""Bytes that a part or a message takes at least."""
SHORTEST_CALL = len('{"name":""')
"""Bytes that a call takes at least, in any dialect."""


def parse_ask(
    dialect: str,
    body: bytes,
    headers: Mapping[str, str] | None = None,
    limits: RequestLimits = DEFAULT_LIMITS,
    *,
    known: KnownBody | None = None,
    continues: bool = False,
) -> Ask:
    """A request as an Ask. Raises LimitExceeded, MalformedRequest or DuplicateKey. `known`: what is remembered of
    its conversation. `continues`: raise NotContinued if it is not the next turn of that."""
    is_long = len(body) > limits.escapes or len(body) > limits.values
    if is_long and (known is None or not _holds_little(known, limits)):
        check_body(body, limits)
    try:
        if known is not None and known.memory is not None and len(body) >= SHORTEST:
            ask = parse_remembered(dialect, known, known.memory, headers, continues)
        else:
            ask = registry.dialect(dialect).requests.parse(body, headers=headers)
    except RequestError as fault:
        ask = _parse_wrapped(dialect, body, headers, fault)
    check_conversation(ask, len(body), limits)
    return ask


def _parse_wrapped(dialect: str, body: bytes, headers: Mapping[str, str] | None, fault: RequestError) -> Ask:
    """The request that stands inside another object. Raises `fault` if there is none."""
    client = registry.dialect(dialect)
    may_wrap = isinstance(fault, MalformedRequest)
    found = find_wrapped(body, takes_model=not client.model_in_path) if may_wrap else None
    if found is None:
        fault.at = place_in(body, fault.at)
        raise fault
    try:
        ask = client.requests.parse(found.body, headers=headers)
    except RequestError as inner:
        inner.at = found.wrapper.at + place_in(found.body, inner.at)
        raise
    return replace(ask, wrapper=found.wrapper)


def check_body(body: bytes, limits: RequestLimits = DEFAULT_LIMITS) -> None:
    """Raise LimitExceeded if the JSON holds too many values or escapes. It does not have to be JSON."""
    if len(body) > limits.escapes and (found := count_escapes(body, limits.escapes)) > limits.escapes:
        raise _exceeded(found, "escapes", "escapes", limits.escapes)
    if len(body) > limits.values and (found := count_values(body, limits.values)) > limits.values:
        raise _exceeded(found, "JSON values", "values", limits.values)


def _holds_little(known: KnownBody, limits: RequestLimits) -> bool:
    """Whether a body is within the limits by what was counted in its known beginning on the turn before."""
    size = len(known.body)
    counted = ((_count_values, limits.values), (_count_escapes, limits.escapes))
    return known.size > 0 and all(size <= most or sum(known.search(count, count)) <= most for count, most in counted)


def _count_values(text: bytes) -> tuple[int]:
    """At most how many values there are."""
    return (count_separators(text),)


def _count_escapes(text: bytes) -> tuple[int]:
    return (text.count(b"\\"),)


def check_conversation(ask: Ask, size: int, limits: RequestLimits = DEFAULT_LIMITS) -> None:
    """Raise LimitExceeded or MalformedRequest. `size` is the length of the body."""
    messages, tools = ask.conversation.messages, ask.conversation.tools
    if len(messages) > limits.messages:
        raise _exceeded(len(messages), "messages", "messages", limits.messages)
    if len(tools) > limits.tools:
        raise _exceeded(len(tools), "tools", "tools", limits.tools)
    if tools and (longest := measure_tools(tools).longest_named) is not None and len(longest.name) > limits.tool_name:
        limit = f"the limit is {limits.tool_name} (limits.tool_name)"
        at = RequestPlaces(ask, registry.dialect(ask.dialect).requests.places).locate(longest.place)
        raise MalformedRequest(f"a tool's name has {len(longest.name)} characters; {limit}", at=at)
    if size > SHORTEST_PART * limits.parts or size > SHORTEST_CALL * limits.calls:
        known = ask.known
        opening = 0 if known is None else _count_parts(messages[: known.opening])
        if known is None or opening + known.parts > min(limits.parts, limits.calls):
            _check_parts(ask.conversation, limits)


def _count_parts(messages: Sequence[Message]) -> int:
    return sum([len(message.parts) for message in messages])


def _check_parts(conversation: Conversation, limits: RequestLimits) -> None:
    parts = _count_parts(conversation.messages)
    if parts > limits.parts:
        raise _exceeded(parts, "parts", "parts", limits.parts)
    if parts <= limits.calls:
        return
    calls = sum(isinstance(part, Call) for message in conversation.messages for part in message.parts)
    if calls > limits.calls:
        raise _exceeded(calls, "tool calls", "calls", limits.calls)


def _exceeded(found: int, what: str, key: str, limit: int) -> LimitExceeded:
    return LimitExceeded(f"the request has {found} {what}; the limit is {limit}", hint=f"limits.{key} changes it")
