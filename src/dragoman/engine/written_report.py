"""A report as it is written down: its JSON, its header and its counts, made once and where it holds up nobody."""

from __future__ import annotations

import msgspec

from dragoman.conversation.changes import Change
from dragoman.engine.summary import summary

_encode = msgspec.json.Encoder().encode
_AT_ONCE = 500
"""Changes that are encoded at once: the encoder holds the interpreter."""


class WrittenReport(msgspec.Struct, frozen=True, gc=False):
    """`changes` are what was written: `json`, `header` as clients get it, and `counts` by rule."""

    changes: tuple[Change, ...]
    json: bytes
    header: bytes
    counts: dict[str, int]


def write_report(changes: tuple[Change, ...]) -> WrittenReport:
    """Compute the digests of a report, and write it."""
    counts: dict[str, int] = {}
    for change in changes:
        counts[change.rule] = counts.get(change.rule, 0) + 1
    pieces = [_encode(changes[at : at + _AT_ONCE])[1:-1] for at in range(0, len(changes), _AT_ONCE)]
    return WrittenReport(changes, b"[" + b",".join(pieces) + b"]", summary(changes), counts)


NOTHING_WRITTEN = WrittenReport((), b"[]", b"", {})
