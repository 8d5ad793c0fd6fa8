"""How a request is written: anew in another dialect, or amended in the client's own.

In the client's own dialect whatever no rule touched is written from its source text. What a rule touched is known by
identity: it hands on the same object for what it leaves alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

import msgspec
from msgspec import Raw

from dragoman.conversation.conversation import Ask, Conversation
from dragoman.conversation.literals import quote
from dragoman.conversation.messages import Message
from dragoman.conversation.parts import Json
from dragoman.conversation.settings import Settings
from dragoman.errors import Unrepresentable
from dragoman.wire.json_reader import items, member_head, write_object

Pieces = list[bytes | Raw]
"""Fragments of JSON text, joined once at the end."""


class RenderOptions(msgspec.Struct, frozen=True, gc=False):
    """What the request is to say besides the conversation. `usage`: ask a Chat stream to tell its usage."""

    model: str
    stream: bool
    usage: bool = False


class Codec(Protocol):
    """The writing half of a dialect, as `render` and `amend` use it."""

    LIST: str
    """The member that holds the messages."""
    TELLS_MODEL: bool
    """Whether the body names the model."""

    def write_members(self, conversation: Conversation, wanted: RenderOptions) -> dict[str, Json]:
        """All top-level members but the list of messages."""

    def write_items(self, messages: Sequence[Message], start: int, stop: int, out: Pieces) -> None:
        """messages[start:stop] as list items, each with a comma before it."""


def render(codec: Codec, conversation: Conversation, wanted: RenderOptions) -> bytes:
    """A request written anew."""
    out: Pieces = []
    for key, value in codec.write_members(conversation, wanted).items():
        out += (member_head(key), value)
    out += (member_head(codec.LIST), b"[")
    head = len(out)
    codec.write_items(conversation.messages, 0, len(conversation.messages), out)
    if len(out) > head:
        out[head] = bytes(out[head])[1:]
    out[0] = b"{" + bytes(out[0])[1:]
    out.append(b"]}")
    return b"".join(out)


def amend(codec: Codec, ask: Ask, conversation: Conversation, wanted: RenderOptions) -> bytes:
    """The client's own request with nothing but what changed written anew."""
    before = ask.conversation
    said = wanted.model == (ask.model or "") and wanted.stream == ask.stream and not wanted.usage
    if said and conversation is before:
        return ask.source
    members: dict[str, bytes | Raw] = dict(ask.members)
    if _is_renamed(codec, ask, conversation, wanted):
        members["model"] = _encode(wanted.model)
        return write_object(members)
    _amend_top(codec, ask, conversation, wanted, members)
    if conversation.messages is not before.messages:
        members[codec.LIST] = _amend_list(codec, ask, conversation)
    return write_object(members)


def _is_renamed(codec: Codec, ask: Ask, conversation: Conversation, wanted: RenderOptions) -> bool:
    """Whether nothing changes but the model's name, and that stands in the body."""
    return (
        conversation is ask.conversation
        and wanted.stream == ask.stream
        and not wanted.usage
        and "model" in ask.members
        and codec.TELLS_MODEL
    )


def _amend_top(
    codec: Codec, ask: Ask, conversation: Conversation, wanted: RenderOptions, members: dict[str, bytes | Raw]
) -> None:
    before = ask.conversation
    old = codec.write_members(before, RenderOptions(ask.model or "", ask.stream, ask.include_usage))
    new = codec.write_members(
        conversation, RenderOptions(wanted.model, wanted.stream, wanted.usage or ask.include_usage)
    )
    for key in old:
        if key not in new:
            members.pop(key, None)
    for key, value in new.items():
        if old.get(key) != value:
            members[key] = value
    for key in set(before.settings.nulls).difference(conversation.settings.nulls):
        members.pop(key, None)
    if before.empty_tools and not conversation.empty_tools and not conversation.tools:
        members.pop("tools", None)


def _amend_list(codec: Codec, ask: Ask, conversation: Conversation) -> bytes:
    wire = _wire_items(ask.members[codec.LIST])
    groups = _groups(ask.conversation.messages)
    messages = conversation.messages
    out: Pieces = [b"["]
    index, count, fresh = 0, len(messages), 0
    while index < count:
        group = groups.get(messages[index].at)
        if group is None or not _untouched(group, messages, index):
            index += 1
            continue
        codec.write_items(messages, fresh, index, out)
        first = group[0]
        if first.at >= 0:
            for raw in wire[first.at : first.at + first.span]:
                out += (b",", raw)
        index += len(group)
        fresh = index
    codec.write_items(messages, fresh, count, out)
    if len(out) > 1:
        out[1] = bytes(out[1])[1:]
    out.append(b"]")
    return b"".join(out)


def _wire_items(raw: bytes | Raw) -> list[Raw]:
    text = bytes(raw)
    return items(text) if text[:1] == b"[" else [Raw(text)]


def _groups(messages: tuple[Message, ...]) -> Mapping[int, list[Message]]:
    """The messages of each wire item: several may have come from one."""
    groups: dict[int, list[Message]] = {}
    for message in messages:
        groups.setdefault(message.at, []).append(message)
    return groups


def _untouched(group: list[Message], messages: Sequence[Message], start: int) -> bool:
    run = messages[start : start + len(group)]
    return len(run) == len(group) and all(one is other for one, other in zip(group, run, strict=True))


def own_extras(conversation: Conversation, dialect: str) -> Mapping[str, Json]:
    """The fields that only this dialect has. Raises Unrepresentable where they are another's."""
    extras = conversation.extras
    if extras is None:
        return {}
    if extras.dialect != dialect:
        raise Unrepresentable(f"fields of {extras.dialect} in a request of {dialect}: {', '.join(extras.fields)}")
    return extras.fields


def inside(key: str, extras: Mapping[str, Json]) -> dict[str, Json]:
    """The extras that stood right inside a member we know."""
    head = key + "."
    found = {name[len(head) :]: value for name, value in extras.items() if name.startswith(head)}
    return {name: value for name, value in found.items() if "." not in name}


def refuse_unspoken(settings: Settings, names: Iterable[str], dialect: str) -> None:
    """Raise Unrepresentable where a setting is there that the dialect has no word for."""
    for name in names:
        if getattr(settings, name) is not None:
            raise Unrepresentable(f"{name} in a request of {dialect}", at=f"/{name}")


def put(members: dict[str, Json], key: str, value: object) -> None:
    """Set a member if there is a value."""
    if value is not None:
        members[key] = _encode(value)


def put_text(members: dict[str, Json], key: str, value: str | None) -> None:
    if value is not None:
        members[key] = quote(value)


_encode = msgspec.json.Encoder().encode
