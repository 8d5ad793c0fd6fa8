"""Long conversations of agents, made for the tests of trimming."""

from __future__ import annotations

from collections.abc import Iterator

from dragoman.conversation.literals import quote
from dragoman.conversation.messages import Message, Role
from dragoman.conversation.parts import Call, Part, Result, Text


def said(role: Role, words: str) -> Message:
    return Message(role, (Text(quote(words)),))


def system(words: str = "You are an agent.") -> Message:
    return said(Role.SYSTEM, words)


def user(words: str) -> Message:
    return said(Role.USER, words)


def assistant(words: str) -> Message:
    return said(Role.ASSISTANT, words)


def calls(*ids: str) -> Message:
    return Message(Role.ASSISTANT, tuple(Call(id, "look", b'{"at":1}') for id in ids))


def results(words: str, *ids: str) -> Message:
    parts: tuple[Part, ...] = tuple(Result(id, (Text(quote(words)),)) for id in ids)
    return Message(Role.TOOL, parts)


def agent_loop(turns: int, words: str = "result ") -> tuple[Message, ...]:
    """One task, then calls and results without end."""
    made = [system(), user("Mend the roof.")]
    for turn in range(turns):
        made += [calls(f"a{turn}", f"b{turn}"), results(f"{words}{turn} " * 60, f"a{turn}", f"b{turn}")]
    return tuple(made)


def chat(exchanges: int) -> tuple[Message, ...]:
    """Questions with a call each, and answers; a last question that waits."""
    made = [system()]
    for turn in range(exchanges):
        made += [user(f"question {turn} " * 30), calls(f"c{turn}"), results(f"result {turn} " * 90, f"c{turn}")]
        made += [assistant(f"answer {turn} " * 30)]
    return (*made, user("And now?"))


def requests_of(messages: tuple[Message, ...]) -> Iterator[tuple[Message, ...]]:
    """The conversation as it was at each request: up to a user's turn or a result."""
    for end, message in enumerate(messages, 1):
        if message.role in (Role.USER, Role.TOOL):
            yield messages[:end]
