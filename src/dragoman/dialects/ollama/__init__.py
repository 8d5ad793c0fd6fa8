"""Ollama's native chat."""

from __future__ import annotations

from typing import Final

from dragoman.conversation.dialect_names import DialectName
from dragoman.conversation.parts import Origin

NAME: Final[DialectName] = "ollama"
ORIGIN = Origin(NAME)
THINKING = "thinking"
"""The member of a message that holds its thinking."""
