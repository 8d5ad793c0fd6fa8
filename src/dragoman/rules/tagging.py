"""Words with a tag that says what they were, for targets that have no place for it."""

from __future__ import annotations

from msgspec.structs import replace

from dragoman.conversation.literals import join_texts, prefix_literal, quote
from dragoman.conversation.messages import Message, Role
from dragoman.conversation.parts import Part, Text

TURNED = "turned into a user turn"


def as_user(message: Message, prefix: str) -> Message:
    """The system's words as a user turn, tagged."""
    return replace(message, role=Role.USER, parts=tag_first_text(message.parts, prefix))


def tag_first_text(parts: tuple[Part, ...], prefix: str) -> tuple[Part, ...]:
    """The parts with a tag before the first text."""
    first = parts[0] if parts else None
    if type(first) is not Text:
        return (Text(quote(prefix)), *parts)
    return (replace(first, literal=prefix_literal(prefix, first.literal)), *parts[1:])


def thinking_text(text: Text) -> Text:
    """Thinking as text of the answer."""
    return Text(join_texts("", (quote("<thinking>"), text.literal, quote("</thinking>"))))
