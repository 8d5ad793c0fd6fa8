"""`providers`: the endpoints that run models."""

from enum import StrEnum
from typing import Annotated, Any

from msgspec import Meta, Struct, field

from dragoman.config.schema.repairs import CacheChoice, MaxLoss, RuleChoice, Synthetic
from dragoman.config.secret import Secret


class UsageCounting(StrEnum):
    """How the gateway counts tokens that a provider does not report."""

    ESTIMATE = "estimate"
    ASK = "ask"


class Jitter(StrEnum):
    """How much of a wait is drawn at random."""

    FULL = "full"
    NONE = "none"


class Growth(StrEnum):
    """How waits grow from one attempt to the next."""

    EXPONENTIAL = "exponential"
    LINEAR = "linear"


class Auth(StrEnum):
    """The header that carries the key."""

    BEARER = "bearer"
    X_API_KEY = "x-api-key"
    X_GOOG_API_KEY = "x-goog-api-key"
    API_KEY = "api-key"
    NONE = "none"


class Credentials(StrEnum):
    """Whose credential a provider is asked with."""

    GATEWAY = "gateway"
    CALLER = "caller"


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
    """The region and the identity for requests to a cloud."""

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
    credentials: Annotated[
        Credentials,
        Meta(
            description="`caller`: each request is sent with the credential that its caller sent, to this provider "
            "alone. The gateway's own key is then in the header `x-dragoman-key`."
        ),
    ] = Credentials.GATEWAY
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
    websocket: Annotated[
        bool,
        Meta(
            description="Send turns of a client's WebSocket over one to the provider, if its profile says that it has "
            "them. A turn then holds what is new. If the socket fails before an answer begins, the turn is posted."
        ),
    ] = False
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
    cache: Annotated[CacheChoice | None, Meta(description="Replaces the `cache` of the file.")] = None
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

    @property
    def asks_as_caller(self) -> bool:
        """Whether each request is sent with its caller's credential."""
        return self.credentials is Credentials.CALLER

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
