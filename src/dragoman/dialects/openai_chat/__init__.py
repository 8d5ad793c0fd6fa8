"""OpenAI Chat Completions."""

from __future__ import annotations

from typing import Final

from dragoman.conversation.dialect_names import DialectName
from dragoman.conversation.parts import Origin

NAME: Final[DialectName] = "openai-chat"
ORIGIN = Origin(NAME)
ID_PREFIX = "chatcmpl-"
"""How the ids of this vendor's answers begin."""
