"""What an emulated provider is: a judge of requests and a writer of answers.

A provider knows nothing of sockets. The server asks it, in this order:

1. `owns(method, path)`: is this path one of yours, and for what?
2. `read(...)`: take the bytes apart, or refuse them in your own words.
3. `judge(call)`: the whole validation; the first fault is the one the real service reports first.
4. `whole(call, turn)` or `stream(call, turn)`: say what the script says, in your own framing.

So the same judge serves a test that opens no socket, and law 1 of the core.

A module of a provider offers `provider(options: Options) -> Provider` (further manners of the same dialect under
further names); `catalogue.py` maps names to them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from dragoman.emulators.wire import compact


class Operation(StrEnum):
    """What a path is for."""

    GENERATE = "generate"
    STREAM = "stream"  # only where the path itself says so (Gemini); elsewhere the body's `stream` does
    MODELS = "models"
    COUNT = "count"


class FaultKind(StrEnum):
    """Faults that every provider words for itself; those made of bytes and silence are the server's."""

    AUTH = "auth"  # a bad key
    MODEL = "model"  # a model nobody has heard of
    RATE = "rate"  # 429
    SERVER = "server"  # 500
    OVERLOADED = "overloaded"  # 529, or 503 where the provider has no 529
    CONTEXT = "context"  # the prompt is too long
    TOO_LARGE = "too-large"  # 413: the body has more bytes than the server takes
    TIMEOUT = "timeout"  # 408: the client was too slow with its request
    NOT_FOUND = "not-found"  # no such path
    METHOD = "method"  # the path is right, the method is not


@dataclass(frozen=True, slots=True)
class Received:
    """One request, taken apart."""

    method: str
    path: str  # without the query
    query: dict[str, str]
    headers: dict[str, str]  # names in lower case
    raw: bytes
    body: Any  # decoded JSON; None where there was no body (GET)
    model: str  # "" where the request names none
    stream: bool
    operation: Operation


@dataclass(frozen=True, slots=True)
class Refused:
    """The provider's no: status, headers and body as the real one would send them."""

    status: int
    body: Any  # JSON value, or text that goes out as it is
    headers: dict[str, str] = field(default_factory=dict)
    content_type: str = "application/json"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call the emulated model makes. Without an id the provider issues one in its own form."""

    name: str
    arguments: Any = field(default_factory=dict)  # a str goes out as it is: broken arguments on purpose
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """What the emulated model says. Reasoning comes first, then text, then calls."""

    text: str | None = None
    reasoning: str | None = None
    calls: tuple[ToolCall, ...] = ()
    refusal: str | None = None
    stop: str | None = None  # "end" | "length" | "filter"; None = what the content implies
    json: Any = None  # a value that is answered as JSON text, for structured output
    interleave: bool = False  # stream the arguments of parallel calls by turns, where the wire allows it
    cached: int = 0  # input tokens that are said to come from a cache

    @property
    def says(self) -> str:
        """The visible text, structured output included; empty where there is none."""
        if self.json is not None:
            return compact(self.json).decode()
        return self.text or ""


@dataclass(frozen=True, slots=True)
class Options:
    """How an emulator is set up. `more` holds the options of one provider alone (see `catalogue.py`)."""

    strict: bool = True
    models: tuple[str, ...] | None = None  # a closed list; None takes any name
    signatures: str = "lenient"  # "strict" refuses signatures of unknown make
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def strict_signatures(self) -> bool:
        return self.signatures == "strict"

    def knows(self, model: str) -> bool:
        """Whether a request may name this model."""
        return self.models is None or model in self.models


class Provider(Protocol):
    """One emulated service. Pure: no sockets, no clock, no randomness; same request and turn, same bytes."""

    @property
    def name(self) -> str: ...

    @property
    def stream_type(self) -> str:
        """Content type of a stream, e.g. "text/event-stream; charset=utf-8"."""
        ...

    @property
    def example(self) -> tuple[str, Any]:
        """Path and JSON body of a small valid request, for `curl` and for smoke tests."""
        ...

    def owns(self, method: str, path: str) -> Operation | None:
        """What the path is for, from the vendor's own root; None if it is not a path of this provider."""
        ...

    def read(
        self, method: str, path: str, query: dict[str, str], headers: dict[str, str], raw: bytes
    ) -> Received | Refused:
        """The request taken apart, or the refusal of bytes that are no JSON object. Asked where `owns` said yes."""
        ...

    def judge(self, call: Received) -> Refused | None:
        """The first fault of the request, as the real service would report it; None if it is accepted."""
        ...

    def whole(self, call: Received, turn: Turn) -> Any:
        """The JSON body of a 200."""
        ...

    def stream(self, call: Received, turn: Turn) -> Iterable[bytes]:
        """The same answer, framed for streaming: one item is one frame (or comment), terminator included."""
        ...

    def stream_error(self, kind: FaultKind, call: Received) -> bytes:
        """The frame with which the real service ends a stream that went wrong after it began."""
        ...

    def fault(self, kind: FaultKind, call: Received | None) -> Refused:
        """A fault in this provider's words. `call` is None where the request could not be read."""
        ...

    def models(self) -> Any:
        """The body of the model list."""
        ...

    def count(self, call: Received) -> Any:
        """The body of the count-tokens endpoint; asked only where `owns` said COUNT."""
        ...

    def headers(self, call: Received) -> dict[str, str]:
        """Extra headers of a 200: request id, rate limits; `content-type` where a stream is not of `stream_type`."""
        ...
