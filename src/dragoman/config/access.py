"""Who is asking, and what they may ask for.

A presented key is hashed and looked up by its hash. How long that takes says nothing about the keys that exist: nobody
can steer the bytes of a SHA-256 towards a stored one. The last comparison is in constant time all the same.

What a key may do is decided before it is looked up whether a model exists: a refusal gives no name away.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from datetime import datetime
from fnmatch import fnmatchcase

from msgspec import Struct

from dragoman.config.schema import Key


class Client(Struct, frozen=True):
    """A known client: the name of its key and what the file says of it."""

    name: str
    key: Key

    def expired(self, now: datetime) -> bool:
        return self.key.expires is not None and now >= self.key.expires

    def may_ask(self, model: str) -> bool:
        """Whether it may use a model, by the name it asks for."""
        return _matches(model, self.key.allowed_models)

    def may_call(self, path: str) -> bool:
        """Whether it may use an endpoint; `/v1/x` and `/x` are one."""
        allowed = self.key.allowed_endpoints
        return not allowed or _matches(_tidy(path), tuple(map(_tidy, allowed)))


class Clients:
    """All clients of a configuration."""

    def __init__(self, keys: Mapping[str, Key]) -> None:
        clients = [(bytes.fromhex(key.sha256), Client(name, key)) for name, key in keys.items()]
        self._by_hash = {digest: (digest, client) for digest, client in clients}

    def __len__(self) -> int:
        return len(self._by_hash)

    def who(self, presented: str) -> Client | None:
        """The client that presents this key, or None."""
        digest = hashlib.sha256(presented.encode("utf-8", "surrogateescape")).digest()
        found = self._by_hash.get(digest)
        if found is None or not hmac.compare_digest(found[0], digest):
            return None
        return found[1]


def _matches(name: str, allowed: tuple[str, ...]) -> bool:
    return not allowed or any(fnmatchcase(name, pattern) for pattern in allowed)


def _tidy(path: str) -> str:
    return "/" + path.strip("/").removeprefix("v1/")
