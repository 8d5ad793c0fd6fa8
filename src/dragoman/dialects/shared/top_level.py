"""The members of a request other than its messages, as all dialects parse them.

A dialect states two tables: settings whose value stands in one member, and members that have a form of their own. What
is in neither table is kept as an extra field. Members that we do not know, of objects that we do, are extras with a
dotted name (`reasoning.context`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from dragoman.conversation.conversation import Conversation
from dragoman.conversation.messages import Message
from dragoman.conversation.near_misses import NearMiss
from dragoman.conversation.parts import CacheHint, Extras, Json
from dragoman.conversation.settings import Effort, Number, Settings
from dragoman.conversation.tools import NativeTool, Tool, ToolChoice
from dragoman.dialects.near_misses.two_readings import refuse_two_values
from dragoman.wire.json_reader import make_malformed

decode_number = msgspec.json.Decoder(Number).decode
decode_whole = msgspec.json.Decoder(int).decode
decode_flag = msgspec.json.Decoder(bool).decode
decode_word = msgspec.json.Decoder(str).decode

Tools = tuple[Tool | NativeTool, ...]
Members = tuple[tuple[str, bytes], ...]
"""Names and raw values, in the client's order. They can be the key of a cache."""

PlainMembers = Mapping[str, tuple[str, Callable[[Any], Any]]]
"""Name of a member → our field and its decoder."""

ParsedMember = tuple[dict[str, Any], Mapping[str, Json]]
"""Our fields, and what else stood in the member. What has an empty name there is the member itself."""

SpecialMembers = Mapping[str, Callable[[bytes], ParsedMember]]

ODD_FORM = (msgspec.DecodeError, KeyError, TypeError, ValueError, AttributeError)
"""What a parser raises if a member has another form than it knows."""


class TopLevel(msgspec.Struct, frozen=True):
    """What a request says in addition to its messages."""

    settings: Settings
    tools: Tools = ()
    extras: Extras | None = None
    empty_tools: bool = False
    hint: CacheHint | None = None
    include_usage: bool = True
    """Whether the client wants its stream to report usage."""
    near_misses: tuple[NearMiss, ...] = ()

    def conversation(self, messages: Iterable[Message], near_misses: tuple[NearMiss, ...] = ()) -> Conversation:
        """The conversation of these messages. `near_misses` are theirs."""
        misses = join_misses(self.near_misses, near_misses) if near_misses else self.near_misses
        found = tuple(messages)
        return Conversation(
            found, self.tools, self.settings, self.extras, self.hint, empty_tools=self.empty_tools, near_misses=misses
        )


def join_misses(*found: tuple[NearMiss, ...]) -> tuple[NearMiss, ...]:
    """All near misses. If only one of these is not empty, it is the same object: caches know it by identity."""
    given = [misses for misses in found if misses]
    return given[0] if len(given) == 1 else tuple([miss for misses in given for miss in misses])


def setting_members(source: Mapping[str, Raw], skipped: frozenset[str], *, nulls: bool = False) -> Members:
    """The members that may hold settings. `nulls`: with those of the skipped ones that are null.

    The skipped ones may be many megabytes long, so they are not copied.
    """
    found: list[tuple[str, bytes]] = []
    for key in source:
        if key not in skipped or (nulls and len(source[key]) == 4 and bytes(source[key]) == b"null"):
            found.append((key, bytes(source[key])))
    return tuple(found)


def parse_members(
    members: Iterable[tuple[str, bytes]],
    plain: PlainMembers,
    special: SpecialMembers,
    odd_form: tuple[type[Exception], ...] = ODD_FORM,
) -> tuple[dict[str, Any], dict[str, Json]]:
    """The fields of our settings, and the extra fields.

    A member that says again what another one has said is an extra field. So is one of a form that we do not know.
    Raises MalformedRequest if two members give one setting two values.
    """
    found: dict[str, Any] = {}
    extras: dict[str, Json] = {}
    first: dict[str, tuple[str, Json]] = {}
    holders: dict[str, tuple[str, Json]] = {}
    nulls: list[str] = []
    for key, raw in members:
        if raw == b"null":
            nulls.append(key)
        elif key in plain and plain[key][0] not in found:
            field, decode = plain[key]
            found[field] = decode_value(decode, raw, f"/{key}")
            first[field] = key, raw
        elif key in plain and plain[key][0] in first:
            if first[plain[key][0]][1] != raw:
                refuse_two_values(plain[key][0], first[plain[key][0]], (key, raw))
            extras[key] = raw
        elif key in special:
            try:
                fields, rest = special[key](raw)
            except odd_form:
                extras[key] = raw
                continue
            again = found.keys() & fields.keys()
            for field in again:
                if _without_spelling(found[field]) != _without_spelling(fields[field]):
                    refuse_two_values(field.rpartition(".")[2], holders.get(field) or first[field], (key, raw))
            if again:
                extras[key] = raw
                continue
            holders.update(dict.fromkeys(fields, (key, raw)))
            found |= fields
            extras |= {f"{key}.{name}" if name else key: value for name, value in rest.items()}
        else:
            extras[key] = raw
    if found.get("thinking.on") is True and found.get("thinking.effort") is Effort.NONE:
        effort, switch = holders["thinking.effort"], holders["thinking.on"]
        if effort is not switch:
            refuse_two_values("thinking", effort, switch)
    if nulls:
        found["nulls"] = tuple(nulls)
    return found, extras


def _without_spelling(value: Any) -> Any:
    """A value without the way in which it is spelled."""
    return replace(value, wire_form="") if isinstance(value, ToolChoice) else value


def decode_value(decode: Callable[[Any], Any], raw: bytes, at: str) -> Any:
    """A value of one type. Raises MalformedRequest if it has another."""
    try:
        return decode(raw)
    except msgspec.DecodeError as fault:
        raise make_malformed(fault, at) from None
