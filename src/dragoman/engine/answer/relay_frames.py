"""The frames of a relayed stream: whole, readable, without leftovers of somebody's stream and without our secrets.

A client can do nothing with a part of a frame, so frames go out whole: no cut of the bytes hides a secret, and a stream
that breaks off leaves no half frame before our own last event. A frame whose data is no JSON would break a client that
parses it; it is left out and counted. Some servers leave marks of their own in chunks (`done`, `__stream_end__`);
clients store them with the message and send them to providers that refuse them. They are taken out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import msgspec

from dragoman.dialects.dialect import ChunkRewrite, unchanged
from dragoman.engine.answer.frame_template import FrameTemplate, without_members
from dragoman.engine.answer.relay_observer import RelayObserver
from dragoman.wire.sse import DONE_FRAME

_ENDS = (b"\n\n", b"\n\r\n", b"\r\r")
_MOST = 64 * 1024
"""A longer frame holds a picture rather than an error, and is passed on as it comes."""
_MOST_WORDS = 64
"""Frames that are held for their words before the words are counted."""
_BLANK_LINE = re.compile(rb"\r?\n\r?\n|\r\r")
_payloads = re.compile(rb"^data: ?([^\n]*)", re.MULTILINE).findall
_DONE = b"[DONE]"
_decode_raw = msgspec.json.Decoder(msgspec.Raw).decode
_UNREADABLE = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)


class RelayFrames:
    """Between the provider's bytes and the client. `redact` takes secrets out; `leftovers` are keys to take out of
    chunks. `check` raises DecodeError unless a chunk is plainly without them, `tidy` gives what goes out in place of a
    chunk that had some, or None. `unasked` are further keys to take out, which chunks mostly have with `null`.
    `observer` counts words. `rewrite` writes chunks that clients misread. `skipped` counts frames that could not be
    read."""

    __slots__ = (
        "_check",
        "_held",
        "_leftovers",
        "_marks",
        "_nulls",
        "_observer",
        "_open",
        "_redact",
        "_rewrite",
        "_template",
        "_tidy",
        "_unasked",
        "_within",
        "_words",
        "skipped",
    )

    def __init__(
        self,
        redact: Callable[[bytes], bytes] | None,
        leftovers: frozenset[str] = frozenset(),
        check: Callable[[bytes], object] | None = None,
        *,
        tidy: Callable[[Any], Any | None] = unchanged,
        unasked: frozenset[str] = frozenset(),
        observer: RelayObserver | None = None,
        rewrite: ChunkRewrite | None = None,
    ) -> None:
        self._redact = redact
        self._check = check
        self._unasked = _marks(unasked)
        self._tidy = tidy
        self._rewrite = rewrite
        self._leftovers = leftovers | unasked
        self._marks = _marks(self._leftovers)
        self._nulls = _nulls(unasked)
        self._held = b""
        self._open = False
        self._within = False
        self._observer = observer
        self._words: list[bytes] = observer.words if observer is not None else []
        self._template = self._new_template()
        self.skipped = 0

    def _new_template(self) -> FrameTemplate:
        return FrameTemplate(self._observer.word_members if self._observer is not None else frozenset(), self._nulls)

    def pass_words(self, data: bytes) -> bytes:
        """A frame that was checked, with other words, as it goes out: its words are held, and nobody needs to see more
        of it. Nothing for any other chunk, which has yet to be seen and fed."""
        template = self._template
        if self._within or not template.differs_in_words:
            return b""
        out = template.fill(data)
        if out:
            self._words.append(data)
            if len(self._words) > _MOST_WORDS and self._observer is not None:
                self._observer.count_words()
        return out

    def feed(self, data: bytes) -> bytes:
        """The frames that are complete."""
        if not self._within:
            if out := self._template.fill(data):
                return out
            if data == DONE_FRAME:
                return data
            if data.endswith(_ENDS):
                return self._clean(data)
        data = self._held + data
        at = max(data.rfind(end) + len(end) if end in data else 0 for end in _ENDS)
        was_open, self._open = self._open, self._open and not at
        if len(data) - at > _MOST:
            at, self._open = len(data), True
        self._held = data[at:]
        self._within = self._open or bool(self._held)
        if was_open or self._open:
            return self._redacted(without_members(data[:at], self._nulls))
        return self._clean(data[:at])

    def close(self) -> bytes:
        """The rest of a stream that ended properly, if without its last line break."""
        held, self._held = self._held, b""
        self._within = self._open
        return self._clean(held)

    def drop(self) -> bytes:
        """The stream broke off: forget the half frame that is held, and end the one that is half out."""
        self._held = b""
        return b"\n\n" if self._open else b""

    def _clean(self, data: bytes) -> bytes:
        """Whole frames as the client may see them. If they are clean, nearly always, they go through as they are."""
        payload = _lone_payload(data)
        return self._clean_many(data) if payload is None else self._clean_lone(data, payload)

    def _clean_lone(self, data: bytes, payload: bytes) -> bytes:
        rest = without_members(data, self._nulls)
        out = self._redacted(rest)
        if out is not data:
            payload = _lone_payload(out) or b""
        if not self._is_clean(payload):
            return self._clean_each(out)
        if out == rest:
            self._template.learn(data)
        return out

    def _clean_many(self, data: bytes) -> bytes:
        """Frames that came together: those that are known by the run, the others one by one."""
        out: list[bytes] = []
        template, at, size = self._template, 0, len(data)
        runs = template.runs_in(data)
        while at < size:
            end = runs.find_end(at)
            if end > at:
                out.append(template.cut(data[at:end]))
            elif template.has_given_up:
                end = size
                out.append(self._clean_unknown(data[at:]))
            else:
                blank = _BLANK_LINE.search(data, at)
                end = blank.end() if blank is not None else size
                out.append(self._clean_next(data[at:end]))
                template = self._template
                runs = template.runs_in(data, runs)
            at = end
        cleaned = b"".join(out)
        return data if cleaned == data else cleaned

    def _clean_next(self, frame: bytes) -> bytes:
        payload = _lone_payload(frame)
        return self._clean_unknown(frame) if payload is None else self._clean_lone(frame, payload)

    def _clean_unknown(self, data: bytes) -> bytes:
        """Frames of any form."""
        out = self._redacted(without_members(data, self._nulls))
        if all(map(self._is_clean, _payloads(out))):
            return out
        return self._clean_each(out)

    def _clean_each(self, data: bytes) -> bytes:
        return b"".join([self._frame(frame) for frame in _split(data)])

    def _redacted(self, data: bytes) -> bytes:
        return data if self._redact is None else self._redact(data)

    def _is_clean(self, payload: bytes) -> bool:
        if payload == _DONE:
            return True
        if self._check is not None and not _holds(payload, self._unasked) and _passes(self._check, payload):
            return True
        if self._rewrite is not None and self._rewrite.may_be_misread(payload):
            return False
        return _passes(_check_json, payload) and not _holds(payload, self._marks)

    def _frame(self, frame: bytes) -> bytes:
        lines = frame.splitlines()
        payload = b"\n".join([line[5:].removeprefix(b" ") for line in lines if line.startswith(b"data:")]).strip()
        if not payload or payload == _DONE:
            return frame
        if self._is_clean(payload):
            return frame
        try:
            chunk = msgspec.json.decode(payload)
            cleaned = without_keys(chunk, self._leftovers)
        except _UNREADABLE:
            self.skipped += 1
            return b""
        pieces = [cleaned] if self._rewrite is None or not isinstance(cleaned, dict) else self._rewrite.pieces(cleaned)
        if self._check is not None and self._rewrite is not None and self._rewrite.renumbers:
            self._check, self._template = None, self._new_template()
        if pieces == [chunk]:
            return frame  # a text or a value that looks like a mark
        tidied = [one for piece in pieces if piece and (one := self._tidy(piece)) is not None]
        head = b"".join([line + b"\n" for line in lines if line and not line.startswith(b"data:")])
        return b"".join([head + b"data: " + msgspec.json.encode(one) + b"\n\n" for one in tidied])


def without_leftovers(body: bytes, leftovers: frozenset[str]) -> bytes:
    """A whole answer without these keys; as it is if it has none."""
    for mark in _marks(leftovers):
        if body.rfind(mark) >= 0:  # half of what `in` costs
            break
    else:
        return body
    try:
        answer = msgspec.json.decode(body)
        cleaned = without_keys(answer, leftovers)
    except _UNREADABLE:
        return body
    return body if cleaned == answer else msgspec.json.encode(cleaned)


def _holds(payload: bytes, marks: tuple[bytes, ...]) -> bool:
    for mark in marks:  # noqa: SIM110 - a generator would cost more than the search
        if mark in payload:
            return True
    return False


def _passes(check: Callable[[bytes], object], payload: bytes) -> bool:
    try:
        check(payload)
    except _UNREADABLE:
        return False
    return True


def _check_json(payload: bytes) -> None:
    """Raise an error of `_UNREADABLE` unless it is JSON, in UTF-8."""
    _decode_raw(payload)
    if not payload.isascii():
        payload.decode()


def _lone_payload(data: bytes) -> bytes | None:
    """The data of a frame that is alone and has them in one line, as nearly all have; None for any other."""
    head, _, rest = data.partition(b"data: ")
    if rest.find(b"\n") not in (len(rest) - 2, len(rest) - 3) or not rest.endswith(_ENDS):
        return None
    if head and (head[:6] != b"event:" or head.find(b"\n") != len(head) - 1):
        return None
    return rest[:-2]


@lru_cache(maxsize=8)
def _marks(names: frozenset[str]) -> tuple[bytes, ...]:
    """What a chunk with one of these keys holds: the fewest texts to look for. A short word needs its quotes."""
    shortest = [name for name in sorted(names) if not any(other != name and other in name for other in names)]
    return tuple(name.encode() if "_" in name else f'"{name}"'.encode() for name in shortest)


@lru_cache(maxsize=8)
def _nulls(names: frozenset[str]) -> tuple[bytes, ...]:
    """Members that say nothing, as they stand after others. A quote within a text is escaped, so no text holds this."""
    return tuple(form % name.encode() for name in sorted(names) for form in (b',"%b":null', b', "%b": null'))


def _split(data: bytes) -> Iterator[bytes]:
    """The frames, each with its blank line."""
    start = 0
    for end in _BLANK_LINE.finditer(data):
        yield data[start : end.end()]
        start = end.end()
    if start < len(data):
        yield data[start:]


def without_keys(value: Any, names: frozenset[str]) -> Any:
    """A JSON value without the members of these names, at any depth."""
    if isinstance(value, dict):
        return {key: without_keys(item, names) for key, item in value.items() if key not in names}
    if isinstance(value, list):
        return [without_keys(item, names) for item in value]
    return value
