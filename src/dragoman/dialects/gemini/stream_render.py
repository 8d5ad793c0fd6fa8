"""Events to the bytes of a Gemini stream, as server-sent events or as one JSON array."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.conversation.collect import UNFINISHED
from dragoman.conversation.events import Event
from dragoman.conversation.failures import Failure
from dragoman.conversation.parts import Json
from dragoman.dialects.dialect import AnswerContext, Framing
from dragoman.dialects.gemini.errors import error_body
from dragoman.dialects.gemini.part_builder import PartBuilder, logprobs_result
from dragoman.dialects.gemini.usage import render_usage
from dragoman.wire.json_reader import render_object


class GeminiStreamRenderer(PartBuilder):
    """Renders one chunk for each delta, with the stop and the usage in the last one."""

    __slots__ = ("_array", "_begun", "_close", "_head", "_open", "_out", "_tail")

    def __init__(self, context: AnswerContext) -> None:
        super().__init__(context)
        self._array = context.framing is Framing.JSON_ARRAY
        self._open, self._close = (b"", b"\r\n") if self._array else (b"data: ", b"\r\n\r\n")
        self._out: list[bytes] = []
        self._begun = False
        self._head = b'%b{"candidates":[{"content":{"parts":[' % self._open
        self._tail = b""
        self.begin()

    def render(self, events: Sequence[Event]) -> bytes:
        out = self._out = []
        for event in events:
            self.take(event)
        return b"".join(out)

    def close(self) -> bytes:
        if self.over:
            return b""
        self._out = []
        self._fail(UNFINISHED)
        return b"".join(self._out)

    def begin(self) -> None:
        """Prepare the end of a chunk for the first candidate, which is nearly always the only one."""
        self._tail = b'],"role":"model"},"index":0}],%b%b' % (render_object(self.head())[1:], self._close)

    def part(self, choice: int, json: Json) -> None:
        if self._array:
            self._out.append(b"," if self._begun else b"[")
            self._begun = True
        tail = self._tail if not choice else self._tail.replace(b'"index":0', b'"index":%d' % choice, 1)
        self._out += (self._head, json, tail)

    def sign(self, choice: int, signature: bytes, thought: bool, fresh: bool) -> None:
        mark = b',"thought":true' if thought else b""
        self.part(choice, b'{"text":""%b,"thoughtSignature":%b}' % (mark, signature))

    def logprobs(self, choice: int, tokens: Json) -> None:
        candidate = {"content": _EMPTY_CONTENT, "index": b"%d" % choice, "logprobsResult": logprobs_result(tokens)}
        self._chunk({"candidates": b"[" + render_object(candidate) + b"]"})

    def finish(self) -> None:
        candidates = []
        last: dict[str, bytes] = {}
        for _, fields in self.stops():
            feedback = fields.pop("promptFeedback", None)
            if feedback is not None:
                last["promptFeedback"] = feedback
            else:
                candidates.append(render_object({"content": _EMPTY_CONTENT, **fields}))
        if candidates:
            last["candidates"] = b"[" + b",".join(candidates) + b"]"
        if self.usage is not None:
            last["usageMetadata"] = render_usage(self.usage)
        self._chunk(last)
        if self._array:
            self._out.append(b"]")

    def fail(self, failure: Failure) -> None:
        self._frame(error_body(failure)[1])
        if self._array:
            self._out.append(b"]")

    def _chunk(self, fields: dict[str, bytes]) -> None:
        self._frame(render_object({**fields, **self.head()}))

    def _frame(self, json: bytes) -> None:
        if self._array:
            self._out.append(b"," if self._begun else b"[")
            self._begun = True
        self._out += (self._open, json, self._close)


_EMPTY_CONTENT = b'{"parts":[{"text":""}],"role":"model"}'
