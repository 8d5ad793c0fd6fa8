"""Members that do not fit their schema, left out if they are optional.

A decoder of the schema finds them one after another. What a part says is never left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NoReturn

import msgspec

from dragoman.conversation.near_misses import Miss
from dragoman.conversation.parts import Json
from dragoman.dialects.shared.raw_json import NULL, UNREADABLE, fields_of, items_of
from dragoman.errors import MalformedRequest
from dragoman.wire.json_reader import make_malformed, render_list, render_object

_MOST = 16
"""How many members are left out of one object. More are no slip of a client's."""
_UNKNOWN = re.compile(r"^Object contains unknown field `(.*?)`", re.DOTALL)
_MESSAGES = ("type", "role", "content", "parts", "text", "refusal", "thinking", "signature", "summary")
_MEDIA = ("source", "image_url", "input_audio", "file", "data", "url", "file_data", "file_url", "file_id")
_CALLS = ("id", "call_id", "tool_use_id", "name", "input", "arguments", "args", "output", "response")
_SCHEMAS = ("schema", "json_schema", "input_schema", "parameters", "format")
_FORMS = ("responseMimeType", "response_mime_type", "mode", "functionCallingConfig", "function_calling_config")
_CONTENT_MEMBERS = frozenset((*_MESSAGES, *_MEDIA, *_CALLS, *_SCHEMAS, *_FORMS))
"""Members that hold what a value says. They are never left out, unless they are null."""


MOST_ODD = 20_000
"""Parts of messages that do not fit the schema and are read all the same. More are no slip of a client, and each takes
many times as long as one that fits."""


def refuse_too_odd(at: str) -> NoReturn:
    """Raise MalformedRequest: too much of a request does not fit the schema."""
    message = f"more than {MOST_ODD} parts of messages do not fit the schema"
    raise MalformedRequest(message, at=at, hint="write messages as the dialect has them")


class Misfit(msgspec.Struct, frozen=True):
    """A member that was left out."""

    kind: Miss
    """How it misses the schema."""
    below: str
    """Its place below the value."""
    lost: Json | None
    """What it held, if anything."""


class Trimmed(msgspec.Struct, frozen=True):
    """A value that fits, and the members that it does not have any more."""

    raw: Json
    misfits: tuple[Misfit, ...]


def without_misfits(raw: Json, decode: Callable[[Json], object]) -> Trimmed | None:
    """The value without members of a wrong type and without unknown ones; None if that does not make it fit."""
    found: list[Misfit] = []
    for _ in range(_MOST):
        try:
            decode(raw)
        except msgspec.ValidationError as fault:
            path, kind = _find_faulty_member(fault)
        except UNREADABLE:
            return None
        else:
            return Trimmed(raw, tuple(found))
        removed = _without(raw, path) if path else None
        if removed is None or (kind is not Miss.UNKNOWN_KEY and removed[1] != NULL and _is_content(path)):
            return None
        raw, lost = removed
        found.append(Misfit(Miss.NULL if lost == NULL else kind, "".join(f"/{name}" for name in path), lost))
    return None


def items_without_misfits(raw: Json, decode: Callable[[Json], object]) -> Trimmed | None:
    """The list whose items are `without_misfits`; None if one of them cannot be made to fit."""
    trimmed = [without_misfits(item, decode) for item in items_of(raw) or ()]
    found = [one for one in trimmed if one is not None]
    if not found or len(found) < len(trimmed):
        return None
    misfits = [
        Misfit(misfit.kind, f"/{index}{misfit.below}", misfit.lost)
        for index, one in enumerate(found)
        for misfit in one.misfits
    ]
    return Trimmed(render_list([one.raw for one in found]), tuple(misfits))


def _is_content(path: list[str]) -> bool:
    """Whether the member is what the value says, and not a mark beside it."""
    return path[0] in _CONTENT_MEMBERS and path[-1] in _CONTENT_MEMBERS


def _find_faulty_member(fault: msgspec.ValidationError) -> tuple[list[str], Miss]:
    """The path of the member at fault. If a required one is missing, that is the object which lacks it."""
    path = make_malformed(fault).at.split("/")[1:]
    unknown = _UNKNOWN.match(str(fault))
    return (path, Miss.TYPE) if unknown is None else ([*path, unknown[1]], Miss.UNKNOWN_KEY)


def _without(raw: Json, path: list[str]) -> tuple[Json, Json] | None:
    """The value without the member at the path, and that member. None if the path leads through a list."""
    fields = fields_of(raw)
    if fields is None or path[0] not in fields:
        return None
    name = path[0]
    if len(path) == 1:
        lost = fields.pop(name)
        return render_object(fields), lost
    inner = _without(fields[name], path[1:])
    return None if inner is None else (render_object({**fields, name: inner[0]}), inner[1])
