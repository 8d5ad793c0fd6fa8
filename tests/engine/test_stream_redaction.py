"""Secrets in a relayed stream, however its bytes are cut."""

from __future__ import annotations

import pytest

from dragoman.engine.stream_redaction import StreamRedactor

SECRET = b"sk-0123456789abcdef"
FRAMES = b'data: {"text":"fine"}\n\ndata: {"error":"' + SECRET + b' is bad"}\r\n\r\n: still here\n\ndata: [DONE]\r\r'


def clean(data: bytes) -> bytes:
    return data.replace(SECRET, b"[REDACTED]")


@pytest.mark.parametrize("size", [1, 2, 7, 33, 4096])
def test_any_cut_gives_the_same_bytes(size: int) -> None:
    hush = StreamRedactor(clean)
    fed = [hush.feed(FRAMES[at : at + size]) for at in range(0, len(FRAMES), size)]
    assert b"".join(fed) + hush.close() == clean(FRAMES)


def test_whole_frames_go_out_at_once() -> None:
    hush = StreamRedactor(clean)
    assert hush.feed(b"data: 1\n\nda") == b"data: 1\n\n"
    assert hush.feed(b"ta: 2\n") == b""
    assert hush.feed(b"\n") == b"data: 2\n\n"


def test_the_last_frame_may_lack_its_end() -> None:
    hush = StreamRedactor(clean)
    assert hush.feed(b"data: [DONE]") == b""
    assert hush.close() == b"data: [DONE]"


def test_half_a_frame_is_dropped_where_the_stream_breaks() -> None:
    hush = StreamRedactor(clean)
    assert hush.feed(b'data: 1\n\ndata: {"a') == b"data: 1\n\n"
    assert hush.drop() == b""
    assert hush.close() == b""


def test_a_very_long_frame_passes_and_is_ended_where_it_breaks() -> None:
    hush, long = StreamRedactor(clean), b"x" * 100_000
    assert hush.feed(b"data: " + long) == b"data: " + long
    assert hush.drop() == b"\n\n"
    assert hush.feed(b"tail\n\n") == b"tail\n\n"
    assert hush.drop() == b""
