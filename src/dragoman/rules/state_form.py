"""The looks of opaque reasoning state: can its issuer have handed it out?

Clients send placeholders (`undefined`, a text), and histories hold signatures that were cut on the way. No provider
accepts them. Only what is certain from the form counts. Whether a signature of the right form is valid, its issuer
knows.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode
from binascii import a2b_base64
from fnmatch import fnmatchcase

import msgspec

from dragoman.conversation.literals import quote
from dragoman.conversation.parts import Opaque, StateKind
from dragoman.profiles.facts import Facts, Scope

_SIGNATURES = frozenset({StateKind.SIGNATURE, StateKind.REDACTED, StateKind.THOUGHT})
_SKIPS = frozenset(
    {
        b'"skip_thought_signature_validator"',
        b'"c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="',
        b'"context_engineering_is_the_way_to_go"',
        b'"Y29udGV4dF9lbmdpbmVlcmluZ19pc190aGVfd2F5X3RvX2dv"',
    }
)
"""Google's values for a call that another model made, plain and as base64. Nobody else knows them."""
_LEAST = 22
"""Characters of base64 for 16 bytes: no real signature is shorter, and nothing that is encrypted so that a change of it
is noticed."""
_LOOKED_AT = 256
"""Characters of encrypted state that tell whose it is."""
_SHORT_STATE = re.compile(rb'"(?:encrypted_content|encrypted_index|thoughtSignature)"\s{0,8}:\s{0,8}"[^"\\]{1,21}"')
"""Fewer characters than that in a block."""
_BASE64 = re.compile(rb"[A-Za-z0-9+/_-]+={0,2}")
_HEAD = 12
"""Characters of base64 for a tag and a length."""
_URL_SAFE = bytes.maketrans(b"-_", b"+/")
_TAGS = frozenset({0x0A, 0x12})
"""How the signatures of Google and Anthropic begin: with a field and its length. More than 400 recorded ones fit it."""
_FERNET = b'"gAAAA'
"""How the encrypted state of OpenAI begins: a Fernet token. More than 100 recorded ones have the length of one."""
_FERNET_FRAME = 57
"""Bytes of a Fernet token around its blocks of 16: version, time, vector and proof."""


_ROUTE = re.compile(rb'\.eyJ[A-Za-z0-9_-]{1,600}"')
"""What a router puts behind the state of the models that it asks: a dot, and in base64 an object that says whom."""
_ROUTE_LONGEST = 605
_NUMBER = re.compile(r"\d")
_NOT_OF_BLOCKS = frozenset({StateKind.THOUGHT, StateKind.ENCRYPTED})
"""Kinds of state for which clients mistake the signature of a thinking block."""
_BLOCK = re.compile(rb"(?:\x08.)?\x12[\x80-\xff]*[\x00-\x7f]\x0a[\x80-\xff]*[\x00-\x7f]\x08.\x18\x02", re.DOTALL)
"""How the signature of a thinking block begins: all of 156 recorded values of Anthropic, and none of 607 of Google,
OpenAI and xAI."""
_BLOCK_HEAD = 24
"""Characters of base64 that hold this beginning."""


class _Detail(msgspec.Struct):
    """What an entry of `reasoning_details` holds of somebody's state."""

    signature: str | None = None
    data: str | None = None
    format: str | None = None


class _Route(msgspec.Struct):
    """Whom a router asked: a model, a bar, and who serves it."""

    endpoint_slug: str


_DETAILS = msgspec.json.Decoder(_Detail)
_ROUTES = msgspec.json.Decoder(_Route)
_FORMATLESS = frozenset({"", "unknown"})
_LENGTH_FIRST = frozenset({"google-gemini-v1", "anthropic-claude-v1"})
"""Formats of details whose data begins with its length. The bytes of others may begin with anything."""


def can_be_real(state: Opaque, facts: Facts) -> bool:
    """Can the target have issued it, by its looks?"""
    if state.kind == StateKind.DETAIL:
        return _is_detail(state.json, facts)
    literal = _plain(state.json)
    value = _without_route(literal)
    if value is not literal and not facts.routed_state:
        return False
    if state.kind in _NOT_OF_BLOCKS and _is_of_block(value):
        return False
    if state.kind in _SIGNATURES:
        return bool(facts.signature_skip) if state.json in _SKIPS else _is_signature(value)
    if state.kind == StateKind.ENCRYPTED:
        own = not facts.state_pattern or _fits_pattern(value, facts.state_pattern)
        return own and len(value) - 2 >= _LEAST and not _is_damaged_token(value)
    return True


def holds_false_state(block: bytes) -> bool:
    """Has a block of a provider's own state that is too short for anybody's?"""
    return _SHORT_STATE.search(block) is not None


def _fits_pattern(value: bytes, pattern: str) -> bool:
    return re.fullmatch(pattern.encode(), value[1 : 1 + _LOOKED_AT].rstrip(b'"')) is not None


def _plain(literal: bytes) -> bytes:
    """A JSON string without the backslash that some writers put before a slash."""
    return literal.replace(b"\\/", b"/") if b"\\" in literal else literal


def _without_route(literal: bytes) -> bytes:
    """A JSON string without the route that a router put behind it."""
    found = _ROUTE.search(literal, max(len(literal) - _ROUTE_LONGEST, 0))
    return literal if found is None or found.end() != len(literal) else literal[: found.start()] + b'"'


def _is_of_other_model(literal: bytes, value: bytes, facts: Facts) -> bool:
    """Does the route behind the value lead to a model that is not the target? Its name has the words of the target's in
    any order, and more: `claude-5-fable-20260609` is `claude-fable-5`. A name without a number may mean any model."""
    name = _words(facts.model.partition(":")[0])
    if value is literal or facts.reasoning_scope is not Scope.MODEL or not _NUMBER.search(facts.model):
        return False
    route = literal[len(value) : -1]
    try:
        slug = _ROUTES.decode(urlsafe_b64decode(route + b"=" * (-len(route) % 4))).endpoint_slug
    except (ValueError, msgspec.MsgspecError):
        return False
    return not name <= _words(slug.partition("|")[0])


def _words(model: str) -> frozenset[str]:
    return frozenset(model.lower().rpartition("/")[2].replace(".", "-").split("-"))


def _is_detail(entry: bytes, facts: Facts) -> bool:
    """One entry of `reasoning_details`: its format says whose state it is."""
    try:
        detail = _DETAILS.decode(entry)
    except msgspec.MsgspecError:
        return True  # another form: its provider knows
    literal = quote(detail.signature or detail.data or "")
    state = _without_route(literal)
    if _has_other_format(detail, facts) or _is_of_other_model(literal, state, facts):
        return False
    if detail.signature:
        return _is_signature(state)
    if not detail.data or (facts.signature_skip and literal in _SKIPS):
        return True
    if len(state) - 2 < _LEAST:
        return False
    if detail.format in _LENGTH_FIRST and _is_cut(state):
        return False
    return not _is_damaged_token(state)


def _has_other_format(detail: _Detail, facts: Facts) -> bool:
    """Is it the proof of another vendor's model? An entry may name no format, and words alone prove nothing."""
    if not facts.state_format or not (detail.signature or detail.data):
        return False
    given = (detail.format or "")[:_LOOKED_AT]
    given = given[: (given + given).find(given, 1)]  # clients write it as often as there were pieces of a stream
    return given not in _FORMATLESS and not fnmatchcase(given, facts.state_format)


def _is_signature(value: bytes) -> bool:
    """The ends are looked at, not the whole: a signature may be long."""
    head, tail = value[1:65], value[-17:-1]
    text = value[1:-1] if len(value) < 64 else head + tail
    if _BASE64.fullmatch(text) is None or len(value) - 2 < _LEAST or value.startswith(_FERNET):
        return False
    return _characters(value) % 4 != 1 and not _is_cut(value)


def _is_of_block(value: bytes) -> bool:
    """Is it the signature of a thinking block?"""
    head = value[1 : 1 + _BLOCK_HEAD].translate(_URL_SAFE)
    whole = len(head) == _BLOCK_HEAD and b"=" not in head and _BASE64.fullmatch(head) is not None
    return whole and _BLOCK.match(a2b_base64(head)) is not None


def _characters(value: bytes) -> int:
    """Characters of base64 in a JSON string, without quotes and padding."""
    return len(value.rstrip(b'="')) - 1


def _is_cut(value: bytes) -> bool:
    """Does it begin with the length of a field that does not fit into it?"""
    head = value[1 : 1 + _HEAD].translate(_URL_SAFE)
    if len(head) < _HEAD or _BASE64.fullmatch(head) is None or b"=" in head:
        return False
    first = a2b_base64(head)
    if first[0] not in _TAGS:
        return False
    length, size = _varint(first[1:])
    return 1 + size + length > _characters(value) * 3 // 4


def _varint(encoded: bytes) -> tuple[int, int]:
    """A number in groups of seven bits, the lowest first, and how many bytes it takes."""
    number = 0
    for at, byte in enumerate(encoded):
        number |= (byte & 0x7F) << 7 * at
        if byte < 0x80:
            return number, at + 1
    return number, len(encoded)


def _is_damaged_token(value: bytes) -> bool:
    """Is it a Fernet token with a part of a block?"""
    if not value.startswith(_FERNET):
        return False
    return (_characters(value) * 3 // 4 - _FERNET_FRAME) % 16 != 0
