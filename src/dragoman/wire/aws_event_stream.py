"""The binary event stream of AWS (`application/vnd.amazon.eventstream`): frames from bytes in chunks of any size, and
bytes from frames.

A frame is, in big-endian: its total length and the length of its headers (four bytes each), the CRC32 of these eight
bytes, the headers, the payload, and the CRC32 of everything before it. A header is the length of its name (one byte),
its name, the type of its value (one byte) and the value.

Lengths are checked before anything is held, so that a false one cannot make the decoder wait for gigabytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from struct import Struct, error
from zlib import crc32

import msgspec

MOST_PAYLOAD = 24 * 1024 * 1024
MOST_HEADERS = 128 * 1024
"""The limits of the format. AWS's own clients refuse what is longer."""

_PRELUDE = Struct(">III")
_LENGTHS = Struct(">II")
_CRC = Struct(">I")
_SHORT = Struct(">H")
_TEXT_TYPE = 7
_LEAST = _PRELUDE.size + _CRC.size
_MOST = _LEAST + MOST_HEADERS + MOST_PAYLOAD

HeaderValue = bool | int | str | bytes


class BinaryFrame(msgspec.Struct, frozen=True, gc=False):
    """One message."""

    headers: Mapping[str, HeaderValue]
    """By name."""
    payload: bytes
    """What it carries."""
    raw: bytes
    """The bytes that it came in."""

    def text(self, name: str) -> str:
        """A header that is a text; empty if there is none."""
        found = self.headers.get(name, "")
        return found if isinstance(found, str) else ""


class EventStreamDecoder(msgspec.Struct, eq=False):
    """Decodes bytes into frames, in chunks of any size.

    It holds only the unfinished frame. `fault` says what is wrong with the bytes: then nothing after them can be read,
    and all further input is ignored.
    """

    _held: bytearray = msgspec.field(default_factory=bytearray)
    _block: bytes = b""
    _headers: Mapping[str, HeaderValue] = {}
    fault: str = ""

    @property
    def is_partial(self) -> bool:
        """Whether a frame has begun and is not complete."""
        return bool(self._held)

    def feed(self, chunk: bytes) -> list[BinaryFrame]:
        """The frames that are complete with this chunk."""
        if self.fault:
            return []
        self._held += chunk
        frames: list[BinaryFrame] = []
        at = 0
        while not self.fault:
            size = self._frame_size(at)
            if not size or len(self._held) - at < size:
                break
            self._take_frame(bytes(self._held[at : at + size]), frames)
            at += size
        if self.fault:
            self._held.clear()
        else:
            del self._held[:at]
        return frames

    def _frame_size(self, at: int) -> int:
        """The length of the frame that begins here; 0 if that is not known yet."""
        if len(self._held) - at < _PRELUDE.size:
            return 0
        total, headers, check = _PRELUDE.unpack_from(self._held, at)
        if crc32(self._held[at : at + _LENGTHS.size]) != check:
            self.fault = "the checksum of a frame's lengths is wrong"
        elif headers > MOST_HEADERS or not _LEAST + headers <= total <= _MOST:
            self.fault = "a frame has lengths that cannot be"
        return 0 if self.fault else int(total)

    def _take_frame(self, raw: bytes, frames: list[BinaryFrame]) -> None:
        _, size = _LENGTHS.unpack_from(raw)
        if crc32(memoryview(raw)[: -_CRC.size]) != _CRC.unpack_from(raw, len(raw) - _CRC.size)[0]:
            self.fault = "the checksum of a frame is wrong"
            return
        end = _PRELUDE.size + size
        block = raw[_PRELUDE.size : end]
        if block != self._block:  # deltas follow each other, all with the same headers
            try:
                self._headers = _parse_headers(block)
            except (error, ValueError, IndexError):
                self.fault = "the headers of a frame cannot be read"
                return
            self._block = block
        frames.append(BinaryFrame(self._headers, raw[end : -_CRC.size], raw))


_WHOLE_NUMBERS = {2: Struct(">b"), 3: Struct(">h"), 4: Struct(">i"), 5: Struct(">q"), 8: Struct(">q")}
_FLAGS = {0: True, 1: False}
_BYTES_TYPE, _UUID_TYPE, _UUID_SIZE = 6, 9, 16


def _parse_headers(raw: bytes) -> dict[str, HeaderValue]:
    """All headers. Raises an error of `struct`, ValueError or IndexError if they are not well formed."""
    found: dict[str, HeaderValue] = {}
    at = 0
    while at < len(raw):
        name_end = at + 1 + raw[at]
        name = _slice(raw, at + 1, name_end).decode()
        if name in found:
            raise ValueError(name)
        found[name], at = _parse_value(raw[name_end], raw, name_end + 1)
    return found


def _parse_value(kind: int, raw: bytes, at: int) -> tuple[HeaderValue, int]:
    """The value that begins here, and where it ends."""
    if kind in _FLAGS:
        return _FLAGS[kind], at
    if kind in _WHOLE_NUMBERS:
        number = _WHOLE_NUMBERS[kind]
        return number.unpack_from(raw, at)[0], at + number.size
    if kind == _UUID_TYPE:
        return _slice(raw, at, at + _UUID_SIZE), at + _UUID_SIZE
    if kind not in (_BYTES_TYPE, _TEXT_TYPE):
        raise ValueError(kind)
    start = at + _SHORT.size
    end = start + _SHORT.unpack_from(raw, at)[0]
    value = _slice(raw, start, end)
    return value.decode() if kind == _TEXT_TYPE else value, end


def _slice(raw: bytes, start: int, end: int) -> bytes:
    if end > len(raw):
        raise ValueError(end)
    return raw[start:end]


def render_frame(headers: Mapping[str, str], payload: bytes) -> bytes:
    """A frame with these headers, all of them texts."""
    block = b"".join([_render_header(name.encode(), value.encode()) for name, value in headers.items()])
    lengths = _LENGTHS.pack(_LEAST + len(block) + len(payload), len(block))
    body = b"".join((lengths, _CRC.pack(crc32(lengths)), block, payload))
    return body + _CRC.pack(crc32(body))


def _render_header(name: bytes, value: bytes) -> bytes:
    return b"".join((bytes((len(name),)), name, bytes((_TEXT_TYPE,)), _SHORT.pack(len(value)), value))
