"""Answers that are made in the background."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

import msgspec

from dragoman.conversation.failures import Failure
from dragoman.conversation.parts import Json


class BackgroundAsk(msgspec.Struct, frozen=True):
    """A request whose answer is made in the background."""

    body: bytes
    """The same request as one for a stream that is stored nowhere."""
    model: str
    streams: bool
    """The client wants its events."""
    items: Json
    """A JSON list of what it sends itself."""
    previous: str
    """The id of the answer that it continues, or empty."""
    repeated: Mapping[str, Json] = {}
    """Members of the request that its answer repeats."""


class EventsTeller(Protocol):
    """Tells the events of a stream as those of an answer in the background, without the first: it is sent before."""

    state: Json | None
    """The answer as the last event tells it, once one does."""
    is_over: bool

    @property
    def held(self) -> int:
        """The bytes of the event that is not complete yet."""

    def feed(self, data: bytes) -> list[bytes]: ...


class BackgroundForm(msgspec.Struct, frozen=True):
    """How a dialect asks for answers in the background, and tells of them."""

    cancel_path: str
    parse: Callable[[bytes], BackgroundAsk | None]
    """None: the client waits for its answer. Raises MalformedRequest."""
    render_queued: Callable[[str, BackgroundAsk, int], Json]
    """The answer before it is begun, of its id and the time."""
    render_created: Callable[[Json], bytes]
    """The first event of an answer, whose state is given: its client learns the id before the provider says a word."""
    teller: Callable[[str, BackgroundAsk], EventsTeller]
    number: Callable[[bytes], int]
    """The number of an event."""
    is_open: Callable[[Json], bool]
    """Whether an answer is queued or under way in the background."""
    is_background: Callable[[Json], bool]
    render_ended: Callable[[Json, str, Failure | None], Json]
    """An answer with another status, and why."""
    render_failed: Callable[[Json, int], bytes]
    """The last event of an answer that failed, with its number."""
