"""How much one answer of a server of tools may hold.

The SDK builds several objects for each value of an answer, on the event loop: four million bytes of `[],[],…` took
seconds. So an answer is counted before the SDK reads it.
"""

from __future__ import annotations

import asyncio
from functools import partial

import msgspec

from dragoman.wire.json_size import count_values

_LONG = 64 * 1024


class AnswerBounds(msgspec.Struct, frozen=True):
    """What one answer, or one event of a stream, may hold."""

    size: int
    """In bytes."""
    values: int
    """Values of its JSON, nearly: commas and opening brackets outside of strings."""

    async def find_excess(self, answer: bytes) -> str:
        """What is too much about an answer; empty if nothing is. A long one is counted beside the event loop."""
        if len(answer) > self.size:
            return f"the answer is longer than {self.size} bytes"
        if len(answer) <= self.values:
            return ""
        count = partial(count_values, answer, self.values)
        found = count() if len(answer) <= _LONG else await asyncio.to_thread(count)
        return f"the answer holds more than {self.values} values (tools.answer_values)" if found > self.values else ""
