"""A whole Ollama answer to events."""

from __future__ import annotations

from dragoman.conversation.events import Event, Failed
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.conversation.parts import Origin
from dragoman.dialects.ollama.answer_events import OllamaAnswerParser
from dragoman.dialects.ollama.errors import parse_error
from dragoman.dialects.ollama.stream_parse import OllamaStreamParser, readable
from dragoman.dialects.raw_json import ABSENT


def parse_answer(body: bytes, origin: Origin | None = None, *, seed: str = "", think_tags: bool = False) -> list[Event]:
    """The events of a whole answer. A body that is no answer gives one event, the failure."""
    chunk, text = readable(body)
    if chunk is None:
        return _parse_lines(body, seed)
    if chunk.error is not ABSENT or (chunk.message is None and chunk.response is ABSENT):
        return [Failed(parse_error(200, {}, text))]
    out: list[Event] = []
    answer = OllamaAnswerParser(seed)
    answer.chunk(chunk, text, out)
    answer.finish(out)
    return out


def _parse_lines(body: bytes, seed: str) -> list[Event]:
    """A server may send a stream although it was asked for one object."""
    parser = OllamaStreamParser(seed=seed)
    events = [*parser.feed(body), *parser.close()]
    if parser.skipped:
        return [Failed(Failure(FailureKind.BROKEN_STREAM, "The answer is not a response that can be read.", raw=body))]
    return events
