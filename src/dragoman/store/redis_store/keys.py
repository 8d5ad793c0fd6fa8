"""The names of what is kept in Redis. Every name begins with the prefix.

Callers and the like are digests: names have one length, and nobody reads from them who asks what.
"""

from __future__ import annotations

from hashlib import blake2b


def digest(text: str, size: int = 8) -> str:
    """A short name for a text of any length. Half of a surrogate pair is a text too."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=size).hexdigest()


def address_of(caller: str, place: str, key: str) -> str:
    """64 characters: of the caller 16, of the place 16, of the key 32."""
    return digest(caller) + digest(place) + digest(key, 16)


class RedisKeys:
    """The names of one gateway's state. In a cluster all of them are in one slot: the scripts touch several keys."""

    def __init__(self, prefix: str, is_cluster: bool = False) -> None:
        self._prefix = f"{{{prefix}}}" if is_cluster else prefix
        self.versions = self.named("versions")
        self.replicas = self.named("replicas")
        self.cooldowns = self.named("cooldowns")
        self.forgotten = self.named("forgotten")

    def named(self, *steps: str) -> str:
        return ":".join((self._prefix, *steps))
