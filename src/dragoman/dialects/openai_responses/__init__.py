"""OpenAI Responses."""

from __future__ import annotations

from typing import Final

from dragoman.conversation.dialect_names import DialectName
from dragoman.conversation.parts import Origin

NAME: Final[DialectName] = "openai-responses"
ORIGIN = Origin(NAME)
ID_PREFIX = "resp_"
"""How the ids of this vendor's answers begin."""
