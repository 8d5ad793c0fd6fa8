"""The contract: what a dialect is to the rest of the program.

Each package of this folder has a module `dialect` that holds one `Dialect` value, `DIALECT`. The value itself is light:
names, paths, headers and how to recognise a request. The codecs behind it are loaded when they are first used, so that
a program that speaks one dialect does not load the others.

`parse_` turns the wire into our values, `render_` turns our values into the wire. A codec never repairs: it raises
`Unrepresentable` if its dialect has no form for a value, and then a rule is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum, StrEnum
from functools import lru_cache
from importlib import import_module
from typing import Any, Generic, Protocol, TypeVar, cast
from urllib.parse import quote as escape

import msgspec

from dragoman.conversation.conversation import Ask, Conversation
from dragoman.conversation.dialect_names import DialectName
from dragoman.conversation.events import Event
from dragoman.conversation.failures import Failure
from dragoman.conversation.messages import FIELD, TOOL, Message
from dragoman.conversation.parts import Json, Opaque, Origin, Part
from dragoman.conversation.provider_tools import ProviderToolCodec
from dragoman.conversation.replies import Reply, Stop, Usage
from dragoman.conversation.tools import CallForm
from dragoman.dialects.contracts.background import BackgroundForm
from dragoman.dialects.contracts.compaction import Compactions
from dragoman.dialects.contracts.sockets import SocketFrames
from dragoman.dialects.contracts.stored_answers import ConversationForm, StoredAnswers
from dragoman.dialects.contracts.stored_prompts import StoredPromptForm
from dragoman.dialects.request_glance import RequestGlance
from dragoman.dialects.shared.raw_json import encode
from dragoman.dialects.shared.streamed_text import StreamedText

Codec = TypeVar("Codec")

# Paths


class Job(StrEnum):
    """What a path is for."""

    GENERATE = "generate"
    COUNT_TOKENS = "count-tokens"
    COMPACT = "compact"
    LIST_MODELS = "list-models"
    SHOW_MODEL = "show-model"
    PROMPT = "prompt"
    EMBED = "embed"
    SOCKET = "socket"
    ABOUT = "about"


class Framing(StrEnum):
    """How the bytes of a stream are cut into events."""

    content_type: str

    def __new__(cls, name: str, content_type: str) -> Framing:
        made = str.__new__(cls, name)
        made._value_ = name
        made.content_type = content_type
        return made

    SSE = "server-sent-events", "text/event-stream; charset=utf-8"
    NDJSON = "ndjson", "application/x-ndjson"
    EVENT_STREAM = "binary-event-stream", "application/vnd.amazon.eventstream"
    JSON_ARRAY = "json-array", "application/json"


class FrameForm(StrEnum):
    """What the clients of a dialect read of a server-sent event. Some servers write more than the vendor does."""

    STANDARD = "standard"
    """What the standard says, except ids and times to wait."""
    NAMED = "named"
    """Only events whose name is the type of their data."""
    DATA_ALONE = "data-alone"
    """Every line is taken for data: neither names nor comments may stand there."""


MODEL = "{model}"
"""Stands in a path for the model's name, which may hold slashes of its own."""


class RewrittenAnswers(Protocol):
    """Answers to one request in another form: of a whole body, or of the pieces of a stream. Not of errors."""

    def whole(self, body: bytes) -> bytes: ...

    def piece(self, data: bytes) -> bytes: ...

    def close(self) -> bytes: ...


class RequestAdapter(msgspec.Struct, frozen=True):
    """Another form of requests."""

    parse_body: Callable[[bytes], bytes]
    """The same request in the usual form. Raises MalformedRequest."""
    answers: Callable[[], RewrittenAnswers]
    """Made for each request."""


class CloudMembers(msgspec.Struct, frozen=True):
    """Members of a body that a cloud adds to those of the dialect."""

    headers: Mapping[str, str] = {}
    """Lists of words that the dialect has in a header, by their member."""
    others: tuple[str, ...] = ()
    """Members that say nothing that the path does not say."""


class Endpoint(msgspec.Struct, frozen=True):
    """A path that a dialect serves to its clients, without the prefix."""

    job: Job
    path: str
    summary: str
    method: str = "POST"
    stream: bool | None = None
    """Whether the path asks for a stream. None: the body says so."""
    required: Mapping[str, Any] = {}
    """Members without which a body is not a request, each with its JSON Schema."""
    load_form: Callable[[], RequestAdapter] | None = None
    """Its requests have another form than the usual ones, which are those of the dialect, or of OpenAI for
    embeddings."""
    answer: bytes = b""
    """All that it ever says."""
    cloud: CloudMembers | None = None
    """At a path of a cloud: the cloud's own members."""
    framing: Framing | None = None
    """At a path of a cloud: how a stream is framed, if not as the dialect does."""
    load_errors: Callable[[], RenderError] | None = None
    """At a path of a cloud: how errors are rendered, if not as the dialect does."""


def both_ways(
    whole: str, streamed: str, summary: str, how: str = "streamed", framing: Framing | None = None, **more: Any
) -> tuple[Endpoint, Endpoint]:
    """The endpoints of a dialect whose path asks for a stream."""
    stream = Endpoint(Job.GENERATE, streamed, f"{summary}, {how}", stream=True, framing=framing, **more)
    return Endpoint(Job.GENERATE, whole, summary, stream=False, **more), stream


PLACEHOLDER = "{id}"
"""Stands in a path for an id."""


class UnservedPath(msgspec.Struct, frozen=True):
    """A path of the vendor's API that is about stored things or jobs, which a translator does not have."""

    path: str
    instead: str
    """What to do in place of it."""
    methods: tuple[str, ...] = ("GET", "POST", "DELETE")


AT_PROVIDER = "they belong to a provider: ask it at its own address"
SEND_NOW = "send the requests one by one, or ask the provider for a batch at its own address"

MODEL_ENDPOINTS = (
    Endpoint(Job.LIST_MODELS, "/models", "Models, in the dialect of the caller", method="GET"),
    Endpoint(Job.SHOW_MODEL, "/models/{model}", "One model, in the dialect of the caller", method="GET"),
)
"""Where most dialects list their models. The caller's headers tell which dialect is meant."""


TEXT: dict[str, Any] = {"type": "string", "minLength": 1}
"""The JSON Schema of a text that must be there."""


def turns(*roles: str) -> dict[str, Any]:
    """The JSON Schema of a list of messages that each have one of these roles."""
    turn = {"type": "object", "properties": {"role": {"enum": list(roles)}}, "required": ["role"]}
    return {"type": "array", "minItems": 1, "items": turn}


class Route(msgspec.Struct, frozen=True):
    """What a client asks for by its path and query."""

    dialect: DialectName
    job: Job
    model: str | None = None
    """None if the body says it."""
    stream: bool | None = None
    """None if the body says it."""
    framing: Framing = Framing.SSE
    cloud: CloudMembers | None = None
    """That of the endpoint."""
    load_errors: Callable[[], RenderError] | None = None
    """Those of the endpoint."""

    def render_error(self) -> RenderError | None:
        """How errors are rendered at this path; None: as the dialect does."""
        return self.load_errors() if self.load_errors is not None else None


class Likeness(IntEnum):
    """How much a request looks like one of a dialect."""

    NONE = 0
    HINTED = 1
    CERTAIN = 2


# Requests


class WrittenList(msgspec.Struct):
    """The text of a list of messages, of which the next turn may begin alike."""

    messages: tuple[Message, ...] = ()
    originals: tuple[Message, ...] = ()
    """The client's own messages, if they were amended."""
    texts: tuple[bytes, ...] = ()
    """All items in pieces, each item with a comma before it."""
    length: int = 0
    """Bytes of all pieces."""
    marks: tuple[tuple[int, int], ...] = ()
    """The numbers of messages with which one of the last turns of the model begins, and of the piece that begins so;
    the last of them is the number of all messages."""
    same: int = 0
    """Messages at the beginning of the next list that are known to be the same; 0 if they have to be compared."""


class RenderOptions(msgspec.Struct, frozen=True, gc=False):
    """What a request says in addition to the conversation."""

    model: str
    stream: bool
    usage: bool = False
    """Whether a stream is asked to report its usage."""
    without: tuple[str, ...] = ()
    """Members of the client's own body that are left out."""
    translated: bool = False
    """Whether the client speaks another dialect, so that its silence is written out if it means something else
    here."""
    written: WrittenList | None = None
    """What was written of the messages on the turn before, and is written again."""


class ParseRequest(Protocol):
    """A client's body to an `Ask`. Raises MalformedRequest or DuplicateKey, with a pointer."""

    def __call__(self, body: bytes, *, headers: Mapping[str, str] | None = None) -> Ask: ...


class RenderRequest(Protocol):
    """A conversation to a body.

    It amends the client's own body if it gets the `Ask` of a request in this dialect, else it renders a new one.
    """

    def __call__(self, conversation: Conversation, options: RenderOptions, ask: Ask | None = None) -> bytes: ...


class MemberPlaces(msgspec.Struct, frozen=True):
    """Where requests hold what rules name without knowing the dialect, as JSON pointers."""

    settings: Mapping[str, tuple[str, ...]] = {}
    """The name of a setting → where it may stand, the usual place first."""
    tools: tuple[str, ...] = ("/tools",)
    """Where their list may stand."""
    tool: str = ""
    """What leads from an entry of that list to the tool in it; `{inner}` is its place among several."""
    spellings: Mapping[str, str] = {}
    """Top-level members that are parsed under another name than the client's → that other name."""


AS_NAMED = MemberPlaces()
"""For a dialect that has each setting at its top level, under the name that rules use."""


def locate_message(message: Message, list_name: str = "messages", system: str = "system") -> str:
    """The pointer to a message, and to that of the system if it has a member of its own."""
    return f"/{system}" if message.at == FIELD else f"/{list_name}/{message.at}"


def locate_in_members(message: Message, member_of: Callable[[Part], str], list_name: str = "messages") -> list[str]:
    """The pointers to the parts of a message, for dialects with a member for each kind. `member_of`: the pointer to it,
    below the message; with a slash behind it if it is a list, in which those of its kind have their order."""
    if message.role is TOOL:
        return [f"/{list_name}/{message.at + place}" for place in range(len(message.parts))]
    counts: dict[str, int] = {}
    pointers: list[str] = []
    for part in message.parts:
        member = member_of(part)
        pointer = f"/{list_name}/{message.at}{member}"
        if member[-1:] == "/":
            place = counts.get(member, 0)
            counts[member] = place + 1
            pointer = f"{pointer}{place}"
        pointers.append(pointer)
    return pointers


class RequestCodec(msgspec.Struct, frozen=True):
    """Requests, both ways."""

    parse: ParseRequest
    render: RenderRequest
    locate_parts: Callable[[Message], list[str]]
    """The JSON pointers of all parts of a parsed message."""
    places: MemberPlaces = AS_NAMED
    """Where everything else stands."""
    locate: Callable[[Message], str] = locate_message
    """The JSON pointer of a parsed message."""


# Answers


class AnswerContext(msgspec.Struct, frozen=True):
    """What a renderer must know of the request and cannot know itself."""

    model: str = ""
    """The name that is shown to the client."""
    created: int = 0
    """The time of an answer that has none, since a codec has no clock."""
    id: str = ""
    """The id of an answer that has none."""
    include_usage: bool = False
    """A Chat stream reports its usage."""
    request: Mapping[str, Json] = {}
    """Members of the client's request that Responses repeats in its answer, as raw JSON."""
    framing: Framing | None = None
    """How the client's stream is framed. None: as its dialect does."""
    renames: bool = False
    """`model` is shown even if the bytes could be relayed."""
    completes: bool = False
    """A stream is completed even if the bytes could be relayed."""
    prefix: str = ""
    """Stands before the first text of an answer."""
    hides_reasoning: bool = False
    """The client did not ask for thinking, and clients of its dialect do not expect any then."""
    errors: RenderError | None = None
    """How errors are rendered. None: as the client's dialect does."""
    clock: Callable[[], float] | None = None
    """Tells the seconds when an answer is complete, if there is a clock."""
    began: float = 0.0
    """The seconds of the clock at the request."""
    input_tokens: Callable[[], int] | None = None
    """Estimates the tokens of the request, for a stream that shows them before the provider counts them."""
    headers: Mapping[str, str] = {}
    """The headers of the client's request tell which agent it is, for what only some do."""
    opening: Opaque | None = None
    """A block of the client's dialect that stands before all others of the answer."""


class StreamParser(Protocol):
    """Bytes of an upstream's stream to events. It never raises: what it cannot read ends in a Failed event."""

    skipped: int
    """Frames that it could not read."""

    def feed(self, data: bytes) -> list[Event]: ...

    def close(self) -> list[Event]: ...


class StreamRenderer(Protocol):
    """Events to the bytes of the client's stream. `close` ends a stream that has no end yet, with an error."""

    def render(self, events: Sequence[Event]) -> bytes: ...

    def close(self) -> bytes: ...


class ParseAnswer(Protocol):
    """A whole answer to events: it is a stream that arrived at once. A body that is no answer is one Failed event.

    `origin` marks opaque state; by default it names the dialect alone. Ids of calls are made from `seed` if the
    answer has no id. `think_tags`: the model writes its thinking into its text, between tags.
    """

    def __call__(
        self, body: bytes, origin: Origin | None = None, *, seed: str = "", think_tags: bool = False
    ) -> list[Event]: ...


class MakeStreamParser(Protocol):
    """A parser for one stream. The parameters are those of `ParseAnswer`."""

    def __call__(self, origin: Origin | None = None, *, seed: str = "", think_tags: bool = False) -> StreamParser: ...


ErrorAnswer = tuple[int, dict[str, str], bytes]
"""Status, headers and body."""


class RenderError(Protocol):
    """A failure to the answer that a client gets in place of a reply."""

    def __call__(self, failure: Failure, context: AnswerContext, /) -> ErrorAnswer: ...


PeekedUsage = tuple[Usage | None, Stop]
"""What a relayed answer says of itself."""


def no_peek(body: bytes) -> None:
    """For dialects whose whole answers are always parsed."""


def as_it_is(body: bytes, context: AnswerContext) -> bytes:
    """For dialects whose vendor requires no member of an answer."""
    return body


def unchanged(chunk: Any) -> Any:
    return chunk


def no_item(form: CallForm, call_id: str, arguments: str) -> Json | None:
    """For dialects whose calls are all those of functions."""
    return None


class ChunkRewrite(Protocol):
    """How the chunks of one relayed stream are written that clients misread: those with several calls, with calls that
    cannot be told apart, or with a hidden error."""

    @property
    def renumbers(self) -> bool:
        """Whether chunks have to be written anew from now on that were fine before."""

    @property
    def follow(self) -> Callable[[bytes], bool] | None:
        """Is given the followed member of the next chunk, as JSON, if that is the last chunk with another value there.
        It answers whether it need not see more of the chunk. None if it has to see each."""

    def may_be_misread(self, payload: bytes) -> bool:
        """Whether the JSON of a chunk looks like one."""

    def pieces(self, chunk: Any) -> list[Any]:
        """The chunks in place of a decoded one; it alone if it is fine, none if it says nothing. Chunks are shown in
        their order."""


class AnswerCodec(msgspec.Struct, frozen=True):
    """Answers, streams and errors, both ways."""

    parse: ParseAnswer
    """A whole answer to a reply. Log probabilities inside are a JSON array of tokens in the form of OpenAI Chat."""
    render: Callable[[Reply, AnswerContext], bytes]
    """A reply to a whole answer."""
    stream_parser: MakeStreamParser
    """Makes the parser of one stream."""
    stream_renderer: Callable[[AnswerContext], StreamRenderer]
    """Makes the renderer of one stream."""
    render_error: RenderError
    """A failure in the words of this dialect."""
    peek_usage: Callable[[bytes], PeekedUsage | None] = no_peek
    """The usage and the stop of a whole answer that is relayed as it is; None if the answer must be parsed."""
    check_chunk: Callable[[bytes], object] | None = None
    """Raises DecodeError unless a chunk of a stream is plain text with the usual keys."""
    chunk_rewrite: Callable[[str, str], ChunkRewrite] | None = None
    """Makes what writes chunks that clients misread, for one stream, from the seed of ids that it needs and the name of
    the provider."""
    find_beginning: Callable[[bytes], object] = bool
    """Finds the first event of an answer among the events of a stream; None if they say nothing of it yet."""
    complete: Callable[[bytes, AnswerContext], bytes] = as_it_is
    """Adds the members that a whole answer of another vendor lacks, and keeps every other byte."""
    check_whole: Callable[[bytes], object] = bool
    """Raises DecodeError for a whole answer of another vendor that clients cannot read: it is written anew."""
    streamed_text: StreamedText | None = None
    """Finds what the model says in frames that are not parsed."""
    render_client_call: Callable[[CallForm, str, str], Json | None] = no_item
    """The call of a function as the item of the vendor's tool that it stands for, from the call's id and the text of
    its arguments; None if it cannot be written."""


# Token counts and lists of models


class TokenCount(msgspec.Struct, frozen=True):
    """How a dialect counts tokens before a request is sent."""

    path: str
    """The provider's path."""
    figure: str
    """The member of its answer that holds the count."""
    render_question: Callable[[bytes, str], bytes]
    """A question, made of a request's body."""
    parse_question: Callable[[bytes], bytes] = unchanged
    """The request inside a question."""
    parse_foreign: Callable[[bytes], bytes | None] = no_peek
    """A request in another dialect, which its members tell. None: the question holds none."""
    members: Mapping[str, Any] = {}
    """What else an answer has."""


class ListedModel(msgspec.Struct, frozen=True):
    """A model as a list of models shows it."""

    name: str
    description: str = ""
    created: int = 0
    """In seconds since 1970."""
    context_window: int | None = None
    output_limit: int | None = None
    metadata: Mapping[str, Any] | None = None
    """The provider's own entry."""
    capabilities: tuple[str, ...] = ("completion",)
    """What it can do, in Ollama's words: completion, tools, vision, thinking, audio."""


class ModelListing(msgspec.Struct, frozen=True):
    """How a dialect shows one model, and a list of them."""

    shown: Callable[[ListedModel], Mapping[str, Any]]
    """One model, as JSON."""
    render_models: Callable[[Sequence[ListedModel], bool | None], bytes]
    """`more`: are there further ones? None if the client asked for all of them."""
    shows_abilities: bool = False
    """It shows what a model can do and how much it holds."""
    known_words: tuple[str, ...] = ()
    """Agents of this dialect leave out names that have none of these words; empty: they take every name."""
    alias_prefix: str = ""
    """Names that such agents would leave out are listed a second time, behind this."""
    timeout: float = 3.0
    """Seconds that its clients wait for a list that a provider has not sent yet. Agents ask as they start."""

    def render_model(self, model: ListedModel) -> bytes:
        return encode(self.shown(model))


# The dialect


def fixed_path(path: str) -> Callable[[RenderOptions, str], str]:
    """The `request_path` of a dialect whose path says neither model nor stream."""

    def request_path(options: RenderOptions, template: str) -> str:
        return template.format(model=path_step(options.model)) if template else path

    return request_path


@lru_cache(maxsize=256)
def path_step(model: str) -> str:
    """A model's name as one step of a path. Clouds take the letters that are left as they are."""
    return escape(model, safe="@:")


class CodecPart(Generic[Codec]):
    """An attribute of a dialect that a module of its package has, loaded with the first use."""

    def __init__(self, module: str, name: str) -> None:
        self.module = module
        self._name = name

    def __set_name__(self, owner: type, name: str) -> None:
        self._attribute = name

    def __get__(self, dialect: Dialect, owner: type) -> Codec:
        found = None
        if self._attribute in {"requests", "answers", *dialect.parts}:
            package = dialect.name.replace("-", "_")
            found = getattr(import_module(f"{__package__}.{package}.{self.module}"), self._name)
        return cast(Codec, vars(dialect).setdefault(self._attribute, found))


class Dialect(msgspec.Struct, frozen=True, eq=False, dict=True, kw_only=True):
    """One wire format: as that of a client, and as that of a target."""

    # What it is called

    name: DialectName
    """Its name in this program."""
    title: str
    """Its name for people."""
    list_name: str = "messages"
    """The member of its requests that holds the messages."""
    id_prefix: str = ""
    """How the ids of its vendor's answers begin."""
    call_id_prefix: str = "call_"
    """How the ids of its vendor's calls begin."""

    # What it serves to clients

    endpoints: tuple[Endpoint, ...]
    """The paths that are served, below each of the `prefixes` and below what `prefix_pattern` matches."""
    unserved: tuple[UnservedPath, ...] = ()
    """Paths of the vendor's API that get a clear refusal."""
    prefixes: tuple[str, ...] = ("/v1", "")
    """What stands before the paths of the endpoints; the usual prefix first."""
    prefix_pattern: str = ""
    """A regular expression of further prefixes: clouds put a project there."""
    recognise: Callable[[RequestGlance], Likeness]
    """How much the members of a body look like a request of this dialect."""
    caller_headers: tuple[str, ...] = ()
    """Headers that show, if several dialects serve the same path, that the caller is one of this dialect's SDKs."""
    caller_prefixes: tuple[str, ...] = ()
    """How the paths of such a caller begin."""
    client_framing: Callable[[Mapping[str, str]], Framing] = lambda query: Framing.SSE
    """The framing of a client's stream, from the query of its request."""
    greeting: bytes = b""
    """What its own clients expect at the root of a server."""
    limit_header: str = ""
    """The header of a limit per minute: `{figure}` is limit, remaining or reset, `{what}` is requests or tokens."""
    limit_prefixes: tuple[str, ...] = ()
    """How the headers begin in which its vendor tells the limits of an account."""
    account_headers: tuple[str, ...] = ()
    """Headers that choose an account of the login that a caller sends beside them."""
    client_agents: tuple[str, ...] = ()
    """How the `User-Agent` of these clients begins."""
    asks_for_reasoning: Callable[[Conversation], bool] = lambda conversation: False
    """Whether a conversation asks for the thinking to be shown. Not asked if it has no setting for thinking and no
    fields that only its dialect knows."""
    hides_unasked: bool = False
    """Whether its clients are not prepared for thinking that they did not ask for."""
    lists_items: bool = False
    """Whether items of other types stand among its messages, as an agent's records do."""
    optional_ids: bool = False
    """Whether calls and results may come without ids."""
    token_count: TokenCount | None = None
    """How it counts tokens before a request is sent; None if it cannot."""
    model_listing: ModelListing | None = None
    """How it lists models; None if it has no list of its own."""

    # How its targets are called

    request_path: Callable[[RenderOptions, str], str]
    """Where a request is sent: below the base URL, or as a profile's template says."""
    model_in_path: bool = False
    """Whether the path, and not the body, names the model and asks for a stream."""
    headers: Mapping[str, str] = {}
    """Headers that go with every request."""
    passed_headers: tuple[str, ...] = ()
    """Headers that are passed on from a client of the same dialect."""
    framing: Framing = Framing.SSE
    """The framing of a provider's stream."""
    usage_members: frozenset[str] = frozenset()
    """The members of chunks that report the usage, in a dialect whose streams do so only if the request asks for it."""
    models_path: str = "/models"
    """Where a provider lists its models."""
    relayed_paths: frozenset[str] = frozenset()
    """Further paths of the vendor's API, to which requests are passed on as they are."""
    relay_root: str = ""
    """What stands before the relayed paths."""
    show_path: str = ""
    """Where a provider describes the model that a body names."""

    # Its streams and answers

    ping: bytes = b""
    """What its clients take for a sign of life between two events of a stream; empty if there is no such thing."""
    id_header: bytes = b""
    """Where its SDKs look for the id of an answer; empty if they do not."""
    frame_form: FrameForm = FrameForm.STANDARD
    """What its clients read of an event of a stream."""
    stream_end: bytes = b""
    """Ends every stream, also one that an error ended."""
    thinking_mark: bytes = b""
    """What the bytes of an answer with thinking contain, in a dialect whose clients often drop thinking; else empty."""
    chunk_leftovers: frozenset[str] = frozenset()
    """Keys of other servers' streams that no client of this dialect wants to store."""
    answer_leftovers: frozenset[str] = frozenset()
    """The same of whole answers."""
    runs_first: bool = False
    """Runs of the provider's tools stand before the text that rests on them, and clients take the last block for the
    answer."""
    runs_last: bool = False
    """Runs of the provider's tools may be told of only at the end of an answer."""
    pauses: bool = False
    """A provider that runs tools may end an answer before the model has, and goes on if it gets all of it back."""

    parts: tuple[str, ...] = ()
    """Those of the attributes below that its package has beside requests and answers."""

    # Its codecs, loaded when they are first used

    requests = CodecPart[RequestCodec]("request", "REQUESTS")
    """The codec of requests."""
    answers = CodecPart[AnswerCodec]("stream", "ANSWERS")
    """The codec of answers, streams and errors."""
    stored_answers = CodecPart[StoredAnswers | None]("endpoints.stored_answers", "STORED_ANSWERS")
    """How it refers to stored answers; None if it does not."""
    conversations = CodecPart[ConversationForm | None]("endpoints.conversations", "CONVERSATIONS")
    """How it shows conversations; None if it has none."""
    background = CodecPart[BackgroundForm | None]("endpoints.background", "BACKGROUND")
    """How it asks for answers in the background; None if it does not."""
    compactions = CodecPart[Compactions | None]("endpoints.compaction", "COMPACTIONS")
    """How it asks for compaction; None if it does not."""
    socket_frames = CodecPart[SocketFrames | None]("endpoints.socket_frames", "SOCKET_FRAMES")
    """How it speaks over a WebSocket; None if it does not."""
    provider_tools = CodecPart[ProviderToolCodec | None]("provider_tools", "CODEC")
    """How it writes tools that the provider runs; None if it has none."""
    stored_prompts = CodecPart[StoredPromptForm | None]("endpoints.stored_prompts", "FORM")
    """How prompts are stored at the provider; None if they are not."""
