"""Server-sent events: frames from bytes in chunks of any size, and bytes from frames.

The decoder parses line by line, as the standard says. Whole frames that arrive in one chunk, which is nearly always the
case, are split at once. The end marker of the OpenAI family is a frame with `Frame.done`, so that nobody takes it for
an answer.
"""

from __future__ import annotations

import msgspec

LIMIT = 32 * 1024 * 1024
"""The size limit of one frame. A picture in an answer has a few megabytes."""

DONE_FRAME = b"data: [DONE]\n\n"

BOM = b"\xef\xbb\xbf"
_RETURN = ord("\r")
"""As a number, which is searched for three times as fast."""
_STRAY_LIMIT = 4 * 1024 * 1024
_TO_BLANKS = bytes.maketrans(b"\r\n", b"  ")


class Frame(msgspec.Struct, frozen=True, gc=False):
    """One event: its name (empty if it has none) and its data."""

    event: bytes
    data: bytes

    @property
    def done(self) -> bool:
        """Whether it is the end marker. Some servers add a space to it."""
        return self.data.startswith(b"[DONE]") and self.data.rstrip() == b"[DONE]"


class SseDecoder(msgspec.Struct, eq=False):
    """Decodes bytes into frames, in chunks of any size.

    It holds only the unfinished line and the unfinished frame. If these exceed the limit, it sets `overflowed`, drops
    them, and ignores all further input. `stray` is text outside of any frame: a server may answer a stream request with
    a plain body. `line_separator` separates the lines of one frame's data. A space is enough for JSON, and the result
    can be put into a frame again.

    Bytes are searched with `find`: `in` raises and forgets an error each time, and takes twice as long.
    """

    limit: int = LIMIT
    line_separator: bytes = b"\n"
    overflowed: bool = False
    stray: bytearray = msgspec.field(default_factory=bytearray)
    _tail: bytearray = msgspec.field(default_factory=bytearray)
    _data: bytearray | None = None
    _event: bytes = b""
    _started: bool = False
    _idle: bool = False
    _after_cr: bool = False

    @property
    def held(self) -> int:
        """The bytes of the frame that is not complete yet."""
        return len(self._tail) + len(self._data or b"")

    def feed(self, chunk: bytes) -> list[Frame]:
        """The frames that are complete with this chunk."""
        if self._idle and chunk[-2:] == b"\n\n" and _RETURN not in chunk:
            first, last = chunk.find(b"\n"), len(chunk) - 2
            if first == last and chunk[:6] == b"data: " and last < self.limit:
                return [Frame(b"", chunk[6:last])]
            lone = chunk.find(b"\n", first + 1) == last and last < self.limit
            if lone and chunk[:7] == b"event: " and chunk[first + 1 : first + 7] == b"data: ":
                return [Frame(chunk[7:first], chunk[first + 7 : last])]
            frames: list[Frame] = []
            self._parse_whole_frames(chunk, frames)
            return frames
        return self._feed_partial(chunk)

    def _feed_partial(self, chunk: bytes) -> list[Frame]:
        """Decode a chunk that begins or ends inside a frame, or has other line ends."""
        if self.overflowed or not chunk:
            return []
        if not self._started:
            chunk = self._without_bom(chunk)
        if self._after_cr or b"\r" in chunk:
            chunk = self._with_newlines(chunk)
        frames: list[Frame] = []
        if self._data is None and not self._event:
            chunk = self._parse_whole_frames(chunk, frames)
        if chunk:
            self._parse_lines(chunk, frames)
        self._idle = self._started and not (
            self._tail or self._data is not None or self._event or self._after_cr or self.overflowed
        )
        return frames

    def close(self) -> list[Frame]:
        """The last frame, if the stream ended without a blank line."""
        frames: list[Frame] = []
        if self.overflowed:
            return frames
        if self._tail:
            self._parse_line(bytes(self._tail), frames)
            self._tail.clear()
        self._dispatch(frames)
        return frames

    def _parse_whole_frames(self, chunk: bytes, frames: list[Frame]) -> bytes:
        """Parse all whole frames at the start of the chunk at once. Returns the rest."""
        end = chunk.rfind(b"\n\n")
        if end < 0:
            return chunk
        whole = chunk[:end]
        if self._tail:
            whole = bytes(self._tail) + whole
            self._tail.clear()
        blocks = whole.split(b"\n\n")
        if len(whole) > self.limit and max(map(len, blocks)) > self.limit:
            self._overflow()
            return b""
        for block in blocks:
            if block[:6] == b"data: " and block.find(b"\n") < 0:
                frames.append(Frame(b"", block[6:]))
            elif block:
                self._parse_block(block, frames)
        return chunk[end + 2 :]

    def _parse_block(self, block: bytes, frames: list[Frame]) -> None:
        if block.startswith(b"event: "):
            name, _, rest = block[7:].partition(b"\n")
            if rest[:6] == b"data: " and rest.find(b"\n") < 0:
                frames.append(Frame(name, rest[6:]))
                return
        for line in block.split(b"\n"):
            self._parse_line(line, frames)
        self._dispatch(frames)

    def _parse_lines(self, chunk: bytes, frames: list[Frame]) -> None:
        self._tail += chunk
        if b"\n" in chunk:
            *lines, rest = bytes(self._tail).split(b"\n")
            self._tail = bytearray(rest)
            for line in lines:
                self._parse_line(line, frames)
        if len(self._tail) + len(self._data or b"") > self.limit:
            self._overflow()

    def _parse_line(self, line: bytes, frames: list[Frame]) -> None:
        if not line:
            self._dispatch(frames)
            return
        if line.startswith(b":"):
            return
        name, _, value = line.partition(b":")
        if value.startswith(b" "):
            value = value[1:]
        if name == b"data":
            if self._data is None:
                self._data = bytearray(value)
            else:  # a list of lines would take fifty times as much for each
                self._data += self.line_separator + value
        elif name == b"event":
            self._event = value
        elif name not in (b"id", b"retry") and len(self.stray) < _STRAY_LIMIT:
            self.stray += line + b"\n"

    def _dispatch(self, frames: list[Frame]) -> None:
        if self._data is not None:
            frames.append(Frame(self._event, bytes(self._data)))
            self._data = None
        self._event = b""

    def _with_newlines(self, chunk: bytes) -> bytes:
        """The chunk with all line ends as newlines. A pair that is split across two chunks counts once."""
        if self._after_cr and chunk.startswith(b"\n"):
            chunk = chunk[1:]
        self._after_cr = chunk.endswith(b"\r")
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _without_bom(self, chunk: bytes) -> bytes:
        start = bytes(self._tail) + chunk
        self._tail.clear()
        if len(start) < len(BOM) and BOM.startswith(start):
            self._tail += start
            return b""
        self._started = True
        return start[len(BOM) :] if start.startswith(BOM) else start

    def _overflow(self) -> None:
        self.overflowed = True
        self._idle = False
        self._tail.clear()
        self._data = None


def one_line(json: bytes) -> bytes:
    """JSON without line ends, which a frame cannot contain. In JSON they occur only between tokens."""
    return json.translate(_TO_BLANKS) if b"\n" in json or b"\r" in json else json


def render_data_frame(json: bytes) -> bytes:
    """A frame without an event name."""
    return b"data: " + json + b"\n\n"


def render_event_frame(name: bytes, json: bytes) -> bytes:
    """A frame with an event name."""
    return b"event: " + name + b"\ndata: " + json + b"\n\n"
