"""Recorded answers of the two OpenAI dialects, and the machines that read and write them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import orjson
from tests.corpus import exchanges

from dragoman.conversation.canonical import canonical
from dragoman.conversation.collect import collect
from dragoman.conversation.events import Event
from dragoman.conversation.replies import Reply
from dragoman.dialects.dialect import AnswerCodec, AnswerContext

ASKED = AnswerContext(include_usage=True)


class Recorded(msgspec.Struct, frozen=True):
    id: str
    provider: str
    wire: bytes
    stream: bool


def recorded(dialect: str) -> Iterator[Recorded]:
    """Every recorded answer that is one; what is no JSON and no stream is left out by its kind."""
    for exchange in exchanges(f"*.{dialect}.jsonl"):
        response = exchange["response"]
        kind, body = response["kind"], response["body"]
        if kind == "json":
            yield Recorded(exchange["id"], exchange["provider"], orjson.dumps(body), False)
        elif kind in ("sse", "ndjson"):
            wire = body if kind == "sse" else "".join(f"data: {line}\n\n" for line in body.split("\n") if line.strip())
            yield Recorded(exchange["id"], exchange["provider"], wire.encode(), True)


def cut(wire: bytes, size: int) -> list[bytes]:
    return [wire[at : at + size] for at in range(0, len(wire), size)]


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


def meaning(reply: Reply) -> Any:
    """What two replies must agree in. The word for a stop may be corrected on the way, the stop may not."""
    plain = canonical(reply)
    for choice in plain.get("choices", []):
        choice.pop("word", None)
    return plain


def sse(*payloads: Any) -> bytes:
    """Frames of a stream: bytes as they are, anything else as JSON."""
    texts = [item if isinstance(item, bytes) else orjson.dumps(item) for item in payloads]
    return b"".join([b"data: " + text + b"\n\n" for text in texts])
