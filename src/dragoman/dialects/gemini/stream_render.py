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
    parts without text, with the signature that they may have.

    So the newest part of each candidate waits for the next event. Of a text only the last character waits, with the
    spaces after it: the rest goes out at once, and the next piece begins with it. No piece is nothing but spaces: many
    clients send each back as a text of its own, which other providers refuse. `_endings` are what waits of a text, with
    the mark of its part.
    """

    __slots__ = ("_array", "_begun", "_close", "_endings", "_head", "_logprobs", "_open", "_out", "_tail", "_waiting")

    def __init__(self, context: AnswerContext) -> None:
        super().__init__(context)
        self._array = context.framing is Framing.JSON_ARRAY
        self._open, self._close = (b"", b"\r\n") if self._array else (b"data: ", b"\r\n\r\n")
        self._out: list[bytes] = []
        self._begun = False
        self._head = b'%b{"candidates":[{"content":{"parts":[' % self._open
        self._tail = b""
        self._waiting: dict[int, Json] = {}
        self._endings: dict[int, tuple[bytes, bytes]] = {}
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
        self._render_waiting(choice)
        self._waiting[choice] = json

    def words(self, choice: int, literal: Json, mark: bytes) -> None:
        ending = self._endings.get(choice, _NOTHING)
        if not ending[0] or ending[1] != mark:
            self._render_waiting(choice)
            ending = (b'"', mark)
        plain = literal.find(b"\\", -_NEAR_END) < 0 and 0x20 < literal[-2] < 0x80
        cut = len(literal) - 2 if plain else _last_word(literal)
        begun = ending[0] + literal[1:cut]
        if not cut and len(begun) + len(literal) > _MOST_HELD:
            self._render_waiting(choice)
            begun = b'"'
        if not cut or len(begun) == 1 or begun[1:].isspace():
            self._endings[choice] = (begun + literal[max(cut, 1) : -1], mark)
            return
        self._render_part(choice, b'{"text":%b"%b}' % (begun, mark))
        self._endings[choice] = (b'"' + literal[cut:-1], mark)

    def _pop_waiting(self, choice: int) -> Json | None:
        ending = self._endings.pop(choice, None)
        return self._waiting.pop(choice, None) if ending is None else b'{"text":%b"%b}' % ending

    def _render_waiting(self, choice: int) -> None:
        json = self._pop_waiting(choice)
        if json is not None:
            self._render_part(choice, json)

    def _render_part(self, choice: int, json: Json) -> None:
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
        waiting = None if fresh else self._pop_waiting(choice)
        if waiting is not None:
            self._waiting[choice] = waiting[:-1] + b',"thoughtSignature":%b}' % signature
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
            waiting = self._pop_waiting(choice)
            if feedback is not None and waiting is None:
                continue
            if choice in self._logprobs:
                fields["logprobsResult"] = self._logprobs.pop(choice)
            content = _content(waiting) if waiting is not None else _NO_PARTS
            candidates.append(render_object({"content": content, **fields}))
        if candidates:
            last["candidates"] = b"[" + b",".join(candidates) + b"]"
        if self.usage is not None:
            last["usageMetadata"] = render_usage(self.usage)
        self._chunk(last)
        if self._array:
            self._out.append(b"]")

    def fail(self, failure: Failure) -> None:
        for choice in [*self._waiting, *self._endings]:
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
_NOTHING = (b"", b"")
_NEAR_END = 32
"""Where the last word of a text is looked for."""
_MOST_HELD = 256
"""Spaces and escapes are held with what stands before them, up to so many bytes."""
_ESCAPE = 6


def _last_word(literal: Json) -> int:
    """Where the last character of a JSON string begins that is no space, with the escapes after it; 0 where that is not
    clear. It is looked for near the end, where nothing may be cut that belongs to an escape further ahead."""
    end = len(literal) - 1
    start = max(1, end - _NEAR_END)
    least = 1 if start == 1 else start + _ESCAPE
    escape = literal.find(b"\\", start, end)
    if escape >= 0 and (escape == start > 1 or literal[escape : escape + 3].lower() == b"\\ud"):
        return 0
    at = (escape if escape >= 0 else end) - 1
    while at >= least and literal[at] == 0x20:
        at -= 1
    while at >= least and literal[at] & 0xC0 == 0x80:  # the middle of a character in UTF-8
        at -= 1
    return at if at >= least else 0


def _content(part: Json) -> bytes:
    return b'{"parts":[%b],"role":"model"}' % part
