"""Data URLs are read from their text or their literal alike, and written as they came."""

from __future__ import annotations

from base64 import b64encode

import msgspec
import pytest

from dragoman.conversation.literals import quote
from dragoman.conversation.parts import Inline, Remote
from dragoman.dialects.shared.parsing import data_url, link_literal, parse_link

INLINE = (
    "data:image/png;base64,AAAA",
    "data:;base64,AA",
    "data:image/png;charset=x;base64,AAA",
    "data:image/é;base64,AA",
    'data:a"b;base64,A',
    "data:image/png;base64,A,B",
    "data:image/png;base64,A\nB",
    "data:" + "x" * 300 + ";base64,AA",
)
REMOTE = ("", "data:", "data:image/png;base64", "https://pictures.test/a;base64,b")


@pytest.mark.parametrize("url", INLINE)
def test_bytes_in_the_request(url: str) -> None:
    source = parse_link(url)
    assert isinstance(source, Inline)
    assert link_literal(quote(url)) == link_literal(msgspec.Raw(quote(url))) == source
    assert msgspec.json.decode(b"".join(data_url(source))) == url


@pytest.mark.parametrize("url", REMOTE)
def test_any_other_url(url: str) -> None:
    assert parse_link(url) == link_literal(quote(url)) == Remote(url)


@pytest.mark.parametrize(
    ("url", "media_type", "data"),
    [
        ("data:image/png,AA", "image/png", b"AA"),
        ("data:text/plain;charset=utf-8,a%20b%2C,c", "text/plain;charset=utf-8", b"a b,,c"),
        ("data:,", "", b""),
    ],
)
def test_bytes_that_are_written_as_text(url: str, media_type: str, data: bytes) -> None:
    expected = Inline(media_type, quote(b64encode(data).decode()))
    assert parse_link(url) == link_literal(quote(url)) == link_literal(msgspec.Raw(quote(url))) == expected


def test_a_media_type_cannot_break_out_of_its_literal() -> None:
    source = Inline('image/png","model":"dear', b'"AAAA"')
    assert msgspec.json.decode(b"".join(data_url(source))) == 'data:image/png","model":"dear;base64,AAAA'
