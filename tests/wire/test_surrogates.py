r"""Q37: halves of surrogate pairs, alone or cut between deltas."""

from __future__ import annotations

import msgspec
import pytest

from dragoman.wire.surrogates import SurrogateJoiner, mark_surrogates

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
    joiner: SurrogateJoiner[str] = SurrogateJoiner()
    pieces = [joiner.join("t", mark_surrogates(delta)) for delta in deltas]
    assert "".join(map(msgspec.json.decode, pieces)) == text


def test_a_marked_frame_can_be_decoded() -> None:
    frame = b'{"a":"' + HIGH + b'","b":["' + LOW + b'"],"c":"\\n\\\\ud83c"}'
    assert msgspec.json.decode(mark_surrogates(frame))["c"] == "\n\\ud83c"


def test_texts_do_not_mix() -> None:
    joiner: SurrogateJoiner[str] = SurrogateJoiner()
    joiner.join("one", mark_surrogates(b'"' + HIGH + b'"'))
    assert joiner.join("two", mark_surrogates(b'"' + LOW + b'"')) == b'"\\ufffd"'
    assert list(joiner.leftovers()) == ["one"]
