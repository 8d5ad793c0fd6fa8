"""Cohere answers to events, whether they grow in a stream or come whole.

The plan before calls is text, marked so that clients of this dialect get it as a plan again.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Raw

from dragoman.conversation.events import (
    CallDelta,
    CallEnded,
    CallStarted,
    Cited,
    Ended,
    Event,
    Failed,
    ReasoningDelta,
    Started,
    Stopped,
    TextDelta,
    Used,
)
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.conversation.literals import EMPTY, quote
from dragoman.conversation.parts import Json, Origin
from dragoman.conversation.replies import Stop
from dragoman.dialects.cohere import NAME, PLAN
from dragoman.dialects.cohere.logprobs import parse_logprobs
from dragoman.dialects.cohere.stop_reasons import parse_stop
from dragoman.dialects.cohere.usage import parse_usage
from dragoman.dialects.parsing import answer_call_id, extras_of
from dragoman.dialects.raw_json import UNREADABLE, decode_object, text_in

TEXT, THINKING, PLANNED, CALL = "text", "thinking", "plan", "call"
_QUOTE = 34
_NO_ARGUMENTS = quote("{}")
_SILENT = (b'"null"', EMPTY)


class CohereAnswerParser:
    """An answer on its way in: its parts by kind and number, the open calls, and whether it is over."""

    __slots__ = ("_calls", "_id", "_parts", "_seed", "_text_part", "begun", "origin", "over")

    def __init__(self, origin: Origin, seed: str = "") -> None:
        self.origin = origin
        self.begun = False
        self.over = False
        self._seed = seed
        self._id = ""
        self._parts: dict[tuple[str, int], int] = {}
        self._calls: dict[int, bool] = {}
        self._text_part = -1

    def start(self, identity: str, others: Mapping[str, Json], out: list[Event]) -> None:
        self.begun = True
        self._id = identity
        out.append(Started(identity, extras=extras_of(NAME, others)))

    def text(self, index: int, literal: bytes, out: list[Event], logprobs: Json | None = None) -> None:
        if not _says(literal) and logprobs is None:
            return
        self._text_part = self._part(TEXT, index)
        out.append(TextDelta(0, self._text_part, literal if _says(literal) else EMPTY, logprobs))

    def thinking(self, index: int, literal: bytes, out: list[Event]) -> None:
        if _says(literal):
            out.append(ReasoningDelta(0, self._part(THINKING, index), literal))

    def plan(self, literal: bytes, out: list[Event]) -> None:
        if _says(literal):
            mark = None if (PLANNED, 0) in self._parts else PLAN
            out.append(TextDelta(0, self._part(PLANNED, 0), literal, None, mark))

    def call(self, index: int, identity: str, name: str, out: list[Event]) -> None:
        if index in self._calls:
            self.end_call(index, out)
            self._parts.pop((CALL, index))
        part = self._part(CALL, index)
        self._calls[index] = False
        shown = identity or answer_call_id(self._id or self._seed, 0, part)
        out.append(CallStarted(0, part, shown, name, made=not identity))

    def arguments(self, index: int, literal: bytes, out: list[Event]) -> None:
        if index in self._calls and _says(literal):
            self._calls[index] = True
            out.append(CallDelta(0, self._part(CALL, index), literal))

    def end_call(self, index: int, out: list[Event]) -> None:
        """A call without arguments has no delta at all."""
        filled = self._calls.pop(index, None)
        if filled is None:
            return
        part = self._part(CALL, index)
        if not filled:
            out.append(CallDelta(0, part, _NO_ARGUMENTS))
        out.append(CallEnded(0, part))

    def cite(self, citation: Json, out: list[Event]) -> None:
        part = self._cited_part(citation)
        if part >= 0:
            out.append(Cited(0, part, citation, self.origin))

    def end(self, word: str, usage: bytes, error: bytes, out: list[Event]) -> None:
        """The proper end, or the failure that the provider tells of."""
        for index in list(self._calls):
            self.end_call(index, out)
        called = any(kind == CALL for kind, _ in self._parts)
        stop = parse_stop(word, called)
        if _says(error) or (stop is Stop.ERROR and not self._parts):
            self.fail(_failure(word, text_in(error)), out)
            return
        out.append(Stopped(0, stop, word))
        used = parse_usage(usage) if usage[:1] == b"{" else None
        if used is not None:
            out.append(Used(used))
        out.append(Ended())
        self.over = True

    def fail(self, failure: Failure, out: list[Event]) -> None:
        out.append(Failed(failure))
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
            fields = decode_object(citation)
        except UNREADABLE:
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


def _failure(word: str, message: str) -> Failure:
    kind = FailureKind.TIMEOUT if word == "TIMEOUT" else FailureKind.SERVER
    return Failure(kind, message or "The provider stopped with an error and gave no reason.", 502)


def whole_arguments(literal: bytes) -> bytes:
    """The arguments of a whole call. Some come as the text `null`."""
    return b"" if literal in _SILENT else literal
