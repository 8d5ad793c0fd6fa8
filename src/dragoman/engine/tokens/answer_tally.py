"""What an answer says, counted as it goes by in case nobody reports its tokens; and what is booked for it."""

from __future__ import annotations

import msgspec

from dragoman.conversation.events import CallStarted, Delta, Ended, Event, MediaDelta, Signed, Started, Stopped, Used
from dragoman.conversation.replies import Usage
from dragoman.dialects.shared.streamed_text import StreamedText
from dragoman.engine.tokens.token_estimate import count_literal
from dragoman.profiles.tokenizers import find_token_weights

_SILENT = frozenset({Started, Stopped, Used, Ended})
"""What every answer has, and says nothing."""
_KEY = b'\\":'
"""What stands after the name of an argument in the text of a call."""
_FOLDED = 1 << 14
"""Bytes of text that are held before they are counted: words should not be cut too often."""

_MOST_SEARCHED = 1 << 18
"""Bytes of frames that are searched at once: a search holds up everybody."""
MOST_WEIGHT = 1 << 27
"""What a translated answer may hold, in bytes of memory."""
_PIECE, _PART = 48, 1024
"""About what a piece of text takes beside its bytes, and what a part, a call, a citation or a state takes."""


class AnswerTally:
    """Counts the texts, calls and opaque state of one answer. Until `tokens` is asked for, it mostly holds texts.

    `part` is the one that text was last added to, `weight` about what the answer takes in memory."""

    __slots__ = (
        *("_calls", "_count", "_held", "_keys", "_searched", "_size"),
        *("_skipped", "_state", "_weights", "part", "weight"),
    )

    def __init__(self, model: str) -> None:
        self._weights = find_token_weights(model)
        self._held: list[bytes] = []  # literals: they lose their quotes if they are counted
        self._size = 0
        self._count = 0.0
        self._calls = 0
        self._keys = 0
        self._state = 0
        self._searched = self._skipped = 0
        self.part = -1
        self.weight = 0

    def add(self, event: Event) -> None:
        """Take one event. Most say nothing."""
        if type(event) in _SILENT:
            return
        if isinstance(event, Delta):
            if event.part != self.part:
                self.part = event.part
                self.weight += _PART
            self.add_text(event.literal)
            return
        self.weight += _PART
        if isinstance(event, MediaDelta):
            self.weight += len(event.data)
        elif isinstance(event, CallStarted):
            self._calls += 1
            self._add_content(event.name.encode() + b" ")
        elif isinstance(event, Signed):
            self._state += len(event.state.json)

    def add_text(self, literal: bytes) -> None:
        """Take a piece of text, as most events are."""
        self._held.append(literal)
        self._size += len(literal)
        if self._size > _FOLDED:
            self._fold()

    def add_texts(self, literals: list[bytes]) -> None:
        """Take pieces of text that came together."""
        self._held += literals
        self._size += sum(map(len, literals))
        if self._size > _FOLDED:
            self._fold()

    def add_frames(self, frames: bytes, where: StreamedText) -> None:
        """Take frames of a stream that is relayed. Of very many bytes the first are searched: the rest is like them."""
        if len(frames) > _MOST_SEARCHED:
            self.skip_frames(len(frames) - _MOST_SEARCHED)
            frames = frames[:_MOST_SEARCHED]
        self._searched += len(frames)
        for member in where.text:
            for text in member.find(frames):
                self._add_content(text)
        for arguments in where.arguments.findall(frames) if where.arguments is not None else ():
            self._add_content(arguments)
        self._calls += len(where.calls.findall(frames))
        for member in where.state:
            self._state += sum(map(len, member.find(frames)))

    def skip_frames(self, size: int) -> None:
        """Take so many bytes of frames to be like those that were searched."""
        self._skipped += size

    def tokens(self) -> int:
        """About how many tokens the answer has so far; 0 if it has said nothing."""
        self._fold()
        weights = self._weights
        if not (self._count or self._calls or self._state):
            return 0
        count = self._count
        if self._calls:
            count += self._calls * (weights.call if self._calls == 1 else weights.parallel) + self._keys * weights.key
        if weights.state:
            count += max(0, self._state - weights.state_start) / weights.state
        if self._skipped:
            count *= 1 + self._skipped / self._searched
        return max(1, round(count + weights.answer))

    def _add_content(self, content: bytes) -> None:
        self.add_text(b'"%b"' % content)

    def _fold(self) -> None:
        if self._held:
            self.weight += self._size + _PIECE * len(self._held)
            content = b"".join([literal[1:-1] for literal in self._held])
            self._count += count_literal(content, self._weights)
            self._keys += content.count(_KEY)
            self._held, self._size = [], 0


_MOST_COST = 1e9


class Spent(msgspec.Struct, frozen=True, gc=False):
    """Tokens that are booked."""

    usage: Usage = Usage()
    estimated: bool = False
    """Whether the provider has not reported all of them."""


class Cost(msgspec.Struct, frozen=True, gc=False):
    """An amount in the currency of the prices."""

    amount: float
    reported: bool = False
    """Whether the provider itself states it."""

    def header(self) -> str:
        """The amount in plain digits, to a billionth."""
        return f"{self.amount:.9f}".rstrip("0").rstrip(".")


NOTHING_SPENT = Spent()


def parse_amount(text: str | None) -> float | None:
    """A cost that can be one; a provider may say anything."""
    try:
        amount = float(text) if text else None
    except ValueError:
        return None
    return amount if amount is not None and 0 <= amount < _MOST_COST else None
