"""A dialect's settings, each declared once: from its row come parsing, rendering, places, other names and refusals.

A `SettingRow` is one value of ours in one member. A `SettingObject` is a member that is an object: it holds settings as
rows of its own, or has a form that its own functions parse and render. What stands in neither is kept as an extra
field; what stands in an object beside its settings is one with a dotted name (`reasoning.context`).

A setting that belongs into an object may stand at the top level by mistake, or have another dialect's name in it, or be
written as a text: `SettingTable.interpret` puts it where it belongs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import reduce
from typing import Any

import msgspec
from msgspec import Raw

from dragoman.conversation.literals import quote
from dragoman.conversation.near_misses import Miss, NearMiss
from dragoman.conversation.parts import Json
from dragoman.conversation.settings import SPELLINGS, Settings, Thinking
from dragoman.conversation.tools import ToolChoice
from dragoman.dialects.dialect import MemberPlaces
from dragoman.dialects.near_misses.settings import (
    SettingForm,
    interpret_scalar,
    interpret_settings,
    interpret_stop,
    is_unlimited,
    plain_value,
)
from dragoman.dialects.near_misses.two_readings import refuse_two_values
from dragoman.dialects.shared import top_level
from dragoman.dialects.shared.raw_json import encode, fields_of
from dragoman.dialects.shared.rendering import RenderedSettings, inside, refuse_settings
from dragoman.wire.json_reader import render_object, split_members

number, whole, flag, word = (
    top_level.decode_number,
    top_level.decode_whole,
    top_level.decode_flag,
    top_level.decode_word,
)
"""How the values of most settings are decoded."""


_decode_items = msgspec.json.Decoder(list[Raw]).decode


def decode_stops(raw: Json) -> tuple[Json, ...]:
    """Stop sequences, which stay JSON literals."""
    texts = tuple([bytes(item) for item in _decode_items(raw)])
    if any(text[:1] != b'"' for text in texts):
        raise msgspec.ValidationError("a stop sequence that is not a string")
    return texts


class SettingRow(msgspec.Struct, frozen=True):
    """One setting of ours in one member."""

    field: str
    """The field of Settings. A dot leads to a field of the thinking that is asked for: `thinking.effort`."""
    decode: Callable[[Any], Any]
    """The member's JSON to our value. Raises DecodeError or MalformedRequest."""
    key: str = ""
    """The member's name, if it is not the field's."""
    names: tuple[str, ...] = ()
    """What other dialects call it. A setting in an object that has its own name here may be moved into it, too."""
    encode: Callable[[Any], Json | None] = encode
    """Our value to JSON; None if it is not rendered here."""
    limit: bool = False
    """Whether it is the limit of an answer, in an object: -1 means none there, and is left out."""
    also: tuple[str, ...] = ()
    """Other members of this dialect that may hold it."""
    name_field: str = ""
    """The field of Settings that names the member in which the client wrote it, if it is not `member`."""

    @property
    def member(self) -> str:
        return self.key or self.field

    def fields(self) -> Iterator[tuple[str, str]]:
        """The field of Settings that it holds, with each of its pointers."""
        for member in (self.member, *self.also):
            yield self.field, f"/{member}"

    def interpret(self, raw: Json) -> Json:
        """The value that is meant: not the text of a number, and not one stop sequence for a list of them."""
        return interpret_stop(raw, True) if self.decode is decode_stops else interpret_scalar(raw, self.decode)


def open_members(raw: Json, at: str) -> dict[str, Json]:
    """The members of an object, by their names."""
    return {key: bytes(value) for key, value in split_members(raw, at).items()}


def refuse_nulls(raw: Json) -> None:
    """Raise ValidationError if a member of an object is null: the shape of one that is not known better."""
    name = next((key for key, value in (fields_of(raw) or {}).items() if value == b"null" and key.isidentifier()), None)
    if name is not None:
        raise msgspec.ValidationError(f"Expected a value, got `null` - at `$.{name}`")


class SettingObject(msgspec.Struct, frozen=True, kw_only=True):
    """A member that is an object, or has another form of its own."""

    member: str
    """Its name."""
    rows: tuple[SettingRow, ...] = ()
    """The settings in it. `parse` and `render` are for an object without rows."""
    objects: tuple[SettingObject, ...] = ()
    """The objects in it that hold settings."""
    parse_rest: Callable[[dict[str, Json]], dict[str, Any]] = lambda wire: {}
    """The members that are in no row to fields of Settings: a setting that takes several. It takes them out."""
    render_rest: Callable[[Settings], Mapping[str, Json]] = lambda settings: {}
    """The inverse."""
    members: Callable[[Json, str], dict[str, Json]] = open_members
    """Its JSON, and the pointer to it, to its members under the names that its rows have."""
    spell: Callable[[str], str] = str
    """A member's name to the one that its row has, if there are several spellings."""
    strays: Mapping[str, Callable[[Json], Json | None]] = {}
    """Settings of other dialects at the top level that this object says too, and how. None: it has no words for it."""
    parse: Callable[[Json], top_level.ParsedMember] | None = None
    """Its JSON to fields of Settings, and what else stood in it."""
    render: Callable[[Settings, Mapping[str, Json]], Json | None] | None = None
    """Settings and the extra fields that stood in it to its JSON; None if there is nothing to say."""
    holds: Mapping[str, str] = {}
    """The fields of Settings that `parse` gives, each with its place below the member."""
    names: tuple[str, ...] = ()
    """What other dialects call it."""
    shape: Callable[[Json], object] | None = None
    """Decodes it, openly. Optional members that it does not take are left out; then it is refused."""
    spare: bool = False
    """Without it the answer is of the same form: so it is left out if it does not fit, and not refused."""
    meant: Callable[[Json], Json] | None = None
    """Reads it if it is written in another form."""

    def parse_member(self, raw: Json) -> top_level.ParsedMember:
        if self.parse is not None:
            return self.parse(raw)
        at = f"/{self.member}"
        wire = self.members(raw, at)
        found: dict[str, Any] = {}
        for row in self.rows:
            value = wire.pop(row.member, b"null")
            if value != b"null":
                found[row.field] = top_level.decode_value(row.decode, value, f"{at}/{row.member}")
        found |= self.parse_rest(wire)
        beside: dict[str, Json] = {}
        for one in self.objects:
            if one.member in wire:
                fields, rest = one.parse_member(wire.pop(one.member))
                found |= fields
                beside |= {f"{one.member}.{key}": value for key, value in rest.items()}
        return found, beside | wire

    def render_member(self, settings: Settings, extras: Mapping[str, Json], under: str = "") -> Json | None:
        beside = inside(under + self.member, extras)
        if self.render is not None:
            return self.render(settings, beside)
        members = {**_render_rows(self.rows, settings), **self.render_rest(settings)}
        for one in self.objects:
            value = one.render_member(settings, extras, f"{under}{self.member}.")
            if value is not None:
                members[one.member] = value
        members |= beside
        return render_object(members) if members else None

    def fields(self, under: str = "") -> Iterator[tuple[str, str]]:
        """The fields of Settings that it holds, each with its pointer."""
        at = f"{under}/{self.member}"
        for row in self.rows:
            yield row.field, f"{at}/{row.member}"
        for field, below in self.holds.items():
            yield field, f"{at}{below}"
        for one in self.objects:
            yield from one.fields(at)

    def interpret(self, given: dict[str, Json]) -> tuple[dict[str, Json], list[NearMiss]]:
        """The members of a request, in which this one holds all that belongs into it, as its schema has it."""
        wire = fields_of(given.get(self.member, b"{}"))
        if wire is None:
            return given, []
        moved = {key: found for key, raw in given.items() if (found := self._place(key, raw)) is not None}
        misses = [NearMiss(Miss.SETTING_NAME, f"/{key}", members=(key, self.member)) for key in moved]
        values = {self.spell(name): (f"{self.member}/{name}", raw) for name, raw in wire.items()}
        for key, (name, raw) in moved.items():
            if plain_value(values.setdefault(name, (key, raw))[1]) != plain_value(raw):
                refuse_two_values(name, values[name], (key, raw))
        meant = self._interpret_members({**dict(moved.values()), **wire}, misses)
        if not misses:
            return given, []
        return {**{key: given[key] for key in given if key not in moved}, self.member: render_object(meant)}, misses

    def _place(self, key: str, raw: Json) -> tuple[str, Json] | None:
        """The member that says here what one of the top level says, if there is one."""
        if raw == b"null":
            return None
        for row in self.rows:
            if key in row.names:
                return row.member, raw
        for one in self.objects:
            value = one.strays[key](raw) if key in one.strays else None
            if value is not None:
                return one.member, value
        return None

    def _interpret_members(self, wire: dict[str, Json], misses: list[NearMiss]) -> dict[str, Json]:
        own = {self.spell(key) for key in wire}
        meant: dict[str, Json] = {}
        for key, raw in wire.items():
            at = f"/{self.member}/{key}"
            row = next((one for one in self.rows if one.member == self.spell(key)), None)
            name = key
            if row is None:
                row = next((one for one in self.rows if key in one.names and one.member not in own), None)
                name = row.member if row is not None else key
            if name != key:
                misses.append(NearMiss(Miss.SETTING_NAME, at, members=(self.member,)))
            if row is not None and row.limit and is_unlimited(raw, at):
                misses.append(NearMiss(Miss.NO_LIMIT, at, members=(self.member,)))
                continue
            meant[name] = row.interpret(raw) if row is not None else raw
            if meant[name] is not raw:
                misses.append(NearMiss(Miss.SETTING, at, members=(self.member,)))
        return meant


def _as_texts(raw: Json) -> Json:
    """Values of any kind as texts; null is none."""
    given = fields_of(raw) or {}
    if all(value[:1] == b'"' for value in given.values()):
        return raw
    values = {key: value for key, value in given.items() if value != b"null"}
    return render_object({key: value if value[:1] == b'"' else quote(value.decode()) for key, value in values.items()})


METADATA = SettingObject(
    member="metadata",
    parse=lambda raw: ({"metadata": raw}, {}),
    render=lambda settings, _: settings.metadata,
    holds={"metadata": ""},
    shape=msgspec.json.Decoder(dict[str, str]).decode,
    meant=_as_texts,
    spare=True,
)
"""What clients of OpenAI say of a request for themselves."""
Row = SettingRow | SettingObject


class SettingTable:
    """All settings of a dialect, in the order in which they are rendered."""

    def __init__(
        self,
        dialect: str,
        rows: Iterable[Row],
        *,
        stop: str,
        stop_listed: bool,
        parse_choice: Callable[[Json], ToolChoice | None],
        render_choice: Callable[[ToolChoice], Json | None],
        choice: str = "tool_choice",
        odd_form: tuple[type[Exception], ...] = top_level.ODD_FORM,
    ) -> None:
        """`stop` and `choice` are the members of stop sequences and of the tool choice, which the loose reader knows in
        many forms. A member whose parser raises one of `odd_form` is kept as an extra field."""
        self.rows = tuple(rows)
        self._dialect = dialect
        self._odd_form = odd_form
        objects = [row for row in self.rows if isinstance(row, SettingObject)]
        rows_alone = [row for row in self.rows if isinstance(row, SettingRow)]
        self.plain: top_level.PlainMembers = {
            member: (row.field, row.decode) for row in rows_alone for member in (row.member, *row.also)
        }
        self._name_fields = {
            member: row.name_field for row in rows_alone for member in (row.member, *row.also) if row.name_field
        }
        self._special: top_level.SpecialMembers = {one.member: one.parse_member for one in objects}
        self._holders = [one for one in objects if one.rows]
        self.form = SettingForm(
            self.plain,
            {name: row.member for row in self.rows for name in row.names},
            stop,
            stop_listed=stop_listed,
            parse_choice=parse_choice,
            render_choice=render_choice,
            choice=choice,
            shapes={one.member: one.shape for one in objects if one.shape is not None},
            spare=frozenset([one.member for one in objects if one.spare]),
            readers={one.member: one.meant for one in objects if one.meant is not None},
        )
        self.pointers = self._find_pointers()
        known = {field.partition(".")[0] for field in self.pointers}
        self.unsupported = tuple([one for one in Settings.__struct_fields__ if one not in known | SPELLINGS])
        self.render = RenderedSettings(self._render, f"{dialect} settings")

    def places(self, also: Mapping[str, tuple[str, ...]], **others: Any) -> MemberPlaces:
        """Where a request holds its settings and tools. `also`: names that rules use and Settings has no field for."""
        return MemberPlaces({**self.pointers, **also}, **others)

    def interpret(self, members: top_level.Members) -> tuple[top_level.Members, tuple[NearMiss, ...]]:
        """The members as their dialect has them, and what had to be read otherwise. The same ones if all fit."""
        members, misses = interpret_settings(members, self.form)
        for one in self._holders:
            given, found = one.interpret(dict(members))
            if found:
                members, misses = tuple(given.items()), (*misses, *found)
        return members, misses

    def parse(self, members: top_level.Members) -> tuple[dict[str, Any], dict[str, Json]]:
        """The fields of our settings, and the extra fields. Dotted fields are those of a Thinking."""
        found, extras = top_level.parse_members(members, self.plain, self._special, self._odd_form)
        for key, raw in members:
            if key in self._name_fields and raw != b"null":
                found.setdefault(self._name_fields[key], key)
        return found, extras

    def _render(self, settings: Settings, extras: Mapping[str, Json]) -> dict[str, Json]:
        refuse_settings(settings, self.unsupported, self._dialect)
        out: dict[str, Json] = {}
        for row in self.rows:
            if isinstance(row, SettingRow):
                out |= _render_rows((row,), settings)
            elif (value := row.render_member(settings, extras)) is not None:
                out[row.member] = value
        return out

    def _find_pointers(self) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        for row in self.rows:
            for field, pointer in row.fields():
                name = field.partition(".")[0]
                found[name] = (*found.get(name, ()), pointer)
        return found


def gather_thinking(found: dict[str, Any], **more: Any) -> None:
    """Make one Thinking of the fields with a dot, if there are any. `more`: further fields of it."""
    dotted = {key: found.pop(key) for key in [*found] if key.startswith("thinking.")}
    if dotted:
        found["thinking"] = Thinking(**{key.partition(".")[2]: value for key, value in dotted.items()}, **more)


def _render_rows(rows: Iterable[SettingRow], settings: Settings) -> dict[str, Json]:
    out: dict[str, Json] = {}
    for row in rows:
        value: Any = reduce(_look, row.field.split("."), settings)
        written = row.encode(value) if value is not None and value != () else None
        if written is not None:
            out[(row.name_field and getattr(settings, row.name_field)) or row.member] = written
    return out


def _look(value: Any, name: str) -> Any:
    return None if value is None else getattr(value, name)
