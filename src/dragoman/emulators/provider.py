"""The interface of an emulated provider: it judges requests and renders answers.

A provider opens no socket. `EmulatorCore` calls it in this order:

1. `operation_of(method, path)`: what the path is for, or None if the provider does not serve it.
2. `parse_request(...)`: the parsed request, or an error response if the bytes are no JSON object.
3. `judge(request)`: the whole validation. It returns the error that the real service reports first.
4. `render_answer(request, turn)` or `render_stream(request, turn)`: the scripted turn in the provider's format.

So tests can ask the same judge without a server, and the laws do.

Each provider module offers `provider(options: EmulatorOptions) -> EmulatedProvider`. `catalogue.py` maps names to these
functions.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import Any, Protocol, runtime_checkable

from dragoman.emulators.wire import render_json


class Operation(StrEnum):
    """What a path is for."""

    GENERATE = "generate"
    STREAM = "stream"  # only if the path selects streaming (Gemini); otherwise the body's `stream` does
    MODELS = "models"
    COUNT = "count"
    SHOW = "show"  # what the provider says of one model, which the body names
    CONTENTS = "contents"  # explicit caches: make, show, list, change and delete them


class FaultKind(StrEnum):
    """Failures that each provider reports in its own words. The HTTP server makes all others (cuts, delays, resets)."""

    AUTH = "auth"  # a bad key
    MODEL = "model"  # an unknown model
    RATE = "rate"  # 429
    SERVER = "server"  # 500
    OVERLOADED = "overloaded"  # 529, or 503 if the provider has no 529
    CONTEXT = "context"  # the prompt is too long
    TOO_LARGE = "too-large"  # 413: the body exceeds the size limit
    TIMEOUT = "timeout"  # 408: the client sent its request too slowly
    NOT_FOUND = "not-found"  # unknown path
    METHOD = "method"  # known path, wrong method


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    """One parsed request."""

    method: str
    path: str  # without the query
    query: dict[str, str]
    headers: dict[str, str]  # names in lower case
    raw: bytes
    operation: Operation
    body: Any = None  # decoded JSON; None if there is no body (GET)
    model: str = ""  # "" if the request names none
    stream: bool = False
    thinks: bool = True  # whether the provider lets the model think before it answers


@dataclass(frozen=True, slots=True)
class ErrorResponse:
    """An error as the real provider sends it: status, headers and body."""

    status: int
    body: Any  # a JSON value, or text that is sent as it is
    headers: dict[str, str] = field(default_factory=dict)
    content_type: str = "application/json"


@dataclass(frozen=True, slots=True)
class ModelCall:
    """A tool call of the emulated model. Without an id the provider makes one in its own format."""

    name: str
    arguments: Any = field(default_factory=dict)  # a str is sent as it is, which allows broken arguments
    id: str | None = None

    @property
    def arguments_text(self) -> str:
        """The arguments as JSON text."""
        return self.arguments if isinstance(self.arguments, str) else render_json(self.arguments).decode()


class Hosted(StrEnum):
    """Tools that a provider runs itself."""

    SEARCH = "search"
    FETCH = "fetch"
    CODE = "code"
    FILES = "files"
    IMAGE = "image"
    MCP = "mcp"
    TOOLS = "tools"  # looks for deferred tools


@dataclass(frozen=True, slots=True)
class WebPage:
    """A page of the web, or a file, that a run has found."""

    url: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class HostedRun:
    """One run of a tool that the provider runs itself, within an answer."""

    tool: Hosted
    arguments: Mapping[str, Any]
    output: str = ""  # what the model reads
    pages: tuple[WebPage, ...] = ()
    error: str = ""  # the vendor's word for why it failed
    server: str = ""  # of a tool of an MCP server
    name: str = ""  # of such a tool
    found: tuple[Mapping[str, Any], ...] = ()  # declarations of tools that were found, or that a server lists
    waits: bool = False  # for the client's approval


@dataclass(frozen=True, slots=True)
class CitedSpan:
    """The part of the text that rests on a page."""

    start: int
    end: int
    page: WebPage


@dataclass(frozen=True, slots=True)
class CacheMiss:
    """Why an earlier prompt was not found, as the vendor says it."""

    reason: str
    """Empty if nothing was changed."""
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class CacheUse:
    """What a request read from the prompt cache, and what it wrote."""

    read: int = 0
    written: Mapping[str, int] = field(default_factory=dict)
    """Tokens by the lifetime that was asked for: `{"5m": 1200}`."""
    miss: CacheMiss | None = None
    """The answer to a question about the cache, if there was one."""


@dataclass(frozen=True, slots=True)
class ModelTurn:
    """One answer of the emulated model. Reasoning comes first, then text, then calls."""

    text: str | None = None
    reasoning: str | None = None
    calls: tuple[ModelCall, ...] = ()
    refusal: str | None = None
    stop: str | None = None  # "end" | "length" | "filter"; None: derived from the content
    stopped_by: str | None = None  # the stop text that ended it; formats that have a word for it name it
    json: Any = None  # structured output: this value as JSON text
    interleave: bool = False  # stream the arguments of parallel calls alternately, if the format allows it
    cached: int = 0  # input tokens that the usage reports as cached; 0: as many as the prompt cache has
    cache: CacheUse = CacheUse()  # what the prompt cache read and wrote
    runs: tuple[HostedRun, ...] = ()  # of tools that the provider runs; they come before the text
    cited: tuple[CitedSpan, ...] = ()  # what of the text rests on what they found

    @property
    def visible_text(self) -> str:
        """The text that the client sees, structured output included. Empty if there is none."""
        if self.json is not None:
            return render_json(self.json).decode()
        return self.text or ""


Model = Callable[[ReceivedRequest], ModelTurn]
"""What answers a request that no script answers."""


@dataclass(frozen=True, slots=True)
class EmulatorOptions:
    """Options of an emulator."""

    strict: bool = True
    models: tuple[str, ...] | None = None  # the only names that are accepted; None accepts any but a slip
    known: tuple[str, ...] = ()  # names of models that there are: one with a wrong letter is a slip
    signatures: str = "lenient"  # "strict" also refuses signatures and ids of answers that no emulator made
    window: int = 0  # the most tokens of a prompt, as the emulator counts them; 0: any number
    refuses: tuple[str, ...] = ()  # patterns for further bodies that it refuses, in words that nobody knows
    more: Mapping[str, Any] = field(default_factory=dict)  # those that only some providers take (see `catalogue.py`)

    @property
    def strict_signatures(self) -> bool:
        return self.signatures == "strict"

    def overflows(self, tokens: int) -> bool:
        """Whether a prompt of so many tokens is too long."""
        return 0 < self.window < tokens

    def knows(self, model: str) -> bool:
        """Whether a request may name this model."""
        return is_no_slip(model, self.known) if self.models is None else model in self.models


@lru_cache(1024)
def is_no_slip(model: str, known: tuple[str, ...]) -> bool:
    """Whether no known name becomes this one by a single wrong letter. Digits and separators are never slips: nobody
    knows all versions. A letter that is missing or too many counts only in a word of four letters or more."""
    return model in known or not any(_is_slip(model, name) for name in known)


def _is_slip(model: str, name: str) -> bool:
    if abs(len(model) - len(name)) > 1 or _LETTERS.sub("", model) != _LETTERS.sub("", name):
        return False
    words = zip(_LETTERS.findall(model), _LETTERS.findall(name), strict=False)
    if len(_LETTERS.findall(model)) != len(_LETTERS.findall(name)):
        return False
    different = [pair for pair in words if pair[0] != pair[1]]
    return len(different) == 1 and _differ_by_a_letter(*different[0])


def _differ_by_a_letter(one: str, other: str) -> bool:
    if len(one) == len(other):
        changed = [at for at, letter in enumerate(one) if letter != other[at]]
        swapped = len(changed) == 2 and one[changed[0]] + one[changed[1]] == other[changed[1]] + other[changed[0]]
        return len(changed) == 1 or swapped
    short, long = sorted((one, other), key=len)
    return len(short) > 2 and any(long[:at] + long[at + 1 :] == short for at in range(len(long)))


_LETTERS = re.compile("[A-Za-z]+")


@dataclass(frozen=True, slots=True)
class PromptBlock:
    """A piece of the prompt that is never cut by a marker."""

    value: Any
    """What the model reads, as JSON."""
    lifetime: str = ""
    """For how long the prefix up to here is kept (`5m`), if a marker stands on this block."""
    salt: str = ""
    """What else changes the prompt from here on and has no tokens: a role, a setting."""
    is_end: bool = False
    """Whether an earlier request may have ended here, which marked its end unasked."""


@dataclass(frozen=True, slots=True)
class CachePolicy:
    """What one model's cache does."""

    minimum: int = 1024
    """Shorter prefixes are neither kept nor found."""
    step: int = 0
    """Prefixes of so many tokens are found without a marker. 0: only markers count."""
    seconds: float = 3600.0
    """The lifetime of a prefix that has no marker. A read renews it."""
    look_back: int = 20
    """How many blocks before a marker a prefix is still found."""
    by_marks: bool = False
    """Whether it is found only at a marker, or at the end of an earlier prompt. `look_back` then counts those."""
    learns: bool = False
    """Whether a prefix inside a prompt is found only after two prompts had it in common (DeepSeek)."""


@dataclass(frozen=True, slots=True)
class CacheQuestion:
    """What a client asks about a cache that it missed, if the vendor has such an answer."""

    answer: str
    """The id of the answer to this request."""
    previous: str | None = None
    """The id of the answer to compare with; None if this is the first."""
    is_asked: bool = False
    """Whether the client asked. Some vendors compare only with requests that asked as well."""
    parts: tuple[tuple[str, Any], ...] = ()
    """The reasons that the vendor knows, in its order, each with what must be equal."""
    otherwise: str = "messages_changed"
    """The reason if all these are equal, and the messages do not continue the earlier ones."""


@dataclass(frozen=True, slots=True)
class CachePlan:
    """The prompt of one request, as the cache sees it."""

    policy: CachePolicy
    blocks: Sequence[PromptBlock]
    scope: str
    """What must be equal for anything to be found, such as the model."""
    question: CacheQuestion | None = None


@dataclass(frozen=True, slots=True)
class Level:
    """How far one limit is used up."""

    limit: int
    left: float
    seconds: float
    """Until all of it is back."""

    @property
    def remaining(self) -> int:
        return max(0, math.floor(self.left))


@dataclass(frozen=True, slots=True)
class Standing:
    """What a client is told: all limits of its key, and the time."""

    levels: Mapping[str, Level]
    now: float
    model: str
    used: int
    """The tokens of this request and its answer."""


@dataclass(frozen=True, slots=True)
class Excess:
    """A limit that a request would exceed."""

    kind: str
    limit: int
    used: int
    asked: int
    seconds: float
    """Until the request may come again."""
    model: str
    now: float


@dataclass(frozen=True, slots=True)
class LimitForm:
    """How one vendor tells of its limits. By default it does not."""

    usual: Mapping[str, int] = field(default_factory=dict)
    """The limits of recorded answers."""
    headers: Callable[[Standing], dict[str, str]] = lambda standing: {}
    """The headers of an answer."""
    refuse: Callable[[ErrorResponse, Excess], ErrorResponse] = lambda error, excess: error
    """The vendor's usual refusal, with the numbers of this one."""
    counts_cached: bool = True
    """Whether tokens that were read from the prompt cache count."""


class EmulatedProvider(Protocol):
    """One emulated provider. No sockets, no clock, no randomness: the same request and turn give the same bytes."""

    @property
    def name(self) -> str: ...

    @property
    def stream_type(self) -> str:
        """Content type of a stream, e.g. "text/event-stream; charset=utf-8"."""

    @property
    def example(self) -> tuple[str, Any]:
        """Path and JSON body of a small valid request, for `curl` and for smoke tests."""

    @property
    def limit_form(self) -> LimitForm:
        """How the provider tells of its rate limits."""

    def operation_of(self, method: str, path: str) -> Operation | None:
        """What the path is for, counted from the vendor's root. None if the provider does not serve it."""

    def parse_request(
        self, method: str, path: str, query: dict[str, str], headers: dict[str, str], raw: bytes
    ) -> ReceivedRequest | ErrorResponse:
        """The parsed request, or an error if the bytes are no JSON object. Only called for paths it serves."""

    def judge(self, request: ReceivedRequest) -> ErrorResponse | None:
        """The error that the real service reports first; None if it accepts the request."""

    def count_prompt(self, request: ReceivedRequest) -> int:
        """The tokens of the prompt."""

    def thinks(self, request: ReceivedRequest) -> bool:
        """Whether the model may think before this answer. If not, its turn comes without thoughts."""

    def render_answer(self, request: ReceivedRequest, turn: ModelTurn) -> Any:
        """The JSON body of a whole answer."""

    def render_stream(self, request: ReceivedRequest, turn: ModelTurn) -> Iterable[bytes]:
        """The same answer as a stream: one item is one frame or comment, the terminator included."""

    def render_stream_error(self, kind: FaultKind, request: ReceivedRequest) -> bytes:
        """The frame that ends a stream which fails after it began."""

    def render_fault(self, kind: FaultKind, request: ReceivedRequest | None) -> ErrorResponse:
        """A fault in this provider's words. `request` is None if it could not be parsed."""

    def plan_cache(self, request: ReceivedRequest) -> CachePlan | None:
        """The prompt as the cache sees it; None if the provider is not known to cache."""

    def list_models(self) -> Any:
        """The body of the model list."""

    def count_tokens(self, request: ReceivedRequest) -> Any:
        """The body of the count-tokens endpoint. Only called for `Operation.COUNT`."""

    def answer_headers(self, request: ReceivedRequest) -> dict[str, str]:
        """Further headers of a 200: request id, rate limits; `content-type` if a stream is not of `stream_type`."""


@runtime_checkable
class ShowsModels(Protocol):
    """A provider with a path that describes one model (`Operation.SHOW`)."""

    def show_model(self, request: ReceivedRequest) -> Any: ...


@runtime_checkable
class ServesSockets(Protocol):
    """A provider whose conversations may go over a WebSocket, as those of OpenAI's Responses do."""

    @property
    def stream_type(self) -> str: ...

    def has_socket(self, path: str) -> bool:
        """Whether `GET` at this path may be upgraded."""

    def has_lanes(self, path: str) -> bool:
        """Whether several conversations may share a connection, and answers be steered."""

    def check_continued(self, body: dict[str, Any]) -> str:
        """Why a turn that names an earlier answer is refused; empty: it is not."""

    def render_prepared(self, request: ReceivedRequest) -> Iterable[bytes]:
        """The stream of a turn that generates nothing."""


@runtime_checkable
class KeepsContents(Protocol):
    """A provider with explicit caches. `account` is who asks."""

    def serve_contents(self, request: ReceivedRequest, account: str, now: float) -> dict[str, Any] | ErrorResponse:
        """The answer to a request that is about caches."""

    def use_content(
        self, request: ReceivedRequest, account: str, now: float
    ) -> tuple[ReceivedRequest, int] | ErrorResponse:
        """The request with what the cache holds that it names, and the tokens of that."""
