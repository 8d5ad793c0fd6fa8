"""Bytes on the wire: JSON text, server-sent events, ids, and texts cut at awkward places.

Everything here is deterministic. Fragments have a fixed sequence of odd sizes, so that any longer text is cut inside
words, escapes and surrogate pairs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from itertools import cycle
from typing import Any

import orjson

FRAGMENT_SIZES = (3, 1, 7, 2, 11, 5, 1, 16)
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"


def render_json(value: Any) -> bytes:
    """JSON text without spaces."""
    return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS)


def render_sse_event(payload: Any, event: str | None = None, newline: str = "\n") -> bytes:
    """One server-sent event. A str payload is sent as it is (`[DONE]`), anything else as JSON."""
    text = payload if isinstance(payload, str) else render_json(payload).decode()
    head = f"event: {event}{newline}" if event else ""
    return f"{head}data: {text}{newline}{newline}".encode()


def render_sse_comment(text: str) -> bytes:
    """A comment, which clients must skip."""
    return f": {text}\n\n".encode()


def fragments(text: str, sizes: tuple[int, ...] = FRAGMENT_SIZES) -> Iterator[str]:
    """The text in pieces of uneven size. No piece is empty; an empty text gives none."""
    start = 0
    for size in cycle(sizes):
        if start >= len(text):
            return
        yield text[start : start + size]
        start += size


def rechunk(frames: Iterable[bytes], size: int) -> Iterator[bytes]:
    """The same bytes in pieces of `size`, across frames and UTF-8 characters. Size 0 keeps the frames."""
    if size <= 0:
        yield from frames
        return
    rest = b""
    for frame in frames:
        rest += frame
        while len(rest) >= size:
            yield rest[:size]
            rest = rest[size:]
    if rest:
        yield rest


def make_id(prefix: str, length: int, *seed: object, alphabet: str = _ALPHABET) -> str:
    """An id in a provider's format, derived from `seed`: the same seed gives the same id."""
    digest = blake2b("\0".join(map(str, seed)).encode("utf-8", "replace"), digest_size=64).digest()
    return prefix + "".join(alphabet[digest[i % 64] % len(alphabet)] for i in range(length))


def arguments_object(arguments: str) -> dict[str, Any]:
    """The arguments as an object. Broken ones are wrapped, because `input` is always an object."""
    try:
        value = orjson.loads(arguments or "{}")
    except orjson.JSONDecodeError:
        value = None
    return value if isinstance(value, dict) else {"INVALID_JSON": arguments}
