"""A client that begins with HTTP/2 is told, in its own frames, what the gateway speaks."""

from __future__ import annotations

import pytest

from dragoman.gateway.http.http2_refusal import PREFACE, Http2Opening, render_refusal

SETTINGS = b"\0\0\6\4\0\0\0\0\0" + b"\0\2\0\0\0\0"
REQUEST = b"\0\0\1\1\5\0\0\0\1\x82"


@pytest.mark.parametrize("size", [1, 7, 4096])
def test_the_first_request_is_refused_however_its_bytes_are_cut(size: int) -> None:
    wire, opening = PREFACE + SETTINGS + REQUEST, Http2Opening()
    answers = [opening.refuse(wire[at : at + size]) for at in range(0, len(wire), size)]
    assert next(filter(None, answers)) == render_refusal(1)
    assert not Http2Opening().refuse(PREFACE + SETTINGS)


def test_the_refusal_has_a_status_a_reason_and_the_end_of_the_connection() -> None:
    wire = render_refusal(1)
    kinds, bodies, at = [], [], 0
    while at < len(wire):
        size = int.from_bytes(wire[at : at + 3], "big")
        kinds.append(wire[at + 3])
        bodies.append(wire[at + 9 : at + 9 + size])
        at += 9 + size
    assert kinds == [4, 1, 0, 7]
    assert bodies[1].startswith(b"\x08\x03505")
    assert b"NodeHttpHandler" in bodies[2]
    assert bodies[3][4:8] == (13).to_bytes(4, "big")
