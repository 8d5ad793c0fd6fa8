"""Whether a target thinks on a request, which turns must hold thinking, and where opaque reasoning state may go.

State goes back to the model that issued it, on any platform that shares such state.
"""

from __future__ import annotations

from dragoman.conversation.messages import Message, Role
from dragoman.conversation.parts import Call, Opaque
from dragoman.conversation.settings import Effort, Settings, Thinking
from dragoman.profiles.facts import NEEDS_FILLED, Facts, Need, Scope, Stance, ThinkingForm, ThoughtRequest
from dragoman.profiles.model_patterns import same_model
from dragoman.rules.state_form import can_be_real

_EMPTY = b'""'
"""An empty signature: a dialect may demand the field, and no issuer accepts it as its own."""


def fits(state: Opaque, facts: Facts) -> bool:
    """May this state be sent to the target? State that does not name its maker counts as its dialect's own."""
    if state.kind not in facts.reasoning_states or not facts.reasoning_trusted or state.json == _EMPTY:
        return False
    origin = state.origin
    if origin.dialect != facts.dialect and state.kind not in facts.shared_states:
        return False
    if not can_be_real(state, facts):
        return False
    if not origin.provider:
        return True
    if origin.provider not in (facts.provider, facts.family):
        return False
    if facts.reasoning_scope is Scope.MODEL:
        return not origin.model or same_model(origin.model, facts.model)
    return True


def can_be_asked(facts: Facts) -> bool:
    """May a request tell the target whether and how much to think?"""
    return facts.thinking is not Stance.REFUSES and facts.thinking_form is not ThinkingForm.NONE


def thinks(settings: Settings, facts: Facts, translated: bool = False) -> bool:
    """Will the target think on this request? `translated`: of a client of another dialect."""
    thinking = settings.thinking
    if not can_be_asked(facts):
        return facts.reasoning_default
    if thinking is None or (thinking.on is None and thinking.effort is None and thinking.budget is None):
        shown = thinking is not None and is_shown_by_thinking(thinking, facts)
        return facts.reasoning_default or shown or (translated and is_switched_on(thinking, facts))
    if thinking.on is not None:
        return thinking.on
    return thinking.effort is not Effort.NONE and thinking.budget != 0


def is_shown_by_thinking(thinking: Thinking, facts: Facts) -> bool:
    """Is thinking meant by the wish to see thoughts? So it is if a model shows them whenever it thinks, and does
    not think by default."""
    if not thinking.visible:
        return False
    if facts.thinking_form is ThinkingForm.BUDGET:
        return facts.thoughts_on_request is not ThoughtRequest.VISIBLE
    return facts.thinking_form in (ThinkingForm.SWITCH, ThinkingForm.ADAPTIVE, ThinkingForm.ANY)


_SWITCHED_ON = (ThinkingForm.EFFORT, ThinkingForm.OPTIONAL_BUDGET, ThinkingForm.OPEN)
"""Forms in which a wish to see thoughts says nothing about thinking. The others have their own answer to it."""


def is_switched_on(thinking: Thinking | None, facts: Facts) -> bool:
    """Does the wish to see thoughts, if a client of another dialect has no more to say, become one to think? A model
    that does not think by itself fulfils it only so."""
    by_itself = facts.reasoning_default and facts.thinking_form is not ThinkingForm.OPEN
    return thinking is not None and bool(thinking.visible) and not by_itself and facts.thinking_form in _SWITCHED_ON


def find_demanding(messages: tuple[Message, ...], need: Need) -> set[int]:
    """The turns that must have thinking. The last message may be words that the model goes on with."""
    if need not in NEEDS_FILLED:
        return set()
    calling = {at for at, message in enumerate(messages) if any(type(part) is Call for part in message.parts)}
    if need is Need.TOOL_TURNS:
        return calling
    found = set(calling)
    called = False
    for at, message in enumerate(messages[:-1]):
        called = message.role is not Role.USER and (called or at in calling)
        if called and message.role is Role.ASSISTANT:
            found.add(at)
    return found


def forbids_forced_tool(settings: Settings, facts: Facts, translated: bool) -> bool:
    """Will the target think in a way that forbids a forced tool?"""
    if not thinks(settings, facts, translated):
        return False
    if facts.forced_choice_thinking is Stance.REFUSES:
        return True
    return facts.forced_choice_budget is Stance.REFUSES and _by_budget(settings, facts)


def _by_budget(settings: Settings, facts: Facts) -> bool:
    if facts.thinking_form is not ThinkingForm.ANY:
        return facts.thinking_form is ThinkingForm.BUDGET
    return settings.thinking is not None and (settings.thinking.budget or 0) > 0
