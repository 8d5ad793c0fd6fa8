"""A Cohere stream, both ways.

Content blocks and calls come one after the other. While a call is open, events of other parts wait until it is complete
(`call_order.py`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from dragoman.conversation import events
from dragoman.conversation.collect import merge_usage
from dragoman.conversation.failures import UNREADABLE_ANSWERS, Failure
from dragoman.conversation.literals import EMPTY, join_texts, quote
from dragoman.conversation.parts import Json, Origin
from dragoman.conversation.replies import Stop, Usage
from dragoman.dialects.cohere import NAME, ORIGIN, answer_render
from dragoman.dialects.cohere.answer_parse import (
    STOPS,
    CohereAnswerParser,
    CohereCallDelta,
    CohereContentDelta,
    CohereMessageDelta,
    CohereStreamEvent,
    decode_event,
    parse_answer,
)
from dragoman.dialects.dialect import AnswerCodec, AnswerContext
from dragoman.dialects.shared.call_order import CallOrder
from dragoman.dialects.shared.media_links import LINK_END, link_head
from dragoman.dialects.shared.ownership import own_fields
from dragoman.dialects.shared.parsing import answer_call_id
from dragoman.dialects.shared.raw_json import decode_broken, decode_items, text_of
from dragoman.dialects.shared.split_surrogates import SurrogateMender
from dragoman.dialects.shared.sse_stream import SseStreamParser
from dragoman.dialects.shared.stream_output import StreamOutput
from dragoman.dialects.shared.streamed_text import StreamedText, string_members
from dragoman.wire.error_bodies import parse_no_answer
from dragoman.wire.json_reader import render_object
from dragoman.wire.sse import DONE_FRAME, Frame, render_event_frame

find_piece = re.compile(rb'"type"\s*+:\s*+"(?:content-|tool-|citation-|message-end)').search
"""`message-start` holds nothing of an answer."""
WORDS = StreamedText(
    string_members("text", "thinking", "tool_plan", "arguments", "name"),
    re.compile(rb'"type"\s*+:\s*+"tool-call-start"'),
    changing=frozenset((b"text", b"thinking", b"tool_plan", b"arguments")),
)


_FORMS: Mapping[str, dict[str, Any]] = {
    "message-start": {"delta": {"message": {"role": "assistant"}}},
    "content-start": {"delta": {"message": {"content": {}}}},
    "content-delta": {"delta": {"message": {"content": {}}}},
    "content-end": {},
    "tool-plan-delta": {"delta": {"message": {"tool_plan": ""}}},
    "tool-call-start": {
        "delta": {"message": {"tool_calls": {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}}}
    },
    "tool-call-delta": {"delta": {"message": {"tool_calls": {"function": {"arguments": ""}}}}},
    "tool-call-end": {},
    "message-end": {"delta": {}},
}
"""The members that every event of a kind has at Cohere, and what they are if they say nothing."""


class _PlainDelta(msgspec.Struct, gc=False):
    message: dict[str, dict[str, str | dict[str, str]] | str]


class _PlainEvent(msgspec.Struct, gc=False):
    type: Literal["content-delta", "tool-call-delta"]
    index: int
    delta: _PlainDelta


_check_plain_event = msgspec.json.Decoder(_PlainEvent).decode
"""Raises DecodeError for an event other than a piece of a text or a call that is whole."""


class MisreadEvents(msgspec.Struct):
    """Writes events that Cohere's SDK leaves out or whose members its users cannot read: some servers write null for a
    number, a text or an object, or leave it out. Each has the members that it has at Cohere, and a call has an id. An
    error in the form of a body ends the message."""

    seed: str = ""
    renumbers: bool = False
    follow: None = None
    numbers: dict[str, int] = {}

    def may_be_misread(self, payload: bytes) -> bool:
        try:
            _check_plain_event(payload)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return True
        return False

    def pieces(self, chunk: dict[str, Any]) -> list[Any]:
        kind, message = chunk.get("type"), chunk.get("message")
        if not kind and isinstance(message, str):
            return [{"type": "message-end", "delta": {"finish_reason": STOPS.render(Stop.ERROR, ""), "error": message}}]
        form = _FORMS.get(kind) if isinstance(kind, str) else None
        if form is None or not isinstance(kind, str):
            return [chunk]
        filled = _fill(chunk, form)
        block, _, step = kind.rpartition("-")
        if block in ("content", "tool-call"):
            filled["index"] = self._number(block, chunk.get("index"), step == "start")
        if kind in ("content-start", "content-delta"):
            message = filled["delta"]["message"]
            message["content"] = _with_words(message["content"], begins=step == "start")
        elif kind == "tool-call-start":
            call = filled["delta"]["message"]["tool_calls"]
            call["id"] = call["id"] or answer_call_id(self.seed, filled["index"])
        return [filled]

    def _number(self, block: str, given: object, begins: bool) -> int:
        """The number of a block; one that has none is the next one, or belongs to the one before."""
        last = self.numbers.get(block, -1)
        self.numbers[block] = number = given if isinstance(given, int) else max(last + begins, 0)
        return number


def _fill(given: Any, form: Any) -> Any:
    if not isinstance(form, dict):
        return form if given is None else given
    given = given if isinstance(given, dict) else {}
    return {**given, **{name: _fill(given.get(name), part) for name, part in form.items()}}


def _with_words(content: dict[str, Any], *, begins: bool) -> dict[str, Any]:
    """A block, or a piece of one, with its words."""
    present = {name: value for name, value in content.items() if value is not None}
    kind = present.get("type") or ("thinking" if "thinking" in present else "text")
    return {**({"type": kind} if begins else {}), **present, kind: present.get(kind, "")}


_SILENT = frozenset({"debug", "content-end", "citation-end"})
"""Events that add nothing to earlier ones."""
_NO_MESSAGE = CohereMessageDelta()


_decode_call = msgspec.json.Decoder(CohereCallDelta).decode


class CohereStreamParser(SseStreamParser[CohereAnswerParser]):
    """Events that name themselves."""

    __slots__ = ("_seed", "_surrogates")

    def __init__(self, origin: Origin | None = None, *, seed: str = "", think_tags: bool = False) -> None:
        super().__init__(CohereAnswerParser(origin or ORIGIN, seed))
        self._surrogates = SurrogateMender()
        self._seed = seed

    def _parse_plain_body(self, body: bytes, out: list[events.Event]) -> None:
        out += parse_answer(body, self._answer.origin, seed=self._seed)
        self._answer.over = True

    def _take_frame(self, frame: Frame, out: list[events.Event]) -> None:
        data = frame.data
        if data.strip(b'" ') == b"[DONE]":
            return
        event, _ = decode_broken(decode_event, data, self._surrogates.mark)
        if event is None:
            self.skipped += 1
            return
        start = len(out)
        self._take(event, data, out)
        if self._surrogates.found:
            self._surrogates.mend(out, start)

    def _take(self, event: CohereStreamEvent, data: bytes, out: list[events.Event]) -> None:
        delta = event.delta
        message = delta.message if delta is not None and delta.message is not None else _NO_MESSAGE
        index = event.index or 0
        kind = event.type
        if not self._answer.begun and kind in _BEGINNING:
            self._answer.start(event.id or "", {}, out)
        if kind in ("content-delta", "content-start"):
            self._content(event, message, out)
        elif kind == "tool-plan-delta":
            self._answer.plan(bytes(message.tool_plan), out)
        elif kind in ("tool-call-start", "tool-call-delta"):
            self._call(kind, index, message, out)
        elif kind == "tool-call-end":
            self._answer.end_call(index, out)
        elif kind == "citation-start":
            self._answer.cite(bytes(message.citations), out)
        elif kind == "message-end":
            self._end_message(event, out)
        elif not kind and (failure := parse_no_answer(data, NAME)).kind not in UNREADABLE_ANSWERS:
            self._answer.fail(failure, out)
        elif kind != "message-start":
            self.skipped += kind not in _SILENT

    def _content(self, event: CohereStreamEvent, message: CohereMessageDelta, out: list[events.Event]) -> None:
        content = message.content
        if not isinstance(content, CohereContentDelta):
            return
        index = event.index or 0
        self._answer.thinking(index, bytes(content.thinking), out)
        self._answer.text(index, bytes(content.text), out, self._answer.logprobs(event.logprobs))

    def _call(self, kind: str, index: int, message: CohereMessageDelta, out: list[events.Event]) -> None:
        call = message.tool_calls
        if isinstance(call, list) and len(call) == 1:
            call, _ = decode_broken(_decode_call, bytes(call[0]))
        if not isinstance(call, CohereCallDelta) or call.function is None:
            return
        if kind == "tool-call-start":
            self._answer.call(index, text_of(call.id), text_of(call.function.name), out)
        self._answer.arguments(index, bytes(call.function.arguments), out)

    def _end_message(self, event: CohereStreamEvent, out: list[events.Event]) -> None:
        self._surrogates.flush(out)
        delta = event.delta
        if delta is None:
            self._answer.end("", b"", b"", out)
        else:
            self._answer.end(delta.finish_reason or "", bytes(delta.usage), bytes(delta.error), out)


_BEGINNING = frozenset(
    {
        *("message-start", "content-start", "content-delta", "tool-plan-delta", "tool-call-start"),
        *("tool-call-delta", "tool-call-end", "citation-start", "message-end"),
    }
)
"""Events with which an answer has begun, even if its head was lost."""


TEXT, THINKING, PLAN, CALL, NOTHING = b"text", b"thinking", b"plan", b"call", b""
_NO_PART = -1
_HEAD = b'{"message":{"role":"assistant","content":[],"tool_plan":"","tool_calls":[],"citations":[]}}'


class CohereStreamRenderer(msgspec.Struct, StreamOutput):
    """Renders events as they come. One choice is shown: the first one to come."""

    _context: AnswerContext
    _out: list[bytes] = []
    _begun: bool = False
    over: bool = False
    _part: int = _NO_PART
    _kind: bytes = NOTHING
    _contents: int = 0
    _calls: int = 0
    _citations: int = 0
    _words: answer_render.CitedText = msgspec.field(default_factory=answer_render.CitedText)
    _text_part: int = _NO_PART
    _linked: bool = False
    _addressed: bool = False
    _transcripts: list[bytes] = []
    _order: CallOrder = msgspec.field(default_factory=CallOrder)
    _shown: int | None = None
    _stop: events.Stopped | None = None
    _usage: Usage | None = None

    def take(self, event: events.Event) -> None:
        if self.over:
            return
        choice: int | None = getattr(event, "choice", None)
        if choice is not None and choice != self._shown:
            if self._shown is not None:
                return
            self._shown = choice
        for ordered in self._order.take(event):
            _TAKE[type(ordered)](self, ordered)

    # Events.

    def _started(self, event: events.Started) -> None:
        if self._begun:
            return
        self._begun = True
        members = {"id": quote(event.id or self._context.id), "delta": _HEAD, **own_fields(event.extras, NAME)}
        self._frame(b"message-start", members)

    def _text(self, event: events.TextDelta | events.RefusalDelta) -> None:
        if isinstance(event, events.TextDelta) and "tool_plan" in own_fields(event.extras, NAME):
            self._open(event.part, PLAN)
        elif event.literal == EMPTY and not (isinstance(event, events.TextDelta) and event.logprobs):
            return
        if self._part != event.part or self._kind not in (TEXT, PLAN):
            self._open(event.part, TEXT)
        if self._kind is PLAN:
            self._frame(b"tool-plan-delta", {"delta": b'{"message":{"tool_plan":' + event.literal + b"}}"})
            return
        self._append(event.literal, _render_item(event.logprobs) if isinstance(event, events.TextDelta) else None)

    _refusal = _text

    def _append(self, literal: bytes, logprobs: Json | None = None) -> None:
        self._words.add(literal)
        self._content_delta(TEXT, literal, logprobs)

    def _reasoning(self, event: events.ReasoningDelta) -> None:
        if event.literal == EMPTY:
            return
        if self._part != event.part or self._kind is not THINKING:
            self._open(event.part, THINKING)
        self._content_delta(THINKING, event.literal)

    def _call_started(self, event: events.CallStarted) -> None:
        self._close()
        self._begin()
        self._part, self._kind = event.part, CALL
        function = render_object({"name": quote(event.name), "arguments": EMPTY})
        call = render_object({"id": quote(event.id), "type": b'"function"', "function": function})
        self._indexed_frame(b"tool-call-start", self._calls, b'{"message":{"tool_calls":' + call + b"}}")

    def _call_delta(self, event: events.CallDelta) -> None:
        if self._kind is CALL and event.literal != EMPTY:
            delta = b'{"message":{"tool_calls":{"function":{"arguments":' + event.literal + b"}}}}"
            self._indexed_frame(b"tool-call-delta", self._calls, delta)

    def _call_ended(self, event: events.CallEnded) -> None:
        self._close()

    def _cited(self, event: events.Cited) -> None:
        cited = answer_render.render_citation(
            event.json, event.origin, self._words, max(self._contents - (self._kind is NOTHING), 0)
        )
        if cited is None:
            return
        self._begin()
        self._indexed_frame(b"citation-start", self._citations, b'{"message":{"citations":' + cited + b"}}")
        self._frame(b"citation-end", {"index": b"%d" % self._citations})
        self._citations += 1

    def _media(self, event: events.MediaDelta) -> None:
        """Answers of this dialect have no media: they become a link that holds the bytes, and the transcript."""
        if self._part != event.part or self._kind is not TEXT:
            self._open(event.part, TEXT)
            if event.url:
                self._addressed = True
                self._append(quote(f"[{event.kind.value}]({event.url})"))
        if event.data != EMPTY and not event.url:
            if not self._linked:
                self._linked = True
                self._append(link_head(event.kind, event.media_type))
            self._append(event.data)
        if event.transcript is not None and event.transcript != EMPTY:
            self._transcripts.append(event.transcript)

    def _end_media(self) -> None:
        words = [join_texts("", self._transcripts)] if self._transcripts else []
        ends = [LINK_END] if self._linked else []
        lead = [EMPTY] if self._addressed else []
        self._linked, self._addressed, self._transcripts = False, False, []
        self._append(join_texts("\n\n", [*ends, *lead, *words]))

    def _stopped(self, event: events.Stopped) -> None:
        self._close()
        self._stop = event

    def _used(self, event: events.Used) -> None:
        self._usage = merge_usage(self._usage, event.usage)

    def _ended(self, event: events.Ended) -> None:
        self._close()
        self._begin()
        stop = self._stop
        word = STOPS.render(stop.reason, stop.word) if stop is not None else STOPS.render(Stop.END, "")
        self._finish({"finish_reason": quote(word), "usage": answer_render.render_usage(self._usage)})

    def _failed(self, event: events.Failed) -> None:
        failure: Failure = event.failure
        self._begin()
        error = {
            "finish_reason": quote(STOPS.render(Stop.ERROR, "")),
            "error": quote(answer_render.message_of(failure)),
        }
        self._finish({**error, "usage": answer_render.render_usage(self._usage)})

    # Frames.

    def _finish(self, delta: Mapping[str, Json]) -> None:
        self.over = True
        self._frame(b"message-end", {"delta": render_object(delta)})
        self._out.append(DONE_FRAME)

    def _begin(self) -> None:
        if not self._begun:
            self._started(events.Started())

    def _open(self, part: int, kind: bytes) -> None:
        self._close()
        self._begin()
        self._part, self._kind = part, kind
        if kind is PLAN:
            return
        if kind is TEXT:
            self._words = answer_render.CitedText()
        block = b'{"message":{"content":{"type":"%b","%b":""}}}' % (kind, kind)
        self._indexed_frame(b"content-start", self._contents, block)

    def _close(self) -> None:
        kind = self._kind
        if self._linked or self._transcripts:
            self._end_media()
        self._part, self._kind = _NO_PART, NOTHING
        if kind is CALL:
            self._frame(b"tool-call-end", {"index": b"%d" % self._calls})
            self._calls += 1
        elif kind is TEXT or kind is THINKING:
            self._frame(b"content-end", {"index": b"%d" % self._contents})
            self._contents += 1

    def _content_delta(self, kind: bytes, literal: bytes, logprobs: Json | None = None) -> None:
        delta = b'{"message":{"content":{"%b":%b}}}' % (kind, literal)
        more: dict[str, Json] = {} if logprobs is None else {"logprobs": logprobs}
        self._frame(b"content-delta", {"index": b"%d" % self._contents, "delta": delta, **more})

    def _indexed_frame(self, name: bytes, index: int, delta: Json) -> None:
        self._frame(name, {"index": b"%d" % index, "delta": delta})

    def _frame(self, name: bytes, members: Mapping[str, Json]) -> None:
        self._out.append(render_event_frame(name, render_object({"type": b'"' + name + b'"', **members})))


def _render_item(logprobs: Json | None) -> Json | None:
    """The log probabilities of one delta: one item; a whole answer has a list."""
    found = answer_render.render_logprobs(logprobs) if logprobs is not None else None
    items = decode_items(found) if found is not None else []
    return bytes(items[0]) if items else None


_TAKE = events.methods_by_event(CohereStreamRenderer)
"""Opaque state and other providers' blocks have no place here. The store keeps state for the next turn."""


ANSWERS = AnswerCodec(
    parse_answer,
    answer_render.render_answer,
    CohereStreamParser,
    CohereStreamRenderer,
    answer_render.render_error,
    chunk_rewrite=lambda seed, _: MisreadEvents(seed),
    streamed_text=WORDS,
    find_beginning=find_piece,
)
