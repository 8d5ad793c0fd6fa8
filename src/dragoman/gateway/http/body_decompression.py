"""Decompress request bodies, within the size limit of bodies."""

from __future__ import annotations

import zlib

ACCEPTED = "gzip, deflate"
_GZIP_OR_ZLIB = 32  # gzip or zlib, recognised by the first bytes
_RAW_DEFLATE = -zlib.MAX_WBITS  # some clients send deflate without the zlib header


class BadEncoding(Exception):
    """The `Content-Encoding` is unsupported, or the body does not match it."""


class TooLargeDecompressed(Exception):
    """The decompressed body exceeds the limit."""


def decompress(body: bytes, encoding: str, limit: int, encodings: int) -> bytes:
    """The decompressed body, of at most `encodings` layers. Raises BadEncoding or TooLargeDecompressed."""
    names = [name.strip().lower() for name in encoding.split(",")]
    if len(names) > encodings:
        most = f"the limit is {encodings} (limits.encodings)"
        raise BadEncoding(f"the Content-Encoding has {len(names)} names; {most}")
    for name in reversed(names):
        if name in ("", "identity"):
            continue
        if name not in ("gzip", "x-gzip", "deflate"):
            raise BadEncoding(f'the Content-Encoding "{name}" is not supported; use {ACCEPTED} or none')
        body = _decompress_one(body, name, limit)
    return body


def _decompress_one(body: bytes, name: str, limit: int) -> bytes:
    is_raw = name == "deflate" and (len(body) < 2 or body[0] & 0x0F != 8 or (body[0] << 8 | body[1]) % 31)
    decompressor = zlib.decompressobj(_RAW_DEFLATE if is_raw else _GZIP_OR_ZLIB + zlib.MAX_WBITS)
    try:
        plain = decompressor.decompress(body, limit + 1)
    except zlib.error:
        raise BadEncoding(f"the body is not {name}, although its Content-Encoding says so") from None
    if len(plain) > limit:
        raise TooLargeDecompressed(f"the decompressed body has more than {limit} bytes, which is the limit")
    if not decompressor.eof or decompressor.unused_data:
        raise BadEncoding(f"the {name} data of the body is incomplete or has further bytes after its end")
    return plain
