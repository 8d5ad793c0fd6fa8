"""A request to think, in a form that the target does not know.

Some targets count tokens, some know levels of effort, some decide themselves, and each refuses the forms of the others.
An effort becomes the budget it is worth in tokens, a budget becomes the nearest effort, and an effort that the model
does not offer becomes the nearest one it does. A target that does not think is not asked to.

Loses metadata.

For `openai/gpt-5`, from `anthropic`:

    {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 20000,
     "thinking": {"type": "enabled", "budget_tokens": 9000}}
becomes
    {"messages": [{"role": "user", "content": "Hi"}], "max_completion_tokens": 20000, "reasoning_effort": "medium"}
"""

from __future__ import annotations

from collections.abc import Callable

from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.settings import BUDGETS, EFFORT_ALONE, Effort, Settings, Thinking, effort_of
from dragoman.conversation.traits import Trait
from dragoman.profiles.facts import Facts, Stance, ThinkingForm
from dragoman.rules.context import Context
from dragoman.rules.rewriting import but, rewrite_settings
from dragoman.rules.rule import rule

_ORDER = list(Effort)
_DECIDES = (ThinkingForm.ADAPTIVE, ThinkingForm.ANY)


@rule(
    "thinking-form",
    spelling=True,
    when=lambda facts: True,
    looks_for=Trait.THINKING,
    loses=Loss.METADATA,
    top_level=True,
)
def thinking_form(conversation: Conversation, context: Context) -> Rewrite:
    facts = context.facts
    settings = conversation.settings
    thinking = settings.thinking
    if thinking is None or (thinking.spelled == EFFORT_ALONE and facts.thinking_form in _DECIDES):
        return Rewrite(conversation)
    formed = FORMS[facts.thinking_form](thinking, settings, facts)
    if formed is not None:
        formed = _shown(_offered(formed, facts), facts)
        if formed.spelled == EFFORT_ALONE:
            formed = but(formed, spelled="")
        if facts.tools_with_effort is Stance.REFUSES and conversation.tools and formed.effort is not None:
            formed = but(formed, effort=Effort.NONE)
    if formed == thinking:
        return Rewrite(conversation)
    did = "left out the request to think" if formed is None else "asked for thinking in the target's form"
    note = Note(did, key="thinking", before=thinking, after=formed)
    return rewrite_settings(conversation, [note], thinking=formed)


def _any(thinking: Thinking, settings: Settings, facts: Facts) -> Thinking | None:
    """A budget where the client counts, else the model decides."""
    if thinking.budget is None or thinking.budget <= 0 or thinking.on is False:
        return _adaptive(thinking, settings, facts)
    tokens = _bounded(thinking.budget, settings, facts)
    if tokens is None:
        return Thinking(on=False, visible=thinking.visible)
    return but(thinking, budget=tokens, effort=_at_least_low(thinking.effort))


def _bounded(tokens: int, settings: Settings, facts: Facts) -> int | None:
    """A budget below the token limit, or None where that leaves too little."""
    if settings.max_tokens is not None and facts.budget_below_limit:
        tokens = min(tokens, settings.max_tokens - 1)
    return None if tokens < facts.budget_min else tokens


def _none(thinking: Thinking, settings: Settings, facts: Facts) -> Thinking | None:
    return None


def _effort(thinking: Thinking, settings: Settings, facts: Facts) -> Thinking | None:
    """An effort alone: budgets become the nearest effort, off becomes none."""
    effort = _as_effort(thinking)
    if effort is None:
        return None
    return Thinking(effort=effort, summary=thinking.summary, spelled=thinking.spelled)


def _as_effort(thinking: Thinking) -> Effort | None:
    if thinking.on is False:
        return Effort.NONE
    if thinking.effort is not None:
        return thinking.effort
    if thinking.budget is not None:
        return None if thinking.budget < 0 else effort_of(thinking.budget)
    return Effort.MEDIUM if thinking.on and not thinking.adaptive else None


def _budget(thinking: Thinking, settings: Settings, facts: Facts) -> Thinking | None:
    """On with a budget below the token limit, or off."""
    if _is_off(thinking):
        return thinking if thinking.effort is None else Thinking(on=False, visible=thinking.visible)
    tokens = thinking.budget
    if tokens is None and thinking.effort is None and not thinking.on:
        return thinking
    if tokens is None:
        effort = thinking.effort or Effort.MEDIUM
        tokens = BUDGETS[effort]
    if tokens < 0:
        return thinking
    fitting = _bounded(tokens, settings, facts)
    if fitting is None:
        return Thinking(on=False, visible=thinking.visible)
    if fitting == thinking.budget and thinking.effort is None and not thinking.adaptive:
        return thinking
    return Thinking(on=True, budget=fitting, visible=thinking.visible)


def _is_off(thinking: Thinking) -> bool:
    return thinking.on is False or thinking.effort is Effort.NONE or thinking.budget == 0


def _adaptive(thinking: Thinking, settings: Settings, facts: Facts) -> Thinking | None:
    """The model decides, led by an effort."""
    if _is_off(thinking):
        return Thinking(on=False)
    if thinking.budget is None and (thinking.adaptive or (thinking.on is None and thinking.effort is None)):
        return Thinking(thinking.on, thinking.adaptive, _at_least_low(thinking.effort))
    effort = _at_least_low(_as_effort(thinking))
    return Thinking(on=True, adaptive=True, effort=effort)


def _at_least_low(effort: Effort | None) -> Effort | None:
    return Effort.LOW if effort is Effort.MINIMAL else effort


def _level(thinking: Thinking, settings: Settings, facts: Facts) -> Thinking | None:
    """Gemini's levels: an effort of four. A budget is still understood."""
    if thinking.budget is not None and thinking.budget != 0 and thinking.effort is None:
        return thinking
    effort = _as_effort(thinking)
    if effort is None:
        return Thinking(visible=thinking.visible) if thinking.visible is not None else None
    if effort is Effort.NONE:
        effort = Effort.MINIMAL
    return Thinking(effort=effort, visible=thinking.visible)


def _switch(thinking: Thinking, settings: Settings, facts: Facts) -> Thinking | None:
    """On or off, with an effort where one was named."""
    off = _is_off(thinking)
    effort = None if off else thinking.effort or (_as_effort(thinking) if thinking.budget is not None else None)
    enough = thinking.on is None and effort is not None and effort.value in facts.efforts
    return Thinking(on=None if enough else not off, effort=effort, spelled=thinking.spelled)


def _open(thinking: Thinking, settings: Settings, facts: Facts) -> Thinking | None:
    """An effort, a budget or a switch, as the client gave it. That the model decides needs no mark."""
    return but(thinking, adaptive=False) if thinking.adaptive else thinking


def _shown(thinking: Thinking, facts: Facts) -> Thinking:
    """Without what says how to show the thoughts, where the target does not take it."""
    if thinking.visible is not None and facts.thinking_visible is Stance.REFUSES:
        thinking = but(thinking, visible=None)
    if thinking.summary is not None and facts.thinking_summary is Stance.REFUSES:
        thinking = but(thinking, summary=None)
    return thinking


def _offered(thinking: Thinking, facts: Facts) -> Thinking:
    """The nearest effort that the model offers, not above the one asked for if there is one."""
    effort = thinking.effort
    if effort is None or not facts.efforts or effort.value in facts.efforts:
        return thinking
    if effort is Effort.NONE and facts.thinking_form not in (ThinkingForm.EFFORT, ThinkingForm.LEVEL):
        return but(thinking, on=False, effort=None)
    rank = _ORDER.index(effort)
    offered = sorted(
        (_ORDER.index(Effort(name)) for name in facts.efforts), key=lambda other: (other > rank, abs(other - rank))
    )
    return but(thinking, effort=_ORDER[offered[0]])


FORMS: dict[ThinkingForm, Callable[[Thinking, Settings, Facts], Thinking | None]] = {
    ThinkingForm.ANY: _any,
    ThinkingForm.NONE: _none,
    ThinkingForm.EFFORT: _effort,
    ThinkingForm.BUDGET: _budget,
    ThinkingForm.ADAPTIVE: _adaptive,
    ThinkingForm.LEVEL: _level,
    ThinkingForm.SWITCH: _switch,
    ThinkingForm.OPEN: _open,
}
