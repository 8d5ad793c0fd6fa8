"""The response object: members of the request, repeated, and the answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from dragoman.conversation.events import Started
from dragoman.conversation.literals import quote
from dragoman.conversation.parts import Json
from dragoman.dialects.dialect import AnswerContext
from dragoman.dialects.openai_responses import ID_PREFIX, NAME
from dragoman.dialects.openai_responses.response_members import DEFAULTS, repeated_members
from dragoman.dialects.ownership import own_fields
from dragoman.dialects.parsing import vendor_id
from dragoman.wire.json_reader import render_object


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
