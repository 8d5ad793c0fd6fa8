"""Messages and system texts that stand under the names of another dialect, or in another form."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec
from msgspec import Raw

from dragoman.conversation.messages import FIELD
from dragoman.conversation.near_misses import LISTS, SYSTEMS, Miss, NearMiss
from dragoman.conversation.parts import Json
from dragoman.dialects.near_misses.loose_json import NULL, as_text, fields_of, first_of, items_of
from dragoman.dialects.near_misses.misfits import Trimmed
from dragoman.errors import MalformedRequest


class MemberForm(msgspec.Struct, frozen=True):
    """What a dialect calls its messages and its system text (`system` is empty where it has no field for it).

    `trim_system`: the system text without optional members that do not fit.
    `fits_system`: does the system text fit the schema? `render_system_texts`: texts as it is written.
    """

    messages: str
    system: str
    fits_system: Callable[[Json], bool]
    render_system_texts: Callable[[list[Json]], Json]
    trim_system: Callable[[Json], Trimmed | None] = lambda raw: None


class MeantMembers(msgspec.Struct, frozen=True):
    """The members under their dialect's own names. `list_name`: where the messages stood.

    `system` are the texts of a system text for which the dialect has no field.
    """

    found: Mapping[str, Raw]
    list_name: str
    system: tuple[Json, ...] = ()
    misses: tuple[NearMiss, ...] = ()


def parse_members_meant(found: Mapping[str, Raw], form: MemberForm) -> MeantMembers:
    """The members as the dialect has them. The same ones where nothing has to be read otherwise."""
    own = found.get(form.system)
    faulty = own is not None and not form.fits_system(bytes(own))
    misplaced = own is None and not found.keys().isdisjoint(SYSTEMS)
    missing = form.messages not in found
    if not (faulty or misplaced or missing):
        return MeantMembers(found, form.messages)
    members = dict(found)
    list_name = next((name for name in LISTS if name in found), form.messages) if missing else form.messages
    if missing and list_name in members:
        members[form.messages] = members.pop(list_name)
    system, misses = _parse_system(members, form)
    return MeantMembers(members, list_name, system, misses)


def _parse_system(members: dict[str, Raw], form: MemberForm) -> tuple[tuple[Json, ...], tuple[NearMiss, ...]]:
    """Put the system text where it belongs, if there is one that is not there."""
    name = form.system if form.system in members else next((key for key in SYSTEMS if key in members), "")
    trimmed = form.trim_system(bytes(members[name])) if name and name == form.system else None
    if trimmed is not None and trimmed.misfits:
        members[name] = Raw(trimmed.raw)
        return (), tuple(
            [NearMiss(one.kind, f"/{name}{one.below}", FIELD, (name,), one.lost) for one in trimmed.misfits]
        )
    texts = texts_of(bytes(members[name])) if name else None
    if name and name == form.system and texts is None:
        raise MalformedRequest("a system text that holds something else", at=f"/{name}", hint="send text")
    if not texts or (name == form.system and form.fits_system(bytes(members[name]))):
        return (), ()
    del members[name]
    miss = NearMiss(Miss.SYSTEM, f"/{name}", members=(name, form.system) if form.system else (name,))
    if not form.system:
        return tuple(texts), (msgspec.structs.replace(miss, item=FIELD),)
    members[form.system] = Raw(form.render_system_texts(texts))
    return (), (msgspec.structs.replace(miss, item=FIELD),)


def texts_of(raw: Json) -> list[Json] | None:
    """The texts of a system text in any form, or None where it holds anything else."""
    if raw == NULL:
        return []
    if raw[:1] == b'"':
        return [raw]
    if raw[:1] not in b"[{":
        return [as_text(raw)]
    items = items_of(raw)
    if items is None:
        fields = fields_of(raw)
        inner = first_of(fields, ("parts", "content", "text")) if fields is not None else None
        return None if inner is None else texts_of(inner)
    texts = [texts_of(item) for item in items]
    return None if None in texts else [text for found in texts if found is not None for text in found]
