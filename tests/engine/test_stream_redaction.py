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
    redactor = StreamRedactor(clean)
    fed = [redactor.feed(FRAMES[at : at + size]) for at in range(0, len(FRAMES), size)]
    assert b"".join(fed) + redactor.close() == clean(FRAMES)


def test_whole_frames_go_out_at_once() -> None:
    redactor = StreamRedactor(clean)
    assert redactor.feed(b"data: 1\n\nda") == b"data: 1\n\n"
    assert redactor.feed(b"ta: 2\n") == b""
    assert redactor.feed(b"\n") == b"data: 2\n\n"


def test_the_last_frame_may_lack_its_end() -> None:
    redactor = StreamRedactor(clean)
    assert redactor.feed(b"data: [DONE]") == b""
    assert redactor.close() == b"data: [DONE]"


def test_half_a_frame_is_dropped_where_the_stream_breaks() -> None:
    redactor = StreamRedactor(clean)
    assert redactor.feed(b'data: 1\n\ndata: {"a') == b"data: 1\n\n"
    assert redactor.drop() == b""
    assert redactor.close() == b""


def test_a_very_long_frame_passes_and_is_ended_where_it_breaks() -> None:
    redactor, long = StreamRedactor(clean), b"x" * 100_000
    assert redactor.feed(b"data: " + long) == b"data: " + long
    assert redactor.drop() == b"\n\n"
    assert redactor.feed(b"tail\n\n") == b"tail\n\n"
    assert redactor.drop() == b""
