"""Where an answer ends, read from its headers, and every contradiction among them."""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec

_VERSIONS = ("1.1", "1.0")
_PATIENCE = re.compile(r"timeout\s*=\s*(\d{1,6})", re.IGNORECASE)


@lru_cache(maxsize=1024)
def lower_name(name: bytes) -> str:
    """A header's name as we compare it. Names repeat from answer to answer, so each is lowered once."""
    return name.decode("latin-1").lower()


class Framing(msgspec.Struct, gc=False):
    """What the headers say about the body and the connection; `fault` is set where they cannot be believed.

    The parser refuses most contradictions by itself. They are judged here again because its leniency is a build
    option, and a message whose end is in doubt can hand one caller's answer to another.
    """

    length: int | None = None
    encoding: str | None = None
    chunked: bool = False
    patience: float | None = None
    fault: str = ""

    @property
    def until_eof(self) -> bool:
        """The body ends where the connection does."""
        return self.length is None and not self.chunked

    @classmethod
    def of(cls, headers: list[tuple[str, str]], version: str) -> Framing:
        """Judge the headers of an answer."""
        framing = cls()
        for name, value in headers:
            if name in _ASKED:
                _HEED[name](framing, value)
        if version not in _VERSIONS:
            framing.fault = f"the answer claims to be HTTP/{version}"
        elif framing.chunked and (framing.length is not None or version == "1.0"):
            framing.fault = "the answer is chunked where it may not be (beside a length, or in HTTP/1.0)"
        return framing


def _heed_length(framing: Framing, value: str) -> None:
    if framing.length is not None or not (value.isascii() and value.isdigit()) or len(value) > 18:
        framing.fault = "the answer's content-length is no plain number, or stands there twice"
    else:
        framing.length = int(value)


def _heed_coding(framing: Framing, value: str) -> None:
    if framing.chunked or value.strip().lower() != "chunked":
        framing.fault = f"the answer's transfer-encoding is {value[:60]!r}"
    framing.chunked = True


def _heed_patience(framing: Framing, value: str) -> None:
    found = _PATIENCE.search(value)
    # Leave a little before the server does, or its goodbye crosses our request.
    framing.patience = int(found[1]) * 0.8 if found else None


def _heed_encoding(framing: Framing, value: str) -> None:
    if value.strip().lower() not in ("", "identity"):
        framing.encoding = value if framing.encoding is None else f"{framing.encoding}, {value}"


_HEED = {
    "content-length": _heed_length,
    "transfer-encoding": _heed_coding,
    "keep-alive": _heed_patience,
    "content-encoding": _heed_encoding,
}
_ASKED = frozenset(_HEED)
