"""What is remembered of a request."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec
from msgspec import Raw, Struct


class Caller(Struct, frozen=True):
    """Who asks: the name of a client key (empty where the gateway has none), and whether it sees everything."""

    name: str = ""
    admin: bool = False

    def may_see(self, entry: Entry) -> bool:
        return self.admin or entry.caller == self.name


class Entry(Struct, frozen=True, kw_only=True, gc=False):
    """One request in the ledger. Times are seconds, `overhead_us` is what we added, in microseconds.

    `estimated`: the provider told no usage, or the stream ended before it could.
    """

    id: str
    time: float
    caller: str = ""
    client_dialect: str = ""
    upstream_dialect: str = ""
    asked: str = ""
    target: str = ""
    upstream_model: str = ""
    stream: bool = False
    attempts: int = 1
    changes: bytes = b"[]"
    lessons: tuple[str, ...] = ()
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    estimated: bool = False
    ttfb: float | None = None
    duration: float = 0.0
    overhead_us: int = 0
    status: int = 200
    error_kind: str | None = None
    error: str | None = None
    request: bytes | None = None
    sent: bytes | None = None
    answer: bytes | None = None

    def weight(self) -> int:
        """The bytes of its bodies."""
        return len(self.request or b"") + len(self.sent or b"") + len(self.answer or b"")

    def report(self) -> bytes:
        """The entry as the JSON that its owner may read; changes and bodies stand in it as JSON."""
        fields: dict[str, Any] = {name: getattr(self, name) for name in self.__struct_fields__}
        fields["changes"] = Raw(self.changes)
        for name in ("request", "sent", "answer"):
            body = fields.pop(name)
            if body is not None:
                fields[name] = _json_or_text(body)
        return msgspec.json.encode(fields)


class By(StrEnum):
    """What totals are grouped by."""

    TARGET = "target"
    CALLER = "caller"
    ASKED = "asked"


class Totals(Struct, frozen=True):
    """Sums over the requests of one target, key or model."""

    name: str
    requests: int = 0
    errors: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    seconds: float = 0.0

    def plus(self, entry: Entry) -> Totals:
        return Totals(
            self.name,
            self.requests + 1,
            self.errors + (entry.status >= 400 or entry.error_kind is not None),
            self.input_tokens + entry.input_tokens,
            self.output_tokens + entry.output_tokens,
            self.cached_tokens + entry.cached_tokens,
            self.reasoning_tokens + entry.reasoning_tokens,
            self.seconds + entry.duration,
        )


def _json_or_text(body: bytes) -> Raw | str:
    try:
        msgspec.json.decode(body)
    except msgspec.DecodeError:
        return body.decode("utf-8", "replace")
    return Raw(body)
