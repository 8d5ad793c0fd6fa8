"""What a Responses answer is made of, whole or in a stream, and errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from dragoman.conversation.bounded_cache import remembered
from dragoman.conversation.canonical import base62
from dragoman.conversation.events import CallStarted, Ended, Started
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.conversation.literals import EMPTY, quote
from dragoman.conversation.parts import Json, Origin
from dragoman.conversation.replies import Stop, Usage
from dragoman.dialects.dialect import AnswerContext
from dragoman.dialects.families.missing_members import CompleteObject, complete
from dragoman.dialects.families.openai_answers import error_object, headers_of, status_of
from dragoman.dialects.openai_responses import ID_PREFIX, NAME
from dragoman.dialects.openai_responses.answer_parse import THOUGHT
from dragoman.dialects.shared.citations import page_of
from dragoman.dialects.shared.ownership import own_fields
from dragoman.dialects.shared.parsing import vendor_id
from dragoman.dialects.shared.raw_json import UNREADABLE, decode_items, decode_members, encode
from dragoman.wire.error_bodies import provider_error
from dragoman.wire.json_reader import render_list, render_object

INCOMPLETE: Mapping[Stop, bytes] = {
    Stop.LENGTH: b'{"reason":"max_output_tokens"}',
    Stop.CONTEXT: b'{"reason":"max_output_tokens"}',
    Stop.FILTER: b'{"reason":"content_filter"}',
}
"""Stops that leave a response incomplete. A refusal does too if the response does not hold its text."""


def render_incomplete(reason: Stop | None, refused: bool) -> Json | None:
    """`incomplete_details`, or None if the response is complete."""
    if reason is Stop.REFUSAL and not refused:
        return INCOMPLETE[Stop.FILTER]
    return INCOMPLETE.get(reason) if reason is not None else None


def item_id(prefix: str, fields: Mapping[str, Json], response: str, place: int) -> Json:
    """The item's own id, or one made from the answer's id and the item's index."""
    return fields.get("id") or quote(f"{prefix}_{base62(response, place, length=32)}")


def render_message(identity: Json, fields: Mapping[str, Json], status: bytes, content: list[bytes]) -> Json:
    others = b"".join([b",%b:%b" % (quote(key), value) for key, value in fields.items() if key != "id"])
    return b'{"type":"message","id":%b,"status":"%b","role":"assistant","content":%b%b}' % (
        *(identity, status, render_list(content), others),
    )


def render_output_text(literal: bytes, annotations: list[Json], logprobs: Json | None) -> Json:
    return b'{"type":"output_text","text":%b,"annotations":%b,"logprobs":%b}' % (
        *(literal, render_list(annotations), logprobs or b"[]"),
    )


def render_refusal(literal: bytes) -> Json:
    return b'{"type":"refusal","refusal":' + literal + b"}"


def render_reasoning(
    identity: Json, fields: Mapping[str, Json], literal: bytes | None, field: str, encrypted: Json | None
) -> Json:
    """A reasoning item. Reasoning that is not a summary is its content."""
    item = {"type": b'"reasoning"', "id": identity, **{key: value for key, value in fields.items() if key != "id"}}
    item["summary"] = b"[]"
    if literal is not None and literal != EMPTY:
        if field == THOUGHT:
            item["content"] = b'[{"type":"reasoning_text","text":%b}]' % literal
        else:
            item["summary"] = b'[{"type":"summary_text","text":%b}]' % literal
    if encrypted is not None:
        item["encrypted_content"] = encrypted
    return render_object(item)


def render_call(identity: Json, fields: Mapping[str, Json], call: CallStarted, words: Json, status: bytes) -> Json:
    others = b"".join([b",%b:%b" % (quote(key), value) for key, value in fields.items() if key != "id"])
    kind, member = (b"custom_tool_call", b"input") if call.custom else (b"function_call", b"arguments")
    return b'{"type":"%b","id":%b,"status":"%b","call_id":%b,"name":%b,"%b":%b%b}' % (
        *(kind, identity, status, quote(call.id), quote(call.name), member, words, others),
    )


def render_picture(identity: Json, fields: Mapping[str, Json], media_type: str, data: bytes) -> Json:
    """A picture, as if the provider's own tool had made it, since Responses has no other place for one."""
    made = {
        "type": b'"image_generation_call"',
        "id": identity,
        "status": b'"completed"',
        "output_format": quote(media_type.removeprefix("image/") or "png"),
    }
    return render_object({**(fields or made), "result": data})


def render_annotation(citation: Json, origin: Origin) -> Json | None:
    """A citation as an annotation, or None if Responses has no form for it."""
    if origin.dialect == NAME:
        return citation
    page = page_of(citation)
    if page is None:
        return None
    place = {"start_index": page.start, "end_index": page.end}
    return encode({"type": "url_citation", "url": page.url, "title": page.title, **place})


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
    """What the client said, completed if a response says more than a request must."""
    given = {key: value for key, value in request.items() if key in DEFAULTS and bytes(value) != b"null"}
    for key, finish in _REPEATED.items():
        if key in given:
            given[key] = finish(given[key])
    return given


def _render_summary(given: Json) -> Json:
    return _with_defaults(given, {"effort": b"null", "summary": b"null"})


def _render_text(given: Json) -> Json:
    return _with_defaults(given, {"format": b'{"type":"text"}'})


def _tools(given: Json) -> Json:
    return complete_tools(bytes(given))  # members of a request are `Raw`, and a key is their text


@remembered
def complete_tools(given: bytes) -> Json:
    """A list of tools with all that a response says of them. An agent sends the same ones on every turn."""
    try:
        tools = decode_items(given)
    except UNREADABLE:
        return given
    return render_list([_render_tool(bytes(tool)) for tool in tools])


def _render_tool(given: Json) -> Json:
    """A tool. Only functions have members that the SDK's types require and a request may leave out. What is for a
    server of tools alone is not repeated."""
    if b'"mcp"' in given:
        return _without_secrets(given)
    defaults = {"description": b"null", "parameters": b"null", "strict": b"null"}
    return _with_defaults(_flatten(given), defaults, b'"function"')


def _flatten(given: Json) -> Json:
    """A function, or the choice of one, which some clients nest as Chat does."""
    if b'"function"' not in given:
        return given
    try:
        members: dict[str, Raw] = decode_members(given)
        nested: dict[str, Raw] = decode_members(members.pop("function"))
    except (KeyError, *UNREADABLE):
        return given
    return render_object({**members, **nested})


def _without_secrets(given: Json) -> Json:
    try:
        members: dict[str, Raw] = decode_members(given)
    except UNREADABLE:
        return given
    hidden = {"authorization": b'"[REDACTED]"', "headers": b"null"}
    return render_object({**members, **{key: value for key, value in hidden.items() if key in members}})


def _with_defaults(given: Json, defaults: Mapping[str, Json], kind: bytes = b"") -> Json:
    """An object with the members that it does not have. `kind`: the only type that has them."""
    try:
        members: dict[str, Raw] = decode_members(given)
    except UNREADABLE:
        return given
    if members.keys() >= defaults.keys() or (kind and bytes(members.get("type", b"")) != kind):
        return given
    return render_object({**members, **{key: value for key, value in defaults.items() if key not in members}})


_REPEATED: Mapping[str, Callable[[Json], Json]] = {
    "reasoning": _render_summary,
    "text": _render_text,
    "tools": _tools,
    "tool_choice": lambda given: _flatten(bytes(given)),
}


class ResponseFrame(msgspec.Struct, frozen=True):
    """The members that are the same in all response objects of one answer, and the clock for its completion."""

    head: Mapping[str, Json]
    repeated: Mapping[str, Json]
    clock: Callable[[], float] | None = None

    def object(
        self, status: bytes, output: bytes, usage: Json = b"null", error: Json = b"null", incomplete: Json = b"null"
    ) -> bytes:
        state = {"status": b'"' + status + b'"', "error": error, "incomplete_details": incomplete}
        at = self._completed_at() if status == b"completed" else b"null"
        members = {**self.head, **state, "output": output, **self.repeated, "completed_at": at, "usage": usage}
        return render_object(members)

    def ended(self, event: Ended) -> ResponseFrame:
        """With what is known only at the end."""
        tier = {"service_tier": quote(event.service_tier)} if event.service_tier is not None else {}
        return replace(self, repeated={**self.repeated, **own_fields(event.extras, NAME), **tier})

    def _completed_at(self) -> Json:
        """When the provider completed the answer, else now. An answer is not complete before it is begun, and without a
        clock that is all that is known."""
        given, begun = self.repeated["completed_at"], self.head["created_at"]
        if given != b"null":
            return given
        return begun if self.clock is None else b"%d" % max(int(self.clock()), int(begun))


def response_for(started: Started, context: AnswerContext) -> ResponseFrame:
    """The frame of an answer's response objects."""
    head = {
        "id": quote(identity(started, context)),
        "object": b'"response"',
        "created_at": b"%d" % (started.created or context.created),
        "model": quote(context.model or started.model),
    }
    own = own_fields(started.extras, NAME)
    repeated = {**DEFAULTS, **repeated_members(context.request), **own, **repeated_members(own)}
    if started.service_tier is not None:
        repeated["service_tier"] = quote(started.service_tier)
    return ResponseFrame(head, repeated, context.clock)


def identity(started: Started, context: AnswerContext) -> str:
    return started.id or vendor_id(ID_PREFIX, context.id)


FILTER_MARKS = frozenset({"content_filters"})
"""What Azure's content filter found."""
_COMPLETED = b'"completed"'
_STATUS = {"status": _COMPLETED}
_COMPLETE_PART = CompleteObject(kinds={"output_text": CompleteObject(added={"annotations": b"[]", "logprobs": b"[]"})})
_COMPLETE_ITEM = CompleteObject(
    kinds={
        "message": CompleteObject(added={"role": b'"assistant"', **_STATUS}, inside={"content": _COMPLETE_PART}),
        "function_call": CompleteObject(added=_STATUS),
        "reasoning": CompleteObject(added={"summary": b"[]"}),
    }
)
_COMPLETE_TOOL = CompleteObject(
    kinds={"function": CompleteObject(added={"description": b"null", "parameters": b"null", "strict": b"null"})}
)
_COMPLETE_INPUT = {"cache_write_tokens": b"0", "cached_tokens": b"0"}
_COMPLETE_OUTPUT = {"reasoning_tokens": b"0"}
_COMPLETE_USAGE = CompleteObject(
    added={
        "input_tokens_details": b'{"cache_write_tokens":0,"cached_tokens":0}',
        "output_tokens_details": b'{"reasoning_tokens":0}',
    },
    inside={
        "input_tokens_details": CompleteObject(added=_COMPLETE_INPUT),
        "output_tokens_details": CompleteObject(added=_COMPLETE_OUTPUT),
    },
)
_COMPLETE_REASONING = CompleteObject(added={"effort": b"null", "summary": b"null"})
_COMPLETE_TEXT = CompleteObject(added={"format": b'{"type":"text"}'})


_COMPLETE_INSIDE = {
    "output": _COMPLETE_ITEM,
    "tools": _COMPLETE_TOOL,
    "usage": _COMPLETE_USAGE,
    "reasoning": _COMPLETE_REASONING,
    "text": _COMPLETE_TEXT,
}


def _completed_at(body: bytes, context: AnswerContext) -> Json:
    """Now, for a completed answer that does not say when it was. Without a clock, when it was begun."""
    try:
        members = decode_members(body) if b'"completed_at"' not in body else {}
    except UNREADABLE:
        return b"null"
    if not members or bytes(members.get("status", _COMPLETED)) != _COMPLETED:
        return b"null"
    created = bytes(members.get("created_at", b"%d" % context.created))
    return created if context.clock is None else b"%d" % context.clock()


def complete_answer(body: bytes, context: AnswerContext) -> bytes:
    """The response with the members that OpenAI's types and Open Responses require."""
    added = {
        "id": quote(vendor_id(ID_PREFIX, context.id)),
        "object": b'"response"',
        "created_at": b"%d" % context.created,
        "model": quote(context.model),
        **_STATUS,
        "error": b"null",
        "incomplete_details": b"null",
        "usage": b"null",
        **DEFAULTS,
        **repeated_members(context.request),
        "completed_at": _completed_at(body, context),
    }
    return complete(body, CompleteObject(added=added, never=FILTER_MARKS, inside=_COMPLETE_INSIDE))


# Usage

_decode = msgspec.json.decode


def render_usage(usage: Usage) -> Json:
    """The usage object, with further fields if the usage came from this dialect."""
    fields: dict[str, Any] = {key: _decode(value) for key, value in own_fields(usage.extras, NAME).items()}
    inputs: dict[str, Any] = {
        "cache_write_tokens": usage.cache_written,
        "cached_tokens": usage.cached,
        **fields.pop("input_tokens_details", {}),
    }
    outputs: dict[str, Any] = {"reasoning_tokens": usage.reasoning} | fields.pop("output_tokens_details", {})
    counts = {
        "input_tokens": usage.input,
        "input_tokens_details": inputs,
        "output_tokens": usage.output,
        "output_tokens_details": outputs,
        "total_tokens": usage.total,
    }
    return encode(counts | fields)


# Errors: as in Chat over HTTP, and with events of their own in a stream

_INVALID = "invalid_prompt"
"""The code of a failed response that another try does not change."""
_REFUSALS = frozenset({FailureKind.BAD_REQUEST, FailureKind.CONTENT_FILTER})
_PLAN_LIMITS = frozenset({"usage_limit_reached", "usage_not_included"})
_PLAN_MEMBERS = ("type", "plan_type", "resets_at")
"""Of errors over the limits of a ChatGPT plan. Codex tells its user the plan, and when there is more of it."""
_TOO_LONG = "exceeds the context window"


def render_error(failure: Failure, context: AnswerContext) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of the answer."""
    error = error_object(failure, _word_error(failure))
    if failure.type in _PLAN_LIMITS:
        found = provider_error(failure.raw)
        error |= {name: found[name] for name in _PLAN_MEMBERS if isinstance(found, dict) and name in found}
    return status_of(failure), headers_of(failure, context), encode({"error": error})


def response_error(failure: Failure) -> bytes:
    """The `error` of a failed response, which always has a code."""
    error = error_object(failure, _word_error(failure))
    code = _INVALID if failure.kind in _REFUSALS else error["code"]
    return encode({"code": code or _INVALID, "message": error["message"]})


def error_event(failure: Failure, number: int) -> bytes:
    """The `error` event: flat as documented, and with the object that OpenAI really sends."""
    error = error_object(failure, _word_error(failure))
    flat = {"code": error["code"], "message": error["message"], "param": error["param"]}
    return encode({"type": "error", "sequence_number": number, **flat, "error": error})


def _word_error(failure: Failure) -> str:
    """The provider's message. For a conversation that is too long, with the sentence that agents look for."""
    if failure.kind is not FailureKind.CONTEXT_LENGTH or _TOO_LONG in failure.message:
        return failure.message
    return f"Your input exceeds the context window of this model. ({failure.message})"
