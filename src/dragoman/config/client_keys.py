"""Client keys: how they are made, and their hashes. Only the hashes are stored."""

from __future__ import annotations

import hashlib
import re
import secrets
import string

PREFIX = "dm-"
LENGTH = 40  # base62: 238 bits, so that one round of SHA-256 without salt is enough
BASE62 = string.digits + string.ascii_letters
PLAIN_KEY_NAMES = frozenset({"key", "plain", "api_key", "secret", "token", "value"})

_HEX = re.compile(r"[0-9a-f]{64}")


def make_key() -> str:
    """A new client key: `dm-` and forty characters."""
    return PREFIX + "".join(secrets.choice(BASE62) for _ in range(LENGTH))


def sha256_of(key: str) -> str:
    """The SHA-256 of a key in hex."""
    return hashlib.sha256(key.encode()).hexdigest()


def is_sha256(text: str) -> bool:
    return _HEX.fullmatch(text) is not None


def hash_hint(key: str) -> str:
    """What to write instead of a key in plain text."""
    return f'only its hash is stored. Write instead: sha256: "{sha256_of(key)}"'
