"""A whole Gemini answer to events."""

from __future__ import annotations

from dragoman.conversation.events import Event, Failed
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.conversation.parts import Origin
from dragoman.dialects.gemini import ORIGIN
from dragoman.dialects.gemini.answer_events import GeminiAnswerParser
from dragoman.dialects.gemini.errors import parse_error
from dragoman.dialects.gemini.stream_parse import GeminiStreamParser, readable
from dragoman.dialects.raw_json import ABSENT


def parse_answer(body: bytes, origin: Origin | None = None, *, seed: str = "", think_tags: bool = False) -> list[Event]:
    """The events of a whole answer. A body that is no answer gives one event, the failure."""
    if body.lstrip()[:1] == b"[":
        parser = GeminiStreamParser(origin, seed=seed)
        return [*parser.feed(body), *parser.close()]
    chunk, body = readable(body)
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
