"""Secrets of ours in what a provider says: it may repeat the key that it was sent, in an error above all."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from dragoman.conversation.failures import Failure

_TEXTS = ("message", "code", "type", "param", "provider")


class Redaction(msgspec.Struct, frozen=True):
    """Two pure functions that take our secrets out."""

    text: Callable[[str], str]
    """Out of a provider's words."""
    data: Callable[[bytes], bytes]
    """Out of relayed bytes."""

    def failure(self, failure: Failure) -> Failure:
        """A failure as a client may see it: no field of it holds a secret."""
        changed: dict[str, object] = {name: self.text(getattr(failure, name)) for name in _TEXTS}
        raw = failure.raw.decode("utf-8", "surrogateescape")
        changed["raw"] = self.text(raw).encode("utf-8", "surrogateescape")
        if all(changed[name] == getattr(failure, name) for name in changed):
            return failure
        return replace(failure, **changed)
