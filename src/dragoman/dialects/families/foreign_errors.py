"""Errors in the middle of a relayed stream, written as the client's vendor writes them.

A server that imitates a vendor may end its stream with an error in another form. The vendor's SDK reads past such an
event, or stumbles over it, and then half an answer looks like a whole one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from dragoman.conversation.failures import Failure
from dragoman.wire.error_bodies import parse_failure


class ForeignErrors(msgspec.Struct, frozen=True, gc=False):
    """The `ChunkRewrite` of such a dialect."""

    is_own: Callable[[Mapping[str, Any]], bool]
    """Whether the vendor's SDKs raise the error that an event has."""
    write: Callable[[Failure], bytes]
    """The data of the vendor's own event."""
    renumbers: bool = False
    follow: None = None

    def may_be_misread(self, payload: bytes) -> bool:
        return b'"error"' in payload

    def pieces(self, chunk: dict[str, Any]) -> list[Any]:
        if not chunk.get("error") or self.is_own(chunk):
            return [chunk]
        return [msgspec.Raw(self.write(parse_failure(200, {}, msgspec.json.encode(chunk))))]
