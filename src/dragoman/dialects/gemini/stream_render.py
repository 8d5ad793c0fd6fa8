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
    """Renders one chunk for each part. The last one of a candidate has the stop and the usage besides, as Gemini's own
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
        if choice in self._waiting:
            self._render_waiting(choice)
        self._waiting[choice] = json

    def _render_waiting(self, choice: int) -> None:
        json = self._waiting.pop(choice)
        if choice in self._logprobs:
            tokens = self._logprobs.pop(choice)
            candidate = {"content": _content(json), "index": b"%d" % choice, "logprobsResult": tokens}
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
        self._logprobs[choice] = logprobs_result(tokens)

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
            content = _content(self._waiting.pop(choice)) if choice in self._waiting else _NO_PARTS
            candidates.append(render_object({"content": content, **fields}))
        if candidates:
            last["candidates"] = b"[" + b",".join(candidates) + b"]"
        if self.usage is not None:
            last["usageMetadata"] = render_usage(self.usage)
        self._chunk(last)
        if self._array:
            self._out.append(b"]")

    def fail(self, failure: Failure) -> None:
        for choice in list(self._waiting):
            self._render_waiting(choice)
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


_NO_PARTS = b'{"role":"model"}'


def _content(part: Json) -> bytes:
    return b'{"parts":[%b],"role":"model"}' % part
