"""A stream of Chat, both ways."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec
from msgspec.structs import replace

from dragoman.conversation.collect import merge_usage
from dragoman.conversation.events import (
    CallDelta,
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
from dragoman.conversation.literals import quote
from dragoman.conversation.parts import MediaKind, Origin
from dragoman.conversation.replies import Stop, Usage
from dragoman.dialects.dialect import AnswerCodec, AnswerContext
from dragoman.dialects.families.openai_answers import OpenAiStreamParser
from dragoman.dialects.families.reasoning_forms import entry_type, render_piece, render_state
from dragoman.dialects.openai_chat import ID_PREFIX, NAME, ORIGIN, answer_parse, answer_render
from dragoman.dialects.openai_chat.relay_rewrite import MisreadChunks, check_plain_chunk
from dragoman.dialects.shared.call_order import CallOrder
from dragoman.dialects.shared.ownership import own_members
from dragoman.dialects.shared.parsing import vendor_id
from dragoman.dialects.shared.raw_json import UNREADABLE, fields_of, valid_utf8
from dragoman.dialects.shared.stream_output import StreamOutput
from dragoman.dialects.shared.streamed_text import StreamedText, string_members
from dragoman.wire.json_reader import render_object
from dragoman.wire.sse import DONE_FRAME, Frame, render_data_frame

# A call has its name in its first chunk only. Texts of `reasoning_details` stand in `reasoning` too.
_BRACKET = ord("[")
_SILENT_MEMBER = rb'"[^"]*+"\s*+:\s*+(?:"assistant"|""|null|\[\s*+\]|\{\s*+\})\s*+,?+\s*+'
find_words = re.compile(
    rb'"(?:delta"\s*+:\s*+\{\s*+(?:%b)*+[^}]|message"\s*+:\s*+\{|(?:text|finish_reason)"\s*+:\s*+"[^"])'
    % _SILENT_MEMBER
).search
"""A chunk without choices tells of filters or usage, and one with a role is the head of an answer."""
WORDS = StreamedText(
    string_members("content", "refusal", "reasoning", "reasoning_content", "name", "arguments", "input"),
    re.compile(rb'"name"\s*+:\s*+"[^"]'),
    changing=frozenset((b"content", b"reasoning", b"reasoning_content", b"arguments", b"created", b"obfuscation")),
    followed=b"arguments",
)


class ChatStreamParser(OpenAiStreamParser[answer_parse.ChatAnswerParser]):
    """Chunks, and `[DONE]` at the end. A stream whose choices have all stopped is complete without it."""

    __slots__ = ()

    def __init__(self, origin: Origin | None = None, *, seed: str = "", think_tags: bool = False) -> None:
        super().__init__(answer_parse.ChatAnswerParser(origin or ORIGIN, seed, think_tags))

    def _take_frame(self, frame: Frame, out: list[Event]) -> None:
        data = frame.data
        if data and data[0] == _BRACKET and data.startswith(b"[DONE]"):
            if self._answer.begun:
                self._answer.finish(out)
        elif frame.event == b"error":
            self._answer.fail(data, out)
        else:
            self._parse_frame(data, out)

    def _parse_plain_body(self, body: bytes, out: list[Event]) -> None:
        answer = self._answer
        try:
            if answer.take(valid_utf8(body), out, whole=True) and answer.begun and not answer.over:
                answer.finish(out)
        except UNREADABLE:
            self.skipped += 1
            answer.over = False

    def _end(self, out: list[Event]) -> None:
        if self._answer.stopped:
            self._answer.finish(out)
        else:
            super()._end(out)


class _RenderedChoice(msgspec.Struct, eq=False):
    """What has been rendered of one choice."""

    lead: bytes
    opening: bytes
    begun: bool = False
    stopped: bool = False
    refused: bool = False
    signed: bool = False
    text_part: int = -1
    calls: dict[int, tuple[int, bool, bool]] = {}
    reasonings: dict[int, tuple[int, str]] = {}
    """The number of an entry, and the type as which its text was told; empty if it has no text."""
    images: int = 0
    notes: int = 0
    """How many annotations were told."""


class ChatStreamRenderer(StreamOutput):
    """One chunk for each event.

    The role stands in a choice's first delta, extra fields of the answer in the very first chunk. Nothing follows a
    choice's stop. A call waits for one event, so that its signature can stand beside its name. Calls of a choice come
    one after another, since OpenAI's own stream helper takes the start of a call for the end of the one before it. It
    also fails for a second list of things without numbers: pictures and annotations are numbered. It takes choices for
    numbered in the order in which they begin: an earlier one that is late begins without words.
    """

    __slots__ = (
        *("_beginning", "_choices", "_context", "_delta_end", "_head", "_lead", "_legacy"),
        *("_orders", "_out", "_tail", "_usage", "_waiting", "over"),
    )

    def __init__(self, context: AnswerContext) -> None:
        self._beginning = Started()
        self._context = context
        self._legacy = "functions" in context.request
        self._tail = b',"usage":null}\n\n' if context.include_usage else b"}\n\n"
        self._delta_end = b'},"logprobs":null,"finish_reason":null}]' + self._tail
        self._head = b""
        self._lead = b""
        self._choices: dict[int, _RenderedChoice] = {}
        self._orders: dict[int, CallOrder] = {}
        self._waiting: CallStarted | None = None
        self._usage: Usage | None = None
        self.over = False
        self._out: list[bytes] = []

    def render(self, events: Sequence[Event]) -> bytes:
        for event in events:
            if self._orders or type(event) is CallStarted:
                for ordered in self._in_order(event):
                    self._render_event(ordered)
            elif self._waiting is None and not self.over:
                _RENDER[type(event)](self, event)  # nearly all of them
            else:
                self._render_event(event)
        out, self._out = self._out, []
        return b"".join(out)

    def _in_order(self, event: Event) -> Iterable[Event]:
        """The events that may be rendered now: each choice has an order of its own."""
        index: int | None = getattr(event, "choice", None)
        if index is None:
            return self._after_all_choices(event)
        order = self._orders.get(index)
        if order is None:
            order = self._orders[index] = CallOrder()
        return order.take(event)

    def _after_all_choices(self, event: Event) -> Iterator[Event]:
        """An event of no choice. The end of the answer ends all that is open."""
        if type(event) is Ended or type(event) is Failed:
            for order in self._orders.values():
                yield from (one for one in order.take(event) if one is not event)
        yield event

    def _render_event(self, event: Event) -> None:
        if self._waiting is not None and type(event) is not Signed:
            self._render_call(None)
        if not self.over:
            _RENDER[type(event)](self, event)

    def _started(self, event: Started) -> None:
        self._beginning = event
        context = self._context
        head = b'data: {"id":%b,"object":"chat.completion.chunk","created":%d,"model":%b' % (
            quote(event.id or vendor_id(ID_PREFIX, context.id)),
            event.created or context.created,
            quote(context.model or event.model),
        )
        if event.service_tier is not None:
            head += b',"service_tier":' + quote(event.service_tier)
        if event.fingerprint is not None:
            head += b',"system_fingerprint":' + quote(event.fingerprint)
        self._head = head + b',"choices":['
        self._lead = head + own_members(event.extras, NAME) + b',"choices":['

    def _choice(self, index: int) -> _RenderedChoice:
        found = self._choices.get(index)
        if found is None:
            if not self._head:
                self._started(Started())
            for earlier in range(len(self._choices), index) if index < answer_parse.MOST_CHOICES else ():
                self._delta(self._open_choice(earlier), b'"content":""', content=True)
            found = self._open_choice(index)
        return found

    def _open_choice(self, index: int) -> _RenderedChoice:
        start = b'{"index":%d,"delta":{' % index
        opened = self._choices[index] = _RenderedChoice(self._lead + start, self._head + start)
        self._lead = self._head
        return opened

    def _delta(self, choice: _RenderedChoice, member: bytes, content: bool = False) -> None:
        if choice.stopped:
            return
        if choice.begun:
            self._out += (choice.opening, member, self._delta_end)
            return
        choice.begun = True
        role = b'"role":"assistant",' if content else b'"role":"assistant","content":null,'
        self._out += (choice.lead, role, member, self._delta_end)

    def _text(self, event: TextDelta) -> None:
        choice = self._choices.get(event.choice) or self._choice(event.choice)
        choice.text_part = event.part
        if not choice.begun or choice.stopped or event.logprobs is not None:
            self._first_or_scored_text(choice, event)
            return
        self._out += (choice.opening, b'"content":', event.literal, self._delta_end)

    def _first_or_scored_text(self, choice: _RenderedChoice, event: TextDelta) -> None:
        if event.logprobs is None:
            self._delta(choice, b'"content":' + event.literal, content=True)
        elif not choice.stopped:
            opening, role = (choice.opening, b"") if choice.begun else (choice.lead, b'"role":"assistant",')
            choice.begun = True
            tokens = answer_render.render_logprobs(event.logprobs)
            self._out += (opening, role, b'"content":', event.literal, b'},"logprobs":', tokens)
            self._out += (b',"finish_reason":null}]', self._tail)

    def _reasoning(self, event: ReasoningDelta) -> None:
        choice = self._choice(event.choice)
        if not choice.begun:  # clients that skip the chunk with the role would lose the beginning of a thought
            self._delta(choice, b'"content":""', content=True)
        begun = (len(choice.reasonings), entry_type(event.field))
        number, kind = choice.reasonings.setdefault(event.part, begun)
        member = answer_render.reasoning_field(event.field) + event.literal
        if answer_render.is_detailed(event.field):
            piece = render_piece(kind, event.literal, number)
            member += b',"reasoning_details":' + piece
        self._delta(choice, member)

    def _signed(self, event: Signed) -> None:
        choice = self._choice(event.choice)
        waiting = self._waiting
        if waiting is not None and (waiting.choice, waiting.part) == (event.choice, event.part):
            self._render_call(event)
            return
        if waiting is not None:
            self._render_call(None)
        if event.part in choice.calls:
            index = choice.calls[event.part][0]
            signature = answer_render.render_signature(event.state)
            self._delta(choice, b'"tool_calls":[{"index":%d,"extra_content":%b}]' % (index, signature))
        elif event.part == choice.text_part and not choice.signed:
            choice.signed = True
            self._delta(choice, b'"extra_content":' + answer_render.render_signature(event.state))
        else:
            self._sign_reasoning(choice, event)

    def _sign_reasoning(self, choice: _RenderedChoice, event: Signed) -> None:
        number, kind = choice.reasonings.setdefault(event.part, (len(choice.reasonings), ""))
        entry = render_state(event.state, b'""' if kind else None, kind, number, dialect=NAME, streamed=True)
        self._delta(choice, b'"reasoning_details":[' + entry + b"]")

    def _call_started(self, event: CallStarted) -> None:
        self._waiting = event

    def _render_call(self, signed: Signed | None) -> None:
        event, self._waiting = self._waiting, None
        if event is None:
            return
        choice = self._choice(event.choice)
        index = len(choice.calls)
        legacy = self._legacy or own_members(event.extras, NAME) == b',"function_call":true'
        choice.calls[event.part] = (index, event.custom, legacy)
        if legacy:
            self._delta(choice, b'"function_call":{"name":%b,"arguments":""}' % quote(event.name))
            return
        kind, words = (b"custom", b"input") if event.custom else (b"function", b"arguments")
        member = b'"tool_calls":[{"index":%d,"id":%b,"type":"%b","%b":{"name":%b,"%b":""}' % (
            *(index, quote(event.id), kind, kind, quote(event.name), words),
        )
        if signed is not None:
            member += b',"extra_content":' + answer_render.render_signature(signed.state)
        self._delta(choice, member + b"}]")

    def _call_delta(self, event: CallDelta) -> None:
        choice = self._choice(event.choice)
        call = choice.calls.get(event.part)
        if call is None or choice.stopped:
            return
        index, custom, legacy = call
        if legacy:
            self._delta(choice, b'"function_call":{"arguments":' + event.literal + b"}")
            return
        words = b',"custom":{"input":' if custom else b',"function":{"arguments":'
        self._out += (
            choice.opening,
            b'"tool_calls":[{"index":%d' % index,
            words,
            event.literal,
            b"}}]",
            self._delta_end,
        )

    def _refusal(self, event: RefusalDelta) -> None:
        choice = self._choice(event.choice)
        choice.refused = True
        self._delta(choice, b'"refusal":' + event.literal)

    def _cited(self, event: Cited) -> None:
        note = answer_render.render_annotation(event.json, event.origin)
        if note is None:
            return
        choice = self._choice(event.choice)
        if choice.notes and (members := fields_of(note)) is not None:
            note = render_object({"index": b"%d" % choice.notes, **members})
        choice.notes += 1
        self._delta(choice, b'"content":"","annotations":[' + note + b"]", content=True)

    def _media(self, event: MediaDelta) -> None:
        choice = self._choice(event.choice)
        member = answer_render.render_media(event, choice.images)
        if member:
            choice.images += event.kind is MediaKind.IMAGE
            self._delta(choice, member)

    def _kept(self, event: OpaqueBlock) -> None:
        if event.opaque.origin.dialect == NAME:
            self._delta(self._choice(event.choice), b'"content":[' + event.opaque.json + b"]", content=True)

    def _stopped(self, event: Stopped) -> None:
        choice = self._choice(event.choice)
        if choice.stopped:
            return
        if not choice.begun:
            self._delta(choice, b'"content":""', content=True)
        legacy = bool(choice.calls) and any(call[2] for call in choice.calls.values())
        word = answer_render.render_stop(event.reason, legacy, choice.refused)
        more = own_members(event.extras, NAME)
        self._out += (choice.opening, b'},"logprobs":null,"finish_reason":"', word, b'"', more, b"}]", self._tail)
        choice.stopped = True

    def _used(self, event: Used) -> None:
        self._usage = merge_usage(self._usage, event.usage)

    def _ended(self, event: Ended) -> None:
        for index, choice in sorted(self._choices.items()):
            if not choice.stopped:
                self._stopped(Stopped(index, Stop.CALLS if choice.calls else Stop.END))
        if self._context.include_usage and self._usage is not None:
            if event.service_tier is not None or not self._head:
                self._started(replace(self._beginning, service_tier=event.service_tier))
            self._out += (self._head, b'],"usage":', answer_render.render_usage(self._usage), b"}\n\n")
        self._out.append(DONE_FRAME)
        self.over = True

    def _failed(self, event: Failed) -> None:
        self._out += (render_data_frame(answer_render.error_body(event.failure)), DONE_FRAME)
        self.over = True


_RENDER = methods_by_event(ChatStreamRenderer)


ANSWERS = AnswerCodec(
    answer_parse.parse_answer,
    answer_render.render_answer,
    ChatStreamParser,
    stream_renderer=ChatStreamRenderer,
    render_error=answer_render.render_error,
    peek_usage=answer_parse.peek_usage,
    check_chunk=check_plain_chunk,
    complete=answer_render.complete_answer,
    check_whole=answer_parse.check_whole,
    streamed_text=WORDS,
    chunk_rewrite=MisreadChunks,
    find_beginning=find_words,
)
