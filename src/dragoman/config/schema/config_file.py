"""The whole file, section by section."""

from typing import Annotated

from msgspec import Meta, Struct, field

from dragoman.config.schema.history import HistoryConfig
from dragoman.config.schema.keys import ClientKey
from dragoman.config.schema.log import Log
from dragoman.config.schema.media import MediaConfig
from dragoman.config.schema.models import Model, ModelOverride
from dragoman.config.schema.providers import Provider
from dragoman.config.schema.repairs import CacheChoice, MaxLoss, RuleChoice, Synthetic
from dragoman.config.schema.routes import HealthChecks, ModelRoute, RouterConfig
from dragoman.config.schema.server import ServerConfig
from dragoman.config.schema.start_keys import at_start
from dragoman.config.schema.state import StateConfig
from dragoman.config.schema.store import StoreConfig
from dragoman.config.schema.tools import ToolsConfig, ToolServer
from dragoman.config.secret import Secret
from dragoman.engine.compile.request_limits import RequestLimits
from dragoman.engine.routing.cache_prices import CacheHabits
from dragoman.rules.context import TEXTS

_REASONS = ", ".join([f"`{reason}`" for reason in TEXTS])


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
            description="The provider for bare names of a family, such as `gpt-4o`, if several serve it.",
            examples=[{"gpt": "openai"}],
        ),
    ] = field(default_factory=dict)
    routes: Annotated[
        dict[str, ModelRoute],
        Meta(description="Names behind which a model is chosen for each request. `auto` is always one, of all models."),
    ] = field(default_factory=dict)
    router: Annotated[RouterConfig | None, Meta(description="The model that decides for routes.")] = None
    caches: Annotated[CacheHabits, Meta(description="What routes assume of providers' caches.")] = CacheHabits()
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
        at_start(
            "TOML files with your own profiles, relative to this file's folder.",
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
    cache: Annotated[
        CacheChoice | None,
        Meta(
            description="Who sets cache hints: the `client` alone; `auto`, the gateway too, from the second time "
            "that a key sends a prompt; `off`, nobody. Not set: `auto` if a request is translated, else `client`."
        ),
    ] = None
    synthetic: Annotated[Synthetic, Meta(description="`refuse`: 422 if a repair would have to make up a turn.")] = (
        Synthetic.ALLOW
    )
    texts: Annotated[
        dict[str, str],
        Meta(
            description=f"The texts of turns that a repair makes up, by reason: {_REASONS}.",
            examples=[{"leading_user": "[autonomous processing]", "trailing_user": "Please continue."}],
        ),
    ] = field(default_factory=dict)
    secret: Annotated[
        Secret | None,
        Meta(
            description="Seals the summaries that clients carry, so that only this gateway reads them, for the key "
            "that they were made for. 16 characters or more. By default the store keeps one, made at the first start.",
            examples=["${DRAGOMAN_SECRET}"],
        ),
    ] = None
    old_secret: Annotated[
        Secret | None,
        Meta(
            description="The `secret` before the present one, while you change it: what it sealed can still be opened.",
            examples=["${DRAGOMAN_OLD_SECRET}"],
        ),
    ] = None
    history: Annotated[HistoryConfig, Meta(description="What is done about long conversations.")] = HistoryConfig()
    server: Annotated[ServerConfig, Meta(description="How the gateway listens.")] = ServerConfig()
    limits: Annotated[RequestLimits, Meta(description="How much one request, and one answer, may hold.")] = (
        RequestLimits()
    )
    store: Annotated[StoreConfig, Meta(description="What outlives a request.")] = StoreConfig()
    state: Annotated[StateConfig, Meta(description="Conversations that clients refer to by ids.")] = StateConfig()
    log: Annotated[Log, Meta(description="What the gateway logs.")] = Log()
    media: Annotated[MediaConfig, Meta(description="Fetching media by URL.")] = MediaConfig()
    tool_servers: Annotated[
        dict[str, ToolServer],
        Meta(
            description="MCP servers whose tools the gateway calls, by name. `tool_servers` of a key or of a model "
            "names those whose tools its requests are given."
        ),
    ] = field(default_factory=dict)
    tools: Annotated[ToolsConfig, Meta(description="Tools that the gateway runs if a provider lacks them.")] = (
        ToolsConfig()
    )
