"""OpenAI Chat Completions."""

from __future__ import annotations

from typing import Final

from dragoman.conversation.dialect_names import DialectName
from dragoman.conversation.parts import Origin

NAME: Final[DialectName] = "openai-chat"
ORIGIN = Origin(NAME)
ID_PREFIX = "chatcmpl-"
"""How the ids of this vendor's answers begin."""
IN_ANSWER = frozenset({"prompt_filter_results"})
"""Members of an answer that only some servers add."""
IN_CHOICE = frozenset({"content_filter_results", "content_filter_offsets"})
"""The same in a choice."""
