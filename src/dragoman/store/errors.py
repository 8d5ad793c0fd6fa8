"""What can be wrong with a store."""

from __future__ import annotations

from dragoman.errors import DragomanError


class StoreError(DragomanError):
    """The file cannot be used as a store; the message says what to do."""


class StoreUnavailable(StoreError):
    """The store cannot be read right now. The data path never sees this: there it means "not there"."""
