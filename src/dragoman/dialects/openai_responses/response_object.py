"""The response object: members of the request, repeated, and the answer."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from dragoman.conversation.events import Started
from dragoman.conversation.literals import quote
from dragoman.conversation.parts import Json
from dragoman.dialects.dialect import AnswerContext
from dragoman.dialects.openai_responses import NAME
from dragoman.dialects.ownership import own_fields
from dragoman.wire.json_reader import render_object

_REPEATED: Mapping[str, Json] = {
    "background": b"false",
    "instructions": b"null",
    "max_output_tokens": b"null",
    "max_tool_calls": b"null",
    "metadata": b"{}",
    "parallel_tool_calls": b"true",
    "previous_response_id": b"null",
    "prompt_cache_key": b"null",
    "reasoning": b'{"effort":null,"summary":null}',
    "safety_identifier": b"null",
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
already."""


class ResponseFrame(msgspec.Struct, frozen=True):
    """The members that are the same in all response objects of one answer."""

    head: Mapping[str, Json]
    repeated: Mapping[str, Json]

    def object(
        self, status: bytes, output: bytes, usage: Json = b"null", error: Json = b"null", incomplete: Json = b"null"
    ) -> bytes:
        state = {"status": b'"' + status + b'"', "error": error, "incomplete_details": incomplete}
        return render_object({**self.head, **state, "output": output, **self.repeated, "usage": usage})


def response_for(started: Started, context: AnswerContext) -> ResponseFrame:
    """The frame of an answer's response objects."""
    head = {
        "id": quote(identity(started, context)),
        "object": b'"response"',
        "created_at": b"%d" % (started.created or context.created),
        "model": quote(context.model or started.model),
    }
    given = {key: value for key, value in context.request.items() if key in _REPEATED}
    repeated = own_fields(started.extras, NAME) or {**_REPEATED, **given}
    if started.service_tier is not None:
        repeated["service_tier"] = quote(started.service_tier)
    return ResponseFrame(head, repeated)


def identity(started: Started, context: AnswerContext) -> str:
    return started.id or context.id
