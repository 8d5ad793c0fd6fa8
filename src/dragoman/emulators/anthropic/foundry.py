"""Claude in Azure AI Foundry: Anthropic's API below `/anthropic`."""

from __future__ import annotations

from typing import Any

from dragoman.emulators.anthropic.emulator import Anthropic
from dragoman.emulators.provider import Operation

_ROOT = "/anthropic"


class FoundryClaude(Anthropic):
    """Anthropic's messages, and no list of models: a model is a deployment there."""

    name = "azure-anthropic"
    has_free_names = True
    example: tuple[str, Any] = (_ROOT + Anthropic.example[0], Anthropic.example[1])

    def operation_of(self, method: str, path: str) -> Operation | None:
        if not path.startswith(f"{_ROOT}/v1/messages"):
            return None
        return super().operation_of(method, path.removeprefix(_ROOT))
