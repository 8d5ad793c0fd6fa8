"""Anthropic Messages."""

from __future__ import annotations

from typing import Final

from dragoman.conversation.dialect_names import DialectName
from dragoman.conversation.parts import Origin

NAME: Final[DialectName] = "anthropic"
ORIGIN = Origin(NAME)
ID_PREFIX = "msg_"
"""How the ids of this vendor's answers begin."""
