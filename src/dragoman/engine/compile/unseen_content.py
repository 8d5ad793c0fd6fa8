"""What a target takes and leaves out of the prompt, so that the model never reads it.

Nothing can be repaired: the request goes out as it is. The report says what is lost, and a caller that allows no such
loss gets an error instead of an answer by a model that knew nothing of its tools.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from dragoman.conversation.changes import Loss, Note
from dragoman.conversation.conversation import SYSTEM_ROLES, Conversation
from dragoman.conversation.messages import Message
from dragoman.conversation.parts import Call, Media, Part, Reasoning, Result
from dragoman.conversation.tools import Tool
from dragoman.profiles.facts import Facts
from dragoman.rules.rule import report_only


def find_unseen(conversation: Conversation, facts: Facts) -> list[Note]:
    """A note for each kind of content that this request has and the target leaves out, at the first place."""
    found = [_FINDERS[kind](conversation) for kind in facts.drops if kind in _FINDERS]
    return [note for note in found if note is not None]


def _note(what: str, **place: Any) -> Note:
    return Note(f"the target leaves {what} out of the prompt: the model does not see them", **place)


def _tools(conversation: Conversation) -> Note | None:
    return _note("tools", key="tools", loses=Loss.CONTENT) if conversation.tools else None


def _tools_alone(conversation: Conversation) -> Note | None:
    return _tools(conversation) if _system(conversation) is None else None


def _descriptions(conversation: Conversation) -> Note | None:
    described = next((one for one in conversation.tools if isinstance(one, Tool) and one.description), None)
    if described is None:
        return None
    return _note("descriptions of tools", key=described.place, loses=Loss.METADATA)


def _system(conversation: Conversation) -> Note | None:
    first = next((message for message in conversation.messages if message.role in SYSTEM_ROLES), None)
    return _note("system messages", message=first, loses=Loss.CONTENT) if first is not None else None


def _parts(kind: type[Part], what: str, loses: Loss) -> Callable[[Conversation], Note | None]:
    def find(conversation: Conversation) -> Note | None:
        message, part = next(_of_kind(conversation, kind), (None, None))
        return None if message is None else _note(what, message=message, part=part, loses=loses)

    return find


def _of_kind(conversation: Conversation, kind: type[Part]) -> Iterator[tuple[Message, Part]]:
    for message in conversation.messages:
        for part in message.parts:
            if type(part) is kind:
                yield message, part


_FINDERS: dict[str, Callable[[Conversation], Note | None]] = {
    "tools": _tools,
    "tools-without-system": _tools_alone,
    "tool-descriptions": _descriptions,
    "system": _system,
    "calls": _parts(Call, "calls", Loss.CONTENT),
    "results": _parts(Result, "results", Loss.CONTENT),
    "media": _parts(Media, "media", Loss.CONTENT),
    "reasoning": _parts(Reasoning, "thoughts", Loss.METADATA),
}


unseen_content = report_only(
    "unseen-content",
    Loss.CONTENT,
    "Something that the target takes and leaves out of the prompt, so that the model never reads it.",
)
