"""Bodies that a client compressed: unpacked within the bound for bodies, or refused by name."""

from __future__ import annotations

import zlib

TAKEN = "gzip, deflate"
_EITHER = 32  # gzip and zlib, told apart by their first bytes
_BARE = -zlib.MAX_WBITS  # deflate as some clients understand it: without zlib's head


class Unpackable(Exception):
    """The body is not what its `Content-Encoding` says, or says what we do not know."""


class Bomb(Exception):
    """The body grows beyond the bound."""


def unpacked(body: bytes, encoding: str, limit: int) -> bytes:
    """The body as it was before it was compressed. Raises Unpackable or Bomb."""
    names = [name.strip().lower() for name in encoding.split(",")]
    for name in reversed(names):
        if name in ("", "identity"):
            continue
        if name not in ("gzip", "x-gzip", "deflate"):
            raise Unpackable(f'a body in Content-Encoding "{name}" is not taken; send it in {TAKEN} or as it is')
        body = _inflated(body, name, limit)
    return body


def _inflated(body: bytes, name: str, limit: int) -> bytes:
    bare = name == "deflate" and (len(body) < 2 or body[0] & 0x0F != 8 or (body[0] << 8 | body[1]) % 31)
    machine = zlib.decompressobj(_BARE if bare else _EITHER + zlib.MAX_WBITS)
    try:
        whole = machine.decompress(body, limit + 1)
    except zlib.error:
        raise Unpackable(f"the body is not {name}, as its Content-Encoding says") from None
    if len(whole) > limit:
        raise Bomb(f"the body has more than {limit} bytes once it is unpacked")
    if not machine.eof or machine.unused_data:
        raise Unpackable(f"the body's {name} data is cut short or has something behind its end")
    return whole
