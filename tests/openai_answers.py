"""Recorded answers of the two OpenAI dialects, and the machines that read and write them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import orjson
from tests.corpus import exchanges
from tests.recorded_answers import Recording, cut, make_recording

from dragoman.conversation.collect import collect
from dragoman.conversation.events import Event
from dragoman.conversation.replies import Reply
from dragoman.dialects.dialect import AnswerCodec, AnswerContext, Framing

ASKED = AnswerContext(include_usage=True)


def recorded(dialect: str) -> Iterator[Recording]:
    """Every recorded answer, errors too; what is no JSON and no stream is left out by its kind."""
    for exchange in exchanges(f"*.{dialect}.jsonl"):
        if exchange["response"]["kind"] in ("json", "sse", "ndjson"):
            yield make_recording(exchange["id"], exchange["response"], Framing.SSE)


def parsed(codec: AnswerCodec, wire: bytes, size: int = 4096, **options: Any) -> list[Event]:
    parser = codec.stream_parser(**options)
    events: list[Event] = [event for piece in cut(wire, size) for event in parser.feed(piece)]
    return events + list(parser.close())


def rendered(codec: AnswerCodec, events: Sequence[Event], answering: AnswerContext = ASKED) -> bytes:
    """Every event on its own, as they would come by."""
    renderer = codec.stream_renderer(answering)
    return b"".join([renderer.render([event]) for event in events]) + renderer.close()


def folded(events: Sequence[Event]) -> Reply:
    reply = collect(events)
    assert isinstance(reply, Reply), reply
    return reply


def sse(*payloads: Any) -> bytes:
    """Frames of a stream: bytes as they are, anything else as JSON."""
    texts = [item if isinstance(item, bytes) else orjson.dumps(item) for item in payloads]
    return b"".join([b"data: " + text + b"\n\n" for text in texts])
