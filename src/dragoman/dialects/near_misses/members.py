"""Messages and system texts that stand under the names of another dialect, or in another form."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec
from msgspec import Raw
from msgspec.structs import force_setattr

from dragoman.conversation.messages import FIELD
from dragoman.conversation.near_misses import LISTS, SYSTEMS, Miss, NearMiss
from dragoman.conversation.parts import Json
from dragoman.dialects.near_misses.misfits import Trimmed
from dragoman.dialects.shared.raw_json import NULL, as_text, fields_of, items_of, text_of
from dragoman.errors import MalformedRequest
from dragoman.wire.json_reader import render_list


class MemberForm(msgspec.Struct, frozen=True):
    """What a dialect calls its messages and its system text."""

    messages: str
    system: str = ""
    """Empty if it has no field for it."""
    fits_system: Callable[[Json], bool] = lambda raw: True
    """Whether the system text fits the schema."""
    render_system_texts: Callable[[list[Json]], Json] = lambda texts: b""
    """Texts as it is written."""
    trim_system: Callable[[Json], Trimmed | None] = lambda raw: None
    """The system text without optional members that do not fit."""
    others: frozenset[str] = frozenset()
    """What other dialects call them."""

    def __post_init__(self) -> None:
        force_setattr(self, "others", _TURNS.union(SYSTEMS) - {self.messages, self.system})


_TURNS = frozenset(LISTS) - {"prompt"}
"""What dialects call the list of messages. Chat's `prompt` is a text, and that of Responses names a stored one."""


class MeantMembers(msgspec.Struct, frozen=True):
    """The members under their dialect's own names."""

    found: Mapping[str, Raw]
    list_name: str
    """Where the messages stood."""
    system: tuple[Json, ...] = ()
    """The texts of a system text for which the dialect has no field."""
    misses: tuple[NearMiss, ...] = ()


def parse_members_meant(found: Mapping[str, Raw], form: MemberForm) -> MeantMembers:
    """The members as the dialect has them. The same ones if nothing has to be read otherwise."""
    own = found.get(form.system)
    faulty = own is not None and not form.fits_system(bytes(own))
    missing = form.messages not in found
    if not (faulty or missing) and form.others.isdisjoint(found):
        return MeantMembers(found, form.messages)
    if len(found.keys() & _TURNS) > 1:
        _refuse_two_lists(found, [name for name in found if name in _TURNS])
    misplaced = own is None and not found.keys().isdisjoint(SYSTEMS)
    if not (faulty or misplaced or missing):
        return MeantMembers(found, form.messages)
    members = dict(found)
    list_name = next((name for name in LISTS if name in found), form.messages) if missing else form.messages
    if missing and list_name in members:
        members[form.messages] = members.pop(list_name)
    system, misses = _parse_system(members, form)
    return MeantMembers(members, list_name, system, misses)


def _refuse_two_lists(found: Mapping[str, Raw], names: list[str]) -> None:
    """Raise MalformedRequest if lists of messages stand under two names, and say something different."""
    lists = {name: find_texts(raw).texts for name in names if (raw := bytes(found[name])) != NULL}
    if any(texts != lists[one] for one, texts in zip(lists, [*lists.values()][1:], strict=False)):
        message = f"{' and '.join(lists)} may each be the conversation"
        raise MalformedRequest(message, at=f"/{names[-1]}", hint="send one of them")


def _parse_system(members: dict[str, Raw], form: MemberForm) -> tuple[tuple[Json, ...], tuple[NearMiss, ...]]:
    """Put the system text where it belongs, if there is one that is not there."""
    name = form.system if form.system in members else next((key for key in SYSTEMS if key in members), "")
    _refuse_two_systems(members, form)
    trimmed = form.trim_system(bytes(members[name])) if name and name == form.system else None
    if trimmed is not None and trimmed.misfits:
        members[name] = Raw(trimmed.raw)
        return (), tuple(
            [NearMiss(one.kind, f"/{name}{one.below}", FIELD, (name,), one.lost) for one in trimmed.misfits]
        )
    raw = bytes(members[name]) if name else NULL
    found = find_texts(raw)
    if not (found.texts or found.others) or (name == form.system and form.fits_system(raw)):
        return (), ()
    members_of = (name, form.system) if form.system else (name,)
    misses = [NearMiss(Miss.SYSTEM_PART, f"/{name}{below}", FIELD, members_of, raw) for below, raw in found.others]
    if not found.others or name != form.system:
        misses.append(NearMiss(Miss.SYSTEM, f"/{name}", FIELD, members_of))
    del members[name]
    if not form.system:
        return tuple(found.texts), tuple(misses)
    if found.texts:
        members[form.system] = Raw(_keep_texts(raw, form) or form.render_system_texts(found.texts))
    return (), tuple(misses)


def _refuse_two_systems(members: Mapping[str, Raw], form: MemberForm) -> None:
    """Raise MalformedRequest if system texts stand under two names of other dialects, and differ."""
    found = [] if form.system in members else [key for key in SYSTEMS if bytes(members.get(key, NULL)) != NULL]
    if any(bytes(members[key]) != bytes(members[found[0]]) for key in found):
        message = f"{' and '.join(found)} may each be the system text"
        raise MalformedRequest(message, at=f"/{found[1]}", hint="send one of them")


def _keep_texts(raw: Json, form: MemberForm) -> Json | None:
    """The list without items that hold anything but text, if its other items fit the schema as they are."""
    kept = [item for item in items_of(raw) or () if not find_texts(item).others]
    return rendered if kept and form.fits_system(rendered := render_list(kept)) else None


class SystemTexts(msgspec.Struct):
    """What a system text in any form holds."""

    texts: list[Json] = []
    others: list[tuple[str, Json]] = []
    """What is no text, each with its place below the system text."""


def find_texts(raw: Json, below: str = "") -> SystemTexts:
    """The texts of a system text in any form, and what else it holds."""
    if raw == NULL:
        return SystemTexts()
    if raw[:1] == b'"':
        return SystemTexts([raw])
    if raw[:1] not in b"[{":
        return SystemTexts([as_text(raw)])
    items = items_of(raw)
    if items is None:
        return _find_text_of(raw, below)
    found = SystemTexts()
    for index, item in enumerate(items):
        one = find_texts(item, f"{below}/{index}")
        found.texts += one.texts
        found.others += one.others
    return found


def _find_text_of(raw: Json, below: str) -> SystemTexts:
    """The text of an object: a part, or a message."""
    fields = fields_of(raw) or {}
    is_text = text_of(fields.get("type")) in _TEXT_TYPES
    key = next((key for key in _TEXT_KEYS if fields.get(key, NULL) != NULL), "") if is_text else ""
    return find_texts(fields[key], f"{below}/{key}") if key else SystemTexts(others=[(below, raw)])


_TEXT_TYPES = ("", "text", "input_text", "output_text", "message")
_TEXT_KEYS = ("parts", "content", "text")
