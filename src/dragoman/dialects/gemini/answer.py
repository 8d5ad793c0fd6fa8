"""A Gemini answer, both ways."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from dragoman.conversation import reasoning_states
from dragoman.conversation.collect import UNFINISHED, arguments_of, collect, merged, tell
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
from dragoman.conversation.literals import EMPTY, joined, quote, unquote
from dragoman.conversation.parts import Extras, Inline, Json, Media, MediaKind, Opaque, Origin, Remote
from dragoman.conversation.replies import Reply, Stop, Usage
from dragoman.dialects.dialect import AnswerContext, Framing
from dragoman.dialects.gemini import NAME, ORIGIN
from dragoman.dialects.gemini.errors import parse_error
from dragoman.dialects.gemini.usage import parse_usage, render_usage
from dragoman.dialects.shared import held_events
from dragoman.dialects.shared.held_events import HeldEvents
from dragoman.dialects.shared.ownership import own_fields, own_or_sealed
from dragoman.dialects.shared.parsing import answer_call_id, extras_of, parse_state
from dragoman.dialects.shared.raw_json import ABSENT, decode_broken, decode_items, decode_members, decode_object, encode
from dragoman.wire.json_reader import render_list, render_object
from dragoman.wire.sse import one_line

FINISHES: Mapping[str, Stop] = {
    "STOP": Stop.END,
    "FINISH_REASON_UNSPECIFIED": Stop.END,
    "MAX_TOKENS": Stop.LENGTH,
    "SAFETY": Stop.FILTER,
    "RECITATION": Stop.FILTER,
    "LANGUAGE": Stop.FILTER,
    "BLOCKLIST": Stop.FILTER,
    "PROHIBITED_CONTENT": Stop.FILTER,
    "SPII": Stop.FILTER,
    "MODEL_ARMOR": Stop.FILTER,
    "IMAGE_SAFETY": Stop.FILTER,
    "IMAGE_PROHIBITED_CONTENT": Stop.FILTER,
    "IMAGE_RECITATION": Stop.FILTER,
    "MALFORMED_FUNCTION_CALL": Stop.BROKEN_CALL,
    "UNEXPECTED_TOOL_CALL": Stop.BROKEN_CALL,
    "TOO_MANY_TOOL_CALLS": Stop.BROKEN_CALL,
    "CONTINUATION": Stop.PAUSE,
    "OTHER": Stop.ERROR,
    "MALFORMED_RESPONSE": Stop.ERROR,
    "IMAGE_OTHER": Stop.ERROR,
    "NO_IMAGE": Stop.ERROR,
}

WORDS: Mapping[Stop, str] = {
    Stop.END: "STOP",
    Stop.STOP_SEQUENCE: "STOP",
    # A tool call shows in its part. The finish reason is the ordinary one.
    Stop.CALLS: "STOP",
    Stop.LENGTH: "MAX_TOKENS",
    Stop.CONTEXT: "MAX_TOKENS",
    Stop.FILTER: "SAFETY",
    Stop.REFUSAL: "SAFETY",
    Stop.BROKEN_CALL: "MALFORMED_FUNCTION_CALL",
    Stop.PAUSE: "CONTINUATION",
    Stop.ERROR: "OTHER",
}

_NUMBERED = (
    "FINISH_REASON_UNSPECIFIED",
    "STOP",
    "MAX_TOKENS",
    "SAFETY",
    "RECITATION",
    "OTHER",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "SPII",
    "MALFORMED_FUNCTION_CALL",
    "LANGUAGE",
    "IMAGE_SAFETY",
    "UNEXPECTED_TOOL_CALL",
    "TOO_MANY_TOOL_CALLS",
)
"""The enum in its order, for servers that write enums as numbers (`$alt=json;enum-encoding=int`)."""


_any = msgspec.json.decode


def finish_word(raw: bytes) -> str:
    """The finish reason as its word; empty where there is none."""
    value = _any(raw) if raw else None
    if isinstance(value, int):
        return _NUMBERED[value] if 0 <= value < len(_NUMBERED) else "OTHER"
    return value if isinstance(value, str) else ""


def parse_stop(word: str, called: bool, has_content: bool = True) -> Stop:
    """Our reason for a word. A tool call ends with STOP, so only the parts show it.

    An unknown word is a normal end where the answer has content, and an error where it has none. A malformed call
    without other content is an error too.
    """
    reason = FINISHES.get(word, Stop.END if has_content or not word else Stop.ERROR)
    if reason is Stop.BROKEN_CALL and not has_content:
        return Stop.ERROR
    return Stop.CALLS if called and reason is Stop.END else reason


def render_stop(reason: Stop, word: str) -> str:
    """The word for our reason: the provider's own word where this dialect has it and it means the same."""
    known = FINISHES.get(word)
    same = known is reason or (known is Stop.BROKEN_CALL and reason is Stop.ERROR)
    return word if same else WORDS[reason]


_USAGE_LIMIT = 64
_CHOICE_LIMIT = 64
_TEXT, _THOUGHT, _NEITHER = 1, 2, 0
_KINDS = {"image": MediaKind.IMAGE, "audio": MediaKind.AUDIO, "video": MediaKind.VIDEO}


class _AnswerCall(msgspec.Struct, gc=False, rename="camel"):
    name: str | None = None
    id: str | None = None
    args: Raw = ABSENT
    partial_args: Raw = ABSENT
    will_continue: bool | None = None


class _AnswerPart(msgspec.Struct, gc=False, rename="camel"):
    text: Raw = ABSENT
    thought: bool | None = None
    thought_signature: Raw = ABSENT
    function_call: _AnswerCall | None = None
    inline_data: Raw = ABSENT


class _AnswerContent(msgspec.Struct, gc=False):
    parts: list[_AnswerPart] | None = None


class _AnswerCandidate(msgspec.Struct, gc=False, rename="camel"):
    content: _AnswerContent | None = None
    finish_reason: Raw = ABSENT
    index: int | None = None
    safety_ratings: Raw = ABSENT
    citation_metadata: Raw = ABSENT
    grounding_metadata: Raw = ABSENT
    url_context_metadata: Raw = ABSENT
    finish_message: Raw = ABSENT
    avg_logprobs: Raw = ABSENT
    logprobs_result: Raw = ABSENT


class GeminiChunk(msgspec.Struct, gc=False, rename="camel"):
    candidates: list[_AnswerCandidate] | None = None
    usage_metadata: Raw = ABSENT
    model_version: str | None = None
    response_id: str | None = None
    create_time: str | None = None
    prompt_feedback: Raw = ABSENT
    error: Raw = ABSENT


class _InlineData(msgspec.Struct, rename="camel"):
    mime_type: str = ""
    data: Raw = Raw(b'""')


decode_chunk = msgspec.json.Decoder(GeminiChunk).decode
_inline = msgspec.json.Decoder(_InlineData).decode

_METADATA = (
    ("safety_ratings", "safetyRatings"),
    ("citation_metadata", "citationMetadata"),
    ("grounding_metadata", "groundingMetadata"),
    ("url_context_metadata", "urlContextMetadata"),
    ("finish_message", "finishMessage"),
    ("avg_logprobs", "avgLogprobs"),
)
"""Metadata of a candidate. It is kept for clients of this dialect and goes out with the stop."""


class _OpenCandidate:
    """One candidate: its open part, its calls, and the metadata for its stop."""

    __slots__ = (
        "calls",
        "finish_reason",
        "growing",
        "growing_part",
        "held",
        "index",
        "kind",
        "metadata",
        "part",
        "parts",
        "text_part",
        "thoughts",
    )

    def __init__(self, index: int) -> None:
        self.index = index
        self.parts = 0
        self.part = -1
        self.kind = _NEITHER
        self.text_part = -1
        self.thoughts = 0
        self.calls = 0
        self.growing: PartialArguments | None = None
        self.growing_part = -1
        self.held: list[bytes] = []
        self.finish_reason = ""
        self.metadata: dict[str, Json] = {}

    def begin(self, kind: int) -> int:
        self.kind = kind
        self.part = self.parts
        self.parts += 1
        if kind == _TEXT:
            self.text_part = self.part
        elif kind == _THOUGHT:
            self.thoughts += 1
        return self.part


class GeminiAnswerParser:
    """An answer on its way in: the candidates and the usage. `seed` stands in for a missing response id."""

    __slots__ = ("_blocked", "_choices", "_ids", "_usage_pieces", "begun", "origin", "over", "seed")

    def __init__(self, origin: Origin, seed: str = "") -> None:
        self.origin = origin
        self.seed = seed
        self.begun = False
        self.over = False
        self._choices: dict[int, _OpenCandidate] = {}
        self._usage_pieces: list[bytes] = []
        self._blocked = b""
        self._ids: set[str] = set()

    def chunk(self, chunk: GeminiChunk, data: bytes, out: list[Event]) -> None:
        """Take one object of the stream, or the whole answer. `data` is its text."""
        if not self.begun:
            self._start(chunk, out)
        if chunk.usage_metadata is not ABSENT:
            self._take_usage(bytes(chunk.usage_metadata))
        if chunk.prompt_feedback is not ABSENT and b'"blockReason"' in bytes(chunk.prompt_feedback):
            self._blocked = bytes(chunk.prompt_feedback)
        for place, candidate in enumerate(chunk.candidates or ()):
            index = candidate.index or 0
            choice = self._choices.get(index) or self._open(index)
            if candidate.content is not None and candidate.content.parts:
                self._parts(choice, place, candidate, data, out)
            if candidate.finish_reason is not ABSENT:
                choice.finish_reason = finish_word(bytes(candidate.finish_reason)) or choice.finish_reason
                self._keep_metadata(choice, candidate)
            elif (
                candidate.grounding_metadata is not ABSENT
                or candidate.citation_metadata is not ABSENT
                or candidate.url_context_metadata is not ABSENT
            ):
                self._keep_metadata(choice, candidate)

    def finish(self, out: list[Event], whole: bool = False) -> None:
        """The end of the stream. It is complete only where every candidate has a finish reason."""
        if self.over:
            return
        self.over = True
        choices = [self._choices[index] for index in sorted(self._choices)]
        for choice in choices:
            self._end_call(choice, out)
            if choice.held:
                self._release(choice, out)
        usage = parse_usage(self._usage_pieces)
        complete = self._blocked or whole or (choices and all(choice.finish_reason for choice in choices))
        if complete:
            for choice in choices:
                self._stop(choice, out)
            if not choices:
                self._stop_blocked(out)
        if usage is not None:
            out.append(Used(usage))
        out.append(Ended() if complete else Failed(UNFINISHED))

    def fail(self, failure: Failure, out: list[Event]) -> None:
        usage = parse_usage(self._usage_pieces)
        if usage is not None:
            out.append(Used(usage))
        out.append(Failed(failure))
        self.over = True

    def _start(self, chunk: GeminiChunk, out: list[Event]) -> None:
        self.begun = True
        model = chunk.model_version or ""
        if model and not self.origin.model:
            self.origin = replace(self.origin, model=model)
        self.seed = chunk.response_id or self.seed
        out.append(Started(chunk.response_id or "", model, _seconds(chunk.create_time)))

    def _take_usage(self, raw: bytes) -> None:
        """Usage comes with nearly every chunk. Only the last one counts, so it is parsed at the end.

        A piece with the total replaces the pieces before it: what it leaves out is zero. Other pieces add to them.
        """
        if b'"totalTokenCount"' in raw:
            self._usage_pieces = [raw]
        elif len(self._usage_pieces) < _USAGE_LIMIT:
            self._usage_pieces.append(raw)

    def _open(self, index: int) -> _OpenCandidate:
        if len(self._choices) >= _CHOICE_LIMIT:
            return next(iter(self._choices.values()))
        choice = self._choices[index] = _OpenCandidate(index)
        return choice

    def _keep_metadata(self, choice: _OpenCandidate, candidate: _AnswerCandidate) -> None:
        for attribute, name in _METADATA:
            raw = getattr(candidate, attribute)
            if raw is not ABSENT:
                value = bytes(raw)
                if value not in (b"{}", b"[]", b"null"):
                    choice.metadata[name] = value

    def _parts(
        self, choice: _OpenCandidate, place: int, candidate: _AnswerCandidate, data: bytes, out: list[Event]
    ) -> None:
        raws: list[Raw] | None = None
        logprobs = _logprobs(bytes(candidate.logprobs_result))
        for number, part in enumerate(candidate.content.parts):  # type: ignore[union-attr,arg-type]
            if choice.held and (part.text is ABSENT or part.thought or part.function_call is not None):
                self._release(choice, out)
            if part.function_call is not None:
                self._call(choice, part.function_call, bytes(part.thought_signature), out)
            elif part.text is not ABSENT:
                self._text(choice, part, bytes(part.text), None if part.thought else logprobs, out)
                if not part.thought:  # a thought may stand before the text that the probabilities are of
                    logprobs = None
            elif part.inline_data is not ABSENT:
                self._media(choice, part, out)
            else:
                raws = raws if raws is not None else _raw_parts(data, place)
                self._other(choice, part, bytes(raws[number]), out)

    def _text(
        self, choice: _OpenCandidate, part: _AnswerPart, literal: bytes, logprobs: Json | None, out: list[Event]
    ) -> None:
        kind = _THOUGHT if part.thought else _TEXT
        signed = part.thought_signature is not ABSENT
        if literal[:1] != b'"':
            literal = EMPTY
        if literal == EMPTY and not signed and logprobs is None:
            return
        if signed and choice.held:
            self._release(choice, out)  # a second signature belongs to a text of its own
        opened = choice.kind != kind
        if opened:
            choice.begin(kind)
        if kind == _THOUGHT and literal != EMPTY:
            out.append(ReasoningDelta(choice.index, choice.part, literal))
        elif kind == _TEXT and (literal != EMPTY or opened or logprobs is not None):
            out.append(TextDelta(choice.index, choice.part, literal, logprobs))
        if signed and kind == _TEXT:
            choice.held.append(bytes(part.thought_signature))
        elif signed:
            self._sign(choice, choice.part, bytes(part.thought_signature), out)
            choice.kind = _NEITHER

    def _release(self, choice: _OpenCandidate, out: list[Event]) -> None:
        """The signatures of a text that is over. Gemini 2.5 signs the first piece of a stream: told there, it would cut
        the text in two, and clients that take the last message for the answer would lose its beginning."""
        for literal in choice.held:
            self._sign(choice, choice.part, literal, out)
        choice.held = []
        choice.kind = _NEITHER

    def _sign(self, choice: _OpenCandidate, part: int, literal: bytes, out: list[Event]) -> None:
        if literal[:1] == b'"' and literal != EMPTY:
            out.append(Signed(choice.index, part, parse_state(reasoning_states.THOUGHT, literal, self.origin)))

    def _call(self, choice: _OpenCandidate, call: _AnswerCall, signature: bytes, out: list[Event]) -> None:
        if call.name or choice.growing is None:
            self._end_call(choice, out)
            if not call.name:
                return
            part = choice.begin(_NEITHER)
            out.append(CallStarted(choice.index, part, self._call_id(choice, call), call.name, made=not call.id))
            self._sign(choice, part, signature, out)
            choice.growing, choice.growing_part = PartialArguments(), part
            if not call.will_continue and call.partial_args is ABSENT:
                choice.growing = None
                arguments = bytes(call.args)
                arguments = arguments if arguments[:1] == b"{" else b"{}"
                out.append(CallDelta(choice.index, part, quote(arguments.decode())))
                out.append(CallEnded(choice.index, part))
                return
        if choice.growing is not None:
            choice.growing.add(bytes(call.partial_args))
            if not call.will_continue:
                self._end_call(choice, out)

    def _end_call(self, choice: _OpenCandidate, out: list[Event]) -> None:
        if choice.growing is None:
            return
        arguments = choice.growing.json()
        choice.growing = None
        out.append(CallDelta(choice.index, choice.growing_part, quote(arguments.decode())))
        out.append(CallEnded(choice.index, choice.growing_part))

    def _call_id(self, choice: _OpenCandidate, call: _AnswerCall) -> str:
        """The call's id, or a hash of the response's id and the call's number, so that two turns never share an id."""
        choice.calls += 1
        found = call.id or answer_call_id(self.seed or call.name, choice.index, choice.calls)
        while not call.id and found in self._ids:
            found = answer_call_id(found)
        self._ids.add(found)
        return found

    def _media(self, choice: _OpenCandidate, part: _AnswerPart, out: list[Event]) -> None:
        try:
            inline = _inline(part.inline_data)
        except msgspec.DecodeError:
            return
        data = bytes(inline.data)
        if data[:1] != b'"':
            return
        kind = _KINDS.get(inline.mime_type.partition("/")[0], MediaKind.DOCUMENT)
        fields: dict[str, Json] = {}
        if part.thought_signature is not ABSENT:
            fields["thoughtSignature"] = bytes(part.thought_signature)
        if part.thought:
            fields["thought"] = b"true"
        number = choice.begin(_NEITHER)
        extras = extras_of(NAME, fields)
        out.append(MediaDelta(choice.index, number, kind, inline.mime_type, data, extras=extras))

    def _other(self, choice: _OpenCandidate, part: _AnswerPart, raw: bytes, out: list[Event]) -> None:
        names = [name for name in decode_members(raw) if name not in ("thought", "thoughtSignature")]
        if names:
            kept = Opaque(kind=names[0], json=raw, origin=self.origin)
            out.append(OpaqueBlock(choice.index, choice.begin(_NEITHER), kept))
        elif part.thought_signature is not ABSENT:
            self._text(choice, part, EMPTY, None, out)

    def _stop(self, choice: _OpenCandidate, out: list[Event]) -> None:
        if choice.text_part >= 0:
            cited = [Cited(choice.index, choice.text_part, json, self.origin) for json in _sources(choice.metadata)]
            out += cited
        reason = parse_stop(choice.finish_reason, choice.calls > 0, choice.parts > choice.thoughts)
        if self._blocked:
            choice.metadata["promptFeedback"] = self._blocked
        out.append(Stopped(choice.index, reason, choice.finish_reason, None, extras_of(NAME, choice.metadata)))

    def _stop_blocked(self, out: list[Event]) -> None:
        """The stop without any candidate: the prompt was blocked, or the answer is empty."""
        if not self._blocked:
            out.append(Stopped(0, Stop.END))
            return
        finish_reason = decode_object(self._blocked).get("blockReason")
        extras = Extras(NAME, {"promptFeedback": self._blocked})
        out.append(Stopped(0, Stop.FILTER, finish_reason if isinstance(finish_reason, str) else "", None, extras))


def _seconds(time: str | None) -> int | None:
    try:
        return int(datetime.fromisoformat(time).timestamp()) if time else None
    except ValueError:
        return None


def _raw_parts(data: bytes, place: int) -> list[Raw]:
    candidate = decode_members(decode_items(decode_members(data)["candidates"])[place])
    return decode_items(decode_members(candidate["content"])["parts"])


def _sources(metadata: dict[str, Json]) -> Iterator[Json]:
    """The web pages that an answer cites, each as it stands in the metadata."""
    for member, names in (("groundingMetadata", ("groundingChunks",)), ("citationMetadata", _CITATIONS)):
        try:
            found = decode_members(metadata.get(member, b"{}"))
            for name in names:
                yield from [bytes(item) for item in decode_items(found.get(name, Raw(b"[]"))) if bytes(item) != b"{}"]
        except msgspec.DecodeError:
            continue


_CITATIONS = ("citations", "citationSources")


def _logprobs(raw: bytes) -> Json | None:
    """Log probabilities in the form of OpenAI Chat."""
    if not raw:
        return None
    try:
        result = decode_object(raw)
    except msgspec.DecodeError:
        return None
    chosen = [item for item in result.get("chosenCandidates") or [] if isinstance(item, dict)]
    tops = result.get("topCandidates") or []
    tokens = []
    for place, item in enumerate(chosen):
        top = tops[place].get("candidates") if place < len(tops) and isinstance(tops[place], dict) else None
        others = [_parse_token(other) for other in top or [] if isinstance(other, dict)]
        tokens.append({**_parse_token(item), "top_logprobs": others})
    return encode(tokens) if tokens else None


def _parse_token(item: dict[str, Any]) -> dict[str, Any]:
    return {"token": item.get("token", ""), "logprob": item.get("logProbability", 0.0), "bytes": None}


_STEP = re.compile(r"""\.([^.\[\]]+)|\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]""")
_LARGEST_INDEX = 100_000


class _PartialValue(msgspec.Struct, rename="camel"):
    """One value, or a piece of one text, and where it belongs."""

    json_path: str = "$"
    string_value: str | None = None
    number_value: int | float | None = None
    bool_value: bool | None = None
    will_continue: bool | None = None


_decode = msgspec.json.Decoder(list[_PartialValue]).decode


class PartialArguments:
    """A call's arguments while they grow."""

    __slots__ = ("_root",)

    def __init__(self) -> None:
        self._root: dict[str, Any] = {}

    def add(self, raw: bytes) -> None:
        """Take a list of values at paths. One that cannot be placed is left out."""
        try:
            pieces = _decode(raw)
        except msgspec.DecodeError:
            return
        for piece in pieces:
            self._place(piece)

    def json(self) -> Json:
        return encode(self._root)

    def _place(self, piece: _PartialValue) -> None:
        steps: list[str | int] = []
        for name, index, single, double in _STEP.findall(piece.json_path):
            steps.append(int(index) if index else name or single or double)
        if not steps or any(isinstance(step, int) and step > _LARGEST_INDEX for step in steps):
            return
        holder: Any = self._root
        for step, following in pairwise(steps):
            holder = _slot(holder, step, [] if isinstance(following, int) else {})
        _set(holder, steps[-1], piece)


def _slot(holder: Any, step: str | int, empty: Any) -> Any:
    """The value at a step of a path, made where there is none."""
    if isinstance(holder, list) and isinstance(step, int):
        holder.extend([None] * (step + 1 - len(holder)))
        if holder[step] is None:
            holder[step] = empty
        return holder[step]
    if isinstance(holder, dict):
        return holder.setdefault(str(step), empty)
    return {}


def _set(holder: Any, step: str | int, piece: _PartialValue) -> None:
    if piece.string_value is not None:
        before = _slot(holder, step, "")
        value: Any = (before if isinstance(before, str) else "") + piece.string_value
    elif piece.number_value is not None:
        value = piece.number_value
    else:
        value = piece.bool_value
    _slot(holder, step, None)
    if isinstance(holder, dict):
        holder[str(step)] = value
    elif isinstance(holder, list) and isinstance(step, int):
        holder[step] = value


_plain = msgspec.json.decode


class _CandidateBuilder:
    """What is unfinished in one candidate."""

    __slots__ = (
        "call",
        "carriers",
        "citations",
        "fragments",
        "held",
        "kind",
        "media",
        "part",
        "releasing",
        "signature",
        "size",
        "stop",
        "written",
    )

    def __init__(self) -> None:
        self.part = -1
        self.written = -1
        self.kind: type[Event] | None = None
        self.call: CallStarted | None = None
        self.fragments: list[bytes] = []
        self.signature = b""
        self.media: list[MediaDelta] = []
        self.held = HeldEvents()
        self.releasing = False
        self.size = 0
        self.citations: list[Json] = []
        self.carriers: list[Json] = []
        self.stop: Stopped | None = None


class PartBuilder:
    """Puts events into the order of parts. A subclass decides how they are framed."""

    __slots__ = ("_candidates", "context", "over", "started", "usage")

    def __init__(self, context: AnswerContext) -> None:
        self.context = context
        self.started = Started()
        self.usage: Usage | None = None
        self.over = False
        self._candidates: dict[int, _CandidateBuilder] = {}

    def take(self, event: Event) -> None:
        if not self.over:
            _TAKE[type(event)](self, event)

    # What a subclass writes.

    def begin(self) -> None: ...

    def part(self, choice: int, json: Json) -> None: ...

    def sign(self, choice: int, signature: bytes, thought: bool, fresh: bool) -> None: ...

    def logprobs(self, choice: int, tokens: Json) -> None: ...

    def finish(self) -> None: ...

    def fail(self, failure: Failure) -> None: ...

    # Events.

    def _started(self, event: Started) -> None:
        self.started = event
        self.begin()

    def _text(self, event: TextDelta | RefusalDelta) -> None:
        candidate = self._at(event)
        if candidate is None:
            return
        candidate.part, candidate.kind = event.part, TextDelta
        if event.literal != EMPTY:
            candidate.written = event.part
            self._part(event.choice, candidate, b'{"text":' + event.literal + b"}")
        if type(event) is TextDelta and event.logprobs is not None:
            self.logprobs(event.choice, event.logprobs)

    def _reasoning(self, event: ReasoningDelta) -> None:
        candidate = self._at(event)
        if candidate is None or event.literal == EMPTY or self.context.hides_reasoning:
            return
        candidate.part = candidate.written = event.part
        candidate.kind = ReasoningDelta
        self._part(event.choice, candidate, b'{"text":' + event.literal + b',"thought":true}')

    def _state(self, event: Signed) -> None:
        candidate = self._at(event)
        if candidate is None:
            return
        signature = own_or_sealed(event.state, reasoning_states.THOUGHT, NAME)
        if candidate.call is not None:
            candidate.signature = signature
            return
        if candidate.part != event.part:
            if self.context.hides_reasoning:
                return
            candidate.part, candidate.kind = event.part, ReasoningDelta
        if candidate.written != event.part and event.state.origin.dialect != NAME:
            candidate.carriers.append(b'{"text":"","thought":true,"thoughtSignature":%b}' % signature)
            return
        self.sign(event.choice, signature, candidate.kind is not TextDelta, candidate.written != event.part)
        candidate.written = -1

    def _part(self, choice: int, candidate: _CandidateBuilder, json: Json) -> None:
        """A part, after the state that stands before it."""
        carriers, candidate.carriers = candidate.carriers, []
        for carrier in carriers:
            self.part(choice, carrier)
        self.part(choice, json)

    def _call_started(self, event: CallStarted) -> None:
        candidate = self._at(event)
        if candidate is None:
            return
        candidate.call, candidate.part, candidate.kind = event, event.part, CallStarted
        candidate.fragments, candidate.signature = [], b""

    def _call_delta(self, event: CallDelta) -> None:
        candidate = self._at(event)
        if candidate is not None and candidate.call is not None:
            candidate.fragments.append(event.literal)
            self._weigh(candidate, len(event.literal))

    def _call_ended(self, event: CallEnded) -> None:
        candidate = self._at(event)
        if candidate is not None:
            self._end_call(event.choice, candidate)
            self._release(candidate)

    def _cited(self, event: Cited) -> None:
        """Citations of other dialects. Those of this dialect are in the metadata of the stop."""
        if event.origin.dialect != NAME:
            source = _source(event.json)
            if source is not None:
                self._candidate(event.choice).citations.append(source)

    def _media(self, event: MediaDelta) -> None:
        candidate = self._at(event)
        if candidate is None:
            return
        candidate.media.append(event)
        candidate.part, candidate.kind = event.part, MediaDelta
        self._weigh(candidate, len(event.data))

    def _kept(self, event: OpaqueBlock) -> None:
        candidate = self._at(event)
        if candidate is None or event.opaque.origin.dialect != NAME:
            return
        candidate.part, candidate.kind = event.part, OpaqueBlock
        self._part(event.choice, candidate, event.opaque.json)

    def _stopped(self, event: Stopped) -> None:
        self._complete(event.choice, self._candidate(event.choice))
        self._candidate(event.choice).stop = event

    def _used(self, event: Used) -> None:
        self.usage = merged(self.usage, event.usage)

    def _ended(self, event: Ended) -> None:
        for choice, candidate in list(self._candidates.items()):
            self._complete(choice, candidate)
        self.over = True
        self.finish()

    def _failed(self, event: Failed) -> None:
        self._fail(event.failure)

    # The order.

    def _fail(self, failure: Failure) -> None:
        self.over = True
        self._candidates.clear()
        self.fail(failure)

    def _candidate(self, choice: int) -> _CandidateBuilder:
        found = self._candidates.get(choice)
        if found is None:
            found = self._candidates[choice] = _CandidateBuilder()
        return found

    def _at(self, event: Any) -> _CandidateBuilder | None:
        """The candidate, or None where the event waits for an open call of it. It is then held."""
        candidate = self._candidates.get(event.choice) or self._candidate(event.choice)
        if candidate.part == event.part:
            return candidate
        if candidate.call is not None:
            candidate.held.add(event.part, event)
            self._weigh(candidate, 0)
            return None
        if candidate.media:
            self._end_media(event.choice, candidate)
        return candidate

    def _weigh(self, candidate: _CandidateBuilder, size: int) -> None:
        candidate.size += size
        if candidate.size + candidate.held.size > held_events.LIMIT * 2:
            self._fail(Failure(FailureKind.ANSWER_TOO_LARGE, "A tool call or a picture of the answer is too long."))

    def _release(self, candidate: _CandidateBuilder) -> None:
        """Take the held events part by part, until a call is open that has not ended. Each is taken once."""
        candidate.size = 0
        if candidate.releasing:
            return
        candidate.releasing = True
        while candidate.held and candidate.call is None and not self.over:
            for event in candidate.held.pop_part():
                self.take(event)
        candidate.releasing = False

    def _complete(self, choice: int, candidate: _CandidateBuilder) -> None:
        """At the end every part is complete, even one that was never ended."""
        while (candidate.call is not None or candidate.held or candidate.media) and not self.over:
            self._end_media(choice, candidate)
            self._end_call(choice, candidate)
            self._release(candidate)

    def _end_call(self, choice: int, candidate: _CandidateBuilder) -> None:
        call, candidate.call = candidate.call, None
        if call is None:
            return
        arguments: Json = arguments_of(unquote(joined("", candidate.fragments)), call.custom)
        if arguments[:1] != b"{":
            arguments = b'{"arguments":' + arguments + b"}"
        fields = {"name": quote(call.name), "args": one_line(arguments)}
        if call.id:
            fields["id"] = quote(call.id)
        members: dict[str, Json] = {"functionCall": render_object(fields)}
        if candidate.signature:
            members["thoughtSignature"] = candidate.signature
        self._part(choice, candidate, render_object(members))

    def _end_media(self, choice: int, candidate: _CandidateBuilder) -> None:
        pieces, candidate.media = candidate.media, []
        if not pieces:
            return
        reply = collect([*pieces, Ended()])
        for media in reply.choices[-1].parts if isinstance(reply, Reply) else ():
            if isinstance(media, Media):
                for json in _media_parts(media):
                    self._part(choice, candidate, json)

    # What every framing needs.

    def head(self) -> dict[str, bytes]:
        """The members that every chunk ends with."""
        started = self.started
        fields: dict[str, Json] = {
            "modelVersion": quote(self.context.model or started.model),
            "responseId": quote(started.id or self.context.id),
        }
        if started.created is not None:
            fields["createTime"] = quote(datetime.fromtimestamp(started.created, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))
        return fields

    def stops(self) -> list[tuple[int, dict[str, bytes]]]:
        """The last members of each candidate. There is none where the prompt was blocked."""
        stops = []
        for choice in sorted(self._candidates):
            candidate = self._candidates[choice]
            fields = {"index": b"%d" % choice}
            if candidate.stop is not None:
                fields["finishReason"] = quote(render_stop(candidate.stop.reason, candidate.stop.word))
                fields.update(own_fields(candidate.stop.extras, NAME))
            if candidate.citations:
                fields["citationMetadata"] = b'{"citations":[' + b",".join(candidate.citations) + b"]}"
            stops.append((choice, fields))
        return stops


def _media_parts(media: Media) -> list[Json]:
    """The bytes or the URL, and the transcript."""
    parts: list[Json] = []
    source = media.source
    extras = own_fields(media.extras, NAME)
    if isinstance(source, Inline) and source.data != EMPTY:
        inline = render_object({"mimeType": quote(source.media_type), "data": source.data})
        parts.append(render_object({"inlineData": inline, **extras}))
    elif isinstance(source, Remote):
        named = {"mimeType": quote(source.media_type)} if source.media_type else {}
        parts.append(render_object({"fileData": render_object({**named, "fileUri": quote(source.url)}), **extras}))
    if media.transcript is not None and media.transcript != EMPTY:
        parts.append(b'{"text":' + media.transcript + b"}")
    return parts


def _source(json: Json) -> Json | None:
    """Another dialect's citation as a web source, where it names one."""
    found = _plain(json)
    if isinstance(found, dict) and isinstance(found.get("url_citation"), dict):
        found = found["url_citation"]
    if not isinstance(found, dict) or not isinstance(found.get("url"), str):
        return None
    fields = {"uri": found["url"]}
    if isinstance(found.get("title"), str):
        fields["title"] = found["title"]
    return encode(fields)


def logprobs_result(tokens: Json) -> Json:
    """Log probabilities in the form of OpenAI Chat as Gemini's `logprobsResult`."""
    items = _objects(_plain(tokens))
    result: dict[str, Any] = {"chosenCandidates": [_render_token(item) for item in items]}
    tops = [_objects(item.get("top_logprobs")) for item in items]
    if any(tops):
        result["topCandidates"] = [{"candidates": [_render_token(top) for top in found]} for found in tops]
    return encode(result)


def _objects(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _render_token(item: dict[str, Any]) -> dict[str, Any]:
    return {"token": item.get("token"), "logProbability": item.get("logprob")}


_TAKE: Mapping[type[Event], Callable[[Any, Any], None]] = {
    Started: PartBuilder._started,
    TextDelta: PartBuilder._text,
    RefusalDelta: PartBuilder._text,
    ReasoningDelta: PartBuilder._reasoning,
    Signed: PartBuilder._state,
    CallStarted: PartBuilder._call_started,
    CallDelta: PartBuilder._call_delta,
    CallEnded: PartBuilder._call_ended,
    Cited: PartBuilder._cited,
    MediaDelta: PartBuilder._media,
    OpaqueBlock: PartBuilder._kept,
    Stopped: PartBuilder._stopped,
    Used: PartBuilder._used,
    Ended: PartBuilder._ended,
    Failed: PartBuilder._failed,
}


def parse_answer(body: bytes, origin: Origin | None = None, *, seed: str = "", think_tags: bool = False) -> list[Event]:
    """The events of a whole answer. A body that is no answer gives one event, the failure."""
    if body.lstrip()[:1] == b"[":  # a stream that arrives at once
        from dragoman.dialects.gemini.stream import GeminiStreamParser

        parser = GeminiStreamParser(origin, seed=seed)
        return [*parser.feed(body), *parser.close()]
    chunk, body = decode_broken(decode_chunk, body)
    if chunk is None:
        return [Failed(Failure(FailureKind.BROKEN_STREAM, "The answer is not a response that can be read.", raw=body))]
    known = chunk.candidates is not None or chunk.prompt_feedback is not ABSENT or chunk.usage_metadata is not ABSENT
    if chunk.error is not ABSENT or not known:
        return [Failed(parse_error(200, {}, body))]
    answer = GeminiAnswerParser(origin or ORIGIN, seed)
    out: list[Event] = []
    answer.chunk(chunk, body, out)
    answer.finish(out, whole=True)
    return out


def render_answer(reply: Reply, context: AnswerContext) -> bytes:
    """The reply as one response object, or as an array of one."""
    whole = _GeminiAnswerRenderer(context)
    for event in tell(reply):
        whole.take(event)
    return b"[" + whole.body + b"]" if context.framing is Framing.JSON_ARRAY else whole.body


class _GeminiAnswerRenderer(PartBuilder):
    """Collects parts as the contents of one response."""

    __slots__ = ("_logprobs", "_parts", "body")

    def __init__(self, context: AnswerContext) -> None:
        super().__init__(context)
        self._parts: dict[int, list[bytes]] = {}
        self._logprobs: dict[int, bytes] = {}
        self.body = b""

    def part(self, choice: int, json: Json) -> None:
        self._parts.setdefault(choice, []).append(json)

    def sign(self, choice: int, signature: bytes, thought: bool, fresh: bool) -> None:
        parts = self._parts.setdefault(choice, [])
        if fresh or not parts:
            mark = b',"thought":true' if thought else b""
            parts.append(b'{"text":""%b,"thoughtSignature":%b}' % (mark, signature))
        else:
            parts[-1] = parts[-1][:-1] + b',"thoughtSignature":%b}' % signature

    def logprobs(self, choice: int, tokens: Json) -> None:
        self._logprobs[choice] = logprobs_result(tokens)

    def finish(self) -> None:
        body: dict[str, bytes] = {}
        candidates = []
        for choice, fields in self.stops():
            feedback = fields.pop("promptFeedback", None)
            if feedback is not None:
                body["promptFeedback"] = feedback
            if feedback is not None and choice not in self._parts:
                continue
            parts = self._parts.get(choice)
            content = b'{"parts":%b,"role":"model"}' % render_list(parts) if parts else b'{"role":"model"}'
            if choice in self._logprobs:
                fields["logprobsResult"] = self._logprobs[choice]
            candidates.append(render_object({"content": content, **fields}))
        if candidates:
            body["candidates"] = render_list(candidates)
        if self.usage is not None:
            body["usageMetadata"] = render_usage(self.usage)
        self.body = render_object({**body, **self.head()})
