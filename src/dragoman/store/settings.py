"""The store's configuration, which a reload may replace while the store is open."""

from __future__ import annotations

from msgspec import Struct

from dragoman.config.schema.config_file import Config
from dragoman.config.schema.state import StateConfig
from dragoman.config.schema.store import StoreConfig


class StoreOptions(StoreConfig, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All that a store needs to know: its own section, and how conversations are kept."""

    state: StateConfig = StateConfig()


def options_of(config: Config) -> StoreOptions:
    own = {name: getattr(config.store, name) for name in StoreConfig.__struct_fields__}
    return StoreOptions(**own, state=config.state)


def state_of(config: StoreConfig) -> StateConfig:
    return config.state if isinstance(config, StoreOptions) else StateConfig()


class StoreSettings(Struct, eq=False):
    """One for all parts of a store: each looks here when it needs a value."""

    config: StoreConfig
