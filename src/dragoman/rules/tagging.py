"""Thinking as tagged words, for where it is wanted but has no place of its own."""

from __future__ import annotations

from dragoman.conversation.literals import joined, quote
from dragoman.conversation.parts import Text


def thinking_text(text: Text) -> Text:
    return Text(joined("", (quote("<thinking>"), text.literal, quote("</thinking>"))))
