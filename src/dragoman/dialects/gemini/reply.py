"""Gemini's whole reply: read as a stream that arrived at once, and written from the same parts."""

from __future__ import annotations

from dragoman.conversation.collect import tell
from dragoman.conversation.events import Event, Failed
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.conversation.parts import Json, Origin
from dragoman.conversation.replies import Reply
from dragoman.dialects.answering import AnswerContext
from dragoman.dialects.gemini.errors import parse_error
from dragoman.dialects.gemini.finish import DIALECT, render_usage
from dragoman.dialects.gemini.parts import Parts, logprobs_result
from dragoman.dialects.gemini.reader import ABSENT, Reader
from dragoman.dialects.gemini.stream import Parser, readable
from dragoman.wire.json_reader import write_list, write_object


def parse_reply(body: bytes, origin: Origin | None = None, seed: str = "") -> list[Event]:
    """The reply as events. A body that is no reply gives one event, the failure."""
    if body.lstrip()[:1] == b"[":
        parser = Parser(origin, seed)
        return [*parser.feed(body), *parser.close()]
    chunk, body = readable(body)
    if chunk is None:
        return [Failed(Failure(FailureKind.BROKEN_STREAM, "The answer is not a response that can be read.", raw=body))]
    known = chunk.candidates is not None or chunk.prompt_feedback is not ABSENT or chunk.usage_metadata is not ABSENT
    if chunk.error is not ABSENT or not known:
        return [Failed(parse_error(200, {}, body))]
    reader = Reader(origin or Origin(DIALECT), seed)
    out: list[Event] = []
    reader.chunk(chunk, body, out)
    reader.finish(out, whole=True)
    return out


def render_reply(reply: Reply, answering: AnswerContext) -> bytes:
    """The reply as one response, or as an array of one."""
    whole = _Whole(answering)
    for event in tell(reply):
        whole.take(event)
    return b"[" + whole.body + b"]" if answering.array else whole.body


class _Whole(Parts):
    """Parts as the lists of a whole response."""

    __slots__ = ("_logprobs", "_parts", "body")

    def __init__(self, answering: AnswerContext) -> None:
        super().__init__(answering)
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
            content = b'{"parts":%b,"role":"model"}' % write_list(self._parts.get(choice, []))
            if choice in self._logprobs:
                fields["logprobsResult"] = self._logprobs[choice]
            candidates.append(write_object({"content": content, **fields}))
        if candidates:
            body["candidates"] = write_list(candidates)
        if self.usage is not None:
            body["usageMetadata"] = render_usage(self.usage)
        self.body = write_object({**body, **self.head()})
