"""The types of the configuration file, one module per section.

Every key of `dragoman.yaml` is a field here, and its `Meta` is the only place that describes it. The reference, the
JSON Schema for editors and the example of `dragoman init` are generated from it.

These modules do without `from __future__ import annotations`: the types are read on every start, and reading them from
texts takes four times as long.
"""

from dragoman.config.schema.config_file import Config
from dragoman.config.schema.history import Compact, HistoryConfig, Trim
from dragoman.config.schema.keys import Budget, ClientKey, Unpriced
from dragoman.config.schema.log import ExchangeLog, Log, LogFormat, LogLevel, LogSplit, ProviderErrors
from dragoman.config.schema.media import MediaConfig
from dragoman.config.schema.models import (
    FallbacksOn,
    Model,
    ModelOverride,
    ModelRateLimits,
    Price,
    ReasoningMode,
    WhenFull,
)
from dragoman.config.schema.providers import (
    Attribution,
    Auth,
    Cloud,
    Cooldown,
    Credentials,
    Growth,
    Jitter,
    Provider,
    ProviderTimeouts,
    Retries,
    UsageCounting,
)
from dragoman.config.schema.repairs import CacheChoice, MaxLoss, RuleChoice, Synthetic
from dragoman.config.schema.routes import CacheConfig, HealthChecks, ModelRoute, RouterConfig
from dragoman.config.schema.server import ServerConfig
from dragoman.config.schema.state import ForeignIds, StateConfig
from dragoman.config.schema.store import PostgresOptions, RedisOptions, StoreConfig, StoreKind, Vault
from dragoman.config.schema.tools import (
    FetchConfig,
    McpTransport,
    SearchConfig,
    ServerLogin,
    ToolApproval,
    ToolsConfig,
    ToolServer,
)

__all__ = [
    "Attribution",
    "Auth",
    "Budget",
    "CacheChoice",
    "CacheConfig",
    "ClientKey",
    "Cloud",
    "Compact",
    "Config",
    "Cooldown",
    "Credentials",
    "ExchangeLog",
    "FallbacksOn",
    "FetchConfig",
    "ForeignIds",
    "Growth",
    "HealthChecks",
    "HistoryConfig",
    "Jitter",
    "Log",
    "LogFormat",
    "LogLevel",
    "LogSplit",
    "MaxLoss",
    "McpTransport",
    "MediaConfig",
    "Model",
    "ModelOverride",
    "ModelRateLimits",
    "ModelRoute",
    "PostgresOptions",
    "Price",
    "Provider",
    "ProviderErrors",
    "ProviderTimeouts",
    "ReasoningMode",
    "RedisOptions",
    "Retries",
    "RouterConfig",
    "RuleChoice",
    "SearchConfig",
    "ServerConfig",
    "ServerLogin",
    "StateConfig",
    "StoreConfig",
    "StoreKind",
    "Synthetic",
    "ToolApproval",
    "ToolServer",
    "ToolsConfig",
    "Trim",
    "Unpriced",
    "UsageCounting",
    "Vault",
    "WhenFull",
]
