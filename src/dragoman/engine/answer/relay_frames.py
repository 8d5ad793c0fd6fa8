"""The frames of a relayed stream: whole, readable, without leftovers of somebody's stream and without our secrets.

A client can do nothing with a part of a frame, so frames go out whole: no cut of the bytes hides a secret, and a stream
that breaks off leaves no half frame before our own last event. A frame whose data is no JSON would break a client that
parses it; it is left out and counted, unless only its text is broken: half a surrogate pair waits for the other half.
Some servers leave marks of their own in chunks (`done`, `__stream_end__`); clients store them with the message and send
them to providers that refuse them. They are taken out.

Some servers and proxies write what the standard allows and SDKs stumble over: a byte order mark, ids, times to wait,
names that say nothing, comments. `FrameForm` says what the clients of a dialect read, and no more goes to them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import msgspec

from dragoman.dialects.dialect import ChunkRewrite, FrameForm
from dragoman.dialects.shared.split_surrogates import HalfPairs
from dragoman.engine.answer.frame_template import FrameTemplate, without_members
from dragoman.engine.answer.relay_observer import RelayObserver
from dragoman.wire.sse import BOM, DONE_FRAME

_ENDS = (b"\n\n", b"\n\r\n", b"\r\r")
_MOST = 64 * 1024
"""A longer frame holds a picture rather than an error, and is passed on as it comes."""
_MOST_WORDS = 64
"""Frames that are held for their words before the words are counted."""
_find_blank_line = re.compile(rb"\n\r?\n|\r\r").search
_BEGINNING = re.compile(rb"(?:\xef\xbb\xbf)?+((?:(?:event|id|retry)?+:[^\r\n]*+[\r\n]++)*+)data: ?")
"""What stands before the data of a frame."""
_DONE = b"[DONE]"
_NAME = b"event:"
_NO_NAME = b"message"
"""The name of an event that has none, by the standard."""
_decode_raw = msgspec.json.Decoder(msgspec.Raw).decode
_UNREADABLE = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)


class _Typed(msgspec.Struct, gc=False):
    type: str = ""


_decode_typed = msgspec.json.Decoder(_Typed).decode


class RelayFrames:
    """Between the provider's bytes and the client. `redact` takes secrets out; `leftovers` are keys to take out of
    chunks. `outer` are keys to take out of a chunk but not of what it holds: arguments and schemas have keys of their
    own. `check` raises DecodeError unless a chunk is plainly without them. `unasked` are further keys to take out,
    which chunks mostly have with `null`. `observer` counts words. `rewrite` writes chunks that clients misread, and
    what is left of those that had such keys. `form` is what clients read of a frame. `skipped` counts frames that could
    not be read."""

    __slots__ = (
        *("_check", "_form", "_halves", "_held", "_leftovers", "_marks", "_nulls", "_observer", "_open", "_outer"),
        *("_redact", "_rewrite", "_template", "_unasked", "_within", "_words", "_writes_all", "skipped"),
    )

    def __init__(
        self,
        redact: Callable[[bytes], bytes] | None,
        leftovers: frozenset[str] = frozenset(),
        check: Callable[[bytes], object] | None = None,
        *,
        outer: frozenset[str] = frozenset(),
        unasked: frozenset[str] = frozenset(),
        observer: RelayObserver | None = None,
        rewrite: ChunkRewrite | None = None,
        form: FrameForm = FrameForm.STANDARD,
    ) -> None:
        self._redact = redact
        self._form = form
        self._check = check
        self._unasked = _marks(unasked)
        self._rewrite = rewrite
        self._leftovers = leftovers | unasked
        self._outer = outer - self._leftovers
        self._marks = _marks(self._leftovers | outer)
        self._nulls = _nulls(unasked)
        self._held = b""
        self._halves = HalfPairs()
        self._open = False
        self._within = False
        self._writes_all = False
        self._observer = observer
        self._words: list[bytes] = observer.words if observer is not None else []
        self._template = self._new_template()
        self.skipped = 0

    def _new_template(self) -> FrameTemplate:
        observer = self._observer
        if observer is None:
            return FrameTemplate(nulls=self._nulls)
        return FrameTemplate(observer.word_members, self._nulls, observer.followed)

    def pass_words(self, data: bytes) -> bytes:
        """A frame that was checked, with other words, as it goes out: its words are held, and nobody needs to see more
        of it. Nothing for any other chunk, which has yet to be seen and fed."""
        template = self._template
        if self._within or not template.differs_in_words:
            return b""
        out = template.fill(data)
        if out:
            words = self._words
            words.append(data)
            if len(words) > _MOST_WORDS and self._observer is not None:
                self._observer.count_words()
        return out

    def feed(self, data: bytes) -> bytes:
        """The frames that are complete."""
        if not self._within:
            if out := self._template.fill(data):
                return out
            if data == DONE_FRAME and self._form is FrameForm.STANDARD:
                return data
            if data.endswith(_ENDS):
                return self._clean(data)
        data, out = self._held + data, b""
        if self._open:
            at = min([data.find(end) + len(end) for end in _ENDS if end in data], default=0)
            self._open = not at
            out, data = self._strip(data[: at or len(data)]), data[at or len(data) :]
        at = max(data.rfind(end) + len(end) if end in data else 0 for end in _ENDS)
        if at:
            out += self._clean(data[:at])
        self._held = data[at:]
        if len(self._held) > _MOST:
            out += self._strip(self._begin(self._held))
            self._held, self._open = b"", True
        self._within = self._open or bool(self._held)
        return out

    def close(self) -> bytes:
        """The rest of a stream that ended properly, with the blank line that it lacks: SDKs read no frame without."""
        held, self._held = self._held, b""
        self._within = self._open
        return self._clean(held.rstrip(b"\r\n") + b"\n\n") if held else self.drop()

    def drop(self) -> bytes:
        """The stream broke off: forget the half frame that is held, and end the one that is half out."""
        self._held = b""
        return b"\n\n" if self._open else b""

    def _clean(self, data: bytes) -> bytes:
        """Whole frames as the client may see them. If they are clean, nearly always, they go through as they are."""
        payload = self._lone_payload(data)
        return self._clean_many(data) if payload is None else self._clean_lone(data, payload)

    def _clean_lone(self, data: bytes, payload: bytes) -> bytes:
        rest = without_members(data, self._nulls)
        out = self._without_secrets(rest)
        if out is not data:
            payload = self._lone_payload(out) or b""
        if not self._is_clean(payload):
            return self._write_anew(out, payload) if payload.splitlines() == [payload] else self._clean_each(out)
        if out == rest:
            self._template.learn(data, self._rewrite.follow if self._rewrite is not None else None)
        return out

    def _clean_many(self, data: bytes) -> bytes:
        """Frames that came together: those that are known by the run, the others one by one."""
        out: list[bytes] = []
        template, at, size, is_plain = self._template, 0, len(data), b"\r" not in data
        runs = template.runs_in(data)
        while at < size:
            end = runs.find_end(at)
            if end > at:
                out.append(template.cut(data[at:end]))
            elif template.has_given_up:
                end = size
                out.append(self._clean_unknown(data[at:]))
            else:
                end = _find_end(data, at, is_plain)
                out.append(self._clean_next(data[at:end]))
                template = self._template
                runs = template.runs_in(data, runs)
            at = end
        cleaned = b"".join(out)
        return data if cleaned == data else cleaned

    def _clean_next(self, frame: bytes) -> bytes:
        if out := self._template.fill(frame):
            return out
        payload = self._lone_payload(frame)
        return self._clean_unknown(frame) if payload is None else self._clean_lone(frame, payload)

    def _clean_unknown(self, data: bytes) -> bytes:
        """Frames of any form."""
        return self._clean_each(self._strip(data))

    def _clean_each(self, data: bytes) -> bytes:
        return b"".join([self._frame(frame) for frame in _split(data)])

    def _strip(self, data: bytes) -> bytes:
        return self._without_secrets(without_members(data, self._nulls))

    def _without_secrets(self, data: bytes) -> bytes:
        return data if self._redact is None else self._redact(data)

    def _is_clean(self, payload: bytes) -> bool:
        if payload == _DONE:
            return True
        if self._check is not None and not _holds(payload, self._unasked) and _passes(self._check, payload):
            return True
        if self._rewrite is not None and self._rewrite.may_be_misread(payload):
            return False
        return _passes(_check_json, payload) and not _holds(payload, self._marks)

    def _lone_payload(self, data: bytes) -> bytes | None:
        """The data of a frame that is alone, has them in one line and nothing that clients do not read, as nearly all
        frames; None for any other."""
        head, _, rest = data.partition(b"data: ")
        if rest.find(b"\n") not in (len(rest) - 2, len(rest) - 3) or not rest.endswith(_ENDS):
            return None
        if head and (head[:6] != _NAME or head.find(b"\n") != len(head) - 1):
            return None
        payload = rest[:-2]
        if (head or self._form is FrameForm.NAMED) and not self._is_named_well(head, payload):
            return None
        return None if payload == _DONE and self._form is not FrameForm.STANDARD else payload

    def _is_named_well(self, head: bytes, payload: bytes) -> bool:
        name = head[6:].strip()
        if self._form is FrameForm.NAMED:
            return payload.startswith(b'{"type":"%b"' % name) or name == _type_of(payload)
        return self._form is FrameForm.STANDARD and name != _NO_NAME

    def _frame(self, frame: bytes) -> bytes:
        payload = self._lone_payload(frame)
        return frame if payload is not None and self._is_clean(payload) else self._write_anew(frame, payload)

    def _write_anew(self, frame: bytes, unclean: bytes | None) -> bytes:
        """A frame as clients read it. `unclean`: its data, if they are known not to be clean."""
        lines = [line for line in frame.splitlines() if line]
        heads, datas = self._read_lines(lines)
        payload = _join_data(datas)
        if payload == _DONE and self._form is not FrameForm.STANDARD:
            return b""
        if payload and payload != _DONE and (payload == unclean or not self._is_clean(payload)):
            pieces = self._pieces(payload)
            if pieces is not None:
                return b"".join([self._write_piece(heads, msgspec.json.encode(piece)) for piece in pieces])
        shown = [*heads, *datas]
        return frame if shown == lines else _write(shown)

    def _write_piece(self, heads: list[bytes], data: bytes) -> bytes:
        names = [line for line in heads if line.startswith(_NAME)]
        others = [line for line in heads if not line.startswith(_NAME)]
        return _write([*others, *self._fit_names(names, data), b"data: " + data])

    def _read_lines(self, lines: list[bytes]) -> tuple[list[bytes], list[bytes]]:
        """The lines that clients read of a frame: comments and its name, and its data. After an id, a time to wait or
        `data` without its colon, as a stream that breaks off ends with, the SDKs of OpenAI take a blank line for an
        event, and fail for its lack of data."""
        lines = [*[line.removeprefix(BOM) for line in lines[:1]], *lines[1:]]
        names = [line for line in lines if line.startswith(_NAME)]
        datas = [line for line in lines if line.startswith(b"data:")]
        others = [line for line in lines if line.startswith(b":")]
        if self._form is FrameForm.DATA_ALONE:
            others = []
            datas = [b"data: " + line[5:].removeprefix(b" ") for line in datas]
        payload = _join_data(datas)
        return ([*others, *self._fit_names(names, payload)], datas) if payload else (others, [])

    def _fit_names(self, names: list[bytes], payload: bytes) -> list[bytes]:
        if self._form is FrameForm.DATA_ALONE:
            return []
        if self._form is FrameForm.STANDARD:
            return [line for line in names if line[6:].strip() != _NO_NAME]
        kind = _type_of(payload)
        return [b"event: " + kind] if kind else names

    def _pieces(self, payload: bytes) -> list[Any] | None:
        """What goes out in place of a chunk that is not clean; None if it goes out as it is."""
        read = payload if _passes(_check_json, payload) else self._halves.join(payload)
        try:
            chunk = msgspec.json.decode(read)
            cleaned = without_keys(chunk, self._leftovers)
        except _UNREADABLE:
            self.skipped += 1
            return []
        if self._outer and isinstance(cleaned, dict):
            cleaned = {key: value for key, value in cleaned.items() if key not in self._outer}
        pieces = [cleaned] if self._rewrite is None or not isinstance(cleaned, dict) else self._rewrite.pieces(cleaned)
        if self._rewrite is not None and self._rewrite.renumbers and not self._writes_all:
            self._check, self._template, self._writes_all = None, self._new_template(), True
        if pieces == [chunk] and read == payload:
            return None  # a text or a value that looks like a mark
        return [piece for piece in pieces if piece]

    def _begin(self, data: bytes) -> bytes:
        """The beginning of a frame that is too long to be held."""
        begun = _BEGINNING.match(data)
        if begun is None:
            return data
        heads, _ = self._read_lines([*filter(None, begun[1].splitlines()), b"data: {"])
        return b"".join([line + b"\n" for line in heads]) + b"data: " + data[begun.end() :]


def _join_data(datas: list[bytes]) -> bytes:
    return b"\n".join([line[5:].removeprefix(b" ") for line in datas]).strip()


def _write(lines: list[bytes]) -> bytes:
    return b"\n".join([*lines, b"", b""]) if lines else b""


def _type_of(payload: bytes) -> bytes:
    """The type that the data of an event name."""
    try:
        kind = _decode_typed(payload).type
    except _UNREADABLE:
        return b""
    return kind.encode() if kind.isprintable() else b""


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
    at, is_plain = 0, b"\r" not in data
    while at < len(data):
        end = _find_end(data, at, is_plain)
        yield data[at:end]
        at = end


def _find_end(data: bytes, at: int, is_plain: bool) -> int:
    """Where the frame ends that begins there, with its blank line. `is_plain`: no line ends otherwise than with a line
    feed, which is found fifty times as fast."""
    if is_plain:
        start = data.find(b"\n\n", at)
        return start + 2 if start >= 0 else len(data)
    found = _find_blank_line(data, at)
    return found.end() if found is not None else len(data)


def without_keys(value: Any, names: frozenset[str]) -> Any:
    """A JSON value without the members of these names, at any depth."""
    if isinstance(value, dict):
        return {key: without_keys(item, names) for key, item in value.items() if key not in names}
    if isinstance(value, list):
        return [without_keys(item, names) for item in value]
    return value
