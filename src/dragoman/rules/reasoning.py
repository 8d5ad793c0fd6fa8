"""Where opaque reasoning state may go: back to the model that issued it, on any platform that shares such state."""

from __future__ import annotations

from dragoman.conversation.parts import Opaque
from dragoman.profiles.facts import Facts, Scope
from dragoman.profiles.model_patterns import same_model
from dragoman.rules.state_form import can_be_real

_EMPTY = b'""'
"""An empty signature: a dialect may demand the field, and no issuer accepts it as its own."""


def issuer(facts: Facts) -> str:
    """Who issues the target's state: its provider, or the maker whose state several platforms share."""
    return facts.family or facts.provider


def fits(state: Opaque, facts: Facts) -> bool:
    """May this state be sent to the target? State that does not name its maker counts as its dialect's own."""
    if state.kind not in facts.reasoning_states or not facts.reasoning_trusted or state.json == _EMPTY:
        return False
    origin = state.origin
    if origin.dialect != facts.dialect and state.kind not in facts.shared_states:
        return False
    if not can_be_real(state, bool(facts.signature_skip)):
        return False
    if not origin.provider:
        return True
    if origin.provider not in (facts.provider, facts.family):
        return False
    if facts.reasoning_scope is Scope.MODEL:
        return not origin.model or same_model(origin.model, facts.model)
    return True
