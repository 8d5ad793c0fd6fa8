"""A stream of Chat, both ways."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from dragoman.conversation.collect import UNFINISHED, merged
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
from dragoman.conversation.parts import Origin
from dragoman.conversation.replies import Stop, Usage
from dragoman.dialects.dialect import AnswerCodec, AnswerContext
from dragoman.dialects.families.openai_answers import OpenAiStreamParser, error_object
from dragoman.dialects.openai_chat import ID_PREFIX, NAME, ORIGIN
from dragoman.dialects.openai_chat.answer_parse import (
    FAILURES,
    BegunCall,
    ChatAnswerParser,
    failure_of,
    is_error,
    is_whole,
    parse_answer,
    peek_usage,
)
from dragoman.dialects.openai_chat.answer_render import (
    complete_answer,
    error_body,
    is_detailed,
    provider_words,
    reasoning_field,
    render_annotation,
    render_answer,
    render_error,
    render_logprobs,
    render_media,
    render_signature,
    render_stop,
    render_usage,
)
from dragoman.dialects.openai_chat.reasoning import entry_type, render_piece, render_state
from dragoman.dialects.openai_chat.schema import check_read_answer
from dragoman.dialects.shared.call_order import CallOrder
from dragoman.dialects.shared.ownership import own_members
from dragoman.dialects.shared.parsing import answer_call_id, vendor_id
from dragoman.dialects.shared.raw_json import UNREADABLE, valid_utf8
from dragoman.dialects.shared.streamed_text import StreamedText, string_members
from dragoman.wire.error_bodies import parse_failure
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
)


Scalar = str | int | float | None


Nothing = Annotated[str, Meta(max_length=0)] | None


class PlainFunction(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    arguments: str | None = None
    name: Nothing = None


class PlainCall(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A piece of a call that has begun."""

    function: PlainFunction
    index: int
    id: Nothing = None
    type: str | None = None


class PlainDelta(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    role: str | None = None
    content: str | None = None
    refusal: str | None = None
    reasoning: str | None = None
    reasoning_content: str | None = None
    tool_calls: Annotated[list[PlainCall], Meta(max_length=1)] | None = None


class PlainChoice(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    delta: PlainDelta
    index: int
    finish_reason: Literal["stop", ""] | None = None
    native_finish_reason: str | None = None
    logprobs: None = None


class PlainChunk(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    choices: list[PlainChoice]
    object: Literal["chat.completion.chunk"]
    id: Scalar = None
    created: Scalar = None
    model: Scalar = None
    system_fingerprint: Scalar = None
    service_tier: Scalar = None
    obfuscation: Scalar = None
    provider: Scalar = None
    usage: None = None


check_plain_chunk = msgspec.json.Decoder(PlainChunk).decode
"""Raises DecodeError for any other chunk."""


_CHUNK = "chat.completion.chunk"
"""The `object` of every chunk; the helper `stream()` of OpenAI's SDK fails without it."""


_WORDS_IN = frozenset({"delta", "message", "text"})
"""Where servers write what a choice says."""


class _OpenChoice(msgspec.Struct, gc=False):
    delta: dict[str, msgspec.Raw]
    index: int
    finish_reason: Nothing = None


class _OpenChunk(msgspec.Struct, gc=False):
    choices: list[_OpenChoice]
    object: Literal["chat.completion.chunk"]
    error: Nothing = None


_check_open_chunk = msgspec.json.Decoder(_OpenChunk).decode
"""Raises DecodeError for a chunk that ends a choice, is an error or lacks members that every chunk of OpenAI's has."""


def _with_members(chunk: dict[str, Any]) -> dict[str, Any]:
    """A chunk with the members that every chunk of OpenAI's has, and that its SDKs read without a look."""
    chunk, choices = {**chunk, "object": _CHUNK}, chunk.get("choices")
    listed = choices if isinstance(choices, list) else ()
    if not chunk.get("usage"):
        counted = next((one["usage"] for one in listed if isinstance(one, dict) and one.get("usage")), None)
        chunk |= {"usage": counted} if counted is not None else {}
    return {**chunk, "choices": [_with_delta(one) for one in listed if isinstance(one, dict) and _says_something(one)]}


def _says_something(choice: dict[str, Any]) -> bool:
    return not _WORDS_IN.isdisjoint(choice) or bool(choice.get("finish_reason"))


def _with_delta(choice: dict[str, Any]) -> dict[str, Any]:
    choice = {**choice, "index": choice["index"] if isinstance(choice.get("index"), int) else 0}
    if isinstance(choice.get("delta"), dict):
        return choice
    message, text = choice.pop("message", None), choice.pop("text", None)
    return {**choice, "delta": message if isinstance(message, dict) else {"content": text} if text else {}}


def _split_calls(chunk: dict[str, Any]) -> list[Any]:
    """A chunk for each call, as OpenAI sends them: some clients read one call of a chunk. What ends the choice or the
    answer stands in the last one."""
    choices = chunk.get("choices")
    choice: Any = choices[0] if isinstance(choices, list) and len(choices) == 1 else None
    delta: Any = choice.get("delta") if isinstance(choice, dict) else None
    calls: Any = delta.get("tool_calls") if isinstance(delta, dict) else None
    if not isinstance(calls, list) or len(calls) < 2 or not all(isinstance(call, dict) for call in calls):
        return [chunk]
    shared = {name: value for name, value in chunk.items() if name != "usage"}
    pieces = []
    for place, call in enumerate(calls):
        numbered = call if call.get("index") is not None else {**call, "index": place}
        piece = {**delta, "tool_calls": [numbered]} if not place else {"tool_calls": [numbered]}
        pieces.append({**shared, "choices": [{**choice, "delta": piece, "finish_reason": None}]})
    pieces[-1] = {**chunk, "choices": [{**pieces[-1]["choices"][0], "finish_reason": choice.get("finish_reason")}]}
    return pieces


_ROOM, _OF_CALL = 1 << 18, 100
"""Letters of ids and names of calls that are held of one stream, and what each call or choice costs beside them."""


class _BegunCalls(msgspec.Struct):
    """The calls of one choice that have begun, and where those are that have a number or an id. Of their arguments the
    first piece is known, if it is all of them: others pass unseen."""

    calls: list[BegunCall] = []
    by_index: dict[int, int] = {}
    by_id: dict[str, int] = {}

    def find(self, index: int | None, id: str) -> int | None:
        """Where the call is that a piece belongs to; one with neither number nor id belongs to the last one."""
        if index is not None:
            return self.by_index.get(index)
        return self.by_id.get(id) if id else len(self.calls) - 1 if self.calls else None

    def begin(self, index: int | None, id: str, name: str, arguments: bytes) -> int:
        place = len(self.calls)
        begun = BegunCall(given="" if id in self.by_id else id, name=name)
        if is_whole(arguments):
            begun.grow(arguments)
        self.calls.append(begun)
        self.by_id.setdefault(id, place)
        if index is not None:
            self.by_index[index] = place
        return place


class MisreadChunks(msgspec.Struct):
    """Writes chunks that clients misread: one with several calls is split, and one that is an error, or ends in
    one, has it as a member, where clients look for one. An error names the provider. Calls are numbered in their order,
    since some servers give all of them the same number or none; each has an id, and has it and its name once. Once they
    are too many, the rest stays as it is. A choice that ends without a delta has an empty one. What says nothing is
    left out, such as the rest of a filter's verdict. A choice that has stopped does not stop again: clients take the
    last reason, and leave the calls of a turn that seems to end with its text."""

    seed: str = ""
    provider: str = ""
    renumbers: bool = False
    calls: dict[int, _BegunCalls] = {}
    stopped: dict[int, str] = {}
    room: int = _ROOM

    def may_be_misread(self, payload: bytes) -> bool:
        at = payload.find(b'"tool_calls"')
        if at >= 0 and (self.renumbers or _may_begin_call(payload[at:])):
            return True
        try:
            _check_open_chunk(payload)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            return True
        return False

    def pieces(self, chunk: dict[str, Any]) -> list[Any]:
        if chunk.get("error"):
            return [self._name_provider(chunk, msgspec.json.encode(chunk["error"]))]
        if chunk.get("choices") is None and "usage" not in chunk and is_error(chunk):
            failure = parse_failure(200, {}, msgspec.json.encode(chunk))
            return [self._name_provider({"error": error_object(failure, failure.message)}, failure.raw)]
        chunk = _with_members(chunk)
        if not chunk["choices"] and not chunk.get("usage"):
            return []
        for choice in chunk["choices"]:
            word = choice.get("finish_reason")
            if isinstance(word, str) and word.lower() in FAILURES:
                failure = failure_of(word, msgspec.json.encode(choice["error"]) if choice.get("error") else None)
                return [self._name_provider({**chunk, "error": error_object(failure, failure.message)}, failure.raw)]
        split = _split_calls(chunk)
        return [{**piece, "choices": [self._shown(choice) for choice in piece["choices"]]} for piece in split]

    def _name_provider(self, chunk: dict[str, Any], raw: bytes) -> dict[str, Any]:
        """A chunk that holds an error, with what all errors tell of the provider."""
        error = {"message": chunk["error"]} if isinstance(chunk["error"], str) else chunk["error"]
        if not self.provider or not isinstance(error, dict):
            return chunk
        metadata: dict[str, Any] = provider_words(self.provider, raw)
        metadata |= own if isinstance(own := error.get("metadata"), dict) else {}
        return {**chunk, "error": {**error, "metadata": metadata}}

    def _shown(self, choice: dict[str, Any]) -> dict[str, Any]:
        place, word = choice["index"], choice.get("finish_reason")
        if isinstance(word, str) and word:
            if place in self.stopped and word in (self.stopped[place], "stop"):
                choice = {**choice, "finish_reason": None}
            elif word != "stop" and self._has_room(word):
                self.stopped[place], self.renumbers = word, True
        delta = choice["delta"]
        calls = delta.get("tool_calls")
        if not isinstance(calls, list) or not calls:
            return choice
        begun = self.calls.get(place)
        if begun is None:
            begun = _BegunCalls()
            if self._has_room(""):
                self.calls[place] = begun
        numbered = [self._number(call, begun, place) if isinstance(call, dict) else call for call in calls]
        return {**choice, "delta": {**delta, "tool_calls": numbered}}

    def _has_room(self, words: str) -> bool:
        self.room -= len(words) + _OF_CALL
        return self.room > 0

    def _number(self, call: dict[str, Any], begun: _BegunCalls, choice: int) -> dict[str, Any]:
        call = _with_fitting_ids(call)
        index, id, words = call.get("index"), call.get("id") or "", call.get("function")
        if not isinstance(words, dict) or not isinstance(id, str) or not isinstance(index, int | None):
            return call
        if isinstance(words.get("arguments"), dict):
            words = {**words, "arguments": msgspec.json.encode(words["arguments"]).decode()}
        name, literal = words.get("name") or "", msgspec.json.encode(words.get("arguments") or "")
        place = begun.find(index, id)
        known = begun.calls[place] if place is not None else None
        if known is not None and known.is_another(id, name):
            place = None
        elif known is not None and id in ("", known.given) and len(literal) > 2:
            rest = known.rest_of(name, literal)
            place = place if rest is not None else None
            words = {**words, "arguments": msgspec.json.decode(rest)} if rest is not None else words
        if place is None:
            if not self._has_room(id + name + str(words.get("arguments"))):
                return call
            place = begun.begin(index, id, name, literal)
            if not begun.calls[place].given:
                call = {**call, "id": answer_call_id(self.seed, choice, place)}
        else:
            call = {key: value for key, value in call.items() if key != "id" or not id}
            words = {key: value for key, value in words.items() if key != "name" or name != begun.calls[place].name}
        self.renumbers = self.renumbers or place != index
        return {**call, "index": place, "function": words}


def _with_fitting_ids(call: dict[str, Any]) -> dict[str, Any]:
    """A call whose id is a text and whose number is one, as clients check: some servers swap the two."""
    id, index = call.get("id"), call.get("index")
    if isinstance(id, int | float) and not isinstance(id, bool):
        call = {**call, "id": str(id)}
    if isinstance(index, str) and index.isdecimal() and len(index) < 10:
        call = {**call, "index": int(index)}
    return call


def _may_begin_call(rest: bytes) -> bool:
    """Whether there is more than a piece of one call that has begun."""
    return b'"id"' in rest or b'"name"' in rest or b'"index"' not in rest or rest.count(b'"function":') > 1


class ChatStreamParser(OpenAiStreamParser[ChatAnswerParser]):
    """Chunks, and `[DONE]` at the end. A stream whose choices have all stopped is complete without it."""

    __slots__ = ()

    def __init__(self, origin: Origin | None = None, *, seed: str = "", think_tags: bool = False) -> None:
        super().__init__(ChatAnswerParser(origin or ORIGIN, seed, think_tags))

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


class _RenderedChoice:
    """What has been rendered of one choice."""

    __slots__ = ("begun", "calls", "lead", "opening", "reasonings", "refused", "signed", "stopped", "text_part")

    def __init__(self, lead: bytes, opening: bytes) -> None:
        self.lead = lead
        self.opening = opening
        self.begun = False
        self.stopped = False
        self.refused = False
        self.signed = False
        self.text_part = -1
        self.calls: dict[int, tuple[int, bool, bool]] = {}
        self.reasonings: dict[int, tuple[int, bool]] = {}


class ChatStreamRenderer:
    """One chunk for each event.

    The role stands in a choice's first delta, extra fields of the answer in the very first chunk. Nothing follows a
    choice's stop. A call waits for one event, so that its signature can stand beside its name. Calls of a choice come
    one after another, since OpenAI's own stream helper takes the start of a call for the end of the one before it.
    """

    __slots__ = (
        *("_choices", "_context", "_delta_end", "_head", "_lead", "_legacy"),
        *("_orders", "_out", "_over", "_tail", "_usage", "_waiting"),
    )

    def __init__(self, context: AnswerContext) -> None:
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
        self._over = False
        self._out: list[bytes] = []

    def render(self, events: Sequence[Event]) -> bytes:
        for event in events:
            if self._orders or type(event) is CallStarted:
                for ordered in self._in_order(event):
                    self._render_event(ordered)
            elif self._waiting is None and not self._over:
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
        if not self._over:
            _RENDER[type(event)](self, event)

    def close(self) -> bytes:
        """The end of a stream that has none: an error."""
        return b"" if self._over else self.render((Failed(UNFINISHED),))

    def _started(self, event: Started) -> None:
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
            start = b'{"index":%d,"delta":{' % index
            found = _RenderedChoice(self._lead + start, self._head + start)
            self._lead = self._head
            self._choices[index] = found
        return found

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
            tokens = render_logprobs(event.logprobs)
            self._out += (opening, role, b'"content":', event.literal, b'},"logprobs":', tokens)
            self._out += (b',"finish_reason":null}]', self._tail)

    def _reasoning(self, event: ReasoningDelta) -> None:
        choice = self._choice(event.choice)
        if not choice.begun:  # clients that skip the chunk with the role would lose the beginning of a thought
            self._delta(choice, b'"content":""', content=True)
        number, _ = choice.reasonings.setdefault(event.part, (len(choice.reasonings), True))
        member = reasoning_field(event.field) + event.literal
        if is_detailed(event.field):
            piece = render_piece(entry_type(event.field), event.literal, number)
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
            signature = render_signature(event.state)
            self._delta(choice, b'"tool_calls":[{"index":%d,"extra_content":%b}]' % (index, signature))
        elif event.part == choice.text_part and not choice.signed:
            choice.signed = True
            self._delta(choice, b'"extra_content":' + render_signature(event.state))
        else:
            self._sign_reasoning(choice, event)

    def _sign_reasoning(self, choice: _RenderedChoice, event: Signed) -> None:
        number, has_text = choice.reasonings.setdefault(event.part, (len(choice.reasonings), False))
        text = b'""' if has_text else None
        entry = render_state(event.state, text, entry_type(event.field), number, streamed=True)
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
            member += b',"extra_content":' + render_signature(signed.state)
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
        note = render_annotation(event.json, event.origin)
        if note is not None:
            self._delta(self._choice(event.choice), b'"annotations":[' + note + b"]")

    def _media(self, event: MediaDelta) -> None:
        member = render_media(event)
        if member:
            self._delta(self._choice(event.choice), member)

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
        word = render_stop(event.reason, legacy, choice.refused)
        more = own_members(event.extras, NAME)
        self._out += (choice.opening, b'},"logprobs":null,"finish_reason":"', word, b'"', more, b"}]", self._tail)
        choice.stopped = True

    def _used(self, event: Used) -> None:
        self._usage = merged(self._usage, event.usage)

    def _ended(self, event: Ended) -> None:
        for index, choice in sorted(self._choices.items()):
            if not choice.stopped:
                self._stopped(Stopped(index, Stop.CALLS if choice.calls else Stop.END))
        if self._context.include_usage and self._usage is not None:
            if not self._head:
                self._started(Started())
            self._out += (self._head, b'],"usage":', render_usage(self._usage), b"}\n\n")
        self._out.append(DONE_FRAME)
        self._over = True

    def _failed(self, event: Failed) -> None:
        self._out += (render_data_frame(error_body(event.failure)), DONE_FRAME)
        self._over = True


_RENDER = methods_by_event(ChatStreamRenderer)


ANSWERS = AnswerCodec(
    parse_answer,
    render_answer,
    ChatStreamParser,
    stream_renderer=ChatStreamRenderer,
    render_error=render_error,
    peek_usage=peek_usage,
    check_chunk=check_plain_chunk,
    complete=complete_answer,
    check_whole=check_read_answer,
    streamed_text=WORDS,
    chunk_rewrite=MisreadChunks,
    find_beginning=find_words,
)
