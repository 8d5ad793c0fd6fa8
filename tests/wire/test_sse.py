"""Event streams in any cut, and what is not one."""

from __future__ import annotations

import pytest

from dragoman.wire.ndjson import NdjsonDecoder, line
from dragoman.wire.sse import DONE_FRAME, Frame, SseDecoder, render_data_frame, render_event_frame

STREAMS = [
    ("one frame", b"data: x\n\n", [("", "x")]),
    ("a name", b"event: ping\ndata: {}\n\n", [("ping", "{}")]),
    ("name behind the data", b"data: 1\nevent: late\n\n", [("late", "1")]),
    ("carriage returns and newlines", b"event: a\r\ndata: 1\r\n\r\ndata: 2\r\n\r\n", [("a", "1"), ("", "2")]),
    ("carriage returns alone", b"data: 1\r\rdata: 2\r\r", [("", "1"), ("", "2")]),
    ("mixed line ends", b"data: 1\r\n\ndata: 2\n\r\n", [("", "1"), ("", "2")]),
    ("several lines of data", b"data: a\ndata: b\n\n", [("", "a\nb")]),
    ("no space behind the colon", b"data:x\n\n", [("", "x")]),
    ("one space is eaten, no more", b"data:  x\n\n", [("", " x")]),
    ("a field without a colon", b"data\n\n", [("", "")]),
    ("ids and retries", b"id: 7\nretry: 10\ndata: x\n\n", [("", "x")]),
    ("a name without data", b"event: nothing\n\ndata: x\n\n", [("", "x")]),
    ("a byte order mark", b"\xef\xbb\xbfdata: x\n\n", [("", "x")]),
    ("no last blank line", b"data: 1\n\ndata: 2", [("", "1"), ("", "2")]),
    ("letters of several bytes", "data: é🌍ж\n\n".encode(), [("", "é🌍ж")]),
    ("blank lines between", b"\n\n\ndata: x\n\n\n\n\ndata: y\n\n", [("", "x"), ("", "y")]),
    ("the end marker", b"data: 1\n\ndata: [DONE]\n\n", [("", "1"), ("", "[DONE]")]),
]


def frames(wire: bytes, size: int) -> list[Frame]:
    decoder = SseDecoder()
    found = [frame for at in range(0, len(wire), size) for frame in decoder.feed(wire[at : at + size])]
    return found + decoder.close()


@pytest.mark.parametrize(("name", "wire", "expected"), STREAMS, ids=[stream[0] for stream in STREAMS])
def test_any_cut_gives_the_same_frames(name: str, wire: bytes, expected: list[tuple[str, str]]) -> None:
    wanted = [Frame(event.encode(), data.encode()) for event, data in expected]
    for size in range(1, len(wire) + 2):
        assert frames(wire, size) == wanted, size


def test_E4_comments_are_skipped() -> None:
    wire = b": OPENROUTER PROCESSING\n\n:\n\n: keepalive\ndata: x\n: in between\ndata: y\n\n"
    for size in range(1, len(wire)):
        assert frames(wire, size) == [Frame(b"", b"x\ny")]


@pytest.mark.parametrize("data", [b"[DONE]", b"[DONE] ", b"[DONE]\t"])
def test_E3_the_end_is_a_frame_that_says_so(data: bytes) -> None:
    assert Frame(b"", data).done


@pytest.mark.parametrize("data", [b"", b"{}", b"[DONE", b"[DONE] not", b'"[DONE]"'])
def test_E3_nothing_else_is_the_end(data: bytes) -> None:
    assert not Frame(b"", data).done


@pytest.mark.parametrize("size", [1, 7, 100, 5000])
@pytest.mark.parametrize(
    "wire",
    [
        b"data: " + b"x" * 3000,
        b"data: x\n" * 600,
        b": endless comment" * 100,
        b"x" * 3000,
        b"data: " + b"x" * 3000 + b"\n\n",
    ],
    ids=["data", "lines", "comment", "nonsense", "whole frame"],
)
def test_what_is_too_long_is_let_go(wire: bytes, size: int) -> None:
    decoder = SseDecoder(limit=1000)
    found = [frame for at in range(0, len(wire), size) for frame in decoder.feed(wire[at : at + size])]
    assert decoder.overflowed
    assert found == []
    assert decoder.feed(b"data: more\n\n") == []
    assert decoder.close() == []


def test_many_frames_in_one_chunk_are_not_too_long() -> None:
    decoder = SseDecoder(limit=1000)
    assert len(decoder.feed(b"data: 0123456789\n\n" * 500)) == 500
    assert not decoder.overflowed


def test_endless_comments_cost_nothing() -> None:
    decoder = SseDecoder(limit=1000)
    for _ in range(2000):
        assert decoder.feed(b": still here\n\n") == []
    assert not decoder.overflowed


def test_a_plain_body_is_kept_aside() -> None:
    decoder = SseDecoder()
    decoder.feed(b'{"error":\n{"message":"no"}}')
    decoder.close()
    assert bytes(decoder.stray) == b'{"error":\n{"message":"no"}}\n'


def test_frames_are_written_as_they_are_read() -> None:
    wire = render_data_frame(b'{"a":1}') + render_event_frame(b"ping", b"{}") + DONE_FRAME
    assert frames(wire, 5) == [Frame(b"", b'{"a":1}'), Frame(b"ping", b"{}"), Frame(b"", b"[DONE]")]


@pytest.mark.parametrize("size", [1, 2, 5, 100])
def test_lines_of_json(size: int) -> None:
    wire = line(b'{"a":1}') + b"\r\n\n" + line(b'{"b":"\xc3\xa9"}') + b'{"c":3}'
    decoder = NdjsonDecoder()
    found = [one for at in range(0, len(wire), size) for one in decoder.feed(wire[at : at + size])]
    assert found + decoder.close() == [b'{"a":1}', b'{"b":"\xc3\xa9"}', b'{"c":3}']


def test_a_line_that_never_ends_is_let_go() -> None:
    decoder = NdjsonDecoder(limit=100)
    for _ in range(20):
        assert decoder.feed(b"0123456789") == []
    assert decoder.overflowed
    assert decoder.feed(b"x\n") == []
