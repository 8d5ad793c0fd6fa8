"""What two values must agree in to be the same: meaning, decoded, without spelling and place."""

from __future__ import annotations

from binascii import b2a_base64
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from functools import cache
from hashlib import blake2b
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw

from dragoman.conversation.literals import split
from dragoman.conversation.settings import UNNAMED

SPELLING = frozenset(
    {
        *("at", "blank", "called", "declares", "empty_tools", "field", "inline"),
        *("inner", "limit_as", "listed", "meant", "near_misses", "nulls", "prefill"),
        *("schema_as", "seed_as", "span", "steps", "stop_listed", "wire_form", "wrapper"),
    }
)
"""Fields that say where a value stood or how it was written, not what it means."""

_RESULT_SPELLING = SPELLING | {"name"}
"""A result names its tool only to repeat what its call says."""

_FORMAT_SPELLING = SPELLING | {"strict"}
"""A response format is strict if it cannot be otherwise."""

_KINDS = {"Result": _RESULT_SPELLING, "ResponseFormat": _FORMAT_SPELLING}
_NO_ARGUMENTS = (
    {"type": "object"},
    {"type": "object", "properties": {}},
    {"type": "object", "additionalProperties": False},
)
_EMPTY_TEXT = [{"_": "Text", "literal": ""}]
_EMPTY_PARTS = b'[{"_":"Text","literal":""}]'
_NOTHING = (b"null", b"[]")
_AUTO = {"_": "ToolChoice", "mode": "auto"}

_LONG = 1 << 18
_decode = msgspec.json.decode
_order = msgspec.json.Encoder(order="deterministic").encode


def canonical(value: Any) -> Any:
    """The value as plain JSON: literals decoded, spelling left out, defaults left out."""
    if isinstance(value, msgspec.Struct):
        return _canonical_struct(value)
    if isinstance(value, bytes):
        return _canonical_json(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, (tuple, list)):
        return [canonical(item) for item in value]
    if isinstance(value, Mapping):
        return {key: canonical(item) for key, item in value.items()}
    return value


def digest(value: Any) -> str | None:
    """A short fingerprint of a value, or None of nothing."""
    if value is None:
        return None
    return blake2b(canonical_text(value), digest_size=8).hexdigest()


def base62(*words: object, length: int) -> str:
    """A hash of the words in letters and digits, 64 at most. The same words give the same in every run."""
    hashed = blake2b("\0".join(map(str, words)).encode("utf-8", "replace"), digest_size=48).digest()
    return b2a_base64(hashed, newline=False)[:length].translate(_LETTERS).decode()


_LETTERS = bytes.maketrans(b"+/", b"Zz")
"""What stands for the two signs of base64 that are neither letters nor digits."""


def mean_same(one: Any, other: Any) -> bool:
    """Whether two values mean the same."""
    if one is other:
        return True
    return one is not None and other is not None and canonical_text(one) == canonical_text(other)


def canonical_text(value: Any) -> bytes:
    """The canonical value as compact JSON with sorted keys, written without building it first."""
    return _WRITERS[type(value)](value)


def _json_text(text: bytes) -> bytes:
    if len(text) > _LONG and text[:1] == b'"':
        return _long_text(text)
    return _order(_canonical_json(text))


def _long_text(text: bytes) -> bytes:
    """A long string, piece by piece: see `literals.split`."""
    try:
        return b'"%b"' % b"".join([_order(_decode(piece))[1:-1] for piece in split(text)])
    except msgspec.DecodeError:
        return _order(_canonical_json(text))


def _list_text(values: Iterable[Any]) -> bytes:
    return b"[%b]" % b",".join([_WRITERS[type(value)](value) for value in values])


def _mapping_text(mapping: Mapping[str, Any]) -> bytes:
    return _order({key: Raw(canonical_text(value)) for key, value in mapping.items()})


class _Field(NamedTuple):
    """A field that means something."""

    name: str
    head: bytes
    """What stands before its value."""
    default: Any
    default_text: bytes | None
    """The canonical text of its default."""


class _Plan(NamedTuple):
    """What of a type is looked at: its meaningful fields in sorted order, and how to get all their values at once."""

    kind: str
    fields: tuple[_Field, ...]
    values: Callable[[Any], tuple[Any, ...]]
    settle: Callable[[dict[str, Any]], None] | None
    """Brings several ways of saying one thing together, in the tree."""


@cache
def _plan(kind: type[msgspec.Struct]) -> _Plan:
    """Asked of msgspec once for each type: it compiles annotations whenever it is asked."""
    skipped = _KINDS.get(kind.__name__, SPELLING)
    found = sorted((field.name, field.default) for field in msgspec.structs.fields(kind) if field.name not in skipped)
    fields = tuple([_field(*one) for one in found])
    return _Plan(kind.__name__, fields, _values(fields), _SETTLED.get(kind.__name__))


def _field(name: str, default: Any) -> _Field:
    default_text = None if default is msgspec.NODEFAULT else canonical_text(default)
    return _Field(name, b"," + _order(name) + b":", default, default_text)


def _values(fields: Sequence[_Field]) -> Callable[[Any], tuple[Any, ...]]:
    """The values of these fields: `attrgetter` gives a tuple for two or more only."""
    names = [field.name for field in fields]
    if len(names) > 1:
        return attrgetter(*names)
    only = attrgetter(*names) if names else None
    return lambda value: () if only is None else (only(value),)


def _struct_writer(kind: type[msgspec.Struct]) -> Callable[[Any], bytes]:
    """Most values hold nothing but what their type demands: those are written without a look at the rest."""
    plan = _plan(kind)
    is_result = plan.settle is _settle_result
    if plan.settle is not None and not is_result:
        return lambda value: _order(_canonical_struct(value))
    demanded = [field for field in plan.fields if field.default is msgspec.NODEFAULT]
    optional = [field for field in plan.fields if field.default is not msgspec.NODEFAULT]
    needs, options, defaults = _values(demanded), _values(optional), tuple([field.default for field in optional])
    opening = b'{"_":' + _order(plan.kind)
    plainest = opening + b"".join([field.head + b"%b" for field in demanded]) + b"}"

    def write(value: Any) -> bytes:
        if options(value) == defaults and not (is_result and _is_empty(value)):
            return plainest % tuple([_WRITERS[type(content)](content) for content in needs(value)])
        pieces = [opening]
        for field, content in zip(plan.fields, plan.values(value), strict=True):
            pieces += _write(field, content)
        if is_result:
            pieces = [b"[]" if piece == _EMPTY_PARTS else piece for piece in pieces]
        pieces.append(b"}")
        return b"".join(pieces)

    return write


def _is_empty(result: Any) -> bool:
    return len(result.parts) == 1 and getattr(result.parts[0], "literal", None) == b'""'


def _write(field: _Field, content: Any) -> tuple[bytes, ...]:
    if content == field.default or (field.name == "extras" and _holds_nothing(content)):
        return ()
    text = canonical_text(content)
    return () if text == field.default_text else (field.head, text)


class _Writers(dict[type, Callable[[Any], bytes]]):
    """How values of each type are written: found out when the first one comes."""

    def __missing__(self, kind: type) -> Callable[[Any], bytes]:
        self[kind] = found = self._found(kind)
        return found

    def _found(self, kind: type) -> Callable[[Any], bytes]:
        if issubclass(kind, msgspec.Struct):
            return _struct_writer(kind)
        if issubclass(kind, bytes):
            return _json_text
        if issubclass(kind, (tuple, list)):
            return _list_text
        return _mapping_text if issubclass(kind, Mapping) else _order


_WRITERS = _Writers()


def _holds_nothing(extras: Any) -> bool:
    """Fields that hold nothing say nothing."""
    return all(bytes(value) in _NOTHING for value in extras.fields.values())


def _canonical_struct(value: msgspec.Struct) -> dict[str, Any]:
    plan = _plan(type(value))
    plain: dict[str, Any] = {"_": plan.kind}
    for field, content in zip(plan.fields, plan.values(value), strict=True):
        if content == field.default or (field.name == "extras" and _holds_nothing(content)):
            continue
        meant = canonical(content)
        if meant != canonical(field.default):
            plain[field.name] = meant
    if plan.settle is not None:
        plan.settle(plain)
    return plain


def _settle_tool(plain: dict[str, Any]) -> None:
    """No schema and an empty one both say: no arguments."""
    if plain.get("schema") in _NO_ARGUMENTS:
        del plain["schema"]


def _settle_format(plain: dict[str, Any]) -> None:
    """The name that a schema gets because one must be given says nothing."""
    if plain.get("name") == UNNAMED:
        del plain["name"]


def _settle_result(plain: dict[str, Any]) -> None:
    """No content and an empty text are the same answer."""
    if plain["parts"] == _EMPTY_TEXT:
        plain["parts"] = []


def _settle_thinking(plain: dict[str, Any]) -> None:
    """A budget of nothing is off; on is said by any budget or effort."""
    if plain.get("budget") == 0:
        plain.setdefault("on", False)
    if plain.get("on") is False:
        plain.pop("budget", None)
    elif "budget" in plain or plain.get("effort", "none") != "none":
        plain.pop("on", None)


def _settle_settings(plain: dict[str, Any]) -> None:
    """Parallel calls without a choice mean the choice `auto`, and nothing if no call may be made.

    Whoever wants the likeliest tokens wants their probabilities.
    """
    if "top_logprobs" in plain:
        plain["logprobs"] = True
    elif plain.get("logprobs") is False:
        del plain["logprobs"]
    if "parallel_tool_calls" not in plain:
        return
    choice = plain.setdefault("tool_choice", _AUTO)
    if choice["mode"] == "none":
        del plain["parallel_tool_calls"]


_SETTLED: dict[str, Callable[[dict[str, Any]], None]] = {
    "Tool": _settle_tool,
    "ResponseFormat": _settle_format,
    "Thinking": _settle_thinking,
    "Result": _settle_result,
    "Settings": _settle_settings,
}


def _canonical_json(text: bytes) -> Any:
    try:
        return _decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text.decode("utf-8", "replace")
