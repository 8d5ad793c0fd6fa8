"""Bedrock Converse and ConverseStream."""

from __future__ import annotations

from typing import Final

from dragoman.conversation.dialect_names import DialectName
from dragoman.conversation.parts import Origin

NAME: Final[DialectName] = "bedrock"
ORIGIN = Origin(NAME)
