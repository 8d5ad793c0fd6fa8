"""A Responses stream, both ways."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from dragoman.conversation.collect import merge_usage, tell
from dragoman.conversation.events import (
    CallDelta,
    CallEnded,
    CallStarted,
    Cited,
    Ended,
    Event,
    Failed,
    MediaDelta,
    OpaqueBlock,
    ReasoningDelta,
    RefusalDelta,
    Signed,
    Started,
    Stopped,
    TextDelta,
    Used,
    methods_by_event,
)
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.conversation.literals import EMPTY, quote
from dragoman.conversation.parts import Json, MediaKind, Opaque, Origin, StateKind
from dragoman.conversation.replies import Reply, Stop, Usage
from dragoman.dialects.dialect import AnswerCodec, AnswerContext
from dragoman.dialects.families.openai_answers import OpenAiStreamParser
from dragoman.dialects.openai_responses import NAME, ORIGIN, answer_parse
from dragoman.dialects.openai_responses.answer_render import (
    ResponseFrame,
    complete_answer,
    error_event,
    identity,
    item_id,
    render_annotation,
    render_call,
    render_error,
    render_incomplete,
    render_message,
    render_output_text,
    render_picture,
    render_reasoning,
    render_refusal,
    render_usage,
    response_error,
    response_for,
)
from dragoman.dialects.openai_responses.tools import render_client_call
from dragoman.dialects.shared.call_order import CallOrder
from dragoman.dialects.shared.client_agents import find_agent
from dragoman.dialects.shared.ownership import own_fields, own_or_sealed
from dragoman.dialects.shared.raw_json import UNREADABLE, valid_utf8
from dragoman.dialects.shared.stream_output import StreamOutput
from dragoman.dialects.shared.streamed_text import StreamedText, string_members
from dragoman.wire.error_bodies import parse_no_answer
from dragoman.wire.json_reader import render_list
from dragoman.wire.sse import Frame, render_event_frame

find_item = re.compile(rb'(?:"type"\s*+:\s*+"|event:\s*+)response\.(?!created|in_progress|queued|failed)').search
"""What comes before the first item holds nothing of an answer but its name."""
# What ends an item repeats its text, so only the pieces count. A call is named several times and has one end.
WORDS = StreamedText(
    string_members("delta"),
    re.compile(rb'"type"\s*+:\s*+"response\.(?:function_call_arguments|custom_tool_call_input)\.done"'),
    changing=frozenset((b"delta", b"sequence_number", b"obfuscation")),
)


_TEXT_DELTA = b"response.output_text.delta"
_TEXT_HEAD = b'event: %b\ndata: {"type":"%b","sequence_number":' % (_TEXT_DELTA, _TEXT_DELTA)
EventMembers = tuple[bytes, bytes]
"""An event's name and its members."""


def _join_once(literals: list[bytes]) -> bytes:
    """The text of its pieces, which are put together once."""
    if len(literals) > 1:
        literals[:] = [b'"' + b"".join([literal[1:-1] for literal in literals]) + b'"']
    return literals[0] if literals else EMPTY


def _render_item_event(step: bytes, place: int, item: Json) -> EventMembers:
    return b"response.output_item." + step, b'"output_index":%d,"item":%b' % (place, item)


class _OpenItem(msgspec.Struct, kw_only=True):
    """An item of the output that grows. It tells of itself in events."""

    place: int
    identity: Json
    fields: Mapping[str, Json]
    where: bytes = b""
    """The members with which its own events say where they belong, once it was told of."""

    def item(self, status: bytes) -> Json:
        raise NotImplementedError

    def added(self) -> Iterator[EventMembers]:
        self.where = b'"item_id":%b,"output_index":%d' % (self.identity, self.place)
        yield _render_item_event(b"added", self.place, self.item(b"in_progress"))


class OpenMessage(_OpenItem):
    """A message: texts and refusals, one open at a time."""

    content: list[bytes] = []
    """Of those that are closed."""
    part: int = -1
    refusal: bool = False
    literals: list[bytes] = []
    annotations: list[Json] = []
    logprobs: list[Json] = []
    delta_place: bytes = b""

    def item(self, status: bytes) -> Json:
        content = [*self.content, self._open_content()] if self.part >= 0 else self.content
        return render_message(self.identity, self.fields, status, content)

    def begin(self, part: int, refusal: bool) -> None:
        """Open the next content."""
        if self.part >= 0:
            self.content.append(self._open_content())
            self.literals, self.annotations, self.logprobs = [], [], []
        self.part, self.refusal = part, refusal

    def opening(self) -> Iterator[EventMembers]:
        self.where = b'"item_id":%b,"output_index":%d,"content_index":%d' % (
            *(self.identity, self.place, len(self.content)),
        )
        self.delta_place = b"," + self.where + b',"delta":'
        yield b"response.content_part.added", self.where + b',"part":' + self._open_content()

    def closing(self) -> Iterator[EventMembers]:
        if self.part < 0:
            return
        literal = _join_once(self.literals)
        if self.refusal:
            yield b"response.refusal.done", self.where + b',"refusal":' + literal
        else:
            tokens = self._tokens() or b"[]"
            yield b"response.output_text.done", self.where + b',"text":' + literal + b',"logprobs":' + tokens
        yield b"response.content_part.done", self.where + b',"part":' + self._open_content()

    def _open_content(self) -> Json:
        literal = _join_once(self.literals)
        if self.refusal:
            return render_refusal(literal)
        return render_output_text(literal, self.annotations, self._tokens())

    def _tokens(self) -> Json | None:
        if not self.logprobs:
            return None
        return b"[" + b",".join([tokens.strip()[1:-1] for tokens in self.logprobs]) + b"]"


class OpenReasoning(_OpenItem):
    """A reasoning item: a summary, or the reasoning itself."""

    part: int
    field: str
    literals: list[bytes] = []
    encrypted: Json | None = None

    @property
    def _names(self) -> tuple[bytes, bytes]:
        """What its part and its text are called in the names of events."""
        if self.field == answer_parse.THOUGHT:
            return b"response.content_part.", b"response.reasoning_text."
        return b"response.reasoning_summary_part.", b"response.reasoning_summary_text."

    @property
    def delta_name(self) -> bytes:
        return self._names[1] + b"delta"

    def item(self, status: bytes) -> Json:
        return render_reasoning(self.identity, self.fields, _join_once(self.literals), self.field, self.encrypted)

    def opening(self) -> Iterator[EventMembers]:
        index = b"content_index" if self.field == answer_parse.THOUGHT else b"summary_index"
        self.where += b',"%b":0' % index
        yield self._names[0] + b"added", self.where + self._part(EMPTY)

    def closing(self) -> Iterator[EventMembers]:
        if not self.literals:
            return
        part, text = self._names
        literal = _join_once(self.literals)
        yield text + b"done", self.where + b',"text":' + literal
        yield part + b"done", self.where + self._part(literal)

    def _part(self, literal: bytes) -> bytes:
        kind = b"reasoning_text" if self.field == answer_parse.THOUGHT else b"summary_text"
        return b',"part":{"type":"%b","text":%b}' % (kind, literal)


class OpenFunctionCall(_OpenItem):
    """A call of a function, or of a custom tool, which takes plain text."""

    started: CallStarted
    literals: list[bytes] = []
    ended: bool = False

    @property
    def name(self) -> bytes:
        """How the names of its events begin."""
        custom = self.started.custom
        return b"response.custom_tool_call_input." if custom else b"response.function_call_arguments."

    def item(self, status: bytes) -> Json:
        words = _join_once(self.literals) if status == b"completed" else EMPTY
        return render_call(self.identity, self.fields, self.started, words, status)

    def closing(self) -> Iterator[EventMembers]:
        if self.started.custom:
            yield self.name + b"done", self.where + b',"input":' + _join_once(self.literals)
            return
        called = b',"name":%b,"arguments":%b' % (quote(self.started.name), _join_once(self.literals))
        yield self.name + b"done", self.where + called


class ResponsesStreamParser(OpenAiStreamParser[answer_parse.ResponsesAnswerParser]):
    """Events that name themselves. The last one repeats the whole answer."""

    __slots__ = ()

    def __init__(self, origin: Origin | None = None, *, seed: str = "", think_tags: bool = False) -> None:
        super().__init__(answer_parse.ResponsesAnswerParser(origin or ORIGIN, seed))

    def _take_frame(self, frame: Frame, out: list[Event]) -> None:
        if not frame.data.startswith(b"[DONE]"):
            self._parse_frame(frame.data, out)

    def _parse_plain_body(self, body: bytes, out: list[Event]) -> None:
        try:
            parsed = self._answer.take_whole(valid_utf8(body), out)
        except UNREADABLE:
            parsed = False
        if not parsed and body.lstrip()[:1] == b"{":
            self._answer.over = True
            out.append(Failed(parse_no_answer(body)))


_STOPPED_WITH_ERROR = Failure(FailureKind.SERVER, "The provider stopped with an error and gave no reason.", 502)


class ResponsesStreamRenderer(StreamOutput):
    """Every item is added, grows and is done. The last event repeats the whole answer.

    One item is open at a time: clients keep a current item, and give it every piece that comes. A call waits for one
    event: that may be its signature, which has no place in it and stands before it.
    """

    __slots__ = (
        *("_calls", "_context", "_items", "_number", "_open", "_order", "_out", "_refused", "over"),
        *("_response", "_response_id", "_shown", "_stop", "_text_part", "_text_states", "_usage", "_waiting"),
    )

    def __init__(self, context: AnswerContext) -> None:
        self._context = context
        self._response: ResponseFrame | None = None
        self._response_id = ""
        self._number = 0
        self._items: list[Json | None] = []
        self._open: OpenMessage | OpenReasoning | None = None
        self._calls: dict[int, OpenFunctionCall] = {}
        self._waiting: CallStarted | None = None
        self._order = CallOrder()
        self._text_part = -1
        self._text_states: list[Opaque] = []
        self._refused = False
        self._stop: Stop | None = None
        self._usage: Usage | None = None
        self.over = False
        self._shown: int | None = None
        self._out: list[bytes] = []

    def render(self, events: Sequence[Event]) -> bytes:
        for event in events:
            if self.over or not self._shows(event):
                continue
            if self._order.is_open or type(event) is CallStarted:
                for ordered in self._order.take(event):
                    self._render_event(ordered)
            else:
                self._render_event(event)
        out, self._out = self._out, []
        return b"".join(out)

    def _render_event(self, event: Event) -> None:
        """Render an event that is in its order."""
        if self._waiting is not None and type(event) is not Signed:
            self._render_call()
        if not self.over:
            _RENDER[type(event)](self, event)

    def _shows(self, event: Event) -> bool:
        """Whether the event is shown. This dialect has one choice: the first one to come."""
        choice: int | None = getattr(event, "choice", None)
        if self._shown is None:
            self._shown = choice
        return choice is None or choice == self._shown

    def _emit(self, name: bytes, members: bytes) -> None:
        self._out.append(
            b'event: %b\ndata: {"type":"%b","sequence_number":%d,%b}\n\n' % (name, name, self._number, members)
        )
        self._number += 1

    def _frame(self) -> ResponseFrame:
        if self._response is None:
            self._started(Started())
        return self._response  # type: ignore[return-value]

    def _started(self, event: Started) -> None:
        if self._response is not None:
            return
        self._response = response_for(event, self._context)
        self._response_id = identity(event, self._context)
        self._begin(self._response)

    def _tell(self, events: Iterable[EventMembers]) -> None:
        for name, members in events:
            self._emit(name, members)

    def _begin(self, response: ResponseFrame) -> None:
        beginning = b'"response":' + response.object(b"in_progress", b"[]")
        self._emit(b"response.created", beginning)
        self._emit(b"response.in_progress", beginning)

    def _place(self) -> int:
        """The index of a new item in the output."""
        self._frame()
        self._items.append(None)
        return len(self._items) - 1

    def _done(self, place: int, item: Json) -> None:
        self._items[place] = item
        self._tell((_render_item_event(b"done", place, item),))

    def _item_id(self, prefix: str, fields: Mapping[str, Json], place: int) -> Json:
        return item_id(prefix, fields, self._response_id, place)

    def _close_open(self) -> None:
        held, self._open = self._open, None
        if held is None:
            return
        self._tell(held.closing())
        self._done(held.place, held.item(b"completed"))
        states, self._text_states = self._text_states, []
        for state in states:
            self._render_state(state)

    def _message(self, fields: Mapping[str, Json]) -> OpenMessage:
        """The open message, or a new one if another item is open or the text belongs to another message."""
        held = None if self._text_states else self._open
        if isinstance(held, OpenMessage) and ("id" not in fields or held.fields.get("id") == fields["id"]):
            return held
        self._close_open()
        place = self._place()
        message = OpenMessage(place=place, identity=self._item_id("msg", fields, place), fields=fields)
        self._tell(message.added())
        self._open = message
        return message

    def _text(self, event: TextDelta) -> None:
        held = self._open
        if type(held) is not OpenMessage or held.part != event.part:
            held = self._message(own_fields(event.extras, NAME))
            self._begin_content(held, event.part, False)
        self._text_part = event.part
        held.literals.append(event.literal)
        tokens = b"[]"
        if event.logprobs is not None:
            tokens = event.logprobs
            held.logprobs.append(tokens)
        self._out += (
            _TEXT_HEAD,
            b"%d" % self._number,
            held.delta_place,
            event.literal,
            b',"logprobs":',
            tokens,
            b"}\n\n",
        )
        self._number += 1

    def _begin_content(self, held: OpenMessage, part: int, refusal: bool) -> None:
        self._tell(held.closing())
        held.begin(part, refusal)
        self._tell(held.opening())

    def _refusal(self, event: RefusalDelta) -> None:
        self._refused = True
        held = self._open
        if not isinstance(held, OpenMessage) or held.part != event.part:
            held = self._message({})
            self._begin_content(held, event.part, True)
        held.literals.append(event.literal)
        self._emit(b"response.refusal.delta", held.where + b',"delta":' + event.literal)

    def _cited(self, event: Cited) -> None:
        note = render_annotation(event.json, event.origin)
        held = self._open
        if note is None or (event.part == self._text_part and type(held) is not OpenMessage):
            return
        if not isinstance(held, OpenMessage) or (held.part != event.part and event.part != self._text_part):
            held = self._message({})
            self._begin_content(held, event.part, False)
        number = len(held.annotations)
        held.annotations.append(note)
        members = held.where + b',"annotation_index":%d,"annotation":%b' % (number, note)
        self._emit(b"response.output_text.annotation.added", members)

    def _reasoning(self, event: ReasoningDelta) -> None:
        held = self._open
        if not isinstance(held, OpenReasoning) or held.part != event.part:
            fields = own_fields(event.extras, NAME)
            held = self._begin_reasoning(event.part, fields, event.field)
        if event.literal == EMPTY:
            return
        if not held.literals:
            self._tell(held.opening())
        held.literals.append(event.literal)
        self._emit(held.delta_name, held.where + b',"delta":' + event.literal)

    def _begin_reasoning(self, part: int, fields: Mapping[str, Json], field: str) -> OpenReasoning:
        self._close_open()
        place = self._place()
        held = OpenReasoning(part, field, place=place, identity=self._item_id("rs", fields, place), fields=fields)
        self._tell(held.added())
        self._open = held
        return held

    def _signed(self, event: Signed) -> None:
        waiting = self._waiting
        if waiting is not None and waiting.part != event.part:
            self._render_call()
            waiting = None
        if event.part == self._text_part and isinstance(self._open, OpenMessage) and waiting is None:
            # It follows the message, since citations of the text may follow its signature.
            self._text_states.append(event.state)
            return
        if waiting is not None or event.part in self._calls or event.part == self._text_part:
            self._render_state(event.state)
            return
        held = self._open
        if not isinstance(held, OpenReasoning) or held.part != event.part:
            held = self._begin_reasoning(event.part, own_fields(event.state.extras, NAME), event.field)
        held.encrypted = own_or_sealed(event.state, StateKind.ENCRYPTED, NAME)

    def _render_state(self, state: Opaque) -> None:
        """The state of a text or a call, as a reasoning item of its own."""
        held = self._begin_reasoning(-1, {}, "")
        held.encrypted = own_or_sealed(state, StateKind.ENCRYPTED, NAME)
        self._close_open()

    def _call_started(self, event: CallStarted) -> None:
        self._waiting = event

    def _render_call(self) -> None:
        event, self._waiting = self._waiting, None
        if event is None:
            return
        self._close_open()
        fields = own_fields(event.extras, NAME)
        place = self._place()
        made = self._item_id("ctc" if event.custom else "fc", fields, place)
        call = OpenFunctionCall(event, place=place, identity=made, fields=fields)
        self._calls[event.part] = call
        self._tell(call.added())

    def _call_delta(self, event: CallDelta) -> None:
        call = self._calls.get(event.part)
        if call is None or call.ended:
            return
        call.literals.append(event.literal)
        self._emit(call.name + b"delta", call.where + b',"delta":' + event.literal)

    def _call_ended(self, event: CallEnded) -> None:
        call = self._calls.get(event.part)
        if call is None or call.ended:
            return
        call.ended = True
        self._tell(call.closing())
        self._done(call.place, call.item(b"completed"))

    def _media(self, event: MediaDelta) -> None:
        if event.transcript is not None and event.transcript != EMPTY:
            # A response has no place for a sound. Its transcript becomes text.
            self._text(TextDelta(0, event.part, event.transcript))
        if event.kind is not MediaKind.IMAGE or event.data == EMPTY:
            return
        fields = own_fields(event.extras, NAME)
        self._close_open()
        place = self._place()
        item = render_picture(self._item_id("ig", fields, place), fields, event.media_type, event.data)
        self._tell((_render_item_event(b"added", place, item),))
        self._done(place, item)

    def _kept(self, event: OpaqueBlock) -> None:
        if event.opaque.origin.dialect != NAME:
            return
        self._close_open()
        place = self._place()
        from dragoman.dialects.openai_responses.provider_tools import stream_run  # such items are rare

        begun, steps = stream_run(event.opaque)
        self._tell((_render_item_event(b"added", place, begun),))
        self._tell((name, b'"output_index":%d,%b' % (place, members)) for name, members in steps)
        self._done(place, event.opaque.json)

    def _stopped(self, event: Stopped) -> None:
        self._stop = event.reason

    def _used(self, event: Used) -> None:
        self._usage = merge_usage(self._usage, event.usage)

    def _ended(self, event: Ended) -> None:
        if event.service_tier is not None or event.extras is not None:
            self._response = self._frame().ended(event)
        self._finish()

    def _finish(self) -> None:
        if self._stop is Stop.ERROR:
            self._failed(Failed(_STOPPED_WITH_ERROR))
            return
        self._close_all()
        incomplete = render_incomplete(self._stop, self._refused)
        repeated = incomplete is not None and find_agent(self._context.headers).repeats_incomplete
        if repeated and (why := self._why_useless()) is not None:
            self._failed(Failed(why))
            return
        status = b"completed" if incomplete is None else b"incomplete"
        response = self._frame().object(status, self._output(), self._usage_json(), incomplete=incomplete or b"null")
        name = b"response.completed" if repeated else b"response." + status
        self._emit(name, b'"response":' + response)
        self.over = True

    def _close_all(self) -> None:
        self._close_open()
        for part in sorted(self._calls):
            self._call_ended(CallEnded(0, part))

    def _why_useless(self) -> Failure | None:
        """Why an answer that was cut short is told as a failure; None if its output is worth keeping. For an agent that
        would ask again after an incomplete answer: the request would only be cut short once more."""
        if self._stop is Stop.CONTEXT:
            return Failure(FailureKind.CONTEXT_LENGTH, "The answer has filled the context window of this model.")
        if self._stop is not Stop.LENGTH:
            return Failure(FailureKind.CONTENT_FILTER, "The provider's content filter has stopped the answer.")
        if self._calls or self._text_part >= 0:
            return None
        return Failure(
            FailureKind.BAD_REQUEST, "The answer was cut off by its limit of tokens before it said anything."
        )

    def _failed(self, event: Failed) -> None:
        self._out.append(render_event_frame(b"error", error_event(event.failure, self._number)))
        self._number += 1
        response = self._response or response_for(Started(), self._context)
        error = response_error(event.failure)
        failed = response.object(b"failed", self._output(), self._usage_json(), error=error)
        self._emit(b"response.failed", b'"response":' + failed)
        self.over = True

    def _output(self) -> bytes:
        return render_list([item for item in self._items if item is not None])

    def _usage_json(self) -> Json:
        return render_usage(self._usage) if self._usage is not None else b"null"


_RENDER = methods_by_event(ResponsesStreamRenderer)


class ResponsesAnswerRenderer(ResponsesStreamRenderer):
    """What a stream tells piece by piece, as one response object."""

    __slots__ = ("_body",)

    def whole(self, reply: Reply) -> bytes:
        for event in tell(replace(reply, choices=reply.choices[:1])):
            self._render_event(event)
        return self._body

    def _begin(self, response: ResponseFrame) -> None: ...
    def _emit(self, name: bytes, members: bytes) -> None: ...
    def _tell(self, events: Iterable[EventMembers]) -> None: ...
    def _finish(self) -> None:
        """The response. One that its provider has not finished keeps the status that it came with."""
        self._close_all()
        response, output, usage = self._frame(), self._output(), self._usage_json()
        incomplete = render_incomplete(self._stop, self._refused)
        if self._stop is Stop.ERROR:
            error = b'{"code":"server_error","message":"The provider stopped with an error."}'
            self._body = response.object(b"failed", output, usage, error)
        elif incomplete is not None:
            self._body = response.object(b"incomplete", output, usage, incomplete=incomplete)
        else:
            given = response.repeated.get("status") if self._stop is None else None
            self._body = response.object(given[1:-1] if given is not None else b"completed", output, usage)


def render_answer(reply: Reply, context: AnswerContext) -> bytes:
    """The reply as one response object. This dialect has one choice."""
    return ResponsesAnswerRenderer(context).whole(reply)


ANSWERS = AnswerCodec(
    answer_parse.parse_answer,
    render_answer,
    ResponsesStreamParser,
    ResponsesStreamRenderer,
    render_error,
    complete=complete_answer,
    check_whole=answer_parse.check_read_response,
    streamed_text=WORDS,
    find_beginning=find_item,
    render_client_call=render_client_call,
)
