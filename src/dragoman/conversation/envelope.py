"""An envelope for opaque state that travels in another dialect's place for such state.

A client gets a signature that its own provider never made, stores it as it stores all signatures, and sends it back.
The envelope says who made it. As a whole it is valid base64, because a client may decode it and encode it again, in the
URL alphabet or with other padding; only the bytes inside must survive.

Nothing proves that we sealed it: whoever knows this page can. So what is inside is taken for what a client wrote. It is
one JSON value and nothing else, since it is written into a request as it is.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from dragoman.conversation.parts import Opaque, Origin

_MARK = b"dragoman1\0"
# Nine bytes are twelve characters of base64, whatever follows them.
_MARK_ENCODED = b64encode(_MARK[:9]).decode()
_MARK_LITERAL = b'"' + _MARK_ENCODED.encode()
_URL_ALPHABET = str.maketrans("-_", "+/")

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(tuple[str, str, str, str, str]).decode
_decode_value = msgspec.json.Decoder().decode
_decode_several = msgspec.json.Decoder(list[tuple[str, msgspec.Raw]]).decode
_SEVERAL = "several"
"""The kind of an envelope with several blocks of one maker."""


def seal(opaque: Opaque) -> str:
    """The state with the name of its maker, as base64 text."""
    origin = opaque.origin
    label = _encode((opaque.kind, origin.dialect, origin.provider, origin.model, origin.account))
    return b64encode(_MARK + label + b"\0" + opaque.json).decode()


def may_be_sealed(literal: bytes) -> bool:
    """Whether the text of a JSON literal can be an envelope. It answers without decoding a long text."""
    return literal.startswith(_MARK_LITERAL) or b"\\" in literal


def holds_sealed(json: bytes) -> bool:
    """Whether an envelope may stand somewhere in a JSON value. It answers without decoding the value."""
    return _MARK_LITERAL in json


def unseal(text: str) -> Opaque | None:
    """The state that was sealed, or None if the text is no envelope of ours, or holds anything but one JSON value. It
    may be empty, and then there is nothing to put back."""
    if not text.startswith(_MARK_ENCODED):
        return None
    plain = text.rstrip("=").translate(_URL_ALPHABET)
    try:
        content = b64decode(plain + "=" * (-len(plain) % 4), validate=True)
        label, _, json = content[len(_MARK) :].partition(b"\0")
        kind, dialect, provider, model, account = _decode(label)
        if json:
            _decode_value(json)
    except (ValueError, RecursionError):  # errors of msgspec are ValueErrors
        return None
    return Opaque(kind=kind, json=json, origin=Origin(dialect, provider, model, account))


def seal_several(blocks: Sequence[Opaque]) -> str:
    """Blocks of one maker in their order, as one text."""
    held = _encode([(block.kind, msgspec.Raw(block.json)) for block in blocks])
    return seal(Opaque(kind=_SEVERAL, json=held, origin=blocks[0].origin))


def unseal_several(text: str) -> tuple[Opaque, ...]:
    """What was sealed, one block or several; nothing if the text is no envelope of ours, or an empty one."""
    found = unseal(text)
    if found is None or not found.json:
        return ()
    if found.kind != _SEVERAL:
        return (found,)
    try:
        return tuple([replace(found, kind=kind, json=bytes(json)) for kind, json in _decode_several(found.json)])
    except msgspec.MsgspecError:
        return ()
