"""Turns on a WebSocket."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from dragoman.conversation.parts import Json
from dragoman.dialects.contracts.stored_answers import StoredTurn


class SocketTurn(msgspec.Struct, frozen=True):
    """What a client asks for with one message on a WebSocket."""

    body: Json
    """The request as a client would post it, which asks for a stream."""
    lane: str | None
    """Turns of one lane follow each other; None is a lane too."""
    previous: str
    """The id of the answer that it continues, or empty."""
    items: Json
    """A JSON list of what it sends itself."""
    generates: bool = True
    """False: it only prepares a conversation, and nothing is to be generated."""
    steerable: bool = True
    """Whether input may be added while it is answered."""


class Steering(msgspec.Struct, frozen=True):
    """Input for an answer that is under way."""

    previous: str
    input: Json
    """As the client sent it."""
    items: Json = b"[]"
    """The same as a JSON list of items."""
    fault: str = ""
    """What is wrong with the input, if anything is."""


class SocketAnswer(Protocol):
    """Makes messages of the events of one answer, and remembers what the next turn needs of it."""

    id: str
    """Of the answer, once it has begun."""
    complete: bool
    """It ended, and not with a failure."""
    output: Json
    """A JSON list of the items of a complete answer."""
    is_stored: bool
    """It says of itself that it is stored."""

    def event(self, name: bytes, data: bytes) -> Sequence[bytes]: ...

    def close(self) -> Sequence[bytes]:
        """What is still to be said when the events have ended."""


class ProviderTurn(msgspec.Struct, frozen=True):
    """A request as a message on the WebSocket of a provider."""

    message: bytes
    inputs: tuple[bytes, ...]
    """A digest of each item of its whole input; none if nothing can go on from it."""


class KeptAnswer(msgspec.Struct, frozen=True):
    """The newest answer on a WebSocket of a provider, which keeps it with the conversation that led to it."""

    id: str
    inputs: tuple[bytes, ...]
    """A digest of each item of the input."""
    outputs: tuple[bytes, ...]
    """A digest of each item of the answer."""


class ProviderMessages(Protocol):
    """Reads the messages of one answer."""

    status: int
    """Of the answer, once the first message is read."""
    headers: dict[str, str]
    """Those of an error."""
    is_over: bool
    """The last message is read."""
    is_gone: bool
    """The socket cannot answer the request; another one can."""

    def read(self, message: bytes) -> bytes:
        """A message as a piece of a stream; as the body of an error, if nothing came before it."""

    def keep(self, turn: ProviderTurn) -> KeptAnswer | None:
        """What the provider keeps of an answer that is over; None if a request cannot go on from it."""


class SocketFrames(msgspec.Struct, frozen=True):
    """How a dialect speaks over a WebSocket. All messages are JSON texts."""

    parse: Callable[[bytes], SocketTurn | Steering]
    """What a client's message asks for. Raises MalformedRequest or DuplicateKey."""
    find_lane: Callable[[bytes], str | None]
    """The lane of a message that cannot be parsed, as far as it can be read."""
    posted_headers: Callable[[Mapping[str, str]], dict[str, str]]
    """The headers of the request that opened the socket, as a client would post them."""
    answer: Callable[[SocketTurn], SocketAnswer]
    continued: Callable[[SocketTurn, Sequence[StoredTurn], str], Json]
    """The body of a turn with the turns that it continues, and the id of what stands before these, or empty."""
    successor: Callable[[SocketTurn, str, Sequence[Steering]], SocketTurn]
    """The turn with the same settings that follows an answer which was given input; or, if it names that answer
    itself, the same turn with the input before its own."""
    required_input: Callable[[bytes], Json]
    """A JSON list of what an answer's output waits for from the client; `[]` if for nothing."""
    render_error: Callable[[int, Mapping[str, str], bytes, str | None], bytes]
    """An error, from its status, headers and body, for a lane."""
    render_steering: Callable[[str, Mapping[str, Any], str | None], bytes]
    """What became of input: `accepted`, `pending` or `failed`."""
    render_turn: Callable[[bytes, KeptAnswer | None, bool], ProviderTurn]
    """A request to a provider as a message, without what its socket keeps, and whether the provider takes instructions
    beside the id of an answer."""
    provider_messages: Callable[[], ProviderMessages]
