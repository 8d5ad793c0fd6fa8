"""Requests of which nothing would be sent: each is refused with what is missing, where, and what to send instead."""

from __future__ import annotations

from fnmatch import fnmatchcase

from dragoman.conversation.changes import Change, Loss, Note
from dragoman.conversation.conversation import SYSTEM_ROLES, Ask, Conversation
from dragoman.conversation.messages import MADE, Message, Role
from dragoman.conversation.parts import Opaque, Text
from dragoman.dialects import registry
from dragoman.dialects.dialect import RenderOptions
from dragoman.engine.compile.member_places import RequestPlaces
from dragoman.engine.compile.report import ReportBuilder
from dragoman.errors import MalformedRequest
from dragoman.profiles.facts import Facts
from dragoman.profiles.profile import Target
from dragoman.rules.media.refused_part import refused_part
from dragoman.rules.top_level_fields import relies_on_stored_state
from dragoman.wire.json_reader import split_members


def require_messages(ask: Ask) -> None:
    """Raise MalformedRequest if there is no message, here or with the provider that keeps the earlier turns."""
    if not ask.conversation.messages and not relies_on_stored_state(ask.conversation):
        raise _empty(ask)


def _empty(ask: Ask) -> MalformedRequest:
    """Which field has no message, and an example of one in the client's own dialect."""
    codec = registry.dialect(ask.dialect).requests
    message = Message(Role.USER, (Text(b'"Hello"'),), at=0)
    example = codec.render(Conversation((message,)), RenderOptions(ask.model or "", False))
    field = codec.locate(message).split("/")[1]
    shown = bytes(split_members(example)[field]).decode()
    at = RequestPlaces(ask, codec.places).place_of_message(f"/{field}")
    return MalformedRequest(f'"{at[1:]}" has no message', at=at, hint=f'send at least one: "{field}": {shown}')


def require_content(conversation: Conversation, changes: list[Change], target: Target) -> None:
    """Raise MalformedRequest if every turn of the client's was left out: what is sent would be made up."""
    lost = [change for change in changes if change.rule == refused_part.name and change.loses == str(Loss.CONTENT)]
    if not lost or any(message.at != MADE and message.role not in SYSTEM_ROLES for message in conversation.messages):
        return
    raise MalformedRequest(
        f"nothing of this conversation can be sent to {target.name}: {lost[0].did}",
        at=lost[0].at,
        hint="send a text or another part that the target takes",
    )


def require_any_message(ask: Ask, conversation: Conversation, changes: list[Change], target: Target) -> None:
    """Raise MalformedRequest if all messages of the client's said nothing and none is left."""
    if conversation.messages or not ask.conversation.messages or relies_on_stored_state(conversation):
        return
    raise MalformedRequest(
        f"nothing of this conversation can be sent to {target.name}: no message has any content",
        at=changes[0].at if changes else "",
        hint="send a text",
    )


def require_known_content(ask: Ask, target: Target) -> None:
    """Raise MalformedRequest if a message says nothing but parts of kinds that nobody knows.

    Beside others such a part may be newer than this program, and the provider knows best. So may an item among the
    messages, of a dialect that has them.
    """
    may_be_item = registry.dialect(ask.dialect).lists_items and len(ask.conversation.messages) > 1
    for message in ask.conversation.messages:
        kinds = [part.kind for part in message.parts if isinstance(part, Opaque) and not _is_understood(part)]
        if not kinds or len(kinds) < len(message.parts) or message.role in SYSTEM_ROLES:
            continue
        if any(_may_stand_alone(kind, target.facts) or kind in target.facts.refused_blocks for kind in kinds):
            continue  # what is refused was left out, with a word in the report
        if may_be_item and not message.listed and kinds[0] != "message":
            continue
        raise MalformedRequest(
            f'nothing of this message can be sent to {target.name}: no part of the kind "{kinds[0]}" is known',
            at=ReportBuilder(ask).pointer(Note("", message=message, part=message.parts[0])),
            hint="send a text or another part that the target takes",
        )


def _is_understood(part: Opaque) -> bool:
    """Whether it says in words, or as calls and results, what it is about."""
    return part.words is not None or bool(part.meant)


def _may_stand_alone(kind: str, facts: Facts) -> bool:
    return any(fnmatchcase(kind, glob) for glob in facts.lone_blocks)
