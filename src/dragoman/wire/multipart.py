"""Forms with files (`multipart/form-data`), read strictly and written anew.

The reader refuses whatever two readers could understand differently: text before the first boundary, a boundary in the
middle of a line, a part without a plain name, a name in two spellings. The writer uses a boundary of its own and writes
every head itself. So a provider can only read in a form what was read here (`docs/decisions/own-form-parser.md`).
"""

from __future__ import annotations

import re
from email.message import Message
from email.utils import collapse_rfc2231_value
from hashlib import blake2b

import msgspec

MAX_PARTS = 100
MAX_HEAD = 1024
"""Bytes of the head of one part."""
_BOUNDARY = re.compile(r"[0-9A-Za-z'()+_,./:=? -]{0,69}[0-9A-Za-z'()+_,./:=?-]")
_PLAIN = re.compile(rb"[^\x00-\x1f\x7f]*")
_PLAIN_ENCODINGS = frozenset({"", "7bit", "8bit", "binary"})
_KNOWN = frozenset({"content-disposition", "content-type", "content-length", "content-transfer-encoding"})


class BadForm(ValueError):
    """The body is no form, or one that could be read in two ways. The message says what is wrong."""


class FormPart(msgspec.Struct, frozen=True):
    """One field of a form."""

    name: str
    content: bytes
    filename: str | None = None
    """None if the part has none."""
    content_type: str | None = None
    """None if the part has none."""


def form_boundary(content_type: str) -> str | None:
    """The boundary in a `Content-Type`; None if it is not that of a form. Raises BadForm."""
    header = Message()
    header["content-type"] = content_type[:MAX_HEAD]
    if header.get_content_type() != "multipart/form-data":
        return None
    boundary = header.get_boundary() or ""
    if not _BOUNDARY.fullmatch(boundary):
        raise BadForm("the Content-Type of the form has no valid boundary")
    return boundary


def parse_form(body: bytes, boundary: str) -> list[FormPart]:
    """All parts of a form. Raises BadForm."""
    delimiter = b"--" + boundary.encode("ascii")
    if not body.startswith(delimiter):
        raise BadForm("the form does not begin with its boundary")
    pieces = body[len(delimiter) :].split(b"\r\n" + delimiter, MAX_PARTS + 1)
    last = pieces.pop()
    if len(pieces) > MAX_PARTS:
        raise BadForm(f"the form has more than {MAX_PARTS} parts")
    if last.rstrip(b" \t\r\n") != b"--":
        raise BadForm("the form does not end with its boundary and two hyphens")
    return [_parse_part(piece) for piece in pieces]


def render_form(parts: list[FormPart]) -> tuple[str, bytes]:
    """The `Content-Type` of a form, and its body. The boundary comes from the content, so it occurs in none."""
    digest = blake2b(digest_size=20)
    for part in parts:
        digest.update(part.content)
    boundary = f"dragoman-{digest.hexdigest()}"
    delimiter = b"--" + boundary.encode()
    pieces = [delimiter + b"\r\n" + _render_head(part) + b"\r\n" + part.content + b"\r\n" for part in parts]
    return f"multipart/form-data; boundary={boundary}", b"".join(pieces) + delimiter + b"--\r\n"


def _parse_part(piece: bytes) -> FormPart:
    padding, line_end, rest = piece.partition(b"\r\n")
    if padding.strip(b" \t") or not line_end:
        raise BadForm("a boundary is followed by something else than a line end")
    head, blank, content = (b"\r\n" + rest).partition(b"\r\n\r\n")
    if not blank or len(head) > MAX_HEAD:
        raise BadForm(f"a part of the form has no head, or one of more than {MAX_HEAD} bytes")
    headers = _parse_head(head[2:])
    name, filename = _parse_disposition(headers.get("content-disposition", ""))
    if headers.get("content-transfer-encoding", "").lower() not in _PLAIN_ENCODINGS:
        raise BadForm("a part of the form has a Content-Transfer-Encoding; send it as it is")
    return FormPart(name, content, filename, headers.get("content-type"))


def _parse_head(head: bytes) -> dict[str, str]:
    headers: dict[str, str] = {}
    for line in head.split(b"\r\n"):
        name, colon, value = line.partition(b":")
        lowered = name.decode("latin-1").lower()
        if not colon or lowered not in _KNOWN or lowered in headers or not _PLAIN.fullmatch(value.strip(b" \t")):
            raise BadForm("a part of the form has a header that is unknown, there twice, or not one line")
        headers[lowered] = value.strip(b" \t").decode("utf-8", "replace")
    return headers


def _parse_disposition(value: str) -> tuple[str, str | None]:
    """The name and filename of a part."""
    header = Message()
    header["content-disposition"] = value
    parameters = header.get_params([], header="content-disposition", unquote=True)
    names = [str(name).lower() for name, _ in parameters]
    if not names or names[0] != "form-data" or names.count("name") != 1:
        raise BadForm("a part of the form has no name, or two")
    if not set(names) <= {"form-data", "name", "filename"}:
        raise BadForm("a part of the form has a Content-Disposition with more than a name and a filename")
    values = {name: _decode_parameter(given) for name, (_, given) in zip(names, parameters, strict=True)}
    return values["name"], values.get("filename")


def _decode_parameter(given: str | tuple[str | None, str | None, str]) -> str:
    """A parameter's text. Without a charset it is plain already: read again, it would lose angle brackets as quotes."""
    return given if isinstance(given, str) else collapse_rfc2231_value(given)


def _render_head(part: FormPart) -> bytes:
    disposition = f'content-disposition: form-data; name="{_quote(part.name)}"'
    if part.filename is not None:
        disposition += f'; filename="{_quote(part.filename)}"'
    lines = [disposition]
    if part.content_type is not None:
        lines.append(f"content-type: {part.content_type}")
    return b"".join([line.encode() + b"\r\n" for line in lines])


def _quote(text: str) -> str:
    """As browsers write it: the characters that would end the text are percent-encoded."""
    return text.replace("\r", "%0D").replace("\n", "%0A").replace('"', "%22").replace("\\", "%5C")
