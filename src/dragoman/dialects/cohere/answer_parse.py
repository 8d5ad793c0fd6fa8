"""A Cohere answer as events.

The plan before calls is text, marked so that clients of this dialect get it as a plan again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import Raw

from dragoman.conversation import events
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.conversation.literals import EMPTY, quote
from dragoman.conversation.parts import Extras, Json, Origin
from dragoman.conversation.replies import Stop, Usage, clamp_tokens
from dragoman.dialects.cohere import NAME, ORIGIN, PLAN
from dragoman.dialects.families.stop_reasons import StopReasons
from dragoman.dialects.shared import raw_json
from dragoman.dialects.shared.parsing import answer_call_id, extras_of
from dragoman.wire.error_bodies import parse_no_answer, unreadable_answer

STOPS = StopReasons(
    {
        "COMPLETE": Stop.END,
        "STOP_SEQUENCE": Stop.STOP_SEQUENCE,
        "MAX_TOKENS": Stop.LENGTH,
        "TOOL_CALL": Stop.CALLS,
        "ERROR": Stop.ERROR,
        "TIMEOUT": Stop.ERROR,
    }
)
"""There is no word for an answer that was withheld. ERROR is the one that no client takes for success."""


def parse_stop(word: str, called: bool) -> Stop:
    """Our reason for a word. An answer with a tool call stops for the call, whatever word the server sent."""
    reason = STOPS.parse(word, called)
    return Stop.END if reason is Stop.CALLS and not called else reason


_LIMIT = 100_000
"""How many tokens of one answer are looked at."""


def parse_logprobs(raw: bytes) -> Json | None:
    """One item or a list of them; None if there is nothing to be read."""
    try:
        found = msgspec.json.decode(raw)
    except raw_json.UNREADABLE:
        return None
    items = found if isinstance(found, list) else [found]
    tokens = [token for item in items[:_LIMIT] if isinstance(item, dict) for token in _tokens(item)]
    return raw_json.encode(tokens) if tokens else None


def _tokens(item: dict[str, Any]) -> list[dict[str, Any]]:
    """A chunk of text is mostly one token. The text of several stands with the first."""
    listed = item.get("logprobs")
    numbers = [number for number in listed if isinstance(number, int | float)] if isinstance(listed, list) else []
    text = str(item.get("text") or "")
    texts = [text, *[""] * len(numbers)]
    return [
        {"token": token, "logprob": number, "bytes": list(token.encode("utf-8", "replace")), "top_logprobs": []}
        for token, number in zip(texts, numbers, strict=False)
    ]


class CohereContentDelta(msgspec.Struct, gc=False):
    text: Raw = raw_json.ABSENT
    thinking: Raw = raw_json.ABSENT


class CohereFunctionDelta(msgspec.Struct, gc=False):
    name: Raw = raw_json.ABSENT
    arguments: Raw = raw_json.ABSENT


class CohereCallDelta(msgspec.Struct, gc=False):
    id: Raw = raw_json.ABSENT
    function: CohereFunctionDelta | None = None


class CohereMessageDelta(msgspec.Struct, gc=False):
    content: CohereContentDelta | list[Raw] | None = None
    tool_calls: CohereCallDelta | list[Raw] | None = None
    tool_plan: Raw = raw_json.ABSENT
    citations: Raw = raw_json.ABSENT


class CohereDelta(msgspec.Struct, gc=False):
    message: CohereMessageDelta | None = None
    finish_reason: str | None = None
    usage: Raw = raw_json.ABSENT
    error: Raw = raw_json.ABSENT


class CohereStreamEvent(msgspec.Struct, gc=False):
    type: str = ""
    index: int | None = None
    id: str | None = None
    delta: CohereDelta | None = None
    logprobs: Raw = raw_json.ABSENT


decode_event: Callable[[bytes], CohereStreamEvent] = msgspec.json.Decoder(CohereStreamEvent).decode


TEXT, THINKING, PLANNED, CALL = "text", "thinking", "plan", "call"
_QUOTE = 34
_NO_ARGUMENTS = quote("{}")
_SILENT = (b'"null"', EMPTY)


class CohereAnswerParser(msgspec.Struct, eq=False):
    """An answer on its way in: its parts by kind and number, the open calls, and whether it is over."""

    origin: Origin
    _seed: str = ""
    begun: bool = False
    over: bool = False
    _id: str = ""
    _parts: dict[tuple[str, int], int] = {}
    _calls: dict[int, bool] = {}
    _text_part: int = -1

    def start(self, identity: str, others: Mapping[str, Json], out: list[events.Event]) -> None:
        self.begun = True
        self._id = identity
        out.append(events.Started(identity, extras=extras_of(NAME, others)))

    def text(self, index: int, literal: bytes, out: list[events.Event], logprobs: Json | None = None) -> None:
        if not _says(literal) and logprobs is None:
            return
        self._text_part = self._part(TEXT, index)
        out.append(events.TextDelta(0, self._text_part, literal if _says(literal) else EMPTY, logprobs))

    def thinking(self, index: int, literal: bytes, out: list[events.Event]) -> None:
        if _says(literal):
            out.append(events.ReasoningDelta(0, self._part(THINKING, index), literal))

    def plan(self, literal: bytes, out: list[events.Event]) -> None:
        if _says(literal):
            mark = None if (PLANNED, 0) in self._parts else PLAN
            out.append(events.TextDelta(0, self._part(PLANNED, 0), literal, None, mark))

    def call(self, index: int, identity: str, name: str, out: list[events.Event]) -> None:
        if index in self._calls:
            self.end_call(index, out)
            self._parts.pop((CALL, index))
        part = self._part(CALL, index)
        self._calls[index] = False
        shown = identity or answer_call_id(self._id or self._seed, 0, part)
        out.append(events.CallStarted(0, part, shown, name, made=not identity))

    def arguments(self, index: int, literal: bytes, out: list[events.Event]) -> None:
        if index in self._calls and _says(literal):
            self._calls[index] = True
            out.append(events.CallDelta(0, self._part(CALL, index), literal))

    def end_call(self, index: int, out: list[events.Event]) -> None:
        """A call without arguments has no delta at all."""
        filled = self._calls.pop(index, None)
        if filled is None:
            return
        part = self._part(CALL, index)
        if not filled:
            out.append(events.CallDelta(0, part, _NO_ARGUMENTS))
        out.append(events.CallEnded(0, part))

    def cite(self, citation: Json, out: list[events.Event]) -> None:
        part = self._cited_part(citation)
        if part >= 0:
            out.append(events.Cited(0, part, citation, self.origin))

    def end(self, word: str, usage: bytes, error: bytes, out: list[events.Event]) -> None:
        """The proper end, or the failure that the provider tells of."""
        for index in list(self._calls):
            self.end_call(index, out)
        called = any(kind == CALL for kind, _ in self._parts)
        stop = parse_stop(word, called)
        if _says(error) or (stop is Stop.ERROR and not self._parts):
            self.fail(_make_failure(word, raw_json.text_of(error)), out)
            return
        out.append(events.Stopped(0, stop, word))
        used = parse_usage(usage) if usage[:1] == b"{" else None
        if used is not None:
            out.append(events.Used(used))
        out.append(events.Ended())
        self.over = True

    def fail(self, failure: Failure, out: list[events.Event]) -> None:
        out.append(events.Failed(failure))
        self.over = True

    def logprobs(self, raw: Raw) -> Json | None:
        return parse_logprobs(bytes(raw)) if len(raw) else None

    def _part(self, kind: str, index: int) -> int:
        """The number of a part. They are numbered in the order in which they begin."""
        found = self._parts.get((kind, index))
        if found is None:
            found = self._parts[kind, index] = len(self._parts)
        return found

    def _cited_part(self, citation: Json) -> int:
        """The text that a citation is about, or -1."""
        try:
            fields = raw_json.decode_object(citation)
        except raw_json.UNREADABLE:
            return -1
        if fields.get("type") == "PLAN":
            return self._parts.get((PLANNED, 0), -1)
        index = fields.get("content_index")
        kind = THINKING if fields.get("type") == "THINKING_CONTENT" else TEXT
        if isinstance(index, int) and (kind, index) in self._parts:
            return self._parts[kind, index]
        return self._text_part


def _says(literal: bytes) -> bool:
    """Whether it is a string that is not empty."""
    return len(literal) > 2 and literal[0] == _QUOTE


def _make_failure(word: str, message: str) -> Failure:
    kind = FailureKind.TIMEOUT if word == "TIMEOUT" else FailureKind.SERVER
    return Failure(kind, message or "The provider stopped with an error and gave no reason.", 502)


def whole_arguments(literal: bytes) -> bytes:
    """The arguments of a whole call. Some come as the text `null`, or as an object instead of its text."""
    return b"" if literal in _SILENT else quote(literal.decode()) if literal[:1] == b"{" else literal


_KNOWN = frozenset({"id", "message", "finish_reason", "usage", "meta", "logprobs"})


def parse_answer(
    body: bytes, origin: Origin | None = None, *, seed: str = "", think_tags: bool = False
) -> list[events.Event]:
    """The events of a whole answer. A body that is no answer gives one event, the failure."""
    answer = CohereAnswerParser(origin or ORIGIN, seed)
    out: list[events.Event] = []
    try:
        members = raw_json.decode_answer(body)
        if bytes(members.get("message", b""))[:1] != b"{":
            return [events.Failed(parse_no_answer(body, NAME))]
        _parse(members, answer, out)
    except (*raw_json.UNREADABLE, KeyError):
        return [events.Failed(unreadable_answer(body))]
    return [out[-1]] if type(out[-1]) is events.Failed else out


def _parse(members: Mapping[str, Raw], answer: CohereAnswerParser, out: list[events.Event]) -> None:
    others = {key: bytes(raw) for key, raw in members.items() if key not in _KNOWN and bytes(raw) != b"null"}
    answer.start(raw_json.text_of(members.get("id")), others, out)
    message = raw_json.decode_members(members["message"])
    logprobs = answer.logprobs(members.get("logprobs", raw_json.ABSENT))
    for index, block in enumerate(raw_json.items_in(message.get("content"))):
        fields = raw_json.decode_members(block)
        if raw_json.text_of(fields.get("type")) == "thinking":
            answer.thinking(index, bytes(fields.get("thinking", b"")), out)
        else:
            answer.text(index, bytes(fields.get("text", b"")), out, logprobs)
            logprobs = None
    answer.plan(bytes(message.get("tool_plan", b"")), out)
    for index, call in enumerate(raw_json.items_in(message.get("tool_calls"))):
        _parse_call(index, raw_json.decode_members(call), answer, out)
    for citation in raw_json.items_in(message.get("citations")):
        answer.cite(citation, out)
    usage = members.get("usage") or members.get("meta") or raw_json.ABSENT
    answer.end(raw_json.text_of(members.get("finish_reason")), bytes(usage), b"", out)


def _parse_call(index: int, call: Mapping[str, Raw], answer: CohereAnswerParser, out: list[events.Event]) -> None:
    function = raw_json.decode_members(call["function"])
    answer.call(index, raw_json.text_of(call.get("id")), raw_json.text_of(function.get("name")), out)
    answer.arguments(index, whole_arguments(bytes(function.get("arguments", b""))), out)
    answer.end_call(index, out)


# Usage: the tokens that a model saw and wrote, and separately what is billed

TOKENS, BILLED, CACHED = "tokens", "billed_units", "cached_tokens"
INPUT, OUTPUT, REASONING = "input_tokens", "output_tokens", "reasoning_tokens"


def parse_usage(raw: bytes) -> Usage | None:
    """The tokens, or None if there are no counts. Cached tokens are a part of the input."""
    try:
        fields = raw_json.decode_object(raw)
    except raw_json.UNREADABLE:
        return None
    counts = _counts(fields)
    if not counts:
        return None
    entered = clamp_tokens(counts.get(INPUT))
    kept = {key: raw_json.encode(value) for key, value in fields.items() if key not in (TOKENS, CACHED)}
    return Usage(
        input=entered,
        output=clamp_tokens(counts.get(OUTPUT)),
        cached=min(clamp_tokens(fields.get(CACHED)), entered),
        reasoning=clamp_tokens(counts.get(REASONING)),
        extras=Extras(NAME, kept) if kept else None,
    )


def _counts(fields: dict[str, Any]) -> dict[str, Any]:
    """What the model saw and wrote; what is billed if the answer reports nothing else."""
    found = fields.get(TOKENS) or fields.get(BILLED)
    return found if isinstance(found, dict) else {}
