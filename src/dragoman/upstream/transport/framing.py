"""Where an answer ends, according to its headers, and contradictions among them."""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec

_VERSIONS = ("1.1", "1.0")
_KEEP_ALIVE = re.compile(r"timeout\s*=\s*(\d{1,6})", re.IGNORECASE)


@lru_cache(maxsize=1024)
def lower_name(name: bytes) -> str:
    """The name of a header in lower case. Names repeat in every answer, so the result is cached."""
    return name.decode("latin-1").lower()


class BodyFraming(msgspec.Struct, gc=False):
    """What the headers say about the body and the connection. `error` is set if they contradict each other.

    The parser refuses most contradictions itself. They are checked again here, because its leniency is a build option,
    and with a wrong end one client could get the answer of another.
    """

    length: int | None = None
    encoding: str | None = None
    chunked: bool = False
    keep_alive_seconds: float | None = None
    error: str = ""

    @property
    def until_eof(self) -> bool:
        """Whether the body ends with the connection."""
        return self.length is None and not self.chunked

    @classmethod
    def parse(cls, headers: list[tuple[str, str]], version: str) -> BodyFraming:
        """Parse the headers of an answer."""
        framing = cls()
        for name, value in headers:
            if name in _PARSED:
                _PARSERS[name](framing, value)
        if version not in _VERSIONS:
            framing.error = f"the answer claims to be HTTP/{version}"
        elif framing.chunked and (framing.length is not None or version == "1.0"):
            framing.error = "the answer is chunked although it has a length or is HTTP/1.0"
        return framing


def _parse_length(framing: BodyFraming, value: str) -> None:
    if framing.length is not None or not (value.isascii() and value.isdigit()) or len(value) > 18:
        framing.error = "the content-length of the answer is not a plain number, or is there twice"
    else:
        framing.length = int(value)


def _parse_transfer_encoding(framing: BodyFraming, value: str) -> None:
    if framing.chunked or value.strip().lower() != "chunked":
        framing.error = f"the transfer-encoding of the answer is {value[:60]!r}"
    framing.chunked = True


def _parse_keep_alive(framing: BodyFraming, value: str) -> None:
    found = _KEEP_ALIVE.search(value)
    # Close a little earlier than the server, so that a request does not meet a closing connection.
    framing.keep_alive_seconds = int(found[1]) * 0.8 if found else None


def _parse_content_encoding(framing: BodyFraming, value: str) -> None:
    if value.strip().lower() not in ("", "identity"):
        framing.encoding = value if framing.encoding is None else f"{framing.encoding}, {value}"


_PARSERS = {
    "content-length": _parse_length,
    "transfer-encoding": _parse_transfer_encoding,
    "keep-alive": _parse_keep_alive,
    "content-encoding": _parse_content_encoding,
}
_PARSED = frozenset(_PARSERS)
