"""Answers in the background: `background: true`, and what is found of such an answer while it is made."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

import msgspec
from msgspec import Raw

from dragoman.conversation.failures import Failure
from dragoman.conversation.literals import quote
from dragoman.conversation.parts import Json
from dragoman.conversation.replies import Choice, Reply
from dragoman.dialects.contracts.background import BackgroundAsk, BackgroundForm
from dragoman.dialects.dialect import AnswerContext
from dragoman.dialects.openai_responses.answer_render import response_error
from dragoman.dialects.openai_responses.endpoints import stored_answers
from dragoman.dialects.openai_responses.stream import render_answer
from dragoman.dialects.shared.parsing import asks_for_stream, open_body, parse_model
from dragoman.errors import MalformedRequest
from dragoman.wire.json_reader import render_list, render_object, split_members
from dragoman.wire.sse import SseDecoder, render_event_frame

_BACKGROUND, _STORE, _PREVIOUS = "background", "store", "previous_response_id"
_TRUE, _NULL = b"true", b"null"
_OPEN = ("queued", "in_progress")
_CREATED = b"response.created"
_ENDS = frozenset({b"response.completed", b"response.incomplete", b"response.failed"})
_REPEATED = ("instructions", "metadata", "reasoning", "text", "tools", "tool_choice", "temperature", "top_p")


def _parse(body: bytes) -> BackgroundAsk | None:
    if b'"background"' not in body:
        return None
    members = open_body(body).members
    if bytes(members.get(_BACKGROUND, b"false")) != _TRUE:
        return None
    if bytes(members.get(_STORE, _TRUE)) == b"false":
        raise MalformedRequest("background needs store: an answer that is not stored cannot be fetched", at="/store")
    previous = bytes(members.get(_PREVIOUS, _NULL))
    asked: dict[str, bytes | Raw] = {name: value for name, value in members.items() if name != _BACKGROUND}
    return BackgroundAsk(
        body=render_object(asked | {"stream": _TRUE, _STORE: b"false"}),
        model=parse_model(members) or "",
        streams=asks_for_stream(members),
        items=render_list(stored_answers.own_items(members)),
        previous=msgspec.json.decode(previous, type=str) if previous[:1] == b'"' else "",
        repeated={name: bytes(members[name]) for name in _REPEATED if name in members},
    )


def _render_queued(id: str, ask: BackgroundAsk, now: int) -> Json:
    context = AnswerContext(model=ask.model, created=now, id=id, request=ask.repeated)
    made = split_members(render_answer(Reply(id=id, model=ask.model, created=now, choices=(Choice(()),)), context))
    found = {"status": b'"queued"', "output": b"[]", "usage": _NULL, "completed_at": _NULL, "error": _NULL}
    return _mark({**made, **found}, id, ask)


def _mark(members: Mapping[str, bytes | Raw], id: str, ask: BackgroundAsk) -> Json:
    previous = quote(ask.previous) if ask.previous else _NULL
    own = {"id": quote(id), _BACKGROUND: _TRUE, _STORE: _TRUE, _PREVIOUS: previous}
    return render_object({**members, **own})


def _render_created(state: Json) -> bytes:
    return _render_event(_CREATED, state, 0)


class EventTeller:
    """Tells the events of a stream as those of a background answer, without the first."""

    def __init__(self, id: str, ask: BackgroundAsk) -> None:
        self._id = id
        self._ask = ask
        self._decoder = SseDecoder()
        self._passed = stored_answers.PassedItems()
        self.state: Json | None = None
        """The answer as the last event tells it, once one does."""
        self.is_over = False

    @property
    def held(self) -> int:
        return self._decoder.held

    def feed(self, data: bytes) -> list[bytes]:
        events = [self._tell(frame.event, frame.data) for frame in self._decoder.feed(data) if frame.data]
        return [event for event in events if event]

    def _tell(self, event: bytes, data: bytes) -> bytes:
        """The event; empty if its client has it."""
        kind = event or stored_answers.event_kind(data)
        with suppress(*stored_answers.UNREADABLE_ANSWER):
            if kind == stored_answers.ITEM_DONE:
                self._passed.take(data)
            elif b'"response"' in data:
                data = self._with_state(kind, data)
        return b"" if kind == _CREATED else render_event_frame(kind, data)

    def _with_state(self, event: bytes, data: bytes) -> bytes:
        members: dict[str, bytes | Raw] = dict(split_members(data))
        if "response" not in members:
            return data
        self.is_over = event in _ENDS
        response = self._passed.put_into(bytes(members["response"])) if self.is_over else members["response"]
        self.state = _mark(split_members(response), self._id, self._ask)
        return render_object(members | {"response": self.state})


class _Numbered(msgspec.Struct):
    sequence_number: int = 0


class _AnswerStatus(msgspec.Struct):
    status: str = ""
    background: bool | None = None


_decode_number = msgspec.json.Decoder(_Numbered).decode
_decode_status = msgspec.json.Decoder(_AnswerStatus).decode


def _number(event: bytes) -> int:
    start = event.find(b"data: ")
    return _decode_number(event[start + 6 :].strip()).sequence_number if start >= 0 else 0


def _is_open(state: Json) -> bool:
    found = _decode_status(state)
    return found.background is True and found.status in _OPEN


def _is_background(state: Json) -> bool:
    return _decode_status(state).background is True


def _end(state: Json, status: str, failure: Failure | None) -> Json:
    members: dict[str, bytes | Raw] = dict(split_members(state))
    error = response_error(failure) if failure is not None else b"null"
    return render_object(members | {"status": quote(status), "error": error})


def _render_failed(state: Json, number: int) -> bytes:
    return _render_event(b"response.failed", state, number)


def _render_event(kind: bytes, state: Json, number: int) -> bytes:
    data = render_object({"type": b'"%b"' % kind, "sequence_number": b"%d" % number, "response": state})
    return render_event_frame(kind, data)


BACKGROUND = BackgroundForm(
    cancel_path="/responses/{id}/cancel",
    parse=_parse,
    render_queued=_render_queued,
    render_created=_render_created,
    teller=EventTeller,
    number=_number,
    is_open=_is_open,
    is_background=_is_background,
    render_ended=_end,
    render_failed=_render_failed,
)
