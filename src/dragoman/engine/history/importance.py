"""How much a message matters for what follows, as a number: its role, its age, and what it holds."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.conversation.messages import Message, Role
from dragoman.conversation.parts import Call, Result, Text

_ROLES = {Role.SYSTEM: 10.0, Role.DEVELOPER: 10.0, Role.USER: 5.0}
_OTHERS = 3.0
_DECAY = 0.95
"""Of a message one turn older."""
_QUESTION, _CALL, _KEYWORD = 2.0, 4.0, 1.5
_PER_HUNDRED, _MOST_FOR_LENGTH = 1.0, 3.0
KEYWORDS = (
    *("important", "decided", "decision", "must", "never"),
    *("always", "remember", "todo", "error", "fixed", "because"),
)
_SEARCHED = 4_000
"""Characters of a text that are looked at."""


def importance(messages: Sequence[Message]) -> list[float]:
    """The score of each message."""
    count = len(messages)
    return [_score(message) * _DECAY ** (count - 1 - at) for at, message in enumerate(messages)]


def rank_messages(messages: Sequence[Message]) -> list[int]:
    """The places of the messages, the most important first; equals in their order."""
    scores = importance(messages)
    return sorted(range(len(messages)), key=lambda at: -scores[at])


def _score(message: Message) -> float:
    score = _ROLES.get(message.role, _OTHERS)
    text = words_of(message)[:_SEARCHED].lower()
    if "?" in text:
        score += _QUESTION
    if any(type(part) in (Call, Result) for part in message.parts):
        score += _CALL
    if any(word in text for word in KEYWORDS):
        score += _KEYWORD
    return score + min(len(text) / 100 * _PER_HUNDRED, _MOST_FOR_LENGTH)


def words_of(message: Message) -> str:
    """The texts of a message, those in results too."""
    texts: list[str] = []
    for part in message.parts:
        if type(part) is Text:
            texts.append(part.text)
        elif type(part) is Result:
            texts += [inner.text for inner in part.parts if type(inner) is Text]
        elif type(part) is Call:
            texts.append(f"[calls {part.name} {part.arguments.decode('utf-8', 'replace')}]")
    return "\n".join(texts)
