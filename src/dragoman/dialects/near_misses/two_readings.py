"""Requests that two people would read differently: refused, with both readings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import NoReturn

from dragoman.conversation.conversation import SYSTEM_ROLES
from dragoman.conversation.messages import USER, Message
from dragoman.conversation.near_misses import CONTENTS, ROLE_TYPES, ROLES
from dragoman.conversation.parts import Json, Reasoning, Text
from dragoman.dialects.near_misses.members import find_texts
from dragoman.dialects.shared.raw_json import NULL, Fields, first_of, text_of
from dragoman.errors import MalformedRequest

_NOTHING = (NULL, b'""', b"[]", b"{}")
_CALLS = ("tool_calls", "function_call")
_TELLING = frozenset({*CONTENTS, *_CALLS, "type"})
"""Members that a dialect does not have in a message and that say something about it all the same."""
_SHOWN = 80
"""Characters of a value that are shown."""


def refuse_two_values(name: str, one: tuple[str, Json], other: tuple[str, Json]) -> NoReturn:
    """Raise MalformedRequest: a setting has two values. Each comes with the member that holds it."""
    (first, value), (key, raw) = one, other
    shown, before = (text.decode()[:_SHOWN] for text in (raw, value))
    message = f"{key} is {shown} and {first} is {before}, and both may be {name}"
    raise MalformedRequest(message, at=f"/{key}", hint="send one of them")


def refuse_two_turns(messages: Iterable[Message], name: str) -> None:
    """Raise MalformedRequest if a message has members of other dialects that make it another message.

    `name`: the member that holds the list of messages.
    """
    for message in messages:
        extras = message.extras
        if extras is not None and not _TELLING.isdisjoint(extras.fields):
            _refuse_two_authors(message, extras.fields, f"/{name}/{message.at}")
            refuse_two_contents(partial(_find_literals, message), extras.fields, f"/{name}/{message.at}")


def _find_literals(message: Message) -> list[Json]:
    return [part.literal for part in message.parts if type(part) is Text]


def refuse_two_contents(
    texts: Callable[[], list[Json]], beside: Fields | Mapping[str, Json], at: str, own: str = ""
) -> None:
    """Raise MalformedRequest if the texts of a message differ from those that stand beside them under another name."""
    for key in CONTENTS:
        if key != own and beside.get(key, NULL) not in _NOTHING:
            words, others = ("".join(map(text_of, found)) for found in (texts(), find_texts(beside[key]).texts))
            if others.strip() and others.split() != words.split():
                message = f'a message that may say "{words[:_SHOWN]}" or "{others[:_SHOWN]}", which stands in `{key}`'
                raise MalformedRequest(message, at=at, hint="send one content")


def _refuse_two_authors(message: Message, beside: Mapping[str, Json], at: str) -> None:
    """Raise MalformedRequest if somebody else than the assistant makes calls, or its type names another role."""
    says = any(type(part) is not Reasoning for part in message.parts)
    if message.role is USER or message.role in SYSTEM_ROLES:
        refuse_calls_of_others(message.role.value, beside, says, at)
    kind = text_of(beside.get("type"))
    meant = ROLES.get(ROLE_TYPES.get(kind, ""))
    if meant is not None and meant is not message.role:
        raise MalformedRequest(f'a message with the role "{message.role.value}" and the type "{kind}"', at=at)


def refuse_calls_of_others(role: str, fields: Fields | Mapping[str, Json], says: bool, at: str) -> None:
    """Raise MalformedRequest if a message of another role than the assistant's says something and makes calls."""
    found = next((key for key in _CALLS if fields.get(key, NULL) not in _NOTHING), "")
    if found and says:
        readings = f"the words of the {role} or a turn of the assistant"
        message = f"a message of the {role} with `{found}`, which may be {readings}"
        raise MalformedRequest(message, at=at, hint=f"leave out `{found}`, or write the role of the assistant")


def refuse_calls_among_words(at: str) -> NoReturn:
    """Raise MalformedRequest: a turn of the user holds calls beside something else."""
    message = "a turn of the user with a call among its parts, which may be the user's words or a turn of the assistant"
    raise MalformedRequest(message, at=at, hint="put the call into a turn of the assistant")


def refuse_two_arguments(identity: str, at: str) -> NoReturn:
    """Raise MalformedRequest: one call stands in two places with different arguments."""
    message = f'the call "{identity}" has other arguments in `tool_calls` than among the parts'
    raise MalformedRequest(message, at=at, hint="send it once")


def refuse_two_kinds(fields: Fields, at: str) -> None:
    """Raise MalformedRequest if a part without a type may be of two kinds."""
    found = [key for key in fields if key in _KINDS and fields[key] not in _NOTHING]
    if len({_KINDS[key] for key in found}) > 1 and first_of(fields, ("type", "block_type")) is None:
        raise MalformedRequest(f"a part with {' and '.join(found)}", at=at, hint="make a part of each")


_KINDS = {
    "text": "text",
    **dict.fromkeys(("image_url", "imageUrl", "image", "inlineData", "inline_data", "fileData"), "media"),
    **dict.fromkeys(("functionCall", "function_call", "toolUse", "tool_use"), "call"),
    **dict.fromkeys(("functionResponse", "function_response", "toolResult", "tool_result"), "result"),
}
"""Members that say what a part is."""
