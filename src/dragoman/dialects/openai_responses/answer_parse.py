"""A Responses answer, whole or in a stream, as events."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from zlib import crc32

import msgspec
from msgspec import Raw

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
)
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.conversation.literals import EMPTY, quote
from dragoman.conversation.parts import Extras, MediaKind, Opaque, Origin, StateKind
from dragoman.conversation.replies import Stop
from dragoman.dialects.families.openai_usage import parse_responses_usage
from dragoman.dialects.openai_responses import NAME, ORIGIN
from dragoman.dialects.shared.parsing import answer_call_id, extras_of, moment_of, parse_state
from dragoman.dialects.shared.raw_json import ABSENT, UNREADABLE, decode_broken, decode_items, decode_members, text_of
from dragoman.dialects.shared.split_surrogates import SurrogateMender
from dragoman.wire.error_bodies import parse_failure, unreadable_answer
from dragoman.wire.json_reader import render_object


class ResponsesStreamEvent(msgspec.Struct, gc=False):
    type: str = ""
    delta: Raw = ABSENT
    output_index: int = 0
    content_index: int = 0
    summary_index: int = 0
    logprobs: Raw = ABSENT
    item: Raw = ABSENT
    annotation: Raw = ABSENT
    text: Raw = ABSENT
    refusal: Raw = ABSENT
    arguments: Raw = ABSENT
    input: Raw = ABSENT
    response: Raw = ABSENT


decode_event = msgspec.json.Decoder(ResponsesStreamEvent).decode


class _ReadContent(msgspec.Struct, gc=False):
    """What clients read of a content without a look at its type."""

    type: str
    text: str | msgspec.UnsetType = msgspec.UNSET
    refusal: str | None = None
    annotations: list[Raw] | None = None


class _ReadItem(msgspec.Struct, gc=False):
    type: str
    content: list[_ReadContent] | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: Raw = ABSENT


class _ReadCounts(msgspec.Struct, gc=False):
    input_tokens: int
    output_tokens: int


class _ReadResponse(msgspec.Struct, gc=False):
    output: list[_ReadItem]
    usage: _ReadCounts | None = None


_read_response = msgspec.json.Decoder(_ReadResponse).decode


def check_read_response(body: bytes) -> None:
    """Raise DecodeError for a response that clients cannot read. A search for tools has an object as its arguments."""
    for item in _read_response(body).output:
        if item.type == "function_call" and bytes(item.arguments)[:1] == b"{":
            raise msgspec.DecodeError("arguments that are no text")


def objects(raw: Raw | bytes | None) -> list[dict[str, bytes]]:
    """The objects of a list, each as raw members without nulls."""
    text = bytes(raw) if raw is not None else b""
    if text[:1] != b"[":
        return []
    return [present(item) for item in decode_items(text) if bytes(item)[:1] == b"{"]


def present(raw: Raw | bytes) -> dict[str, bytes]:
    """The members of an object that are not null."""
    return {key: text for key, value in decode_members(raw).items() if (text := bytes(value)) != b"null"}


REASONS: Mapping[str, Stop] = {"max_output_tokens": Stop.LENGTH, "content_filter": Stop.FILTER}
"""Reasons of a response that is incomplete."""


def parse_stop(status: str, reason: str, called: bool, refused: bool) -> Stop:
    """Our reason. Calls and refusals show in the items and not in the status."""
    if status == "incomplete":
        return REASONS.get(reason, Stop.LENGTH)
    return Stop.CALLS if called else Stop.REFUSAL if refused else Stop.END


SUMMARY, THOUGHT = "summary", "reasoning_text"
CALLS = {"function_call": "arguments", "custom_tool_call": "input"}

_HEAD = frozenset({"id", "object", "created_at", "model", "output", "usage", "service_tier", "error", "output_text"})
_MADE = _HEAD | {"incomplete_details", "status"}
_MESSAGE = frozenset({"type", "role", "status", "content"})
_REASONING = frozenset({"type", "status", "summary", "content", "encrypted_content"})
_CALL = frozenset({"type", "status", "call_id", "name", "arguments", "input"})
_FINISHED = frozenset({"completed", "complete", "incomplete", "failed"})
_STREAMED = _FINISHED | {"in_progress", "queued"}
_PARAGRAPH = b'"\\n\\n"'


class _GrowingItem:
    """An item that may still grow, and what has been emitted of it."""

    __slots__ = ("cited", "ended", "extras", "kind", "lines", "open", "parts", "sizes", "streamed", "sums")

    def __init__(self, kind: str, extras: Extras | None) -> None:
        self.kind = kind
        self.extras = extras
        self.parts: dict[int | str, int] = {}
        self.lines: dict[str, int] = {}
        self.cited: dict[int, int] = {}
        self.open: dict[int, None] = {}
        """The contents whose end has not come, in their order."""
        self.sizes: defaultdict[int, int] = defaultdict(int)
        """Of the texts; a citation may come before the text it is about."""
        self.sums: dict[int, int] = {}
        """Checksums of the texts."""
        self.streamed = False
        self.ended = False


_BEYOND = -1


def _find_strays(item: _GrowingItem, sizes: list[int]) -> dict[int, list[int]]:
    """The contents that were streamed under an index which is not theirs in the end, by their size; those under an
    index of no content as `_BEYOND`. The first one is last."""
    strays: dict[int, list[int]] = {}
    for at in reversed(item.parts):
        if isinstance(at, int) and not 0 <= at < len(sizes):
            strays.setdefault(_BEYOND, []).append(at)
        elif isinstance(at, int) and item.sizes.get(at) not in (None, sizes[at]):
            strays.setdefault(item.sizes[at], []).append(at)
    return strays


def _adopt(item: _GrowingItem, index: int, streamed: int) -> None:
    """A content was streamed already under another index than it has in the end: it is that part then."""
    item.parts[index] = item.parts.pop(streamed)
    item.sizes[index] = item.sizes.pop(streamed, 0)
    item.sums[index] = item.sums.pop(streamed, 0)
    item.open.pop(streamed, None)


class ResponsesAnswerParser(msgspec.Struct, eq=False):
    """An answer on its way in: the items by their index in the output, and the number of parts."""

    origin: Origin
    _seed: str = ""
    begun: bool = False
    over: bool = False
    _id: str = ""
    _head: Started = msgspec.field(default_factory=Started)
    _items: dict[int, _GrowingItem] = {}
    _parts: int = 0
    _called: bool = False
    _refused: bool = False
    _surrogates: SurrogateMender = msgspec.field(default_factory=SurrogateMender)
    _finished: set[bytes] = set()
    """The ids of the items that are done. Some servers give all of them the same index."""

    def take(self, frame: bytes, out: list[Event]) -> bool:
        """Take one event of a stream. False if it cannot be decoded."""
        try:
            wire = decode_event(frame)
        except UNREADABLE:
            salvaged, frame = decode_broken(decode_event, frame, self._surrogates.mark)
            if salvaged is None:
                return False
            wire = salvaged
        start = len(out)
        handler = _TAKE.get(wire.type)
        if handler is not None:
            handler(self, wire, frame, out)
        elif not wire.type and "error" in present(frame):
            self._fail(None, frame, out)
        if self._surrogates.found:
            self._surrogates.mend(out, start)
        return True

    def take_whole(self, body: bytes, out: list[Event]) -> bool:
        """Take a response object. False if it is none."""
        response = present(body)
        status = text_of(response.get("status"))
        if "error" in response and status in ("failed", ""):
            self._fail(None, body, out)
            return True
        if status in ("failed", "cancelled"):
            self.over = True
            out.append(Failed(Failure(FailureKind.SERVER, f"The response was {status} and gives no reason.", 502)))
            return True
        if "output" not in response and status not in _FINISHED:
            return False
        self._start(response, out, whole=True)
        self._end(response, out)
        return True

    def _started(self, wire: ResponsesStreamEvent, frame: bytes, out: list[Event]) -> None:
        if not self.begun and wire.response:
            self._start(present(wire.response), out)

    def _start(self, response: Mapping[str, bytes], out: list[Event], whole: bool = False) -> None:
        self.begun = True
        self._id = text_of(response.get("id"))
        model = text_of(response.get("model"))
        if model and not self.origin.model:
            self.origin = Origin(self.origin.dialect, self.origin.provider, model, self.origin.account)
        others = {key: value for key, value in response.items() if key not in _HEAD and key != "incomplete_details"}
        if text_of(others.get("status")) in (_FINISHED if whole else _STREAMED):
            others.pop("status")
        created = response.get("created_at", b"")
        self._head = Started(
            id=self._id,
            model=model,
            created=moment_of(float(created)) if created[:1].isdigit() and len(created) < 20 else None,
            service_tier=text_of(response.get("service_tier")) or None,
            extras=extras_of(NAME, others),
        )
        out.append(self._head)

    def _completed(self, wire: ResponsesStreamEvent, frame: bytes, out: list[Event]) -> None:
        response = present(wire.response) if wire.response else {}
        if not self.begun:
            self._start(response, out)
        self._end(response, out)

    def _closed(self, wire: ResponsesStreamEvent, frame: bytes, out: list[Event]) -> None:
        """Some streams end as those of the Realtime API do: the response says how
        (https://github.com/can1357/oh-my-pi/pull/4692)."""
        status = text_of(present(wire.response).get("status")) if wire.response else ""
        (self._fail if status in ("failed", "cancelled") else self._completed)(wire, frame, out)

    def _end(self, response: Mapping[str, bytes], out: list[Event]) -> None:
        """The end: items that were never sent on their own, the stop and the usage."""
        self.over = True
        for index, item in enumerate(objects(response.get("output"))):
            found = self._items.get(index)
            if (found is None or not found.ended) and self._finished.isdisjoint(_ids_of(item)):
                self._finish_item(index, item, out)
        self._surrogates.flush(out)
        for held in self._items.values():
            self._close_call(held, out)
        self._stop(response, out)
        usage = parse_responses_usage(response["usage"], NAME) if "usage" in response else None
        if usage is not None:
            out.append(Used(usage))
        out.append(self._ended(response))

    def _ended(self, response: Mapping[str, bytes]) -> Ended:
        """With the members of the response that were not known when it began, such as what a filter found."""
        head, tier = self._head, text_of(response.get("service_tier"))
        begun = head.extras.fields if head.extras is not None else {}
        late = {key: value for key, value in response.items() if key not in _MADE and begun.get(key) != value}
        return Ended(tier if tier != head.service_tier and tier else None, extras_of(NAME, late))

    def _stop(self, response: Mapping[str, bytes], out: list[Event]) -> None:
        status = text_of(response.get("status"))
        if status in ("queued", "in_progress"):
            return
        details = response.get("incomplete_details")
        reason = text_of(present(details).get("reason")) if details else status
        out.append(Stopped(0, parse_stop(status, reason, self._called, self._refused), reason))

    def _fail(self, wire: ResponsesStreamEvent | None, frame: bytes, out: list[Event]) -> None:
        self.over = True
        out.append(Failed(parse_failure(200, {}, frame)))

    def _added(self, wire: ResponsesStreamEvent, frame: bytes, out: list[Event]) -> None:
        item = present(wire.item)
        self._items[wire.output_index] = self._open(item, out)

    def _open(self, item: Mapping[str, bytes], out: list[Event]) -> _GrowingItem:
        kind = text_of(item.get("type"))
        if kind in CALLS:
            return self._open_call(kind, item, out)
        known = _MESSAGE if kind == "message" else _REASONING
        fields = {key: value for key, value in item.items() if key not in known}
        return _GrowingItem(kind, extras_of(NAME, fields) if kind in ("message", "reasoning") else None)

    def _open_call(self, kind: str, item: Mapping[str, bytes], out: list[Event]) -> _GrowingItem:
        self._called = True
        found = _GrowingItem(kind, extras_of(NAME, {key: value for key, value in item.items() if key not in _CALL}))
        part = found.parts[0] = self._begin()
        given = text_of(item.get("call_id")) or text_of(item.get("id"))
        identity = given or answer_call_id(self._seed or self._id, 0, part)
        custom = kind == "custom_tool_call"
        out.append(CallStarted(0, part, identity, text_of(item.get("name")), custom, found.extras, made=not given))
        return found

    def _begin(self) -> int:
        part = self._parts
        self._parts += 1
        return part

    def _item(self, wire: ResponsesStreamEvent, kind: str) -> _GrowingItem:
        found = self._items.get(wire.output_index)
        if found is None:
            found = self._items[wire.output_index] = _GrowingItem(kind, None)
        return found

    def _text(self, wire: ResponsesStreamEvent, frame: bytes, out: list[Event]) -> None:
        item = self._items.get(wire.output_index) or self._item(wire, "message")
        literal = bytes(wire.delta)
        logprobs = _tokens(bytes(wire.logprobs)) if wire.logprobs is not ABSENT else None
        part = item.parts.get(wire.content_index)
        if part is None:
            self._begin_text(item, wire.content_index, literal, logprobs, out)
        elif literal[:1] == b'"' and literal != EMPTY:
            item.sizes[wire.content_index] += len(literal) - 2
            item.sums[wire.content_index] = crc32(literal[1:-1], item.sums.get(wire.content_index, 0))
            out.append(TextDelta(0, part, literal, logprobs))

    def _begin_text(
        self, item: _GrowingItem, index: int, literal: bytes, logprobs: bytes | None, out: list[Event]
    ) -> None:
        if literal[:1] == b'"' and literal != EMPTY:
            part = item.parts[index] = self._begin()
            item.open[index] = None
            item.sizes[index] = len(literal) - 2
            item.sums[index] = crc32(literal[1:-1])
            out.append(TextDelta(0, part, literal, logprobs, item.extras))

    def _add_rest(self, item: _GrowingItem, index: int, whole: bytes, out: list[Event]) -> None:
        """What the whole text has beyond its pieces: some streams leave out the last of them
        (https://github.com/vercel/ai/issues/13836)."""
        size = item.sizes[index]
        if len(whole) - 2 > size > 0 and whole[:1] == b'"' and crc32(whole[1 : size + 1]) == item.sums.get(index):
            item.sizes[index], item.sums[index] = len(whole) - 2, crc32(whole[1:-1])
            out.append(TextDelta(0, item.parts[index], b'"' + whole[size + 1 :]))

    def _refusal(self, wire: ResponsesStreamEvent, frame: bytes, out: list[Event]) -> None:
        self._add_refusal(self._item(wire, "message"), wire.content_index, bytes(wire.delta), out)

    def _add_refusal(self, item: _GrowingItem, index: int, literal: bytes, out: list[Event]) -> None:
        if literal[:1] != b'"' or literal == EMPTY:
            return
        self._refused = True
        part = item.parts.get(index)
        if part is None:
            part = item.parts[index] = self._begin()
            item.open[index] = None
        out.append(RefusalDelta(0, part, literal))

    def _summary(self, wire: ResponsesStreamEvent, frame: bytes, out: list[Event]) -> None:
        self._add_reasoning(self._item(wire, "reasoning"), SUMMARY, wire.summary_index, bytes(wire.delta), out)

    def _thought(self, wire: ResponsesStreamEvent, frame: bytes, out: list[Event]) -> None:
        self._add_reasoning(self._item(wire, "reasoning"), THOUGHT, wire.content_index, bytes(wire.delta), out)

    def _add_reasoning(self, item: _GrowingItem, field: str, line: int, literal: bytes, out: list[Event]) -> None:
        """Each summary of an item is a paragraph of one text."""
        if literal[:1] != b'"' or literal == EMPTY:
            return
        part = item.parts.get(field)
        if part is None:
            part = item.parts[field] = self._begin()
            out.append(ReasoningDelta(0, part, literal, field, item.extras))
        else:
            if item.lines[field] != line:
                out.append(ReasoningDelta(0, part, _PARAGRAPH, field))
            out.append(ReasoningDelta(0, part, literal, field))
        item.lines[field] = line

    def _arguments(self, wire: ResponsesStreamEvent, frame: bytes, out: list[Event]) -> None:
        item = self._items.get(wire.output_index)
        literal = bytes(wire.delta)
        if item is None or item.ended:
            return
        if item.kind in CALLS and literal[:1] == b'"' and literal != EMPTY:
            item.streamed = True
            out.append(CallDelta(0, item.parts[0], literal))

    def _annotated(self, wire: ResponsesStreamEvent, frame: bytes, out: list[Event]) -> None:
        item = self._item(wire, "message")
        if wire.annotation and bytes(wire.annotation)[:1] == b"{":
            self._add_citation(item, wire.content_index, bytes(wire.annotation), out)

    def _add_citation(self, item: _GrowingItem, index: int, annotation: bytes, out: list[Event]) -> None:
        part = item.parts.get(index)
        if part is None:
            part = item.parts[index] = self._begin()
            item.open[index] = None
        item.cited[index] = item.cited.get(index, 0) + 1
        out.append(Cited(0, part, annotation, self.origin))

    def _text_done(self, wire: ResponsesStreamEvent, frame: bytes, out: list[Event]) -> None:
        item, index = self._item(wire, "message"), wire.content_index
        if index not in item.parts and item.open:
            _adopt(item, index, next(iter(item.open)))
        elif index not in item.parts:
            self._begin_text(item, index, bytes(wire.text), None, out)
        else:
            self._add_rest(item, index, bytes(wire.text), out)
        item.open.pop(index, None)

    def _done(self, wire: ResponsesStreamEvent, frame: bytes, out: list[Event]) -> None:
        item = present(wire.item)
        self._finished |= _ids_of(item)
        self._finish_item(wire.output_index, item, out)

    def _finish_item(self, index: int, item: Mapping[str, bytes], out: list[Event]) -> None:
        """A whole item: everything in it that has not been emitted yet."""
        found = self._items.get(index)
        if found is None:
            found = self._items[index] = self._open(item, out)
        if found.ended:
            return
        found.ended = True
        finish = _FINISH.get(found.kind, ResponsesAnswerParser._keep)
        finish(self, found, item, out)

    def _finish_message(self, found: _GrowingItem, item: Mapping[str, bytes], out: list[Event]) -> None:
        contents = _contents(item.get("content", b""))
        sizes = [max(len(content.get("text", b"")) - 2, 0) for content in contents]
        strays = _find_strays(found, sizes)
        for index, content in enumerate(contents):
            if index not in found.parts and (waiting := strays.get(sizes[index]) or strays.get(_BEYOND)):
                _adopt(found, index, waiting.pop())
            if "refusal" in content and text_of(content.get("type")) == "refusal":
                if index not in found.parts:
                    self._add_refusal(found, index, content["refusal"], out)
                continue
            if index not in found.parts:
                tokens = _tokens(content.get("logprobs", b""))
                self._begin_text(found, index, content.get("text", b""), tokens, out)
            else:
                self._add_rest(found, index, content.get("text", b""), out)
            for note in objects(content.get("annotations"))[found.cited.get(index, 0) :]:
                self._add_citation(found, index, render_object(note), out)

    def _finish_reasoning(self, found: _GrowingItem, item: Mapping[str, bytes], out: list[Event]) -> None:
        for field, key in ((THOUGHT, "content"), (SUMMARY, "summary")):
            if field not in found.parts:
                for line, content in enumerate(objects(item.get(key))):
                    self._add_reasoning(found, field, line, content.get("text", b""), out)
        encrypted = item.get("encrypted_content", b"")
        if encrypted[:1] == b'"' and encrypted != EMPTY:
            self._sign(found, encrypted, out)
        elif not found.parts:
            self._keep(found, item, out)

    def _sign(self, found: _GrowingItem, encrypted: bytes, out: list[Event]) -> None:
        held = parse_state(StateKind.ENCRYPTED, encrypted, self.origin)
        part = max(found.parts.values()) if found.parts else self._begin()
        if not found.parts and held.origin is self.origin:
            held = Opaque(kind=held.kind, json=held.json, origin=held.origin, extras=found.extras)
        out.append(Signed(0, part, held, redacted=held.kind == StateKind.REDACTED))

    def _finish_call(self, found: _GrowingItem, item: Mapping[str, bytes], out: list[Event]) -> None:
        literal = item.get(CALLS[found.kind], b"")
        if literal[:1] == b"{":  # some servers write the object instead of its text
            literal = quote(bytes(literal).decode())
        if not found.streamed and literal[:1] == b'"' and literal != EMPTY:
            out.append(CallDelta(0, found.parts[0], literal))
        out.append(CallEnded(0, found.parts[0]))

    def _close_call(self, item: _GrowingItem, out: list[Event]) -> None:
        if item.kind in CALLS and not item.ended:
            item.ended = True
            out.append(CallEnded(0, item.parts[0]))

    def _finish_image(self, found: _GrowingItem, item: Mapping[str, bytes], out: list[Event]) -> None:
        """A picture that the provider made. Its item is kept beside it for clients of this dialect."""
        data = item.get("result", b"")
        if data[:1] != b'"' or data == EMPTY:
            self._keep(found, item, out)
            return
        extras = extras_of(NAME, {key: value for key, value in item.items() if key != "result"})
        media_type = f"image/{text_of(item.get('output_format')) or 'png'}"
        out.append(MediaDelta(0, self._begin(), MediaKind.IMAGE, media_type, data, extras=extras))

    def _keep(self, found: _GrowingItem, item: Mapping[str, bytes], out: list[Event]) -> None:
        opaque = Opaque(kind=text_of(item.get("type")), json=render_object(item), origin=self.origin)
        out.append(OpaqueBlock(0, self._begin(), opaque))


def _contents(content: bytes) -> list[dict[str, bytes]]:
    """The contents of a message. Some servers write a text that is alone as it is."""
    return [{"type": b'"output_text"', "text": content}] if content[:1] == b'"' else objects(content)


def _ids_of(item: Mapping[str, bytes]) -> set[bytes]:
    """The id by which an item is known again: of a call the one that its result names."""
    return {identity} if (identity := item.get("call_id") or item.get("id") or b"") else set()


def _tokens(logprobs: bytes) -> bytes | None:
    return logprobs if len(logprobs) > 2 and logprobs[:1] == b"[" else None


_TAKE: Mapping[str, Callable[[ResponsesAnswerParser, ResponsesStreamEvent, bytes, list[Event]], None]] = {
    "response.output_text.delta": ResponsesAnswerParser._text,
    "response.function_call_arguments.delta": ResponsesAnswerParser._arguments,
    "response.custom_tool_call_input.delta": ResponsesAnswerParser._arguments,
    "response.reasoning_summary_text.delta": ResponsesAnswerParser._summary,
    "response.reasoning_text.delta": ResponsesAnswerParser._thought,
    "response.refusal.delta": ResponsesAnswerParser._refusal,
    "response.output_text.annotation.added": ResponsesAnswerParser._annotated,
    "response.output_text_annotation.added": ResponsesAnswerParser._annotated,
    "response.output_text.done": ResponsesAnswerParser._text_done,
    "response.output_item.added": ResponsesAnswerParser._added,
    "response.output_item.done": ResponsesAnswerParser._done,
    "response.created": ResponsesAnswerParser._started,
    "response.in_progress": ResponsesAnswerParser._started,
    "response.queued": ResponsesAnswerParser._started,
    "response.completed": ResponsesAnswerParser._completed,
    "response.incomplete": ResponsesAnswerParser._completed,
    "response.done": ResponsesAnswerParser._closed,
    "response.failed": ResponsesAnswerParser._fail,
    "response.cancelled": ResponsesAnswerParser._fail,
    "error": ResponsesAnswerParser._fail,
}

_FINISH: Mapping[str, Callable[[ResponsesAnswerParser, _GrowingItem, Mapping[str, bytes], list[Event]], None]] = {
    "message": ResponsesAnswerParser._finish_message,
    "reasoning": ResponsesAnswerParser._finish_reasoning,
    "function_call": ResponsesAnswerParser._finish_call,
    "custom_tool_call": ResponsesAnswerParser._finish_call,
    "image_generation_call": ResponsesAnswerParser._finish_image,
}


def parse_answer(body: bytes, origin: Origin | None = None, *, seed: str = "", think_tags: bool = False) -> list[Event]:
    """The events of a whole answer. A body that is no answer gives one event, the failure."""
    answer = ResponsesAnswerParser(origin or ORIGIN, seed)
    out: list[Event] = []
    _, body = decode_broken(decode_members, body)
    try:
        read = answer.take_whole(body, out)
    except UNREADABLE:
        read = False
    if not read:
        return [Failed(unreadable_answer(body))]
    return out
