"""Which client sends a request, and what it may use.

The gateway looks up a presented key by its SHA-256. The time of the lookup reveals nothing about the stored keys,
because nobody can choose the bytes of a hash. The last comparison takes constant time anyway.

The permissions of a key are checked before the model is looked up, so a refusal does not reveal which models exist.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping
from datetime import datetime
from fnmatch import fnmatchcase

from msgspec import Struct

from dragoman.config.schema.keys import ClientKey


class Client(Struct, frozen=True):
    """A known client: the name of its key, and its entry in the file."""

    name: str
    key: ClientKey

    def is_expired(self, now: datetime) -> bool:
        return self.key.expires is not None and now >= self.key.expires

    def may_ask(self, model: str) -> bool:
        """Whether it may use the model of that name."""
        return _matches(model, self.key.allowed_models)

    def may_call(self, path: str) -> bool:
        """Whether it may call an endpoint. `/v1/x` and `/x` are the same; `/v1/*` is only what is called so."""
        allowed = self.key.allowed_endpoints
        return not allowed or any(_may_call(path, pattern) for pattern in allowed)

    def is_made_for(self, path: str) -> bool:
        """Whether its key names this endpoint itself. A pattern that happens to match does not."""
        return _normalise(path) in map(_normalise, self.key.allowed_endpoints)


class Clients:
    """All clients of a configuration."""

    def __init__(self, keys: Mapping[str, ClientKey]) -> None:
        clients = [(bytes.fromhex(key.sha256), Client(name, key)) for name, key in keys.items()]
        self.by_hash = {digest: (digest, client) for digest, client in clients}

    def __len__(self) -> int:
        return len(self.by_hash)

    def identify(self, presented: str) -> Client | None:
        """The client that presents this key, or None."""
        digest = hashlib.sha256(presented.encode("utf-8", "surrogateescape")).digest()
        found = self.by_hash.get(digest)
        if found is None or not hmac.compare_digest(found[0], digest):
            return None
        return found[1]


def _matches(name: str, allowed: tuple[str, ...]) -> bool:
    return not allowed or any(fnmatchcase(name, pattern) for pattern in allowed)


_ALL_OF_V1 = re.compile(r"/?v1/[^/]*[*?\[]")
"""Begins a pattern that leaves open what comes after `/v1`: without it, the pattern would fit other endpoints."""


def _may_call(path: str, pattern: str) -> bool:
    if _ALL_OF_V1.match(pattern):
        return fnmatchcase("/" + path.strip("/"), "/" + pattern.strip("/"))
    return fnmatchcase(_normalise(path), _normalise(pattern))


def _normalise(path: str) -> str:
    return "/" + path.strip("/").removeprefix("v1/")
