"""The types of the configuration file.

Every key of `dragoman.yaml` is a field here, and its `Meta` is the only place that describes it. The reference, the
JSON Schema for editors and the example of `dragoman init` are generated from it.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

from msgspec import Meta, Struct, field

from dragoman.config.secret import Secret
from dragoman.engine.destination import AnswerMembers, AnswerModel, ShownReasoning
from dragoman.engine.history.policy import MOST_TOKENS
from dragoman.engine.request_limits import RequestLimits
from dragoman.engine.routing.strategies import Strategy
from dragoman.profiles.facts import Doubt

RuleChoice = str | dict[str, str]
Positive = Annotated[int, Meta(ge=1)]
TokenLimit = Annotated[int, Meta(ge=1, le=MOST_TOKENS)]
Amount = Annotated[float, Meta(ge=0)]


class MaxLoss(StrEnum):
    """The largest loss that a repair may cause."""

    NOTHING = "nothing"
    ORDER = "order"
    METADATA = "metadata"
    AUTHORITY = "authority"
    CONTENT = "content"


class UsageCounting(StrEnum):
    """How the gateway counts tokens that a provider does not report."""

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


class ReasoningMode(StrEnum):
    OMIT = "omit"
    ENABLE = "enable"
    DISABLE = "disable"


class LogSplit(StrEnum):
    DAY = "day"
    DIALECT = "dialect"


class LogLevel(StrEnum):
    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class LogFormat(StrEnum):
    JSON = "json"
    TEXT = "text"


class ProviderTimeouts(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How long to wait for a provider, in seconds."""

    connect: Annotated[float, Meta(gt=0, description="Until the connection is open, TLS included.")] = 10.0
    first_byte: Annotated[
        float, Meta(gt=0, description="From the last byte of the request to the first byte of the answer.")
    ] = 180.0
    idle: Annotated[float, Meta(gt=0, description="Between two pieces of an answer.")] = 120.0
    total: Annotated[float, Meta(gt=0, description="For one attempt from start to end.")] = 900.0


class Retries(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How failed attempts are retried. A provider's `Retry-After` has priority."""

    attempts: Annotated[int, Meta(ge=1, le=20, description="Attempts per target, including the first.")] = 3
    base: Annotated[float, Meta(ge=0, description="Seconds before the second attempt.")] = 1.0
    growth: Annotated[
        Growth,
        Meta(
            description="`exponential`: each wait is `factor` times longer; `linear`: each wait is one `base` longer."
        ),
    ] = Growth.EXPONENTIAL
    factor: Annotated[
        float, Meta(ge=1, description="Each wait is this many times longer, if growth is exponential.")
    ] = 2.0
    cap: Annotated[float, Meta(ge=0, description="The longest wait in seconds.")] = 30.0
    jitter: Annotated[Jitter, Meta(description="`full`: a random part of the wait; `none`: the whole wait.")] = (
        Jitter.FULL
    )


class Cooldown(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When a target that keeps failing is paused."""

    failures: Annotated[int, Meta(ge=1, description="Failures in a row (5xx, timeouts) before the pause.")] = 5
    seconds: Annotated[
        float, Meta(ge=0, description="Length of the pause in seconds. After it one request tries again.")
    ] = 60.0


class Attribution(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Your application, for providers that list the applications that use them."""

    title: Annotated[str | None, Meta(description="Sent as `X-Title`.")] = None
    url: Annotated[str | None, Meta(description="Sent as `HTTP-Referer`.")] = None
    user_agent: Annotated[str | None, Meta(description="Sent as `User-Agent`, such as `my-app/1.0`.")] = None


class Cloud(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where and as whom a cloud is asked."""

    region: Annotated[
        str | None,
        Meta(description="The region of the endpoint; by default that of the environment.", examples=["eu-central-1"]),
    ] = None
    project: Annotated[
        str | None, Meta(description="Google's project; by default that of the environment.", examples=["my-project"])
    ] = None
    api_version: Annotated[
        str | None,
        Meta(
            description="For Azure's older addresses, with the deployment in the path. Without it the v1 API is used.",
            examples=["2024-10-21"],
        ),
    ] = None
    account: Annotated[
        str | None,
        Meta(
            description="Who asks: a profile of AWS's own files, a file of Google's credentials, or the client id of "
            "an Azure identity; by default what the environment says."
        ),
    ] = None


class Provider(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An endpoint that runs models."""

    profile: Annotated[
        str | None,
        Meta(
            description="The profile with its facts; by default the one with the provider's name.",
            examples=["anthropic"],
        ),
    ] = None
    base_url: Annotated[
        str | None,
        Meta(
            description="As the vendor's SDK takes it (OpenAI-like with `/v1`, Anthropic and Gemini without); by "
            "default the profile's.",
            examples=["https://api.anthropic.com"],
        ),
    ] = None
    api_key: Annotated[
        Secret | None,
        Meta(
            description="The key to send; by default the vendor's environment variable, unless `base_url` is set.",
            examples=["${ANTHROPIC_API_KEY}"],
        ),
    ] = None
    api_keys: Annotated[
        tuple[Secret, ...], Meta(description="Several keys instead of one. On 401 and 429 the next one is used.")
    ] = ()
    auth: Annotated[
        Auth | None, Meta(description="How the key is sent; by default as usual for the profile's dialect.")
    ] = None
    cloud: Annotated[Cloud, Meta(description="Where and as whom a cloud is asked that needs no key.")] = Cloud()
    headers: Annotated[
        dict[str, str], Meta(description="Headers sent with every request.", examples=[{"X-Team": "search"}])
    ] = field(default_factory=dict)
    organization: Annotated[str | None, Meta(description="Sent as `OpenAI-Organization`.")] = None
    project: Annotated[str | None, Meta(description="Sent as `OpenAI-Project`.")] = None
    attribution: Annotated[Attribution, Meta(description="Your application.")] = Attribution()
    timeouts: Annotated[ProviderTimeouts, Meta(description="How long to wait, in seconds.")] = ProviderTimeouts()
    retries: Annotated[Retries, Meta(description="How failed attempts are retried.")] = Retries()
    cooldown: Annotated[Cooldown, Meta(description="When it is paused.")] = Cooldown()
    max_connections: Annotated[
        int,
        Meta(ge=1, description="Connections to this provider per worker. Further requests wait for up to a minute."),
    ] = 2048
    ca_file: Annotated[
        str | None, Meta(description="A PEM file of certificate authorities to trust in addition to the system's.")
    ] = None
    facts: Annotated[
        dict[str, Any],
        Meta(description="Facts that differ from the profile's.", examples=[{"unknown_fields": "refuses"}]),
    ] = field(default_factory=dict)
    rules: Annotated[
        dict[str, RuleChoice], Meta(description="Rule options for this provider.", examples=[{"late-system": "user"}])
    ] = field(default_factory=dict)
    max_loss: Annotated[MaxLoss | None, Meta(description="Replaces the `max_loss` of the file.")] = None
    synthetic: Annotated[Synthetic | None, Meta(description="Replaces the `synthetic` of the file.")] = None
    usage: Annotated[
        UsageCounting,
        Meta(
            description="If a client does not ask a Chat stream for its usage: `estimate` it, or `ask` for it. The "
            "client does not see the usage then."
        ),
    ] = UsageCounting.ESTIMATE
    passthrough_fields: Annotated[
        tuple[str, ...], Meta(description="Unknown message fields that it accepts. They are sent unchanged.")
    ] = ()

    def key_pool(self) -> tuple[Secret, ...]:
        """All keys, in the order in which they are tried."""
        return self.api_keys or ((self.api_key,) if self.api_key else ())

    def fixed_headers(self) -> dict[str, str]:
        """All configured headers, also those with their own key. `headers` wins."""
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
    """Fallbacks for one reason of failure. They are tried before the general `fallbacks`."""

    context_length: Annotated[tuple[str, ...], Meta(description="If the conversation is too long for the target.")] = ()
    content_filter: Annotated[tuple[str, ...], Meta(description="If the provider's content filter refuses it.")] = ()
    rate_limit: Annotated[tuple[str, ...], Meta(description="If the provider answers 429.")] = ()


class Trim(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Cutting a long history to a budget, in tokens. System texts and tools are never cut."""

    max_history_tokens: Annotated[
        int,
        Meta(ge=0, le=MOST_TOKENS, description="The most that the turns may hold; 0: only the context window counts."),
    ] = 16_000
    context_budget: Annotated[
        float, Meta(gt=0, le=1, description="The share of the context window that a request may fill.")
    ] = 0.8
    keep_recent_exchanges: Annotated[
        int,
        Meta(
            ge=0,
            le=MOST_TOKENS,
            description="The user's last turns, with all that follows them, that are not shortened.",
        ),
    ] = 3
    keep_recent_user_turns_in_chained_tool_calls: Annotated[
        int,
        Meta(
            ge=0,
            le=MOST_TOKENS,
            description="Takes the place of `keep_recent_exchanges` while the model works through calls. Then no turn "
            "is left out unless the context window demands it.",
        ),
    ] = 1
    old_message_max_tokens: Annotated[
        TokenLimit | None, Meta(description="The most of an old message; by default from the budget.")
    ] = None
    oldest_message_max_tokens: Annotated[TokenLimit | None, Meta(description="The most of one of the oldest.")] = None
    old_tool_result_max_tokens: Annotated[TokenLimit | None, Meta(description="The most of an old result.")] = None
    oldest_tool_result_max_tokens: Annotated[
        TokenLimit | None, Meta(description="The most of one of the oldest results.")
    ] = None
    step: Annotated[
        float,
        Meta(
            gt=0,
            lt=1,
            description="The share of the budget that one cut sets free. Between two cuts the beginning of the "
            "conversation stays the same, so that the provider's cache is of use.",
        ),
    ] = 0.25
    on_refusal: Annotated[
        bool,
        Meta(description="If the provider says that the conversation is too long: trim it further, and send it again."),
    ] = True


class Compact(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Summarising old turns with a small model, beside the answer, for the turns that follow."""

    model: Annotated[str, Meta(description="The model of this file, or `PROVIDER/MODEL`, that writes summaries.")]
    above_tokens: Annotated[int, Meta(ge=1, le=MOST_TOKENS, description="Shorter histories are left alone.")] = 12_000
    keep_recent: Annotated[
        int, Meta(ge=1, le=MOST_TOKENS, description="The last messages, which are never summarised.")
    ] = 5
    chunk_size: Annotated[int, Meta(ge=2, le=MOST_TOKENS, description="Messages that are summarised at a time.")] = 20
    max_chunk_tokens: Annotated[
        int, Meta(ge=1000, le=MOST_TOKENS, description="Tokens that are summarised at a time.")
    ] = 8_000
    max_summary_tokens: Annotated[TokenLimit, Meta(description="The longest summary.")] = 1_024
    clip_first: Annotated[
        int, Meta(ge=0, le=MOST_TOKENS, description="Lines that stay at the start of a message that is clipped.")
    ] = 2
    clip_last: Annotated[int, Meta(ge=0, le=MOST_TOKENS, description="Lines that stay at its end.")] = 2
    timeout: Annotated[float, Meta(gt=0, le=3600, description="Seconds for one part.")] = 120.0
    retries: Annotated[int, Meta(ge=0, le=10, description="How often a part that fails is tried again, halved.")] = 2


class HistoryConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is done about long conversations. By default nothing."""

    trim: Annotated[Trim | None, Meta(description="Cut them to a budget; `{}` takes the defaults.", examples=[{}])] = (
        None
    )
    compact: Annotated[
        Compact | None,
        Meta(description="Summarise old turns; applied before `trim`.", examples=[{"model": "openai/gpt-4o-mini"}]),
    ] = None


class HealthChecks(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Small requests that find out whether models answer, before a client does."""

    interval: Annotated[float, Meta(ge=1, description="Seconds between two rounds.")] = 300.0
    max_latency_ms: Annotated[float, Meta(gt=0, description="A model whose answer begins later is unhealthy.")] = (
        10_000.0
    )
    idle_after_seconds: Annotated[
        float, Meta(gt=0, description="Without requests for so long, the checks pause until the next request.")
    ] = 300.0


class Price(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a model costs, per million tokens, in the currency that you count in."""

    input: Annotated[float, Meta(ge=0, description="Tokens of the request.")]
    output: Annotated[float, Meta(ge=0, description="Tokens of the answer, thinking included.")]
    cached: Annotated[
        Amount | None, Meta(description="Tokens of the request read from the provider's cache; as `input`.")
    ] = None
    written: Annotated[
        Amount | None, Meta(description="Tokens of the request written to the provider's cache; as `input`.")
    ] = None


class WhenFull(StrEnum):
    QUEUE = "queue"
    REFUSE = "refuse"


class ModelRateLimits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the gateway sends to one target at most, so that its provider need not refuse anything."""

    requests_per_minute: Annotated[Positive | None, Meta(description="Requests in any 60 seconds, retries too.")] = None
    input_tokens_per_minute: Annotated[
        Positive | None, Meta(description="Tokens of requests in any 60 seconds, cached ones too.")
    ] = None
    output_tokens_per_minute: Annotated[Positive | None, Meta(description="Tokens of answers in any 60 seconds.")] = (
        None
    )
    output_reserve: Annotated[
        int,
        Meta(
            ge=0,
            description="A request is sent only where so many output tokens are left, or as many as it may use at "
            "most. They are booked until its real output is known.",
        ),
    ] = 1024
    when_full: Annotated[
        WhenFull,
        Meta(
            description="`queue`: requests wait for their turn, then the fallbacks are tried; `refuse`: the fallbacks "
            "are tried at once. Where there are none, the client gets 429 with `Retry-After`."
        ),
    ] = WhenFull.QUEUE
    max_wait: Annotated[float, Meta(gt=0, description="The longest wait in seconds.")] = 30.0
    max_waiting: Annotated[
        int, Meta(ge=1, description="Requests that may wait at the same time, per worker. Further ones do not.")
    ] = 100


class ModelRoute(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A name behind which the gateway chooses a model for each request."""

    models: Annotated[
        tuple[str, ...],
        Meta(description="Models of this file to choose from; empty: all that are not hidden."),
    ] = ()
    strategy: Annotated[
        Strategy,
        Meta(
            description="`order`: the first that can answer. `model`: the `router` model decides. `weighted`: at "
            "random, by `weight`. `cheapest`: by `price`, or the published one. `fastest`: by the measured time to the "
            "first byte. `least_busy`: by requests under way. `size`: the smallest context window that is enough. "
            "`rating`: the highest mean of `ratings`."
        ),
    ] = Strategy.ORDER
    default: Annotated[str | None, Meta(description="Taken if the router model cannot tell; by default the first.")] = (
        None
    )


class CacheConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What routes assume of providers' caches, for models with a `cache_ttl`."""

    buffer_seconds: Annotated[
        float, Meta(ge=0, description="A cache counts as cold so many seconds before its end.")
    ] = 30.0
    minutes_per_message: Annotated[float, Meta(gt=0, description="How often a turn of a session comes.")] = 2.0
    create_multiplier: Annotated[
        float, Meta(ge=0, description="Times the input price for what is written, where the price has no `written`.")
    ] = 1.25
    hit_multiplier: Annotated[
        float, Meta(ge=0, description="Times the input price for what is read, where the price has no `cached`.")
    ] = 0.1


class RouterConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The small model that decides for routes with `strategy: model`."""

    model: Annotated[str, Meta(description="A model of this file, or `PROVIDER/MODEL`.", examples=["small"])]
    fallback: Annotated[str | None, Meta(description="Asked if the first fails.")] = None
    temperature: Annotated[Annotated[float, Meta(ge=0)] | None, Meta(description="`null` leaves it out.")] = 0.0
    context_messages: Annotated[int, Meta(ge=0, description="Earlier turns that it is shown.")] = 6
    timeout: Annotated[float, Meta(gt=0, description="Seconds after which the default is taken.")] = 10.0
    prompt: Annotated[
        str | None,
        Meta(description="Instead of the built-in one; with `{model_descriptions}`, `{context}`, `{current_request}`."),
    ] = None


class Model(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A model name that clients use, and its target."""

    target: Annotated[
        str,
        Meta(
            description="`PROVIDER/MODEL`. PROVIDER is a provider of this file or a built-in profile.",
            examples=["anthropic/claude-sonnet-4-5"],
        ),
    ]
    options: Annotated[
        dict[str, Any],
        Meta(description="Merged deeply into every request for this model.", examples=[{"temperature": 0.2}]),
    ] = field(default_factory=dict)
    omit: Annotated[tuple[str, ...], Meta(description="Settings never sent to this model.", examples=[["top_p"]])] = ()
    description: Annotated[str | None, Meta(description="What the model is good at; shown in model lists.")] = None
    hidden: Annotated[bool, Meta(description="Usable, but not listed.")] = False
    fallbacks: Annotated[
        tuple[str, ...],
        Meta(
            description="Targets or model names of this file, tried in order if the target fails.",
            examples=[["openrouter/google/gemini-2.5-pro"]],
        ),
    ] = ()
    fallbacks_on: Annotated[FallbacksOn, Meta(description="Fallbacks for one reason of failure.")] = FallbacksOn()
    context_window: Annotated[
        TokenLimit | None, Meta(description="Its context window in tokens; by default the profile's.")
    ] = None
    weight: Annotated[float, Meta(gt=0, description="Its share in routes that weigh.")] = 1.0
    ratings: Annotated[
        dict[str, float],
        Meta(description="How good it is, by discipline.", examples=[{"coding": 1400, "writing": 1350}]),
    ] = field(default_factory=dict)
    price: Annotated[Price | None, Meta(description="What it costs.", examples=[{"input": 3, "output": 15}])] = None
    rate_limits: Annotated[
        ModelRateLimits | None,
        Meta(
            description="What its target is sent at most in a minute, under whatever name it is asked for.",
            examples=[{"requests_per_minute": 60}],
        ),
    ] = None
    cache_ttl: Annotated[
        float,
        Meta(
            ge=0,
            description="Minutes that its provider keeps a prefix. While it is warm, a route leaves the model of a "
            "session only for one with higher ratings.",
        ),
    ] = 0.0
    history: Annotated[
        HistoryConfig | None, Meta(description="What is done about long conversations; replaces that of the file.")
    ] = None
    facts: Annotated[dict[str, Any], Meta(description="Facts that differ for this model.")] = field(
        default_factory=dict
    )
    rules: Annotated[
        dict[str, RuleChoice], Meta(description="Rule options for this model.", examples=[{"late-system": "opening"}])
    ] = field(default_factory=dict)
    max_loss: Annotated[MaxLoss | None, Meta(description="Replaces the one of the provider and of the file.")] = None
    synthetic: Annotated[Synthetic | None, Meta(description="Replaces the one of the provider and of the file.")] = None
    doubt: Annotated[
        Doubt,
        Meta(
            description="What the target may refuse, and nobody knows: `faithful` leaves it as the client wrote it, "
            "`careful` repairs it."
        ),
    ] = Doubt.FAITHFUL
    passthrough_fields: Annotated[
        tuple[str, ...], Meta(description="Unknown message fields that are sent unchanged.")
    ] = ()
    answer_model: Annotated[
        AnswerModel | None,
        Meta(
            description="The model that an answer names: `alias`, as the client asked for it, or `upstream`, as the "
            "provider calls it; by default `upstream` where the answer is relayed in its own dialect, else `alias`."
        ),
    ] = None
    answers: Annotated[
        AnswerMembers,
        Meta(
            description="Answers of another vendor in the client's own dialect: `whole` adds the members that strict "
            "clients require to whole answers and relays streams as they are; `complete` completes streams too."
        ),
    ] = AnswerMembers.WHOLE
    reasoning: Annotated[
        ShownReasoning,
        Meta(
            description="Thinking in answers to Anthropic and Gemini clients: `asked` shows it to those that asked, "
            "as their own providers do; `show` to all."
        ),
    ] = ShownReasoning.ASKED
    show_model_prefix: Annotated[
        bool,
        Meta(description="Begin each answer with `[PROVIDER/MODEL] `. The prefix is taken off the history again."),
    ] = False


class ModelOverride(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings for all models whose name contains a text. What a model of this file says wins."""

    match: Annotated[str, Meta(description="A part of the model's name, in any case.", examples=["claude-opus"])]
    options: Annotated[
        dict[str, Any], Meta(description="Merged deeply into every request.", examples=[{"temperature": 1}])
    ] = field(default_factory=dict)
    omit: Annotated[tuple[str, ...], Meta(description="Settings never sent.", examples=[["top_p"]])] = ()
    reasoning: Annotated[
        ReasoningMode | None,
        Meta(
            description="`omit`: the target is not told whether to think; `enable` and `disable`: it is told so, where "
            "its profile knows a switch for that."
        ),
    ] = None
    cache_control: Annotated[bool | None, Meta(description="Whether it takes cache hints.")] = None
    strict_tools: Annotated[bool | None, Meta(description="Whether it takes strict tools.")] = None


class Unpriced(StrEnum):
    """What a key with a budget may do with models of which nobody tells what they cost."""

    REFUSE = "refuse"
    ALLOW = "allow"


class Budget(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a key may spend, in the currency of the prices. Days and months are those of UTC."""

    day: Annotated[Amount | None, Meta(description="In one day.", examples=[5])] = None
    month: Annotated[Amount | None, Meta(description="In one month.", examples=[50])] = None
    total: Annotated[Amount | None, Meta(description="Ever.", examples=[200])] = None
    warn: Annotated[
        float,
        Meta(ge=0, le=1, description="From this part of a budget on, answers have `x-dragoman-budget-warning`."),
    ] = 0.8


class ClientKey(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A client of the gateway. Create one with `dragoman keys create NAME`."""

    sha256: Annotated[
        str,
        Meta(
            description="SHA-256 of the key in hex. The key itself is never stored.",
            examples=["9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"],
        ),
    ]
    allowed_models: Annotated[
        tuple[str, ...], Meta(description="Model names or globs that it may use; empty: all.", examples=[["cheap"]])
    ] = ()
    allowed_endpoints: Annotated[
        tuple[str, ...],
        Meta(description="Paths or globs that it may call; empty: all.", examples=[["/v1/chat/completions"]]),
    ] = ()
    requests_per_minute: Annotated[Positive | None, Meta(description="Requests in any 60 seconds.")] = None
    tokens_per_minute: Annotated[Positive | None, Meta(description="Tokens, in and out, in any 60 seconds.")] = None
    concurrent: Annotated[Positive | None, Meta(description="Requests at the same time, per worker.")] = None
    budget: Annotated[
        Budget | None, Meta(description="What it may spend; further requests get 429.", examples=[{"day": 5}])
    ] = None
    unpriced: Annotated[
        Unpriced,
        Meta(description="Where it has a budget: `refuse` models without a price, or `allow` them, at no cost."),
    ] = Unpriced.REFUSE
    expires: Annotated[
        datetime | None,
        Meta(
            description="When it expires. A date means its first moment, UTC.",
            examples=["2030-01-01"],
        ),
    ] = None
    admin: Annotated[bool, Meta(description="May see all reports and use `x-dragoman-*` request headers.")] = False

    def limited(self) -> bool:
        return self.requests_per_minute is not None or self.tokens_per_minute is not None


class ServerConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the gateway listens."""

    host: Annotated[str, Meta(description="The address to listen on.")] = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65535, description="The port to listen on; 0 takes a free one.")] = 8642
    workers: Annotated[int, Meta(ge=1, le=256, description="The number of processes that share the port.")] = 1
    max_body: Annotated[int, Meta(ge=1024, description="The largest request body in bytes.")] = 20_971_520
    max_headers: Annotated[int, Meta(ge=1024, description="The largest request head in bytes.")] = 65_536
    max_concurrent: Annotated[
        int, Meta(ge=1, description="Requests at the same time per worker. Further ones get 429 with `Retry-After`.")
    ] = 2000
    write_timeout: Annotated[
        float,
        Meta(gt=0, description="Seconds that a client may leave the answer unread before the gateway disconnects it."),
    ] = 60.0
    shutdown_grace: Annotated[
        float, Meta(ge=0, description="Seconds that running requests have to finish at shutdown.")
    ] = 30.0
    hosts: Annotated[
        tuple[str, ...],
        Meta(
            description="Names that clients may call the gateway by if there are no `keys`, besides `localhost` and "
            "loopback addresses: the `Host` of their requests, without the port. It stops web pages whose name leads "
            "to this machine.",
            examples=[["dragoman.internal"]],
        ),
    ] = ()
    allow_public_without_keys: Annotated[
        bool,
        Meta(description="Listen on other addresses than loopback without `keys`. Anyone can spend your money then."),
    ] = False


class Vault(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Opaque provider state that the client's dialect cannot carry, kept for the next turn."""

    enabled: Annotated[bool, Meta(description="Keep it at all.")] = True
    per_caller: Annotated[int, Meta(ge=1, description="Entries of one key.")] = 4096
    entries: Annotated[int, Meta(ge=1, description="Entries of all keys together.")] = 65_536
    max_bytes: Annotated[int, Meta(ge=1024, description="Bytes of all entries together.")] = 268_435_456
    ttl: Annotated[float, Meta(gt=0, description="Seconds after its last use that an entry is forgotten.")] = 86_400.0


class ResponseStore(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Answers of the Responses API that clients refer to by `previous_response_id` or fetch again, on any model."""

    enabled: Annotated[
        bool, Meta(description="Store them, unless a request says `store: false`. Conversations are then on the disk.")
    ] = False
    per_caller: Annotated[int, Meta(ge=1, description="Answers of one key.")] = 1000
    entries: Annotated[int, Meta(ge=1, description="Answers of all keys together.")] = 20_000
    max_bytes: Annotated[int, Meta(ge=1024, description="Bytes of all answers together.")] = 268_435_456
    ttl: Annotated[float, Meta(gt=0, description="Seconds after its last use that an answer is forgotten.")] = (
        2_592_000.0
    )


class RedisOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How replicas share their state in Redis."""

    prefix: Annotated[
        str,
        Meta(min_length=1, max_length=100, description="What all keys begin with. Replicas share what has the same."),
    ] = "dragoman"
    deadline_ms: Annotated[
        float,
        Meta(
            gt=0,
            le=10_000,
            description="Milliseconds that a request waits for Redis; then what this replica knows decides.",
        ),
    ] = 5.0
    replicas: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(
            description="How many processes share the limits. While Redis is away each allows its share. By default "
            "those that Redis last knew.",
        ),
    ] = None
    ca_file: Annotated[
        str | None, Meta(description="PEM certificates that are trusted for `rediss://`, instead of the system's.")
    ] = None


class PostgresOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How replicas share the ledger in PostgreSQL."""

    connections: Annotated[
        int, Meta(ge=1, le=100, description="Connections for questions; each process has one more that writes.")
    ] = 4
    timeout: Annotated[
        float, Meta(gt=0, le=600, description="Seconds after which a statement is given up, or a wait for a lock.")
    ] = 10.0
    spool_mb: Annotated[
        int,
        Meta(
            ge=0,
            description="Megabytes on the disk, for each process, in which entries wait while PostgreSQL is away. "
            "Beyond it they are counted as dropped; with 0 they wait in memory, within `queue`.",
        ),
    ] = 256


class StoreConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What outlives a request."""

    kind: Annotated[
        StoreKind,
        Meta(description="`sqlite` survives a restart and is shared by several workers; `memory` does neither."),
    ] = StoreKind.SQLITE
    path: Annotated[
        str | None,
        Meta(
            description="The SQLite file, relative to this file's folder; by default `dragoman.sqlite3` beside this "
            "file, and without a configuration file in the user's state directory.",
            examples=["/var/lib/dragoman/store.sqlite3"],
        ),
    ] = None
    hot: Annotated[
        Secret | None,
        Meta(
            description="Where replicas share limits, budgets, reasoning state, pins, lessons and stored answers: "
            "`redis://`, `rediss://` (TLS), `redis+sentinel://HOST,HOST/NAME` or `redis+unix://`. By default they are "
            "in the SQLite file.",
            examples=["rediss://dragoman:${REDIS_PASSWORD}@redis.internal:6379/0"],
        ),
    ] = None
    ledger: Annotated[
        Secret | None,
        Meta(
            description="Where replicas share the ledger: `postgresql://`. By default it is in the SQLite file.",
            examples=["postgresql://dragoman:${PG_PASSWORD}@db.internal/dragoman"],
        ),
    ] = None
    redis: Annotated[RedisOptions, Meta(description="Options of `hot`.")] = RedisOptions()
    postgres: Annotated[PostgresOptions, Meta(description="Options of `ledger`.")] = PostgresOptions()
    keep_requests: Annotated[int, Meta(ge=0, description="Requests in the ledger.")] = 10_000
    keep_days: Annotated[float, Meta(gt=0, description="Days after which a request leaves the ledger.")] = 30.0
    keep_bodies: Annotated[
        bool,
        Meta(
            description="Keep request and answer bodies too, of a streamed answer the first mebibyte: conversations "
            "are then on the disk."
        ),
    ] = False
    queue: Annotated[
        int, Meta(ge=1, description="Entries that may wait to be written; beyond it they are counted as dropped.")
    ] = 10_000
    vault: Annotated[Vault, Meta(description="Opaque provider state.")] = Vault()
    responses: Annotated[ResponseStore, Meta(description="Stored answers of the Responses API.")] = ResponseStore()


class ProviderErrors(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file with one JSON line per refusal of a provider, for `dragoman replay`."""

    path: Annotated[str | None, Meta(description="The file; `null` for none.")] = "logs/provider_errors.jsonl"
    content: Annotated[
        bool,
        Meta(
            description="Keep texts. Otherwise each is replaced by `x` of the same length, which is enough to replay."
        ),
    ] = False
    max_bytes: Annotated[int, Meta(ge=1024, description="The size at which the file is rotated.")] = 10_485_760
    backups: Annotated[int, Meta(ge=0, le=100, description="The number of rotated files to keep.")] = 5


class ExchangeLog(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Files with one JSON line per request: what the client asked and what was really sent."""

    folder: Annotated[str | None, Meta(description="The folder; `null` for none.", examples=["logs/exchanges"])] = None
    split: Annotated[
        LogSplit,
        Meta(description="`day`: one file a day; `dialect`: one file for each dialect that clients speak."),
    ] = LogSplit.DAY
    content: Annotated[bool, Meta(description="Keep texts. Otherwise each is replaced by `x` of the same length.")] = (
        True
    )
    answers: Annotated[bool, Meta(description="Keep answers too, of a streamed one the first mebibyte.")] = False


class Log(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the gateway logs."""

    level: Annotated[LogLevel, Meta(description="The lowest level that is logged.")] = LogLevel.INFO
    format: Annotated[LogFormat, Meta(description="One JSON object per line, or text for people.")] = LogFormat.JSON
    content: Annotated[bool, Meta(description="Log conversations.")] = False
    provider_errors: Annotated[ProviderErrors, Meta(description="The file of refusals.")] = ProviderErrors()
    exchanges: Annotated[ExchangeLog, Meta(description="Files of requests, as asked and as sent.")] = ExchangeLog()


class MediaConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Fetching media that a client gives by URL, for targets that take it only inline."""

    fetch: Annotated[bool, Meta(description="Fetch media. Otherwise the URL is sent as text, and reported.")] = True
    allow: Annotated[
        tuple[str, ...],
        Meta(
            description="Private or link-local hosts, `*.suffix` or networks that may be reached.",
            examples=[["media.internal", "10.1.0.0/16"]],
        ),
    ] = ()
    max_bytes: Annotated[int, Meta(ge=1, description="The largest file in bytes.")] = 20_971_520
    timeout: Annotated[float, Meta(gt=0, description="Seconds for one file.")] = 15.0


class Config(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole of `dragoman.yaml`."""

    providers: Annotated[dict[str, Provider], Meta(description="Provider endpoints by name. You choose the names.")] = (
        field(default_factory=dict)
    )
    models: Annotated[
        dict[str, Model],
        Meta(
            description="Public model names and their targets. A name may hold one `*`, for many names: `anthropic/*`, "
            "`team-*`, or `*` for all that nothing else fits. A `*` in its targets stands for the same."
        ),
    ] = field(default_factory=dict)
    families: Annotated[
        dict[str, str],
        Meta(
            description="The provider for bare names of a family, such as `gpt-4o`, where several serve it.",
            examples=[{"gpt": "openai"}],
        ),
    ] = field(default_factory=dict)
    routes: Annotated[
        dict[str, ModelRoute],
        Meta(description="Names behind which a model is chosen for each request. `auto` is always one, of all models."),
    ] = field(default_factory=dict)
    router: Annotated[RouterConfig | None, Meta(description="The model that decides for routes.")] = None
    caches: Annotated[CacheConfig, Meta(description="What routes assume of providers' caches.")] = CacheConfig()
    health_checks: Annotated[
        HealthChecks | None,
        Meta(
            description="Check the models of routes; `{}` takes the defaults. They cost a few tokens each.",
            examples=[{}],
        ),
    ] = None
    pin_tool_results: Annotated[
        bool, Meta(description="In routes, results of tools go back to the model that made the calls.")
    ] = True
    overrides: Annotated[
        tuple[ModelOverride, ...],
        Meta(description="Settings by a part of the model's name. The first that matches is taken."),
    ] = ()
    profiles: Annotated[
        tuple[str, ...],
        Meta(
            description="TOML files with your own profiles, relative to this file's folder. Read at the start.",
            examples=[["profiles.toml"]],
        ),
    ] = ()
    default_model: Annotated[
        str | None, Meta(description="Used if a request names no model; by default `LLM_MODEL`.", examples=["smart"])
    ] = None
    default_audio_model: Annotated[
        str | None,
        Meta(
            description="Used if a transcription names no model; by default `default_model`.",
            examples=["openai/whisper-1"],
        ),
    ] = None
    keys: Annotated[
        dict[str, ClientKey],
        Meta(description="Clients that may use the gateway. Without keys it listens on loopback only."),
    ] = field(default_factory=dict)
    rules: Annotated[
        dict[str, RuleChoice],
        Meta(description="Rule options for all targets.", examples=[{"many-systems": {"join": "\n\n---\n\n"}}]),
    ] = field(default_factory=dict)
    max_loss: Annotated[MaxLoss, Meta(description="A repair that would lose more is refused with 422.")] = (
        MaxLoss.CONTENT
    )
    synthetic: Annotated[Synthetic, Meta(description="`refuse`: 422 if a repair would have to make up a turn.")] = (
        Synthetic.ALLOW
    )
    texts: Annotated[
        dict[str, str],
        Meta(
            description="The texts of turns that a repair makes up, by reason.",
            examples=[{"leading_user": "[autonomous processing]", "trailing_user": "Please continue."}],
        ),
    ] = field(default_factory=dict)
    history: Annotated[HistoryConfig, Meta(description="What is done about long conversations.")] = HistoryConfig()
    server: Annotated[ServerConfig, Meta(description="How the gateway listens.")] = ServerConfig()
    limits: Annotated[RequestLimits, Meta(description="How much one request, and one answer, may hold.")] = (
        RequestLimits()
    )
    store: Annotated[StoreConfig, Meta(description="What outlives a request.")] = StoreConfig()
    log: Annotated[Log, Meta(description="What the gateway logs.")] = Log()
    media: Annotated[MediaConfig, Meta(description="Fetching media by URL.")] = MediaConfig()
