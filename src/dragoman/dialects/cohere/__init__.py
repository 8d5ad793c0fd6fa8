"""Cohere Chat, version 2."""

from __future__ import annotations

from typing import Final

from dragoman.conversation.dialect_names import DialectName
from dragoman.conversation.parts import Extras, Origin

NAME: Final[DialectName] = "cohere"
ORIGIN = Origin(NAME)
PLAN = Extras(NAME, {"tool_plan": b"null"})
"""Marks a text of an answer as the plan before its calls. It says nothing else, so other dialects show plain text."""
