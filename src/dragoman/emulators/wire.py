"""Bytes on the wire: JSON text, server-sent events, ids, and cuts at awkward places.

Everything here is deterministic. Fragments are cut by a fixed rhythm of odd sizes, so that words, escapes and
surrogate pairs are torn apart somewhere in any text of some length.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from itertools import cycle
from typing import Any

import orjson

RHYTHM = (3, 1, 7, 2, 11, 5, 1, 16)
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"


def compact(value: Any) -> bytes:
    """JSON text without spaces."""
    return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS)


def sse(payload: Any, event: str | None = None, newline: str = "\n") -> bytes:
    """One server-sent event. A str payload goes out as it is (`[DONE]`), anything else as JSON."""
    text = payload if isinstance(payload, str) else compact(payload).decode()
    head = f"event: {event}{newline}" if event else ""
    return f"{head}data: {text}{newline}{newline}".encode()


def comment(text: str) -> bytes:
    """A line that clients must skip."""
    return f": {text}\n\n".encode()


def fragments(text: str, rhythm: tuple[int, ...] = RHYTHM) -> Iterator[str]:
    """The text in pieces of uneven size. Never empty pieces; an empty text gives none."""
    start = 0
    for size in cycle(rhythm):
        if start >= len(text):
            return
        yield text[start : start + size]
        start += size


def cut(frames: Iterable[bytes], size: int) -> Iterator[bytes]:
    """The same bytes in writes of `size`, across frames and across UTF-8 characters. Size 0 leaves frames whole."""
    if size <= 0:
        yield from frames
        return
    held = b""
    for frame in frames:
        held += frame
        while len(held) >= size:
            yield held[:size]
            held = held[size:]
    if held:
        yield held


def token(prefix: str, length: int, *seed: object, alphabet: str = _ALPHABET) -> str:
    """An id in a provider's form, drawn from what it is for: same seed, same id."""
    digest = blake2b("\0".join(map(str, seed)).encode("utf-8", "replace"), digest_size=64).digest()
    return prefix + "".join(alphabet[digest[i % 64] % len(alphabet)] for i in range(length))
