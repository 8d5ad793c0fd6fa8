"""The user's file, typed.

Every key of `dragoman.yaml` is a field here, and its `Meta` is the only place where its meaning is written: the
reference, the JSON Schema for editors and the example of `dragoman init` are made from it.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

from msgspec import Meta, Struct, field

from dragoman.config.secret import Secret
from dragoman.profiles.facts import Doubt

RuleChoice = str | dict[str, str]
Positive = Annotated[int, Meta(ge=1)]


class MaxLoss(StrEnum):
    """The heaviest loss that a repair may cause."""

    NOTHING = "nothing"
    ORDER = "order"
    METADATA = "metadata"
    AUTHORITY = "authority"
    CONTENT = "content"


class Counting(StrEnum):
    """How tokens are known that nobody told."""

    ESTIMATE = "estimate"
    ASK = "ask"


class Synthetic(StrEnum):
    ALLOW = "allow"
    REFUSE = "refuse"


class Jitter(StrEnum):
    FULL = "full"
    NONE = "none"


class Growth(StrEnum):
    EXPONENTIAL = "exponential"
    LINEAR = "linear"


class Auth(StrEnum):
    BEARER = "bearer"
    X_API_KEY = "x-api-key"
    X_GOOG_API_KEY = "x-goog-api-key"
    API_KEY = "api-key"
    NONE = "none"


class StoreKind(StrEnum):
    MEMORY = "memory"
    SQLITE = "sqlite"


class LogLevel(StrEnum):
    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class LogFormat(StrEnum):
    JSON = "json"
    TEXT = "text"


class Timeouts(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How long to wait for a provider, in seconds."""

    connect: Annotated[float, Meta(gt=0, description="Until a connection stands, TLS included.")] = 10.0
    first_byte: Annotated[float, Meta(gt=0, description="From the request's last byte to the answer's first.")] = 180.0
    idle: Annotated[float, Meta(gt=0, description="Between two pieces of an answer.")] = 120.0
    total: Annotated[float, Meta(gt=0, description="For one attempt from start to end.")] = 900.0


class Retries(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a failed attempt is tried again; a provider's `Retry-After` comes first."""

    attempts: Annotated[int, Meta(ge=1, le=20, description="Attempts on one target, the first included.")] = 3
    base: Annotated[float, Meta(ge=0, description="Seconds before the second attempt.")] = 1.0
    growth: Annotated[
        Growth,
        Meta(description="`exponential`: each further wait is `factor` times longer; `linear`: by one `base` longer."),
    ] = Growth.EXPONENTIAL
    factor: Annotated[
        float, Meta(ge=1, description="Each further wait is this many times longer, where they grow so.")
    ] = 2.0
    cap: Annotated[float, Meta(ge=0, description="The longest wait in seconds.")] = 30.0
    jitter: Annotated[Jitter, Meta(description="`full`: a random part of the wait; `none`: the whole wait.")] = (
        Jitter.FULL
    )


class Cooldown(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When a target that keeps failing is left alone for a while."""

    failures: Annotated[int, Meta(ge=1, description="Failures in a row (5xx, timeouts) before the pause.")] = 5
    seconds: Annotated[float, Meta(ge=0, description="The pause; after it one request tries again.")] = 60.0


class Attribution(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who is asking, for providers that list the applications that use them."""

    title: Annotated[str | None, Meta(description="Sent as `X-Title`.")] = None
    url: Annotated[str | None, Meta(description="Sent as `HTTP-Referer`.")] = None
    user_agent: Annotated[str | None, Meta(description="Sent as `User-Agent`, e.g. `my-app/1.0`.")] = None


class Provider(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An endpoint that runs models."""

    profile: Annotated[
        str | None,
        Meta(
            description="The facts that hold for it; by default those of the profile that has the provider's name.",
            examples=["anthropic"],
        ),
    ] = None
    base_url: Annotated[
        str | None,
        Meta(
            description="What the vendor's own SDK takes (OpenAI-like with `/v1`, Anthropic and Gemini without); "
            "by default the profile's.",
            examples=["https://api.anthropic.com"],
        ),
    ] = None
    api_key: Annotated[
        Secret | None,
        Meta(
            description="The key to send; by default, where `base_url` is not set either, the vendor's well-known "
            "environment variable.",
            examples=["${ANTHROPIC_API_KEY}"],
        ),
    ] = None
    api_keys: Annotated[
        tuple[Secret, ...], Meta(description="Several keys instead of one; the next is taken on 401 and 429.")
    ] = ()
    auth: Annotated[Auth | None, Meta(description="How the key is sent; by default as the profile's dialect does.")] = (
        None
    )
    headers: Annotated[
        dict[str, str], Meta(description="Headers sent with every request.", examples=[{"X-Team": "search"}])
    ] = field(default_factory=dict)
    organization: Annotated[str | None, Meta(description="Sent as `OpenAI-Organization`.")] = None
    project: Annotated[str | None, Meta(description="Sent as `OpenAI-Project`.")] = None
    attribution: Annotated[Attribution, Meta(description="Who is asking.")] = Attribution()
    timeouts: Annotated[Timeouts, Meta(description="How long to wait.")] = Timeouts()
    retries: Annotated[Retries, Meta(description="How a failed attempt is tried again.")] = Retries()
    cooldown: Annotated[Cooldown, Meta(description="When it is left alone for a while.")] = Cooldown()
    max_connections: Annotated[
        int, Meta(ge=1, description="Connections to this origin, per worker; further requests queue for a minute.")
    ] = 2048
    ca_file: Annotated[str | None, Meta(description="A PEM file of authorities trusted besides the system's.")] = None
    facts: Annotated[
        dict[str, Any],
        Meta(description="Facts that differ from the profile's.", examples=[{"unknown_fields": "refuses"}]),
    ] = field(default_factory=dict)
    rules: Annotated[
        dict[str, RuleChoice], Meta(description="Rule options for this provider.", examples=[{"late-system": "user"}])
    ] = field(default_factory=dict)
    max_loss: Annotated[MaxLoss | None, Meta(description="Overrides the `max_loss` of the file.")] = None
    synthetic: Annotated[Synthetic | None, Meta(description="Overrides the `synthetic` of the file.")] = None
    usage: Annotated[
        Counting,
        Meta(
            description="Where a Chat stream was not asked for its usage: `estimate` it, or `ask` for it on behalf of "
            "the ledger; the client does not see it then."
        ),
    ] = Counting.ESTIMATE
    passthrough_fields: Annotated[
        tuple[str, ...], Meta(description="Unknown message fields that it takes and that are left in place.")
    ] = ()

    def key_pool(self) -> tuple[Secret, ...]:
        """The pool: all keys that may be tried, in order."""
        return self.api_keys or ((self.api_key,) if self.api_key else ())

    def fixed_headers(self) -> dict[str, str]:
        """The headers of the file, those with a key of their own included; `headers` wins."""
        named = {
            "OpenAI-Organization": self.organization,
            "OpenAI-Project": self.project,
            "X-Title": self.attribution.title,
            "HTTP-Referer": self.attribution.url,
            "User-Agent": self.attribution.user_agent,
        }
        given = {name.lower() for name in self.headers}
        return {k: v for k, v in named.items() if v is not None and k.lower() not in given} | self.headers


class FallbacksOn(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Other targets for one reason of failure, tried before the general `fallbacks`."""

    context_length: Annotated[
        tuple[str, ...], Meta(description="When the conversation is too long for the target.")
    ] = ()
    content_filter: Annotated[tuple[str, ...], Meta(description="When the provider's filter refuses it.")] = ()
    rate_limit: Annotated[tuple[str, ...], Meta(description="When the provider says 429.")] = ()


class Model(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A name that clients ask for, and what stands behind it."""

    target: Annotated[
        str,
        Meta(
            description="`PROVIDER/MODEL`; the first word is a provider of this file or a built-in profile.",
            examples=["anthropic/claude-sonnet-4-5"],
        ),
    ]
    options: Annotated[
        dict[str, Any],
        Meta(description="Merged deeply into every request for this model.", examples=[{"temperature": 0.2}]),
    ] = field(default_factory=dict)
    omit: Annotated[tuple[str, ...], Meta(description="Settings never sent to this model.", examples=[["top_p"]])] = ()
    description: Annotated[str | None, Meta(description="What it is good at; shown in model lists.")] = None
    hidden: Annotated[bool, Meta(description="Works, but is not listed.")] = False
    fallbacks: Annotated[
        tuple[str, ...],
        Meta(
            description="Targets or model names of this file, tried in order when the target fails.",
            examples=[["openrouter/google/gemini-2.5-pro"]],
        ),
    ] = ()
    fallbacks_on: Annotated[FallbacksOn, Meta(description="Other targets for one reason of failure.")] = FallbacksOn()
    context_window: Annotated[
        Positive | None, Meta(description="Tokens it can hold; by default the profile's figure.")
    ] = None
    facts: Annotated[dict[str, Any], Meta(description="Facts that differ for this model.")] = field(
        default_factory=dict
    )
    rules: Annotated[
        dict[str, RuleChoice], Meta(description="Rule options for this model.", examples=[{"late-system": "opening"}])
    ] = field(default_factory=dict)
    max_loss: Annotated[MaxLoss | None, Meta(description="Overrides the provider's and the file's.")] = None
    synthetic: Annotated[Synthetic | None, Meta(description="Overrides the provider's and the file's.")] = None
    doubt: Annotated[
        Doubt,
        Meta(
            description="What the target may refuse, and nobody knows: `faithful` leaves it as the client wrote it, "
            "`careful` repairs it."
        ),
    ] = Doubt.FAITHFUL
    passthrough_fields: Annotated[
        tuple[str, ...], Meta(description="Unknown message fields that are left in place.")
    ] = ()


class Key(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A client of the gateway. Made with `dragoman keys create NAME`."""

    sha256: Annotated[
        str,
        Meta(
            description="SHA-256 of the key in hex; the key itself is never stored.",
            examples=["9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"],
        ),
    ]
    allowed_models: Annotated[
        tuple[str, ...], Meta(description="Model names or globs it may ask for; empty: all.", examples=[["cheap"]])
    ] = ()
    allowed_endpoints: Annotated[
        tuple[str, ...],
        Meta(description="Paths or globs it may call; empty: all.", examples=[["/v1/chat/completions"]]),
    ] = ()
    requests_per_minute: Annotated[Positive | None, Meta(description="Requests in any 60 seconds.")] = None
    tokens_per_minute: Annotated[Positive | None, Meta(description="Tokens, in and out, in any 60 seconds.")] = None
    concurrent: Annotated[Positive | None, Meta(description="Requests at the same time, per worker.")] = None
    expires: Annotated[
        datetime | None,
        Meta(
            description="From then on refused; a date alone means its first moment, UTC.",
            examples=["2030-01-01"],
        ),
    ] = None
    admin: Annotated[bool, Meta(description="May see all reports and use `x-dragoman-*` request headers.")] = False

    def limited(self) -> bool:
        return self.requests_per_minute is not None or self.tokens_per_minute is not None


class Server(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the gateway listens."""

    host: Annotated[str, Meta(description="Address to bind.")] = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65535, description="Port to bind; 0 takes a free one.")] = 8642
    workers: Annotated[int, Meta(ge=1, le=256, description="Processes that share the port.")] = 1
    max_body: Annotated[int, Meta(ge=1024, description="Largest request body in bytes.")] = 33_554_432
    max_headers: Annotated[int, Meta(ge=1024, description="Largest request head in bytes.")] = 65_536
    max_concurrent: Annotated[
        int, Meta(ge=1, description="Requests at the same time, per worker; beyond it 429 with `Retry-After`.")
    ] = 2000
    write_timeout: Annotated[
        float, Meta(gt=0, description="Seconds a client may leave our answer unread before it is let go.")
    ] = 60.0
    shutdown_grace: Annotated[
        float, Meta(ge=0, description="Seconds that running streams get to finish at shutdown.")
    ] = 30.0
    allow_public_without_keys: Annotated[
        bool, Meta(description="Bind to other than loopback although no `keys` are set: anyone may spend your money.")
    ] = False


class Vault(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Opaque provider state that the client's dialect cannot carry, kept for the next turn."""

    enabled: Annotated[bool, Meta(description="Keep it at all.")] = True
    per_caller: Annotated[int, Meta(ge=1, description="Entries of one key.")] = 4096
    entries: Annotated[int, Meta(ge=1, description="Entries of all keys together.")] = 65_536
    max_bytes: Annotated[int, Meta(ge=1024, description="Bytes of all entries together.")] = 268_435_456
    ttl: Annotated[float, Meta(gt=0, description="Seconds after its last use that an entry is forgotten.")] = 86_400.0


class StoreConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What outlives a request."""

    kind: Annotated[
        StoreKind,
        Meta(description="`memory` forgets at restart; `sqlite` does not, and is shared by several workers."),
    ] = StoreKind.MEMORY
    path: Annotated[str, Meta(description="The SQLite file.")] = "dragoman.sqlite3"
    keep_requests: Annotated[int, Meta(ge=0, description="Requests in the ledger.")] = 10_000
    keep_days: Annotated[float, Meta(gt=0, description="Days after which a request leaves the ledger.")] = 30.0
    keep_bodies: Annotated[
        bool,
        Meta(
            description="Keep request and answer bodies too, of a streamed answer the first mebibyte: conversations "
            "then stand on disk."
        ),
    ] = False
    queue: Annotated[
        int, Meta(ge=1, description="Entries that may wait to be written; beyond it they are counted as dropped.")
    ] = 10_000
    vault: Annotated[Vault, Meta(description="Opaque provider state.")] = Vault()


class ProviderErrors(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One JSON line per refusal of a provider, for `dragoman replay`."""

    path: Annotated[str | None, Meta(description="The file; `null` writes none.")] = "logs/provider_errors.jsonl"
    content: Annotated[
        bool, Meta(description="Keep texts; otherwise each is replaced by as many `x`, which is enough to replay.")
    ] = False
    max_bytes: Annotated[int, Meta(ge=1024, description="Size at which the file is rotated.")] = 10_485_760
    backups: Annotated[int, Meta(ge=0, le=100, description="Rotated files that are kept.")] = 5


class Log(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is written down while serving."""

    level: Annotated[LogLevel, Meta(description="The least important line that is written.")] = LogLevel.INFO
    format: Annotated[LogFormat, Meta(description="One JSON object a line, or text for people.")] = LogFormat.JSON
    content: Annotated[bool, Meta(description="Write conversations into the log.")] = False
    provider_errors: Annotated[ProviderErrors, Meta(description="The file of refusals.")] = ProviderErrors()


class Media(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Fetching what a client names by URL for a target that takes it only inline."""

    fetch: Annotated[bool, Meta(description="Fetch at all; otherwise the URL is sent as text, and reported.")] = True
    allow: Annotated[
        tuple[str, ...],
        Meta(
            description="Hosts, `*.suffix` or networks that may be reached although they are private or link-local.",
            examples=[["media.internal", "10.1.0.0/16"]],
        ),
    ] = ()
    max_bytes: Annotated[int, Meta(ge=1, description="Largest file.")] = 20_971_520
    timeout: Annotated[float, Meta(gt=0, description="Seconds for one file.")] = 15.0


class Config(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole of `dragoman.yaml`."""

    providers: Annotated[dict[str, Provider], Meta(description="Endpoints, by a name of your choice.")] = field(
        default_factory=dict
    )
    models: Annotated[dict[str, Model], Meta(description="Public model names and what stands behind them.")] = field(
        default_factory=dict
    )
    default_model: Annotated[
        str | None, Meta(description="Taken when a request names no model; by default `LLM_MODEL`.", examples=["smart"])
    ] = None
    keys: Annotated[dict[str, Key], Meta(description="Clients that may use the gateway; none: loopback only.")] = field(
        default_factory=dict
    )
    rules: Annotated[
        dict[str, RuleChoice],
        Meta(description="Rule options for all targets.", examples=[{"many-systems": {"join": "\n\n---\n\n"}}]),
    ] = field(default_factory=dict)
    max_loss: Annotated[MaxLoss, Meta(description="A repair that loses more is refused with 422 instead.")] = (
        MaxLoss.CONTENT
    )
    synthetic: Annotated[Synthetic, Meta(description="`refuse`: 422 where a turn would have to be made up.")] = (
        Synthetic.ALLOW
    )
    texts: Annotated[
        dict[str, str],
        Meta(
            description="The words of turns and texts that we must make up, by the reason for them.",
            examples=[{"leading_user": "[autonomous processing]", "trailing_user": "Please continue."}],
        ),
    ] = field(default_factory=dict)
    server: Annotated[Server, Meta(description="How the gateway listens.")] = Server()
    store: Annotated[StoreConfig, Meta(description="What outlives a request.")] = StoreConfig()
    log: Annotated[Log, Meta(description="What is written down while serving.")] = Log()
    media: Annotated[Media, Meta(description="Fetching what a client names by URL.")] = Media()
