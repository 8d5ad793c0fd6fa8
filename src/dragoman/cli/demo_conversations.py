"""Conversations that providers refuse: one for each client dialect, as real programs send them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from dragoman.conversation.dialect_names import DialectName
from dragoman.dialects.registry import dialect


class DemoConversation(msgspec.Struct, frozen=True):
    """A conversation, its client, and the provider that refuses it unchanged."""

    client: str
    dialect: DialectName
    provider: str
    model: str
    reason: str
    path: str
    body: dict[str, Any]

    def request(self, model: str) -> tuple[str, bytes]:
        """The path and body, with the model's name in its place."""
        named = self.body if dialect(self.dialect).model_in_path else {"model": model, **self.body}
        return self.path.format(model=model), msgspec.json.encode(named)


DEMO_CONVERSATIONS = msgspec.json.decode(
    Path(__file__).with_suffix(".json").read_bytes(), type=tuple[DemoConversation, ...]
)
