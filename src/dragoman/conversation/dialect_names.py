"""The names of the dialects.

A dialect's name stands here and in its own package. All other code asks `dialects.registry`.
"""

from __future__ import annotations

from typing import Final, Literal, get_args

DialectName = Literal["openai-chat", "openai-responses", "anthropic", "gemini", "cohere", "ollama", "bedrock"]

SourceName = Literal["auto"] | DialectName
"""The dialect of a request, or that it is to be recognised."""

DIALECT_NAMES: Final[tuple[DialectName, ...]] = get_args(DialectName)

DEFAULT_DIALECT: Final[DialectName] = "openai-chat"
"""The dialect of a request that nothing else tells apart."""
