"""What a provider itself says that it changed in a request: it becomes part of our report."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from dragoman.conversation.changes import Change, Loss
from dragoman.wire.json_reader import split_members

PROVIDER_CHANGE = "provider-change"
_MOST, _LONGEST = 50, 300


class _Reported(msgspec.Struct, frozen=True):
    """One change. The path is written with points: `messages.3.content.0`."""

    type: str = ""
    path: str = ""
    reason: str | None = None


_decode = msgspec.json.Decoder(list[_Reported]).decode


def find_provider_changes(data: bytes, member: str) -> tuple[Change, ...]:
    """What a whole answer, or the beginning of a stream, reports in this member of the answer."""
    mark = f'"{member}"'.encode()
    if mark not in data:
        return ()
    try:
        found = [value for answer in _answers(data, mark) if (value := split_members(answer).get(member)) is not None]
        return tuple([_change(one) for value in found for one in _decode(value)[:_MOST]])
    except msgspec.MsgspecError:
        return ()  # another form than the one that is known, in a member that is the client's too


def _answers(data: bytes, mark: bytes) -> Iterator[bytes]:
    """The objects that are an answer: all of it, or those in the frames of a stream that hold the mark."""
    if data.lstrip()[:1] == b"{":
        yield data
        return
    for line in data.split(b"\n"):
        if line.startswith(b"data:") and mark in line:
            event = split_members(line[5:].strip())
            yield bytes(event.get("message", line[5:].strip()))


def _change(one: _Reported) -> Change:
    at = "/" + one.path[:_LONGEST].replace(".", "/") if one.path else ""
    did = f"the provider reports {one.type}" + (f": {one.reason}" if one.reason else "")
    return Change(PROVIDER_CHANGE, at, did[:_LONGEST], str(Loss.METADATA))
