"""Recorded answers of one dialect as the bytes that came over the wire."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator

import orjson
from msgspec import Struct
from tests.corpus import sample_of

from dragoman.conversation.canonical import canonical
from dragoman.conversation.dialect_names import DIALECT_NAMES
from dragoman.dialects import registry
from dragoman.dialects.dialect import Framing
from dragoman.wire.aws_event_stream import render_frame


class Recording(Struct, frozen=True):
    """One answer. `stream` tells whether it came as a stream."""

    id: str
    wire: bytes
    stream: bool


UNRECORDED: frozenset[str] = frozenset()
"""Dialects of which the corpus has no recordings yet: put the name of a new one here."""
RECORDED = tuple([name for name in DIALECT_NAMES if name not in UNRECORDED])


ALL = 1_000_000


def recordings(dialect: str, about: int = ALL) -> Iterator[Recording]:
    """About so many answers, errors left out: those have a test of their own."""
    for exchange in sample_of(dialect, about):
        if exchange["response"]["status"] < 400:
            yield make_recording(exchange["id"], exchange["response"], registry.dialect(dialect).framing)


def make_recording(identity: str, response: dict[str, object], framing: Framing) -> Recording:
    """An answer of the corpus in the framing of its dialect."""
    kind, body = response["kind"], response["body"]
    if kind == "json":
        return Recording(identity, orjson.dumps(body), isinstance(body, list))
    assert isinstance(body, str)
    if kind in ("eventstream-b64", "b64"):
        return Recording(identity, b64decode(body), True)
    if kind == "ndjson" and framing is Framing.EVENT_STREAM:
        return Recording(identity, b"".join(map(_binary, filter(None, body.split("\n")))), True)
    if kind == "ndjson" and framing is Framing.SSE:
        # The payloads of an SSE stream, recorded without their frames.
        body = "".join(_framed(line) for line in body.split("\n") if line.strip())
    return Recording(identity, body.encode(), True)


def _binary(line: str) -> bytes:
    """An event of Bedrock's, recorded without its frame: one member, its name."""
    kind, payload = next(iter(orjson.loads(line).items()))
    return render_frame({":event-type": kind, ":message-type": "event"}, orjson.dumps(payload))


def _framed(line: str) -> str:
    try:
        kind = orjson.loads(line).get("type")
    except orjson.JSONDecodeError:
        kind = None  # the recording breaks off within a line
    return f"event: {kind}\ndata: {line}\n\n" if kind else f"data: {line}\n\n"


def cut(wire: bytes, size: int) -> list[bytes]:
    return [wire[at : at + size] for at in range(0, len(wire), size)]


def meaning(reply: object) -> object:
    """What two replies must agree in. The word for a stop may be corrected on the way, the stop may not."""
    plain = canonical(reply)
    for choice in plain.get("choices", []):
        choice.pop("word", None)
    return plain
