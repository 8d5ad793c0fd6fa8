"""Prompts that a provider keeps under a name, for whoever sends the rest of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import msgspec


class PromptPieces(msgspec.Struct, frozen=True):
    """A request, cut where what is stored of it may end."""

    head: Mapping[str, msgspec.Raw]
    """Members that are stored whole, and may not stand beside the name."""
    items: tuple[msgspec.Raw, ...]
    """The turns."""
    ends: tuple[int, ...]
    """After how many turns it may be cut."""


class StoredPromptForm(Protocol):
    """How prompts are stored, renewed, deleted and used. Paths follow from that of the request."""

    def split(self, body: bytes) -> PromptPieces | None:
        """The pieces of a request; None if it names a stored prompt itself, or cannot be read."""

    def create(self, path: str, pieces: PromptPieces, count: int, seconds: float) -> tuple[str, bytes]:
        """Where and how so many turns are stored for so long."""

    def address(self, path: str, name: str) -> str:
        """Where a stored prompt is renewed and deleted."""

    def renew(self, seconds: float) -> bytes:
        """The body that renews it."""

    def read(self, answer: bytes) -> tuple[str, int] | None:
        """The name of what was stored, and its tokens; None if the answer does not tell."""

    def use(self, body: bytes, name: str, count: int) -> bytes:
        """The request without what is stored."""
