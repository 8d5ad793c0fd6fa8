"""A Gemini stream, both ways."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from dragoman.conversation.events import Event
from dragoman.conversation.failures import Failure
from dragoman.conversation.parts import Json, Origin
from dragoman.dialects.dialect import AnswerCodec, AnswerContext, Framing
from dragoman.dialects.families.foreign_errors import ForeignErrors
from dragoman.dialects.gemini import ORIGIN, answer_render
from dragoman.dialects.gemini.answer_parse import GeminiAnswerParser, GeminiChunk, decode_chunk, parse_answer, tells
from dragoman.dialects.shared.parsing import FRAME_TOO_LONG
from dragoman.dialects.shared.raw_json import decode_broken, says_nothing
from dragoman.dialects.shared.split_surrogates import SurrogateMender
from dragoman.dialects.shared.sse_stream import tell_stray_error
from dragoman.dialects.shared.stream_output import LineOutput
from dragoman.dialects.shared.streamed_text import StreamedText, string_members
from dragoman.wire.error_bodies import parse_no_answer, unreadable_answer
from dragoman.wire.json_array import ObjectDecoder
from dragoman.wire.json_reader import render_object
from dragoman.wire.sse import SseDecoder, one_line

_FLAT = rb"\{[^{}]*+\}"
_NESTED = rb"\{(?:[^{}]++|\{(?:[^{}]++|%b)*+\})*+\}" % _FLAT

WORDS = StreamedText(
    string_members("text", "name"),
    re.compile(rb'"functionCall"\s*+:'),
    string_members("thoughtSignature"),
    # Arguments are an object here. Three levels of it are found, which is nearly always all.
    re.compile(rb'"args"\s*+:\s*+(%b)' % _NESTED),
    changing=frozenset((b"text",)),
)


_BLANK = b" \t\r\n\xef\xbb\xbf"
_LINE, _END = b"\r\n", b"\r\n\r\n"


class GeminiStreamParser:
    """Objects of a stream. It never raises; `skipped` counts the objects that it could not decode."""

    __slots__ = ("_answer", "_frames", "_idle", "_objects", "_surrogates", "skipped")

    def __init__(self, origin: Origin | None = None, *, seed: str = "", think_tags: bool = False) -> None:
        self._frames: SseDecoder | None = None
        self._idle = False
        self._objects: ObjectDecoder | None = None
        self._answer = GeminiAnswerParser(origin or ORIGIN, seed)
        self._surrogates = SurrogateMender()
        self.skipped = 0

    def feed(self, data: bytes) -> list[Event]:
        out: list[Event] = []
        if self._frames is None and self._objects is None:
            self._choose(data)
        if self._idle and data[-4:] == _END and data.find(_LINE) == len(data) - 4 and data[:6] == b"data: ":
            # One whole frame: nearly every chunk is one.
            self._parse_frame(data[6:-4], out)
        elif self._frames is not None:
            for frame in self._frames.feed(data):
                self._parse_frame(frame.data, out)
            self._idle = data[-4:] == _END and not self._frames.overflowed
            if self._frames.overflowed and not self._answer.over:
                self._answer.fail(FRAME_TOO_LONG, out)
        elif self._objects is not None:
            for found in self._objects.feed(data):
                self._parse_frame(one_line(found), out)
            if self._objects.overflowed and not self._answer.over:
                self._answer.fail(FRAME_TOO_LONG, out)
        if self._surrogates.found:
            self._surrogates.mend(out, 0)
        return out

    def close(self) -> list[Event]:
        out: list[Event] = []
        if self._frames is not None:
            for frame in self._frames.close():
                self._parse_frame(frame.data, out)
            if not self._answer.begun and self._frames.stray:
                self._answer.fail(unreadable_answer(bytes(self._frames.stray)), out)
        if self._surrogates.found:
            self._surrogates.mend(out, 0)
            self._surrogates.flush(out)
        self._answer.finish(out)
        if self._frames is not None:
            tell_stray_error(self._frames, out)
        return out

    def _choose(self, data: bytes) -> None:
        """A stream that begins with a bracket is JSON. Any other is server-sent events."""
        start = data.lstrip(_BLANK)[:1]
        if start in (b"[", b"{"):
            self._objects = ObjectDecoder()
        elif start:
            self._frames = SseDecoder(line_separator=b" ")

    def _parse_frame(self, data: bytes, out: list[Event]) -> None:
        if self._answer.over:
            return
        try:
            chunk: GeminiChunk | None = decode_chunk(data) if data.isascii() else None
        except (msgspec.DecodeError, RecursionError):
            chunk = None
        if chunk is None:
            chunk, data = decode_broken(decode_chunk, data, self._surrogates.mark)
        if chunk is None:
            self.skipped += not data.startswith(b"[DONE]")
        elif not says_nothing(chunk.error) or (self._objects is not None and not tells(chunk)):
            self._answer.fail(parse_no_answer(data), out)
        else:
            self._answer.chunk(chunk, data, out)


def parse_whole(body: bytes, origin: Origin | None = None, *, seed: str = "", think_tags: bool = False) -> list[Event]:
    """The events of a whole answer, or of a stream that arrives at once."""
    if body.lstrip()[:1] != b"[":
        return parse_answer(body, origin, seed=seed)
    parser = GeminiStreamParser(origin, seed=seed)
    return [*parser.feed(body), *parser.close()]


class GeminiStreamRenderer(answer_render.PartBuilder, LineOutput):
    """Renders one chunk for each part. The last one of a candidate has the stop and the usage too, as Gemini's own
    last chunk has: Google's SDKs leave a turn whose last chunk has no part out of the history, and many clients drop
    parts without text. So the newest part of each candidate waits for the next event.
    """

    __slots__ = ("_array", "_begun", "_close", "_head", "_logprobs", "_open", "_out", "_tail", "_waiting")

    def __init__(self, context: AnswerContext) -> None:
        super().__init__(context)
        self._array = context.framing is Framing.JSON_ARRAY
        self._open, self._close = (b"", b"\r\n") if self._array else (b"data: ", b"\r\n\r\n")
        self._out: list[bytes] = []
        self._begun = False
        self._head = b'%b{"candidates":[{"content":{"parts":[' % self._open
        self._tail = b""
        self._waiting: dict[int, Json] = {}
        self._logprobs: dict[int, Json] = {}
        self.begin()

    def begin(self) -> None:
        """Prepare the end of a chunk for the first candidate, which is nearly always the only one."""
        self._tail = b'],"role":"model"},"index":0}],%b%b' % (render_object(self.head())[1:], self._close)

    def part(self, choice: int, json: Json) -> None:
        if choice in self._waiting:
            self._render_waiting(choice)
        self._waiting[choice] = json

    def _render_waiting(self, choice: int) -> None:
        json = self._waiting.pop(choice)
        if choice in self._logprobs:
            tokens = self._logprobs.pop(choice)
            candidate = {"content": _render_content(json), "index": b"%d" % choice, "logprobsResult": tokens}
            self._chunk({"candidates": b"[" + render_object(candidate) + b"]"})
            return
        if self._array:
            self._out.append(b"," if self._begun else b"[")
            self._begun = True
        tail = self._tail if not choice else self._tail.replace(b'"index":0', b'"index":%d' % choice, 1)
        self._out += (self._head, json, tail)

    def sign(self, choice: int, signature: bytes, thought: bool, fresh: bool) -> None:
        if choice in self._waiting and not fresh:
            self._waiting[choice] = self._waiting[choice][:-1] + b',"thoughtSignature":%b}' % signature
            return
        mark = b',"thought":true' if thought else b""
        self.part(choice, b'{"text":""%b,"thoughtSignature":%b}' % (mark, signature))

    def logprobs(self, choice: int, tokens: Json) -> None:
        self._logprobs[choice] = answer_render.logprobs_result(tokens)

    def finish(self) -> None:
        candidates = []
        last: dict[str, bytes] = {}
        for choice, fields in self.stops():
            feedback = fields.pop("promptFeedback", None)
            if feedback is not None:
                last["promptFeedback"] = feedback
            if feedback is not None and choice not in self._waiting:
                continue
            if choice in self._logprobs:
                fields["logprobsResult"] = self._logprobs.pop(choice)
            content = _render_content(self._waiting.pop(choice)) if choice in self._waiting else _NO_PARTS
            candidates.append(render_object({"content": content, **fields}))
        if candidates:
            last["candidates"] = b"[" + b",".join(candidates) + b"]"
        if self.usage is not None:
            last["usageMetadata"] = answer_render.render_usage(self.usage)
        self._chunk(last)
        if self._array:
            self._out.append(b"]")

    def fail(self, failure: Failure) -> None:
        for choice in list(self._waiting):
            self._render_waiting(choice)
        self._frame(answer_render.error_body(failure)[1])
        if self._array:
            self._out.append(b"]")

    def _chunk(self, fields: dict[str, bytes]) -> None:
        self._frame(render_object({**fields, **self.head()}))

    def _frame(self, json: bytes) -> None:
        if self._array:
            self._out.append(b"," if self._begun else b"[")
            self._begun = True
        self._out += (self._open, json, self._close)


_NO_PARTS = b'{"role":"model"}'


def _render_content(part: Json) -> bytes:
    return b'{"parts":[%b],"role":"model"}' % part


def _has_code(event: Mapping[str, Any]) -> bool:
    """Google's SDK raises no error without it."""
    error = event["error"]
    return isinstance(error, dict) and isinstance(error.get("code"), int)


_FOREIGN_ERRORS = ForeignErrors(_has_code, lambda failure: answer_render.error_body(failure)[1])


ANSWERS = AnswerCodec(
    parse_whole,
    answer_render.render_answer,
    GeminiStreamParser,
    GeminiStreamRenderer,
    answer_render.render_error,
    streamed_text=WORDS,
    chunk_rewrite=lambda seed, provider: _FOREIGN_ERRORS,
)
