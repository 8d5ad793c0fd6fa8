r"""Q37: halves of surrogate pairs, alone or cut between deltas."""

from __future__ import annotations

import msgspec
import pytest

from dragoman.conversation.events import Event, TextDelta
from dragoman.dialects.shared.split_surrogates import SurrogateMender, mark_surrogates

HIGH, LOW = b"\\ud83c", b"\\udf0d"


@pytest.mark.parametrize(
    ("deltas", "text"),
    [
        ([b'"a' + HIGH + b'"', b'"' + LOW + b'b"'], "a🌍b"),
        ([b'"' + HIGH + LOW + b'"'], "🌍"),
        ([b'"' + HIGH + b'"', b'"plain"'], "\ufffdplain"),
        ([b'"' + LOW + b'"'], "\ufffd"),
        ([b'"' + HIGH + b'"', b'"' + HIGH + LOW + b'"'], "\ufffd🌍"),
        ([b'"\\\\' + b'ud83c"', b'"x"'], "\\ud83cx"),
        ([b'"\\\\' + HIGH + b'"', b'"' + LOW + b'"'], "\\🌍"),
    ],
)
def test_halves_find_each_other(deltas: list[bytes], text: str) -> None:
    mender, out = SurrogateMender(), list[Event]()
    for place, delta in enumerate(deltas):
        out.append(TextDelta(0, 0, mender.mark(delta)))
        mender.mend(out, place)
    assert "".join([msgspec.json.decode(event.literal) for event in out if isinstance(event, TextDelta)]) == text


def test_a_marked_frame_can_be_decoded() -> None:
    frame = b'{"a":"' + HIGH + b'","b":["' + LOW + b'"],"c":"\\n\\\\ud83c"}'
    assert msgspec.json.decode(mark_surrogates(frame))["c"] == "\n\\ud83c"


def test_texts_do_not_mix() -> None:
    mender = SurrogateMender()
    out: list[Event] = [TextDelta(0, 1, mender.mark(b'"%b"' % HIGH)), TextDelta(0, 2, mender.mark(b'"%b"' % LOW))]
    mender.mend(out, 0)
    mender.flush(out)
    assert out == [TextDelta(0, 1, b'""'), TextDelta(0, 2, b'"\\ufffd"'), TextDelta(0, 1, b'"\\ufffd"')]
