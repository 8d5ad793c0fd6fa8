"""A recorded stream gives the same events however its bytes are cut."""

from __future__ import annotations

import pytest
from tests.recorded_answers import RECORDED, cut, recordings

from dragoman.conversation.events import Event
from dragoman.dialects.registry import dialect


def parsed(name: str, wire: bytes, size: int) -> list[Event]:
    parser = dialect(name).answers.stream_parser()
    return [*(event for piece in cut(wire, size) for event in parser.feed(piece)), *parser.close()]


@pytest.mark.parametrize("name", RECORDED)
@pytest.mark.parametrize("size", [1, *(pytest.param(size, marks=pytest.mark.slow) for size in (2, 7)), 1000])
def test_any_cut_gives_the_same_events(name: str, size: int) -> None:
    streams = [one for one in recordings(name, about=150) if one.stream]
    assert streams
    for one in streams:
        assert parsed(name, one.wire, size) == parsed(name, one.wire, 1 << 20), one.id
