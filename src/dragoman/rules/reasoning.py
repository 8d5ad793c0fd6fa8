"""Where opaque reasoning state may go: back to the provider and model that issued it."""

from __future__ import annotations

from dragoman.conversation.parts import Opaque
from dragoman.profiles.facts import Facts, Scope
from dragoman.rules.state_form import can_be_real

_EMPTY = b'""'
"""An empty signature: a dialect may demand the field, and no issuer accepts it as its own."""


def fits(state: Opaque, facts: Facts) -> bool:
    """May this state be sent to the target? State that does not name its maker counts as its dialect's own."""
    if state.kind not in facts.reasoning_states or not facts.reasoning_trusted or state.json == _EMPTY:
        return False
    origin = state.origin
    if origin.dialect != facts.dialect or not can_be_real(state, bool(facts.signature_skip)):
        return False
    if not origin.provider:
        return True
    same_family = bool(facts.family) and origin.provider == facts.family
    if origin.provider != facts.provider and not same_family:
        return False
    if facts.reasoning_scope is Scope.MODEL:
        return not origin.model or origin.model == facts.model
    return True
