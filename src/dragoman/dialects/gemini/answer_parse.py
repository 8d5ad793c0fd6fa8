"""A Gemini answer, whole or in chunks, as events."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import pairwise
from typing import Any

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from dragoman.conversation import events
from dragoman.conversation.collect import UNFINISHED
from dragoman.conversation.failures import Failure
from dragoman.conversation.literals import EMPTY, quote
from dragoman.conversation.parts import Extras, Json, MediaKind, Opaque, Origin, StateKind
from dragoman.conversation.replies import Stop, Usage, clamp_tokens
from dragoman.dialects.families.call_input import parse_input
from dragoman.dialects.gemini import NAME, ORIGIN
from dragoman.dialects.shared.parsing import answer_call_id, extras_of, parse_state
from dragoman.dialects.shared.raw_json import (
    ABSENT,
    decode_broken,
    decode_items,
    decode_members,
    decode_object,
    encode,
    says_nothing,
    text_of,
)
from dragoman.wire.error_bodies import parse_no_answer, unreadable_answer

FINISHES: Mapping[str, Stop] = {
    "FINISH_REASON_UNSPECIFIED": Stop.END,
    "STOP": Stop.END,
    "MAX_TOKENS": Stop.LENGTH,
    "SAFETY": Stop.FILTER,
    "RECITATION": Stop.FILTER,
    "OTHER": Stop.ERROR,
    "BLOCKLIST": Stop.FILTER,
    "PROHIBITED_CONTENT": Stop.FILTER,
    "SPII": Stop.FILTER,
    "MALFORMED_FUNCTION_CALL": Stop.BROKEN_CALL,
    "LANGUAGE": Stop.FILTER,
    "IMAGE_SAFETY": Stop.FILTER,
    "UNEXPECTED_TOOL_CALL": Stop.BROKEN_CALL,
    "TOO_MANY_TOOL_CALLS": Stop.BROKEN_CALL,
    # those whose numbers are not known
    "MODEL_ARMOR": Stop.FILTER,
    "IMAGE_PROHIBITED_CONTENT": Stop.FILTER,
    "IMAGE_RECITATION": Stop.FILTER,
    "CONTINUATION": Stop.PAUSE,
    "MALFORMED_RESPONSE": Stop.ERROR,
    "MISSING_THOUGHT_SIGNATURE": Stop.ERROR,
    "ESCALATION": Stop.FILTER,
    "PUP_LIMITED_DISABLED": Stop.FILTER,
    "IMAGE_OTHER": Stop.ERROR,
    "NO_IMAGE": Stop.ERROR,
}
_NUMBERED = tuple(FINISHES)[: list(FINISHES).index("MODEL_ARMOR")]
"""The enum in its order, for servers that write enums as numbers (`$alt=json;enum-encoding=int`)."""


_any = msgspec.json.decode


def finish_word(raw: bytes) -> str:
    """The finish reason as its word; empty if there is none."""
    value = _any(raw) if raw else None
    if isinstance(value, int):
        return _NUMBERED[value] if 0 <= value < len(_NUMBERED) else "OTHER"
    return value if isinstance(value, str) else ""


def parse_stop(word: str, called: bool, has_content: bool = True) -> Stop:
    """Our reason for a word. A tool call ends with STOP, so only the parts show it.

    An unknown word is a normal end if the answer has content, and an error if it has none. A malformed call
    without other content is an error too.
    """
    reason = FINISHES.get(word, Stop.END if has_content or not word else Stop.ERROR)
    if reason is Stop.BROKEN_CALL and not has_content:
        return Stop.ERROR
    return Stop.CALLS if called and reason is Stop.END else reason


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


class _OpenCandidate(msgspec.Struct):
    """One candidate: its open part, its calls, and the metadata for its stop."""

    index: int
    parts: int = 0
    part: int = -1
    kind: int = _NEITHER
    text_part: int = -1
    thoughts: int = 0
    calls: int = 0
    growing: PartialArguments | None = None
    growing_part: int = -1
    held: list[bytes] = []
    finish_reason: str = ""
    metadata: dict[str, Json] = {}

    def begin(self, kind: int) -> int:
        self.kind = kind
        self.part = self.parts
        self.parts += 1
        if kind == _TEXT:
            self.text_part = self.part
        elif kind == _THOUGHT:
            self.thoughts += 1
        return self.part


class GeminiAnswerParser(msgspec.Struct, eq=False):
    """An answer on its way in: the candidates and the usage. `seed` stands in for a missing response id."""

    origin: Origin
    seed: str = ""
    begun: bool = False
    over: bool = False
    _choices: dict[int, _OpenCandidate] = {}
    _usage_pieces: list[bytes] = []
    _blocked: bytes = b""
    _ids: set[str] = set()

    def chunk(self, chunk: GeminiChunk, data: bytes, out: list[events.Event]) -> None:
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

    def finish(self, out: list[events.Event], whole: bool = False) -> None:
        """The end of the stream. It is complete only if every candidate has a finish reason. A `whole` answer has said
        all that it has, but without a candidate, and a block to tell of, it says nothing: such answers come when the
        model has failed."""
        if self.over:
            return
        self.over = True
        choices = [self._choices[index] for index in sorted(self._choices)]
        for choice in choices:
            self._end_call(choice, out)
            if choice.held:
                self._release(choice, out)
        usage = parse_usage(self._usage_pieces)
        complete = self._blocked or (choices and (whole or all(choice.finish_reason for choice in choices)))
        if complete:
            for choice in choices:
                self._stop(choice, out)
            if not choices:
                self._stop_blocked(out)
        if usage is not None:
            out.append(events.Used(usage))
        out.append(events.Ended() if complete else events.Failed(UNFINISHED))

    def fail(self, failure: Failure, out: list[events.Event]) -> None:
        usage = parse_usage(self._usage_pieces)
        if usage is not None:
            out.append(events.Used(usage))
        out.append(events.Failed(failure))
        self.over = True

    def _start(self, chunk: GeminiChunk, out: list[events.Event]) -> None:
        self.begun = True
        model = chunk.model_version or ""
        if model and not self.origin.model:
            self.origin = replace(self.origin, model=model)
        self.seed = chunk.response_id or self.seed
        out.append(events.Started(chunk.response_id or "", model, _seconds(chunk.create_time)))

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
        self, choice: _OpenCandidate, place: int, candidate: _AnswerCandidate, data: bytes, out: list[events.Event]
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
                raws = raws if raws is not None else _find_raw_parts(data, place)
                self._other(choice, part, bytes(raws[number]), out)

    def _text(
        self, choice: _OpenCandidate, part: _AnswerPart, literal: bytes, logprobs: Json | None, out: list[events.Event]
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
            out.append(events.ReasoningDelta(choice.index, choice.part, literal))
        elif kind == _TEXT and (literal != EMPTY or opened or logprobs is not None):
            out.append(events.TextDelta(choice.index, choice.part, literal, logprobs))
        if signed and kind == _TEXT:
            choice.held.append(bytes(part.thought_signature))
        elif signed:
            self._sign(choice, choice.part, bytes(part.thought_signature), out)
            choice.kind = _NEITHER

    def _release(self, choice: _OpenCandidate, out: list[events.Event]) -> None:
        """The signatures of a text that is over. Gemini 2.5 signs the first piece of a stream: told there, it would cut
        the text in two, and clients that take the last message for the answer would lose its beginning."""
        for literal in choice.held:
            self._sign(choice, choice.part, literal, out)
        choice.held = []
        choice.kind = _NEITHER

    def _sign(self, choice: _OpenCandidate, part: int, literal: bytes, out: list[events.Event]) -> None:
        if literal[:1] == b'"' and literal != EMPTY:
            out.append(events.Signed(choice.index, part, parse_state(StateKind.THOUGHT, literal, self.origin)))

    def _call(self, choice: _OpenCandidate, call: _AnswerCall, signature: bytes, out: list[events.Event]) -> None:
        if call.name or choice.growing is None:
            self._end_call(choice, out)
            if not call.name:
                return
            part = choice.begin(_NEITHER)
            out.append(events.CallStarted(choice.index, part, self._call_id(choice, call), call.name, made=not call.id))
            self._sign(choice, part, signature, out)
            choice.growing, choice.growing_part = PartialArguments(), part
            if not call.will_continue and call.partial_args is ABSENT:
                choice.growing = None
                out.append(events.CallDelta(choice.index, part, parse_input(bytes(call.args))))
                out.append(events.CallEnded(choice.index, part))
                return
        if choice.growing is not None:
            choice.growing.add(bytes(call.partial_args))
            if not call.will_continue:
                self._end_call(choice, out)

    def _end_call(self, choice: _OpenCandidate, out: list[events.Event]) -> None:
        if choice.growing is None:
            return
        arguments = choice.growing.json()
        choice.growing = None
        out.append(events.CallDelta(choice.index, choice.growing_part, quote(arguments.decode())))
        out.append(events.CallEnded(choice.index, choice.growing_part))

    def _call_id(self, choice: _OpenCandidate, call: _AnswerCall) -> str:
        """The call's id, or a hash of the response's id and the call's number, so that two turns never share an id."""
        choice.calls += 1
        found = call.id or answer_call_id(self.seed or call.name, choice.index, choice.calls)
        while not call.id and found in self._ids:
            found = answer_call_id(found)
        self._ids.add(found)
        return found

    def _media(self, choice: _OpenCandidate, part: _AnswerPart, out: list[events.Event]) -> None:
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
        out.append(events.MediaDelta(choice.index, number, kind, inline.mime_type, data, extras=extras))

    def _other(self, choice: _OpenCandidate, part: _AnswerPart, raw: bytes, out: list[events.Event]) -> None:
        names = [name for name in decode_members(raw) if name not in ("thought", "thoughtSignature")]
        if names:
            kept = Opaque(kind=names[0], json=raw, origin=self.origin)
            out.append(events.OpaqueBlock(choice.index, choice.begin(_NEITHER), kept))
        elif part.thought_signature is not ABSENT:
            self._text(choice, part, EMPTY, None, out)

    def _stop(self, choice: _OpenCandidate, out: list[events.Event]) -> None:
        if choice.text_part >= 0:
            cited = [
                events.Cited(choice.index, choice.text_part, json, self.origin) for json in _sources(choice.metadata)
            ]
            out += cited
        reason = parse_stop(choice.finish_reason, choice.calls > 0, choice.parts > choice.thoughts)
        if self._blocked:
            choice.metadata["promptFeedback"] = self._blocked
        why = text_of(choice.metadata.get("finishMessage"))
        out.append(
            events.Stopped(choice.index, reason, choice.finish_reason, None, extras_of(NAME, choice.metadata), why)
        )

    def _stop_blocked(self, out: list[events.Event]) -> None:
        """The stop without any candidate: the prompt was blocked, or the answer is empty."""
        if not self._blocked:
            out.append(events.Stopped(0, Stop.END))
            return
        finish_reason = decode_object(self._blocked).get("blockReason")
        extras = Extras(NAME, {"promptFeedback": self._blocked})
        out.append(
            events.Stopped(0, Stop.FILTER, finish_reason if isinstance(finish_reason, str) else "", None, extras)
        )


def _seconds(time: str | None) -> int | None:
    try:
        return int(datetime.fromisoformat(time).timestamp()) if time else None
    except ValueError:
        return None


def _find_raw_parts(data: bytes, place: int) -> list[Raw]:
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


class PartialArguments(msgspec.Struct, eq=False):
    """A call's arguments while they grow."""

    _root: dict[str, Any] = {}

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
    """The value at a step of a path, made if there is none."""
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


def tells(chunk: GeminiChunk) -> bool:
    """Whether it tells anything of an answer."""
    return chunk.candidates is not None or chunk.prompt_feedback is not ABSENT or chunk.usage_metadata is not ABSENT


def parse_answer(body: bytes, origin: Origin | None = None, *, seed: str = "") -> list[events.Event]:
    """The events of a whole answer. A body that is no answer gives one event, the failure."""
    chunk, body = decode_broken(decode_chunk, body)
    if chunk is None:
        return [events.Failed(unreadable_answer(body))]
    if not says_nothing(chunk.error) or not tells(chunk):
        return [events.Failed(parse_no_answer(body))]
    answer = GeminiAnswerParser(origin or ORIGIN, seed)
    out: list[events.Event] = []
    answer.chunk(chunk, body, out)
    answer.finish(out, whole=True)
    return out


# Usage

_COUNTED = (
    "promptTokenCount",
    "candidatesTokenCount",
    "thoughtsTokenCount",
    "totalTokenCount",
    "cachedContentTokenCount",
)
TOOL_USE = "toolUsePromptTokenCount"


def parse_usage(pieces: Iterable[bytes]) -> Usage | None:
    """The usage in several pieces. What a later piece leaves out still holds."""
    fields: dict[str, Any] = {}
    for raw in pieces:
        try:
            fields.update(decode_object(raw))
        except msgspec.DecodeError:
            continue
    if not fields:
        return None
    prompt, answer, thoughts, _, cached = (clamp_tokens(fields.get(name)) for name in _COUNTED)
    fields[TOOL_USE] = clamp_tokens(fields.get(TOOL_USE)) or None
    extras = {key: encode(value) for key, value in fields.items() if key not in _COUNTED and value is not None}
    return Usage(
        input=prompt + (fields[TOOL_USE] or 0),
        output=answer + thoughts,
        cached=cached,
        reasoning=thoughts,
        extras=Extras(NAME, extras) if extras else None,
        audio=max(_count_audio(fields.get("promptTokensDetails")) - _count_audio(fields.get("cacheTokensDetails")), 0),
    )


def _count_audio(details: Any) -> int:
    """The tokens of sound in a list of tokens by modality."""
    listed = details if isinstance(details, list) else ()
    return sum(
        clamp_tokens(one.get("tokenCount")) for one in listed if type(one) is dict and one.get("modality") == "AUDIO"
    )
