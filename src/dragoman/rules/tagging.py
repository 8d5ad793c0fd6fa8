"""Thinking as tagged text, for targets that have no place for it."""

from __future__ import annotations

from dragoman.conversation.literals import joined, quote
from dragoman.conversation.parts import Text


def thinking_text(text: Text) -> Text:
    return Text(joined("", (quote("<thinking>"), text.literal, quote("</thinking>"))))
