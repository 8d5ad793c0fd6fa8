"""The binary event stream: the vectors of the format, botocore's parser as the judge, and damage of every kind."""

from __future__ import annotations

import struct
from zlib import crc32

import pytest
from botocore.eventstream import EventStreamBuffer, ParserError
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.wire.aws_event_stream import MOST_PAYLOAD, BinaryFrame, EventStreamDecoder, HeaderValue, render_frame

STOP = {":event-type": "messageStop", ":content-type": "application/json", ":message-type": "event"}
STOP_PAYLOAD = b'{"stopReason":"end_turn"}'


def decode(wire: bytes, size: int = 4096) -> tuple[list[BinaryFrame], EventStreamDecoder]:
    decoder = EventStreamDecoder()
    return [frame for at in range(0, len(wire), size) for frame in decoder.feed(wire[at : at + size])], decoder


def test_the_recorded_vector() -> None:
    frame = render_frame(STOP, STOP_PAYLOAD)
    assert len(frame) == 122
    assert frame[:12].hex() == "0000007a00000051ca2c4665"
    assert frame[-4:].hex() == "5fbf09fc"


names = st.text(st.characters(codec="ascii", min_codepoint=33), min_size=1, max_size=40)
values = st.text(max_size=200)
frames = st.tuples(st.dictionaries(names, values, max_size=6), st.binary(max_size=2000))


@settings(deadline=None)
@given(st.lists(frames, min_size=1, max_size=5), st.integers(1, 300))
def test_botocore_reads_what_is_written_and_agrees_in_any_cut(
    made: list[tuple[dict[str, str], bytes]], size: int
) -> None:
    wire = b"".join([render_frame(headers, payload) for headers, payload in made])
    judge = EventStreamBuffer()
    judge.add_data(wire)
    judged = [(message.headers, message.payload) for message in judge]
    found, decoder = decode(wire, size)
    assert judged == made == [(frame.headers, frame.payload) for frame in found]
    assert b"".join([frame.raw for frame in found]) == wire
    assert not decoder.is_partial


def _value(kind: int, content: HeaderValue) -> bytes:
    formats = {2: ">b", 3: ">h", 4: ">i", 5: ">q", 8: ">q"}
    if kind in (0, 1):
        return b""
    if kind == 9:
        return bytes(content)  # type: ignore[arg-type]
    if kind in formats:
        return struct.pack(formats[kind], content)
    raw = content.encode() if isinstance(content, str) else bytes(content)  # type: ignore[arg-type]
    return struct.pack(">H", len(raw)) + raw


VALUES: list[tuple[int, HeaderValue]] = [
    (0, True),
    (1, False),
    (2, -5),
    (3, -300),
    (4, 70_000),
    (5, 2**40),
    (6, b"\x00\xff"),
    (7, "é"),
    (8, 1_700_000_000_000),
    (9, bytes(range(16))),
]


def _frame(block: bytes, payload: bytes = b"{}") -> bytes:
    lengths = struct.pack(">II", 16 + len(block) + len(payload), len(block))
    body = lengths + struct.pack(">I", crc32(lengths)) + block + payload
    return body + struct.pack(">I", crc32(body))


@pytest.mark.parametrize(("kind", "content"), VALUES, ids=[str(kind) for kind, _ in VALUES])
def test_every_type_of_header(kind: int, content: HeaderValue) -> None:
    wire = _frame(b"\x01h" + bytes((kind,)) + _value(kind, content) + b"\x01z\x07\x00\x01y")
    judge = EventStreamBuffer()
    judge.add_data(wire)
    found, _ = decode(wire)
    assert [dict(frame.headers) for frame in found] == [{"h": content, "z": "y"}] == [m.headers for m in judge]


DAMAGED = {
    "a checksum of the lengths": lambda wire: wire[:8] + b"\0\0\0\0" + wire[12:],
    "a length": lambda wire: b"\x00\x00\x01" + wire[3:],
    "a byte of a header": lambda wire: wire[:20] + b"?" + wire[21:],
    "a byte of the payload": lambda wire: wire[:-8] + b"?" + wire[-7:],
    "the last checksum": lambda wire: wire[:-1] + bytes((wire[-1] ^ 1,)),
    "text instead of frames": lambda wire: b"<html>502 Bad Gateway</html>",
}


@pytest.mark.parametrize("size", [1, 7, 4096])
@pytest.mark.parametrize("damage", DAMAGED, ids=str)
def test_damage_is_a_fault_and_nothing_after_it_is_read(damage: str, size: int) -> None:
    good = render_frame(STOP, STOP_PAYLOAD)
    wire = good + DAMAGED[damage](good) + good
    judge = EventStreamBuffer()
    judge.add_data(wire)
    with pytest.raises(ParserError):
        list(judge)
    found, decoder = decode(wire, size)
    assert [frame.payload for frame in found] == [STOP_PAYLOAD]
    assert decoder.fault
    assert decoder.feed(good) == []


@pytest.mark.parametrize("cut", [1, 11, 12, 60, 121])
def test_a_truncated_frame_is_held_and_known_as_one(cut: int) -> None:
    wire = render_frame(STOP, STOP_PAYLOAD)
    found, decoder = decode(wire[:cut])
    assert not found
    assert not decoder.fault
    assert decoder.is_partial
    assert [frame.payload for frame in decoder.feed(wire[cut:])] == [STOP_PAYLOAD]


BAD_HEADERS = {
    "a name past the end": b"\x40h",
    "no type": b"\x01h",
    "a value past the end": b"\x01h\x07\x00\x40abc",
    "an unknown type": b"\x01h\x0a",
    "a name that is not UTF-8": b"\x01\xff\x00",
    "a value that is not UTF-8": b"\x01h\x07\x00\x01\xff",
    "one name twice": b"\x01h\x00\x01h\x00",
    "a number past the end": b"\x01h\x05\x00",
    "a UUID past the end": b"\x01h\x09\x00",
}


@pytest.mark.parametrize("block", BAD_HEADERS.values(), ids=BAD_HEADERS)
def test_headers_that_are_not_well_formed(block: bytes) -> None:
    found, decoder = decode(_frame(block))
    assert not found
    assert decoder.fault == "the headers of a frame cannot be read"


@pytest.mark.parametrize(
    "lengths",
    [(MOST_PAYLOAD * 2, 0), (2**32 - 1, 0), (16 + 200_000, 200_000), (15, 0), (20, 5), (0, 0)],
    ids=["payload", "most", "headers", "too short", "headers past the end", "nothing"],
)
def test_lengths_are_checked_before_anything_is_held(lengths: tuple[int, int]) -> None:
    prelude = struct.pack(">II", *lengths)
    decoder = EventStreamDecoder()
    assert decoder.feed(prelude + struct.pack(">I", crc32(prelude)) + b"x" * 1000) == []
    assert decoder.fault == "a frame has lengths that cannot be"
    assert not decoder.is_partial
