"""A stream that is relayed as it is, observed for its end, its usage and its failure.

Nothing is parsed while it runs. The beginning and the end of the stream are held, a few kilobytes, and read when it is
over: a provider reports its usage and its stop in the first or in the last events. Only the very first bytes are looked
at as they come, for an error that stands in place of an answer. Of what is let go of, samples are held: if nobody
reports the tokens, they are searched for the model's words.
"""

from __future__ import annotations

from collections.abc import Callable

from dragoman.conversation.collect import merge_usage
from dragoman.conversation.events import Ended, Event, Failed, Stopped, Used
from dragoman.conversation.failures import Failure
from dragoman.conversation.replies import Stop, Usage
from dragoman.dialects.dialect import Framing, StreamParser
from dragoman.dialects.shared.parsing import FRAME_TOO_LONG
from dragoman.dialects.shared.streamed_text import StreamedText
from dragoman.engine.tokens.answer_tally import AnswerTally
from dragoman.wire.sse import LIMIT

_HEAD = 1024
_TAIL = 3 * 1024
_HELD = 8 * 1024
_FULLY, _ONE_IN = 2, 8
"""Blocks at the beginning of a stream that are searched for words, and how many of those after them."""
_SAMPLED = 32 * 1024
"""Bytes of samples that are held before they are searched. Most streams are over by then, and report their tokens."""
_FRAME_ENDS = (b"\n\n", b"\n\r\n", b"\r\r")
_LINE_ENDS = (b"\n",)
_BARE = (b"{", b"}", b"[", b"]", b"error:")
"""A last line that begins so is JSON in no frame that clients read."""
_OPENING, _LONGEST_OPENING = 4096, 1 << 20
"""A beginning this long need not be a whole event: it is a picture, not an error. So long, it goes out in any case."""


class RelayObserver:
    """Holds the first and the last of a stream's bytes.

    After the end, `framed` says whether it was an event stream and ends in no bare error, `marked_end` whether it has
    the end marker of the OpenAI family.
    """

    __slots__ = (
        *("_blocks", "_bound", "_counted", "_ends", "_gap", "_head", "_lines", "_looking", "_parser"),
        *("_sampled", "_samples", "_size", "_tail", "_tally", "_where", "closed"),
        *("ended", "failure", "followed", "framed", "marked_end", "stop", "usage", "word_members", "words"),
    )

    def __init__(
        self,
        parser: Callable[[], StreamParser],
        tally: AnswerTally,
        where: StreamedText | None,
        framing: Framing = Framing.SSE,
    ) -> None:
        self._parser = parser
        self._lines = framing is Framing.NDJSON
        self._ends = _LINE_ENDS if self._lines else _FRAME_ENDS
        self._tally = tally
        self._where = where
        self._blocks = 0
        self._samples: list[bytes] = []
        self._sampled = 0
        self._counted = False
        self.word_members: frozenset[bytes] = where.changing if where is not None else frozenset()
        """Members that hold words, or nothing that matters."""
        self.followed = where.followed if where is not None else b""
        self.words: list[bytes] = []
        """Frames that differ from one that was seen in such members alone."""
        self.closed = False
        self._head = b""
        self._looking = True
        self._gap = False
        self._tail: list[bytes] = []
        self._size = 0
        self._bound = 0
        self.usage: Usage | None = None
        self.stop: Stop | None = None
        self.failure: Failure | None = None
        self.ended = False
        self.framed = False
        self.marked_end = False

    def see(self, data: bytes) -> None:
        """Called with every chunk: holds it, and now and then lets go of what lies too far back."""
        self._tail.append(data)
        self._size += len(data)
        if self._size > self._bound:
            self._look() if self._looking else self._trim()

    def close(self) -> bool:
        """Read what is held. True if the stream came to its proper end."""
        self.closed = True
        if self._gap or self._size > _TAIL:
            self._trim()
        rest = b"".join(self._tail)
        held = self._head + rest
        if self._gap:
            self._note(self._parser().feed(self._head))
            self._note(_read(self._parser(), rest))
        else:
            self._note(_read(self._parser(), held))
        stray = held.rstrip().rpartition(b"\n")[2].startswith(_BARE)
        self.framed = self._lines or (held.find(b"data:") >= 0 and not stray)
        self.marked_end = b"data: [DONE]" in held[-64:]
        return self.ended and self.failure is None

    def count_held(self) -> None:
        """Count the words in what is still held, for an answer whose tokens were not reported."""
        if not self._counted and self._where is not None:
            self.count_words()
            self._search()
            self._tally.add_frames(self._head + b"".join(self._tail), self._where)
        self._counted = True

    def count_words(self) -> None:
        """Let go of the frames that were held for their words. After so many the beginning is over."""
        if self.words:
            self._looking = False
            self._drop(b"".join(self.words))
            self.words.clear()

    def _look(self) -> None:
        """The beginning: an error here comes before any answer, and the request may yet be tried elsewhere."""
        passed = sum(map(len, self.words))
        if passed and passed + self._size - len(self._tail[-1]) >= _HEAD:
            self._end_opening()
            return
        begun = b"".join(self._tail)
        self._tail = [begun]
        if begun.find(b"error") >= 0:
            self._note([event for event in self._parser().feed(begun) if type(event) is Failed])
        if passed + len(begun) >= _HEAD:
            self._end_opening()

    def _end_opening(self) -> None:
        self._looking = False
        self._bound = _HELD

    def _trim(self) -> None:
        """Keep from the last frame that begins well before the end. A frame that is longer is held whole, and is a
        failure beyond the limit of a frame."""
        held = b"".join(self._tail)
        if not self._head and not self._gap:
            self._head, held = _split_head(held, self._ends)
        at = max(held.rfind(end, 0, -_TAIL) for end in self._ends)
        if at < 0 and len(held) > LIMIT:
            self.failure = self.failure or FRAME_TOO_LONG
            at = len(held) - _TAIL
        if at >= 0:
            self._drop(held[:at])
            held = held[at:].lstrip(b"\r\n")
            self._gap = True
        self._tail, self._size = [held], len(held)
        self._bound = min(max(_HELD, 2 * self._size), LIMIT)

    def _drop(self, frames: bytes) -> None:
        """Hold a sample of what is let go of: all of it at first; of a long stream, one block of eight. The rest is
        like it."""
        self._blocks += 1
        if self._blocks > _FULLY and self._blocks % _ONE_IN:
            self._tally.skip_frames(len(frames))
            return
        if self._sampled + len(frames) > _SAMPLED:
            self._search()
        self._samples.append(frames[:_SAMPLED])
        self._sampled += len(self._samples[-1])
        self._tally.skip_frames(len(frames) - len(self._samples[-1]))

    def _search(self) -> None:
        if self._where is not None and self._samples:
            self._tally.add_frames(b"".join(self._samples), self._where)
        self._samples, self._sampled = [], 0

    def _note(self, events: list[Event]) -> None:
        for event in events:
            if isinstance(event, Used):
                self.usage = merge_usage(self.usage, event.usage)
            elif isinstance(event, Stopped):
                self.stop = event.reason if event.choice == 0 else self.stop
            elif isinstance(event, Failed):
                self.failure = self.failure or event.failure
            elif isinstance(event, Ended):
                self.ended = True


def _read(parser: StreamParser, data: bytes) -> list[Event]:
    return [*parser.feed(data), *parser.close()]


def _split_head(held: bytes, ends: tuple[bytes, ...]) -> tuple[bytes, bytes]:
    """The frames of the first kilobytes, and the rest."""
    at = max(held.rfind(end, 0, _HEAD) for end in ends)
    at = held.find(b"\n", at + (len(ends[0]) - 1)) + 1 if at >= 0 else 0
    return held[:at], held[at:]


def has_event(begun: bytes, framing: Framing = Framing.SSE, find: Callable[[bytes], object] = bool) -> bool:
    """Whether a stream has begun with a whole event, not only with comments that keep it open or half an error.

    `find` finds what is an answer's: events that come before it can be sent again with those of another attempt.
    """
    size = len(begun)
    if framing is Framing.NDJSON:
        return size > _OPENING or b"\n" in begun.lstrip()
    at = begun.find(b"data:")
    is_whole = at >= 0 and (begun.find(b"\n\n", at) >= 0 or begun.find(b"\n\r\n", at) >= 0)
    return size > _LONGEST_OPENING or ((is_whole or size > _OPENING) and bool(find(begun)))
