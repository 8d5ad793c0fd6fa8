"""JSON that does not fit: what has one meaning is read, and nothing that says something is left out."""

from __future__ import annotations

import msgspec
import pytest

from dragoman.wire.fitted_json import decode_fitted


class _Part(msgspec.Struct):
    id: str | None = None
    index: int = 0
    last: bool = False
    text: msgspec.Raw = msgspec.Raw(b'""')


class _Whole(msgspec.Struct):
    parts: list[_Part]
    head: _Part | None = None


_decode = msgspec.json.Decoder(_Whole).decode


@pytest.mark.parametrize(
    ("slip", "meant"),
    [
        (b'{"parts":[{"id":7}]}', b'{"parts":[{"id":"7"}]}'),
        (b'{"parts":[{"index":"3"}]}', b'{"parts":[{"index":3}]}'),
        (b'{"parts":[{"index":null},{"id":false}]}', b'{"parts":[{},{}]}'),
        (b'{"parts":[{"last":"true"}]}', b'{"parts":[{"last":true}]}'),
        (b'{"parts":[null,{"index":2}]}', b'{"parts":[{"index":2}]}'),
        (b'{"parts":{"id":"a"}}', b'{"parts":[{"id":"a"}]}'),
        (b'{"parts":[],"head":[{"id":"a"}]}', b'{"parts":[],"head":{"id":"a"}}'),
        (b'{"parts":[],"head":[]}', b'{"parts":[]}'),
        (b'{"parts":[{"text":NaN}]}', b'{"parts":[{"text":null}]}'),
        (b'{"parts":[{"text":-1e400}]}', b'{"parts":[{"text":null}]}'),
        (b'{"parts":[{"text":"a\nb"}]}', b'{"parts":[{"text":"a\\nb"}]}'),
    ],
)
def test_what_has_one_meaning_is_read(slip: bytes, meant: bytes) -> None:
    found, text = decode_fitted(_decode, slip)
    assert (found, text) == (_decode(meant), meant)


@pytest.mark.parametrize(
    "text",
    [
        b'{"parts":"all of it"}',
        b'{"parts":[{"id":{"a":1}}]}',
        b'{"parts":[{"index":"first"}]}',
        b'{"parts":[{"index":' + b"9" * 5_000 + b"}]}",
        b'{"parts":[' + b'{"id":1},' * 20 + b"{}]}",
        b"[1]",
        b"[" * 5_000,
        b'{"parts":[',
        b"",
    ],
)
def test_what_says_something_and_fits_nowhere_is_not_read(text: bytes) -> None:
    assert decode_fitted(_decode, text) == (None, text)
