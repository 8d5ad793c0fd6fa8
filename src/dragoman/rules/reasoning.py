"""Where opaque reasoning state may go: back to the provider and model that issued it."""

from __future__ import annotations

import re

from dragoman.conversation import reasoning_states
from dragoman.conversation.parts import Opaque
from dragoman.profiles.facts import Facts, Scope

_EMPTY = b'""'
"""An empty signature: a dialect may demand the field, and no issuer accepts it as its own."""

_SIGNATURES = frozenset({reasoning_states.SIGNATURE, reasoning_states.REDACTED, reasoning_states.THOUGHT})
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
"""Characters of base64 for 16 bytes: no real signature is shorter."""
_MASK = b"REDACTED"
"""In recordings it stands in for what was there."""
_BASE64 = re.compile(rb"[A-Za-z0-9+/_-]+={0,2}")


def fits(state: Opaque, facts: Facts) -> bool:
    """May this state be sent to the target? State that does not name its maker counts as its dialect's own."""
    if state.kind not in facts.reasoning_states or not facts.reasoning_trusted or state.json == _EMPTY:
        return False
    origin = state.origin
    if origin.dialect != facts.dialect or not _can_be_real(state, facts):
        return False
    if not origin.provider:
        return True
    same_family = bool(facts.family) and origin.provider == facts.family
    if origin.provider != facts.provider and not same_family:
        return False
    if facts.reasoning_scope is Scope.MODEL:
        return not origin.model or origin.model == facts.model
    return True


def _can_be_real(state: Opaque, facts: Facts) -> bool:
    """Can the target have issued it, by its looks? Clients send placeholders: `undefined`, a text, a word of Google's.

    The ends are looked at, not the whole: a signature may be long.
    """
    if state.kind not in _SIGNATURES:
        return True
    value = state.json
    if value in _SKIPS:
        return bool(facts.signature_skip)
    if _MASK in value[:64]:
        return True
    head, tail = value[1:65], value[-17:-1]
    text = value[1:-1] if len(value) < 64 else head + tail
    plain = _BASE64.fullmatch(text.replace(b"\\/", b"/")) is not None
    return plain and len(value) - 2 >= _LEAST and len(value.rstrip(b'="')) % 4 != 2
