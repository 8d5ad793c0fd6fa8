"""Emulated signatures and encrypted reasoning: made and checked.

Only the maker of a real signature can read it. An emulated one names its emulator, so that another emulator can refuse
it, as well as one that is altered or empty, just as the real services do. It is valid base64, because official SDKs
decode and re-encode such values (with the URL-safe alphabet, or without padding). Like theirs it begins with a tag and
the length of what follows.
"""

from __future__ import annotations

import base64
import binascii
import re
from hashlib import blake2b

_TAG = b"\x0a"
_MAGIC = b"drgm\x01"
_TAIL = b"\x01mgrd"
_DIGEST = 16
_SLUG = re.compile(rb'{"endpoint_slug":"(?P<model>[^"|]*)')
_ROUTED = re.compile(r"(?P<signature>[^.]+)\.(?P<route>[\w-]{1,1000})")
_PLACEHOLDERS = ("undefined", "null", "skip_thought_signature_validator", "context_engineering_is_the_way_to_go")


def mint(emulator: str, content: str, *, url_safe: bool = False) -> str:
    """A signature of `emulator` for `content`: the reasoning text, a call and so on. `url_safe`: in the
    alphabet for URLs."""
    name = emulator.encode()
    digest = _digest(content)
    inner = _MAGIC + bytes([len(name)]) + name + digest + _seal(name, digest) + _TAIL
    encode = base64.urlsafe_b64encode if url_safe else base64.b64encode
    return encode(_TAG + _length(len(inner)) + inner).decode("ascii")


def with_route(signature: str, slug: str) -> str:
    """A signature as a router hands it out, which puts behind it whom it asked."""
    route = base64.urlsafe_b64encode(b'{"endpoint_slug":"%b"}' % slug.encode()).decode("ascii")
    return f"{signature}.{route.rstrip('=')}"


def split_route(signature: object) -> tuple[object, str]:
    """The signature that stands before the route, and the model on it; empty if there is no route."""
    found = _ROUTED.fullmatch(signature) if isinstance(signature, str) else None
    route = decode_base64(found["route"]) if found is not None else None
    named = _SLUG.match(route) if route is not None else None
    if found is None or named is None:
        return signature, ""
    return found["signature"], named["model"].decode("utf-8", "replace")


def check_signature(emulator: str, value: object, strict: bool = False, content: str | None = None) -> str:
    """ "ok", "foreign" (another emulator's), "altered", "empty", or "unknown" (no emulator's; only if `strict`).

    What no service can have made is "altered" as well: a placeholder, or what is not base64.

    With `content`, a valid signature of other content counts as altered.
    """
    if not isinstance(value, str) or not value.strip():
        return "empty"
    blob = decode_base64(value)
    if value in _PLACEHOLDERS or (blob is None and not is_masked(value)):
        return "altered"
    if blob is None or not (_MAGIC in blob[:8] or blob.endswith(_TAIL)):
        return "unknown" if strict else "ok"
    parts = _parse_blob(blob)
    if parts is None:
        return "altered"
    name, digest = parts
    if name != emulator.encode():
        return "foreign"
    return "ok" if content is None or digest == _digest(content) else "altered"


def decode_base64(value: str) -> bytes | None:
    """The bytes of base64 text in either alphabet, padded or not; None if it is not base64."""
    text = value.strip().replace("-", "+").replace("_", "/").rstrip("=")
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None


def is_masked(identifier: object) -> bool:
    """Whether a recording masks this id (`call_REDACTED_1`). The format of the true one is then unknown."""
    return isinstance(identifier, str) and re.search("REDACTED", identifier) is not None


def _parse_blob(blob: bytes) -> tuple[bytes, bytes] | None:
    start = blob.find(_MAGIC, 0, 8)
    if start < 0 or not blob.endswith(_TAIL) or blob[:start] != _TAG + _length(len(blob) - start):
        return None
    inner = blob[start + len(_MAGIC) : -len(_TAIL)]
    size = inner[0] if inner else 0
    name, digest, seal = inner[1 : 1 + size], inner[1 + size : 1 + size + _DIGEST], inner[1 + size + _DIGEST :]
    return (name, digest) if seal == _seal(name, digest) else None


def _length(number: int) -> bytes:
    """A length in groups of seven bits, the lowest first."""
    return bytes([number]) if number < 0x80 else bytes([number & 0x7F | 0x80, number >> 7])


def _digest(content: str) -> bytes:
    return blake2b(content.encode("utf-8", "replace"), digest_size=_DIGEST).digest()


def _seal(name: bytes, digest: bytes) -> bytes:
    return blake2b(name + b"\0" + digest, digest_size=_DIGEST, key=b"dragoman emulator").digest()
