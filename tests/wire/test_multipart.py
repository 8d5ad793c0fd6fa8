"""Forms with files: what is read is what is sent, and what two readers could understand differently is refused."""

from __future__ import annotations

from contextlib import suppress
from email.parser import BytesParser

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dragoman.wire.multipart import MAX_HEAD, MAX_PARTS, BadForm, FormPart, form_boundary, parse_form, render_form


def form(*parts: bytes, boundary: bytes = b"b", end: bytes = b"\r\n--b--\r\n") -> bytes:
    return b"\r\n".join(b"--" + boundary + b"\r\n" + part for part in parts) + end


def field(name: bytes, content: bytes = b"x") -> bytes:
    return b'Content-Disposition: form-data; name="' + name + b'"\r\n\r\n' + content


def test_fields_and_files_are_read() -> None:
    file = b'Content-Disposition: form-data; name="file"; filename="a b.wav"\r\nContent-Type: audio/wav\r\n\r\n'
    audio = b"RIFF\r\n\r\n--c\r\n\x00\xff--b"
    assert parse_form(form(field(b"model", b"m"), file + audio), "b") == [
        FormPart("model", b"m"),
        FormPart("file", audio, "a b.wav", "audio/wav"),
    ]


@pytest.mark.parametrize(
    ("head", "name", "filename"),
    [
        (b'form-data; name="a"', "a", None),
        (b"form-data; name=a", "a", None),
        (b'form-data; name="a"; filename=""', "a", ""),
        (b'form-data; name="a"; filename="x;y\\"z.wav"', "a", 'x;y"z.wav'),
        ('form-data; name="a"; filename="é.wav"'.encode(), "a", "é.wav"),
        (b'form-data; name="a"; filename="e.wav"; filename*=utf-8\'\'%C3%A9.wav', "a", "é.wav"),
    ],
)
def test_dispositions(head: bytes, name: str, filename: str | None) -> None:
    found = parse_form(form(b"content-disposition: " + head + b"\r\n\r\nx"), "b")
    assert [(part.name, part.filename) for part in found] == [(name, filename)]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"preamble\r\n" + form(field(b"a")),
        b"\r\n" + form(field(b"a")),
        form(field(b"a"), end=b""),
        form(field(b"a"), end=b"\r\n--b"),
        form(field(b"a"), end=b"\r\n--b-"),
        form(field(b"a"), end=b"\r\n--b--\r\nepilogue"),
        form(field(b"a"), end=b"\r\n--b--\r\n" + form(field(b"c"))),
        b"--bc\r\n" + field(b"a") + b"\r\n--b--",
        form(field(b"a") + b"\r\n--bc\r\n" + field(b"d")),
        form(b"x"),
        form(b"\r\nx"),
        form(b"content-type: text/plain\r\n\r\nx"),
        form(b"content-disposition: form-data\r\n\r\nx"),
        form(b'content-disposition: attachment; name="a"\r\n\r\nx'),
        form(b'content-disposition: form-data; name="a"; name="model"\r\n\r\nx'),
        form(b"content-disposition: form-data; name=\"a\"; name*=utf-8''model\r\n\r\nx"),
        form(b'content-disposition: form-data; name="a"; size=3\r\n\r\nx'),
        form(b'content-disposition: form-data;\r\n name="a"\r\n\r\nx'),
        form(b'content-disposition: form-data; name="a"\ncontent-type: x\r\n\r\nx'),
        form(b'content-disposition: form-data; name="a"\r\n' + field(b"model")),
        form(field(b"a").replace(b"\r\n\r\n", b"\r\nx-other: 1\r\n\r\n")),
        form(field(b"a").replace(b"\r\n\r\n", b"\r\ncontent-transfer-encoding: base64\r\n\r\n")),
        form(field(b"a" * MAX_HEAD)),
        form(*[field(b"a")] * (MAX_PARTS + 1)),
        form(field(b"a")).replace(b"\r\n", b"\n"),
    ],
)
def test_what_could_be_read_in_two_ways_is_refused(body: bytes) -> None:
    with pytest.raises(BadForm):
        parse_form(body, "b")


@pytest.mark.parametrize(
    ("content_type", "boundary"),
    [
        ("multipart/form-data; boundary=abc", "abc"),
        ('Multipart/Form-Data; charset=utf-8; Boundary="a b"', "a b"),
        ("application/json", None),
        ("multipart/mixed; boundary=abc", None),
        ("application/x-www-form-urlencoded", None),
        ("", None),
    ],
)
def test_boundaries(content_type: str, boundary: str | None) -> None:
    assert form_boundary(content_type) == boundary


@pytest.mark.parametrize("rest", ["", "; boundary=", "; boundary=" + "x" * 71, '; boundary="a\x00b"', "; boundary=é"])
def test_bad_boundaries(rest: str) -> None:
    with pytest.raises(BadForm):
        form_boundary("multipart/form-data" + rest)


texts = st.text(st.characters(exclude_categories=["C"]), min_size=1, max_size=30)
forms = st.lists(
    st.builds(FormPart, texts, st.binary(max_size=200), st.none() | texts, st.sampled_from([None, "audio/wav"])),
    min_size=1,
    max_size=6,
)


@settings(deadline=None)
@example([FormPart("<>", b"", "<a>")])
@given(forms)
def test_what_is_written_is_read_alike_here_and_elsewhere(parts: list[FormPart]) -> None:
    content_type, body = render_form(parts)
    boundary = form_boundary(content_type)
    assert boundary is not None
    again = parse_form(body, boundary)
    assert [(part.content, part.content_type) for part in again] == [(p.content, p.content_type) for p in parts]
    assert render_form(again) == (content_type, body)
    judge = BytesParser().parsebytes(b"content-type: " + content_type.encode() + b"\r\n\r\n" + body)
    names = [one.get_param("name", header="content-disposition") for one in judge.get_payload()]  # type: ignore[union-attr]
    assert len(names) == len(parts)


@settings(deadline=None)
@given(st.binary(max_size=300), st.binary(max_size=60))
def test_no_body_breaks_the_reader(noise: bytes, more: bytes) -> None:
    for body in (noise, b"--b\r\n" + noise + b"\r\n--b--", form(field(more, noise))):
        with suppress(BadForm):
            assert isinstance(parse_form(body, "b"), list)
