"""Whose reasoning state it is, and where it may go."""

from __future__ import annotations

from dragoman.conversation.parts import Opaque
from dragoman.profiles.facts import Facts, Scope

_EMPTY = b'""'
"""What stands where nobody signed: a dialect may demand the field, no issuer takes it for its own."""


def fits(state: Opaque, facts: Facts) -> bool:
    """May this state be sent to the target? What says nothing of its maker was issued by its dialect's own provider."""
    if state.kind not in facts.reasoning_states or not facts.reasoning_trusted or state.json == _EMPTY:
        return False
    origin = state.origin
    if origin.dialect != facts.dialect:
        return False
    if not origin.provider:
        return True
    same_family = bool(facts.family) and origin.provider == facts.family
    if origin.provider != facts.provider and not same_family:
        return False
    if facts.reasoning_scope is Scope.MODEL:
        return not origin.model or origin.model == facts.model
    return True
