"""The store's configuration, which a reload may replace while the store is open."""

from __future__ import annotations

from dragoman.config.schema import StoreConfig


class StoreSettings:
    """One for all parts of a store: each looks here when it needs a value."""

    __slots__ = ("config",)

    def __init__(self, config: StoreConfig) -> None:
        self.config = config
