"""Settings in another type than they have, or under the name of another dialect."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from dragoman.conversation.literals import unquote
from dragoman.conversation.near_misses import Miss, NearMiss
from dragoman.conversation.parts import Json
from dragoman.conversation.tools import ChoiceMode, ToolChoice
from dragoman.dialects.near_misses.choices import parse_any_choice, refuse_two_choices
from dragoman.dialects.near_misses.misfits import without_misfits
from dragoman.dialects.near_misses.two_readings import refuse_two_values
from dragoman.dialects.shared.raw_json import items_of
from dragoman.dialects.shared.top_level import ODD_FORM, Members, PlainMembers, decode_flag, decode_number, decode_whole
from dragoman.errors import MalformedRequest
from dragoman.wire.json_reader import make_malformed

LIMITS = frozenset(
    {
        "max_tokens",
        "max_completion_tokens",
        "max_output_tokens",
        "maxOutputTokens",
        "max_tokens_to_sample",
        "num_predict",
    }
)
"""What dialects call the limit of an answer."""


class SettingForm(msgspec.Struct, frozen=True):
    """How a dialect writes settings."""

    plain: PlainMembers
    """The type of each."""
    names: Mapping[str, str]
    """The names that other dialects have for them."""
    stop: str
    """The member of stop sequences."""
    stop_listed: bool
    """It must be a list."""
    parse_choice: Callable[[Json], ToolChoice | None]
    """Reads a tool choice that fits the schema."""
    render_choice: Callable[[ToolChoice], Json | None]
    choice: str = "tool_choice"
    """The member of the tool choice."""
    shapes: Mapping[str, Callable[[Json], object]] = {}
    """Decode members that have a form of their own. Optional members in them that do not fit are left out."""
    spare: frozenset[str] = frozenset()
    """Members of such a form that are left out, and not refused, if they still do not fit."""
    readers: Mapping[str, Callable[[Json], Json]] = {}
    """Read members that are written in another form."""


def interpret_settings(members: Members, form: SettingForm) -> tuple[Members, tuple[NearMiss, ...]]:
    """The members as their dialect has them. The same ones if all fit."""
    given = {key for key, _ in members}
    _refuse_two_names(members, form)
    found: list[tuple[str, Json]] = []
    misses: list[NearMiss] = []
    for key, raw in members:
        name = form.names.get(key, key)
        if name != key and name not in given:
            misses.append(NearMiss(Miss.SETTING_NAME, f"/{key}", members=(key, name)))
        else:
            name = key
        value = _parse_value(name, raw, form, misses, key)
        if value is not None:
            found.append((name, value))
    return (tuple(found), tuple(misses)) if misses else (members, ())


def _refuse_two_names(members: Members, form: SettingForm) -> None:
    """Raise MalformedRequest if a setting stands under two names with two values."""
    found: dict[str, tuple[str, Json]] = {}
    for key, raw in members:
        name = form.names.get(key, key)
        if raw == b"null" or (name == key and key not in form.names.values()):
            continue
        first = found.setdefault(name, (key, raw))
        if plain_value(first[1]) != plain_value(raw):
            refuse_two_values(name, first, (key, raw))


def plain_value(raw: Json) -> Json:
    """A value without the list around it, the quotes around a number and the zero behind it."""
    return raw.strip(b'[] "').removesuffix(b".0")


def _parse_value(name: str, raw: Json, form: SettingForm, misses: list[NearMiss], key: str) -> Json | None:
    """The value of a setting; None if it is left out."""
    if name in LIMITS and is_unlimited(raw, f"/{key}"):
        misses.append(NearMiss(Miss.NO_LIMIT, f"/{key}", members=(key, name)))
        return None
    meant, kind = raw, Miss.SETTING
    if name == form.choice:
        meant, kind = _parse_choice(raw, form), Miss.CHOICE
    elif name == form.stop:
        meant = interpret_stop(raw, form.stop_listed)
    elif name in form.readers:
        meant = form.readers[name](raw)
    elif name in form.plain:
        meant = interpret_scalar(raw, form.plain[name][1])
    if meant is not raw:
        misses.append(NearMiss(kind, f"/{key}", members=(key, name)))
    return meant if meant == b"null" or name not in form.shapes else _fit_setting(name, meant, form, misses, key)


def _fit_setting(name: str, raw: Json, form: SettingForm, misses: list[NearMiss], key: str) -> Json | None:
    """The value without what does not fit its shape; None if all of it is left out."""
    decode = form.shapes[name]
    trimmed = without_misfits(raw, decode)
    if trimmed is not None:
        misses += [
            NearMiss(one.kind, f"/{key}{one.below}", members=(key, name), lost=one.lost) for one in trimmed.misfits
        ]
        return trimmed.raw
    if name not in form.spare:
        _refuse(raw, decode, f"/{key}")
    misses.append(NearMiss(Miss.TYPE, f"/{key}", members=(key, name), lost=raw))
    return None


def _refuse(raw: Json, decode: Callable[[Json], object], at: str) -> None:
    """Raise MalformedRequest with what the decoder finds wrong."""
    try:
        decode(raw)
    except msgspec.DecodeError as fault:
        raise make_malformed(fault, at) from None


def _parse_choice(raw: Json, form: SettingForm) -> Json:
    if raw == b"null":
        return raw
    try:
        own = form.parse_choice(raw)
    except ODD_FORM:
        own = None
    if own is not None and own.mode is not ChoiceMode.NATIVE:
        return raw
    refuse_two_choices(raw, f"/{form.choice}")
    choice = parse_any_choice(raw)
    written = form.render_choice(choice) if choice is not None else None
    return raw if written is None else written


def is_unlimited(raw: Json, at: str) -> bool:
    """Whether a limit is -1, which means none. Raises MalformedRequest if it is any other negative number."""
    text = raw.strip(b'"')
    if text[:1] != b"-":
        return False
    if text == b"-1":
        return True
    raise MalformedRequest(
        f"a limit of {text.decode()} tokens", at=at, hint="send a positive number, or leave it out for no limit"
    )


def interpret_scalar(raw: Json, decode: Callable[[Json], object]) -> Json:
    """A number or a truth value that was written as a text, and a whole number that was written with a fraction."""
    if raw[:1] == b'"' and decode in _LOOSE:
        return _unquote(raw, decode)
    if decode is decode_whole and raw[-2:] == b".0":
        return raw[:-2]
    return raw


def _unquote(raw: Json, decode: Callable[[Json], object]) -> Json:
    text = unquote(raw).strip().lower().encode()
    try:
        decode(text)
    except msgspec.DecodeError:
        return raw
    return text


_LOOSE = frozenset({decode_number, decode_whole, decode_flag})


def interpret_stop(raw: Json, listed: bool) -> Json:
    """Stop sequences as a list of texts, if they must be one, and without those that are null."""
    if raw[:1] == b'"' and listed:
        return b"[" + raw + b"]"
    if b"null" not in raw:
        return raw
    items = items_of(raw) or []
    return b"[" + b",".join([item for item in items if item != b"null"]) + b"]" if b"null" in items else raw
