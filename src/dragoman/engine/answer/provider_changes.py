"""What a provider itself says of a request: what it changed, and why it missed its prompt cache. It becomes part of our
report."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import msgspec

from dragoman.conversation.changes import Change, Loss

PROVIDER_CHANGE, CACHE_DIAGNOSIS = "provider-change", "cache-diagnosis"
MOST_REPORTED = 50
"""Changes that one answer may report, however many of its pieces do so."""
_LONGEST = 300


class _Reported(msgspec.Struct, frozen=True):
    """One change: where, with points (`messages.3.content.0`), or what was done to the item of which id."""

    type: str = ""
    path: str = ""
    action: str = ""
    id: str = ""
    reason: str | None = None


_decode = msgspec.json.Decoder(list[_Reported]).decode


@cache
def find_change_mark(member: str) -> bytes:
    """What stands in every answer with this member; nothing if it has no name."""
    return f'"{member}"'.encode() if member else b""


def find_provider_changes(data: bytes, member: str) -> tuple[Change, ...]:
    """What a whole answer, or a piece of a stream, reports in this member of the answer."""
    mark = find_change_mark(member)
    if data.find(mark) < 0:  # half of what `in` costs
        return ()
    try:
        found = [value for answer in _answers(data, mark) if (value := _members(answer).get(member)) is not None]
        return tuple([_change(one) for value in found for one in _decode(value)[:MOST_REPORTED]])
    except msgspec.MsgspecError:
        return ()  # another form than the one that is known, in a member that is the client's too


def _answers(data: bytes, mark: bytes) -> Iterator[bytes]:
    """The objects that are an answer: all of it, or those in the frames of a stream that hold the mark."""
    if data.lstrip()[:1] == b"{":
        yield data
        return
    for line in data.split(b"\n"):
        if line.startswith(b"data:") and mark in line:
            event = _members(line[5:])
            inner = [event[name] for name in ("message", "delta", "response") if name in event]
            yield from (line[5:], *map(bytes, inner))


def _members(text: bytes) -> dict[str, msgspec.Raw]:
    """The members of an object; none if it is not whole: a piece of a stream may end within a frame."""
    try:
        return _decode_members(text)
    except msgspec.MsgspecError:
        return {}


_decode_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


class CacheDiagnosis(msgspec.Struct, frozen=True, gc=False):
    """What an answer says of the provider's prompt cache."""

    id: str = ""
    """The provider's id of the answer, with which later requests are compared."""
    why: str = ""
    """Why the cache was missed, in the provider's words; empty if it was not, or if it does not say so."""


def find_diagnosis(data: bytes, known: CacheDiagnosis) -> CacheDiagnosis:
    """What a whole answer, or a piece of a stream, says of it, beside what is known."""
    if b'"id"' not in data:
        return known
    for answer in _answers(data, b'"id"'):
        try:
            read = _decode_answer(answer)
        except msgspec.MsgspecError:
            continue  # a piece may end within a frame
        why = _name_miss(read.diagnostics or read.prompt_cache_diagnostics)
        known = CacheDiagnosis(known.id or (read.id or "")[:_LONGEST], known.why or why)
    return known


class _Miss(msgspec.Struct, frozen=True):
    type: str = ""
    reason: str = ""
    cache_missed_input_tokens: int = 0
    cache_missed_tokens: int = 0


class _Diagnostics(_Miss, frozen=True):
    cache_miss_reason: _Miss | None = None


class _Answer(msgspec.Struct, frozen=True):
    """What is read of an answer."""

    id: str | None = None
    diagnostics: _Diagnostics | None = None
    prompt_cache_diagnostics: _Diagnostics | None = None


_decode_answer = msgspec.json.Decoder(_Answer).decode


def _name_miss(given: _Diagnostics | None) -> str:
    if given is None:
        return ""
    miss = given.cache_miss_reason or given
    kind, tokens = miss.reason or miss.type, miss.cache_missed_input_tokens or miss.cache_missed_tokens
    if kind in ("", "cache_hit"):
        return ""
    return kind[:_LONGEST].replace("_", " ") + (f", {tokens:,} tokens" if tokens else "")


def tell_diagnosis(why: str) -> Change:
    did = f"the provider says why its prompt cache was missed: {why}"
    return Change(CACHE_DIAGNOSIS, "", did, str(Loss.NOTHING), "added")


def _change(one: _Reported) -> Change:
    at = "/" + one.path[:_LONGEST].replace(".", "/") if one.path else ""
    what = " ".join(filter(None, (one.type, one.id, one.action)))
    did = f"the provider reports {what}" + (f": {one.reason}" if one.reason else "")
    return Change(PROVIDER_CHANGE, at, did[:_LONGEST], str(Loss.METADATA))
