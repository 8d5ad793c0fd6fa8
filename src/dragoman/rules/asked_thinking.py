"""A request to think, in each of the forms that models know: tokens, an effort, a switch, or the model's own choice."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from dragoman.conversation.parts import Extras
from dragoman.conversation.settings import (
    BUDGETS,
    EFFORT_ALONE,
    EFFORT_CONFIG,
    EFFORT_FIELD,
    EFFORT_INSIDE,
    SUMMARY,
    THINKING_FIELDS,
    Effort,
    Settings,
    Thinking,
    effort_of,
)
from dragoman.profiles.facts import Facts, Stance, ThinkingForm
from dragoman.rules.reasoning import is_shown_by_thinking

_ORDER = list(Effort)
_DECIDES = (ThinkingForm.ADAPTIVE, ThinkingForm.ANY)


def form_thinking(thinking: Thinking, settings: Settings, facts: Facts, tools: bool) -> Thinking | None:
    """What the model takes of it, or None if that is nothing."""
    if thinking.wire_form == EFFORT_ALONE:
        if facts.thinking_form in _DECIDES:
            return _choose_offered(thinking, facts)
        if facts.thinking_form is ThinkingForm.BUDGET:
            return None  # it says how hard to work, and does not ask for thinking
    formed = FORMS[facts.thinking_form](_with_shown_as(thinking, facts), settings, facts)
    formed = _choose_offered(formed, facts) if formed is not None else None
    if formed is None:
        return None
    formed = _drop_refused_display(formed, facts)
    if _is_strange(formed, facts):
        formed = replace(formed, wire_form="")
    if facts.tools_with_effort is Stance.REFUSES and tools and formed.effort is not None:
        return formed if formed.effort is Effort.NONE and _offers_none(facts) else None
    return formed


def _is_strange(thinking: Thinking, facts: Facts) -> bool:
    """Whether the client's field is not the target's, or has no place for what is asked: one for an effort has none for
    a switch."""
    form = thinking.wire_form
    if form == EFFORT_CONFIG:
        return form != facts.thinking_as
    return form in (EFFORT_ALONE, EFFORT_INSIDE) or (thinking.on is not None and form == EFFORT_FIELD)


def _with_shown_as(thinking: Thinking, facts: Facts) -> Thinking:
    """The wish to see the thoughts in the target's form: a summary of them, or the thoughts themselves."""
    sums, shows = facts.thinking_summary is not Stance.REFUSES, facts.thinking_visible is not Stance.REFUSES
    if thinking.summary is not None and shows and not sums:
        return replace(thinking, summary=None, visible=thinking.visible is not False)
    if thinking.visible and sums and not shows:
        return replace(thinking, visible=None, summary=thinking.summary or SUMMARY)
    return thinking


def _offers_none(facts: Facts) -> bool:
    return not facts.efforts or Effort.NONE.value in facts.efforts


def _any(thinking: Thinking, settings: Settings, facts: Facts) -> Thinking | None:
    """A budget if the client counts, else the model decides."""
    if thinking.budget is None or thinking.budget <= 0 or thinking.on is False:
        return _adaptive(thinking, settings, facts)
    tokens = _bound(thinking.budget, settings, facts)
    if tokens is None:
        return Thinking(on=False)
    return replace(thinking, budget=tokens, effort=_at_least_low(thinking.effort))


def _bound(tokens: int, settings: Settings, facts: Facts) -> int | None:
    """The nearest budget that the model takes and that is below the token limit, or None if there is none."""
    tokens = max(tokens, facts.budget_min)
    if facts.budget_max:
        tokens = min(tokens, facts.budget_max)
    room = facts.output_limit - facts.limit_default
    if room > 0 and facts.budget_below_limit and facts.above_output_limit is Stance.REFUSES:
        tokens = min(tokens, room)
    limit = _limit(settings, facts)
    if limit is not None and facts.budget_below_limit:
        tokens = min(tokens, limit - 1)
    return None if tokens < max(facts.budget_min, 1) else tokens


def _limit(settings: Settings, facts: Facts) -> int | None:
    """The client's token limit, as far as the target takes it."""
    limit = settings.max_tokens
    bounded = facts.output_limit > 0 and facts.above_output_limit is Stance.REFUSES
    return min(limit, facts.output_limit) if limit is not None and bounded else limit


def _worth(effort: Effort, settings: Settings, facts: Facts) -> int | None:
    """What an effort is worth in tokens: at most half of the limit. None if that leaves too little to think."""
    tokens, limit = BUDGETS[effort], _limit(settings, facts)
    if limit is not None:
        tokens = min(tokens, limit // 2)
    return None if tokens < facts.budget_min else _bound(tokens, settings, facts)


def _none(thinking: Thinking, settings: Settings, facts: Facts) -> Thinking | None:
    return None


def _effort(thinking: Thinking, settings: Settings, facts: Facts) -> Thinking | None:
    """An effort alone: budgets become the nearest effort, off becomes none."""
    effort = find_meant_effort(thinking, facts)
    if effort is None:
        return (
            Thinking(summary=thinking.summary, wire_form=thinking.wire_form)
            if _wants_summary(thinking, facts)
            else None
        )
    return Thinking(effort=effort, summary=thinking.summary, wire_form=thinking.wire_form)


def _wants_summary(thinking: Thinking, facts: Facts) -> bool:
    """Is a summary of the thoughts asked for, if the target has such a setting?"""
    return thinking.summary is not None and facts.thinking_summary is not Stance.REFUSES


def find_meant_effort(thinking: Thinking, facts: Facts) -> Effort | None:
    """The effort that is meant. None: the model's own default, if it thinks by default."""
    if thinking.on is False:
        return Effort.NONE
    if thinking.effort is not None:
        return thinking.effort
    if thinking.budget is not None and thinking.budget >= 0:
        return effort_of(thinking.budget)
    if thinking.adaptive or thinking.budget is not None:
        return None if facts.reasoning_default else Effort.MEDIUM
    return Effort.MEDIUM if thinking.on else None


def _budget(thinking: Thinking, settings: Settings, facts: Facts) -> Thinking | None:
    """On with a budget that the model takes, or off."""
    if is_off(thinking):
        return _off(thinking, facts)
    tokens = thinking.budget
    if tokens is None and thinking.effort is None and not thinking.on:
        if not is_shown_by_thinking(thinking, facts):
            return thinking
        thinking = replace(thinking, on=True)
    if tokens is not None and tokens < 0 and facts.dynamic_budget is not Stance.REFUSES:
        return thinking if thinking.effort is None else replace(thinking, effort=None)
    if tokens is None or tokens < 0:
        fitting = _worth(thinking.effort or Effort.MEDIUM, settings, facts)
    else:
        fitting = _bound(tokens, settings, facts)
    if fitting is None:
        return _off(thinking, facts)
    if fitting == tokens and thinking.effort is None and not thinking.adaptive:
        return thinking
    return Thinking(on=True, budget=fitting, visible=thinking.visible)


def _optional_budget(thinking: Thinking, settings: Settings, facts: Facts) -> Thinking | None:
    """On or off, with a budget if the client counts or names an effort. On alone leaves it to the model."""
    if is_off(thinking):
        return _off(thinking, facts)
    counted = thinking.budget is not None and thinking.budget > 0
    if counted or thinking.effort is not None:
        return _budget(thinking, settings, facts)
    if thinking.on is None and not thinking.adaptive and thinking.budget is None:
        return None
    if thinking.on and not thinking.adaptive and thinking.budget is None:
        return thinking
    return Thinking(on=True, visible=thinking.visible)


def _off(thinking: Thinking, facts: Facts) -> Thinking:
    """No thinking, or the least that the model can be told."""
    if facts.thinking_off is Stance.REFUSES:
        return Thinking(on=True, budget=facts.budget_min or None, visible=thinking.visible)
    return thinking if thinking.on is False and thinking.effort is None else Thinking(on=False)


def is_off(thinking: Thinking) -> bool:
    return thinking.on is False or thinking.effort is Effort.NONE or thinking.budget == 0


def _adaptive(thinking: Thinking, settings: Settings, facts: Facts) -> Thinking | None:
    """The model decides, led by an effort."""
    shown, form = thinking.visible, thinking.wire_form
    if is_off(thinking):
        return Thinking(on=False, wire_form=form)
    if thinking.budget is None and (thinking.adaptive or (thinking.on is None and thinking.effort is None)):
        adaptive = thinking.adaptive or shown is True
        on = adaptive or thinking.on
        return Thinking(on, adaptive, _at_least_low(thinking.effort), visible=shown if on else None, wire_form=form)
    effort = thinking.effort
    if effort is None and thinking.budget is not None and thinking.budget > 0:
        effort = effort_of(thinking.budget)
    elif effort is None and thinking.budget is None:
        effort = Effort.MEDIUM
    return Thinking(on=True, adaptive=True, effort=_at_least_low(effort), visible=shown, wire_form=form)


def _at_least_low(effort: Effort | None) -> Effort | None:
    return Effort.LOW if effort in (Effort.MINIMAL, Effort.NONE) else effort


def _level(thinking: Thinking, settings: Settings, facts: Facts) -> Thinking | None:
    """Gemini's levels: an effort of four. A budget is still understood."""
    if thinking.budget is not None and thinking.budget != 0 and thinking.effort is None and thinking.on is not False:
        return replace(thinking, adaptive=False)
    effort = find_meant_effort(thinking, facts)
    if thinking.on and thinking.effort is None and facts.reasoning_default:
        effort = None  # it thinks already, and its default is as much as it can
    if effort is None:
        return Thinking(visible=thinking.visible) if thinking.visible is not None else None
    if effort is Effort.NONE:
        effort = Effort.MINIMAL
    return Thinking(effort=effort, visible=thinking.visible)


def _switch(thinking: Thinking, settings: Settings, facts: Facts) -> Thinking | None:
    """On or off, with an effort if one was named."""
    if says_nothing(thinking) and not is_shown_by_thinking(thinking, facts):
        return None
    off = is_off(thinking)
    effort = (
        None
        if off
        else thinking.effort or (find_meant_effort(thinking, facts) if thinking.budget is not None else None)
    )
    if not off and effort is Effort.NONE:
        effort = None  # a budget below the least effort still asks for thinking
    enough = thinking.on is None and effort is not None and effort.value in facts.efforts
    return Thinking(on=None if enough else not off, effort=effort, wire_form=thinking.wire_form)


def _open(thinking: Thinking, settings: Settings, facts: Facts) -> Thinking | None:
    """An effort, a budget or a switch, as the client gave it: not two of them. That the model decides needs no mark."""
    if thinking.adaptive:
        thinking = replace(thinking, adaptive=False)
    if is_off(thinking):
        return _switch_off(thinking, facts) if facts.thinking_off is Stance.REFUSES else thinking
    if thinking.budget is not None and thinking.budget < 0:
        thinking = replace(thinking, budget=None, on=True)
    if thinking.budget is not None:
        tokens = _bound(thinking.budget, settings, facts)
        return _switch_off(thinking, facts) if tokens is None else replace(thinking, budget=tokens, effort=None)
    if facts.budget_min and settings.max_tokens is not None and settings.max_tokens <= facts.budget_min:
        return _switch_off(thinking, facts)  # no budget fits below the limit
    return thinking


def _switch_off(thinking: Thinking, facts: Facts) -> Thinking:
    """No thinking, in the client's own field if that has a switch. A model that always thinks is asked for little."""
    if facts.thinking_off is Stance.REFUSES:
        return Thinking(effort=Effort.LOW, visible=thinking.visible)
    return Thinking(on=False, wire_form=thinking.wire_form if "reasoning" in thinking.wire_form.split() else "")


def _drop_refused_display(thinking: Thinking, facts: Facts) -> Thinking:
    """Without what says how to show the thoughts, if the target does not take it, or has none to show."""
    none_to_show = thinking.on is False and is_shown_by_thinking(replace(thinking, visible=True), facts)
    if thinking.visible is not None and (none_to_show or facts.thinking_visible is Stance.REFUSES):
        thinking = replace(thinking, visible=None)
    if thinking.summary is not None and facts.thinking_summary is Stance.REFUSES:
        thinking = replace(thinking, summary=None)
    return thinking


def _choose_offered(thinking: Thinking, facts: Facts) -> Thinking | None:
    """The effort that the model offers and that is nearest in tokens; of two as near, the smaller one. One that
    offers none is switched on, or not asked if it has no switch.

    So medium becomes high if there is only low and high, as in Google's table for Gemini 3 Pro.
    """
    effort = thinking.effort
    if effort is None or not facts.efforts:
        return thinking
    if effort is Effort.NONE:
        return _without_effort(thinking, facts)
    if effort.value in facts.efforts:
        return thinking
    tokens = BUDGETS[effort]
    offered = {BUDGETS[found]: found for name in facts.efforts if (found := Effort(name)) is not Effort.NONE}
    if not offered:  # it thinks as much as it likes
        switched = thinking.on or facts.thinking_form is ThinkingForm.SWITCH
        return replace(thinking, on=True, effort=None) if switched else None
    nearest = min(sorted(offered), key=lambda other: max(other, tokens) / min(other, tokens))
    return replace(thinking, effort=offered[nearest])


def _without_effort(thinking: Thinking, facts: Facts) -> Thinking:
    """No thinking: as an effort, by a switch, or as little as the model offers."""
    if facts.thinking_form not in (ThinkingForm.EFFORT, ThinkingForm.LEVEL):
        return thinking if _offers_none(facts) else replace(thinking, on=False, effort=None)
    if _offers_none(facts) and facts.thinking_off is not Stance.REFUSES:
        return thinking
    least = min(_ORDER.index(Effort(name)) for name in facts.efforts if name != Effort.NONE.value)
    return replace(thinking, effort=_ORDER[least])


FORMS: dict[ThinkingForm, Callable[[Thinking, Settings, Facts], Thinking | None]] = {
    ThinkingForm.ANY: _any,
    ThinkingForm.NONE: _none,
    ThinkingForm.EFFORT: _effort,
    ThinkingForm.BUDGET: _budget,
    ThinkingForm.ADAPTIVE: _adaptive,
    ThinkingForm.LEVEL: _level,
    ThinkingForm.SWITCH: _switch,
    ThinkingForm.OPTIONAL_BUDGET: _optional_budget,
    ThinkingForm.OPEN: _open,
}


def drop_thinking_fields(extras: Extras | None) -> Extras | None:
    """The fields without a second one that asks for thinking."""
    return None if extras is None else extras.without(_FIELDS)


CONFIG_FIELD = f"additionalModelRequestFields.{EFFORT_CONFIG}"
_FIELDS = frozenset({*THINKING_FIELDS, CONFIG_FIELD})


def says_nothing(thinking: Thinking) -> bool:
    """Not whether to think, and not how much."""
    return thinking.on is None and thinking.effort is None and thinking.budget is None and not thinking.adaptive
