"""What every dialect offers on the way back, and what it must be told.

Each dialect has three modules:

- `reply.py`: `parse_reply(body) -> list[Event]`, `render_reply(reply, answering) -> bytes`. A whole reply is a stream
  that arrived at once.
- `stream.py`: `Parser`, `Renderer(answering)`.
- `errors.py`: `parse_error(status, headers, body) -> Failure`, `render_error(failure, answering)` giving the status,
  the headers and the body.

Parsers take the `Origin` that opaque state is to be marked with; by default it names the dialect alone. Log
probabilities inside are a JSON array of tokens in the form of OpenAI Chat.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from dragoman.conversation.events import Event
from dragoman.conversation.parts import Json


class AnswerContext(msgspec.Struct, frozen=True):
    """What a renderer must know of the request and cannot know itself.

    `model` is the name shown to the client, `id` and `created` stand in where the answer has none (a codec has no
    clock). `include_usage`: a Chat stream tells its usage. `request`: members of the client's request that Responses
    repeats in its answer, as raw JSON. `array`: a Gemini stream is written as a JSON array.
    """

    model: str = ""
    created: int = 0
    id: str = ""
    include_usage: bool = False
    request: Mapping[str, Json] = {}
    array: bool = False


class StreamParser(Protocol):
    """Bytes of an upstream's stream to events. Never raises: what cannot be read ends in a Failed event.

    `skipped` counts the frames that could not be read.
    """

    skipped: int

    def feed(self, data: bytes) -> list[Event]: ...

    def close(self) -> list[Event]: ...


class StreamRenderer(Protocol):
    """Events to the bytes of the client's stream. `close` ends a stream that was never ended with an error."""

    def render(self, events: Sequence[Event]) -> bytes: ...

    def close(self) -> bytes: ...
