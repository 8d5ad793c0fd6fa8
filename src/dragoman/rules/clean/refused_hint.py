"""A cache hint that the target refuses, or more of them than it takes.

A hint that the target refuses is taken off. If there are too many, the last ones stay: they cover the longest prefix.
If the target takes hints, but not one that says for whom the prompt is cached, its `scope` is left out. If it takes no
long lifetime after a short one, in the order of tools, system text and turns, the later hint gets the usual lifetime.
If it takes none inside a tool's result, the result itself gets the hint. If it takes none on a message, beside its
content, the last part of the message gets it. If it takes none on some kind of part, such as a document that it reads
as text, the part before gets it, and one with nothing before it is taken off. If it takes none on tools, theirs are
taken off. If it takes none on
tools that a search has to find, the last other tool before gets it. If it takes none for the whole request, the last
part gets that one. If it takes breakpoints instead (`prompt_cache_breakpoint`), hints on input parts and results become
those, and all others are taken off.

Loses metadata; nothing if a hint is moved.

For `openai/gpt-4o`:

    {"messages": [{"role": "user",
      "content": [{"type": "text", "text": "Hi", "cache_control": {"type": "ephemeral"}}]}]}
becomes
    {"messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]}
"""

from __future__ import annotations

from math import inf

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.profiles.facts import CacheForm, Stance
from dragoman.rules import fitted_hints
from dragoman.rules.cache_hints import hints_of, is_long
from dragoman.rules.context import Context
from dragoman.rules.hint_walk import HintWalk
from dragoman.rules.rule import rule


@rule(
    "refused-hint",
    when=lambda facts: (
        Stance.REFUSES in (facts.cache_hints, facts.cache_scope, facts.late_long_hint, facts.deferred_hint)
        or facts.cache_hint_max > 0
        or not (facts.cache_hints_in_results and facts.cache_hints_on_tools)
        or not (facts.cache_hints_on_messages and facts.cache_hint_whole)
        or facts.unhinted_places != ()
    ),
    looks_for=traits.HINTS,
    loses=Loss.METADATA,
    sparse=True,
)
def refused_hint(conversation: Conversation, context: Context) -> Rewrite:
    facts = context.facts
    notes: list[Note] = []
    if facts.cache_hints is not Stance.REFUSES and not facts.cache_hints_on_messages:
        conversation = fitted_hints.inside_messages(conversation, notes)
    if facts.cache_hints is not Stance.REFUSES and facts.cache_form is CacheForm.BREAKPOINT:
        conversation = fitted_hints.as_breakpoints(conversation, notes)
    elif facts.cache_hints is not Stance.REFUSES and not facts.cache_hints_in_results:
        conversation = fitted_hints.outside_results(conversation, notes)
    if facts.cache_hints is not Stance.REFUSES and not facts.cache_hint_whole:
        conversation = fitted_hints.on_last_part(conversation, notes)
    if facts.unhinted_places and facts.cache_hints is not Stance.REFUSES:
        conversation = fitted_hints.before_unhinted(conversation, facts.unhinted_places, notes)
    if not facts.cache_hints_on_tools:
        conversation = replace(conversation, tools=_take_off(notes).tools(conversation.tools))
    if facts.deferred_hint is Stance.REFUSES and facts.cache_hints is not Stance.REFUSES:
        conversation = fitted_hints.off_deferred(conversation, notes)
    hints = hints_of(conversation)
    count = len(hints)
    surplus = count if facts.cache_hints is Stance.REFUSES else count - (facts.cache_hint_max or count)
    if surplus > 0:
        conversation = _take_off(notes, surplus).conversation(conversation)
    if facts.cache_scope is Stance.REFUSES:
        conversation = fitted_hints.without_scope(conversation, notes)
    if facts.late_long_hint is Stance.REFUSES and len({is_long(hint) for hint in hints}) > 1:
        conversation = fitted_hints.without_late_hours(conversation, notes)
    return Rewrite(conversation, tuple(notes))


def _take_off(notes: list[Note], surplus: float = inf) -> HintWalk:
    """A walk that takes off hints, the first ones of the prompt."""
    count = len(notes) + surplus
    return HintWalk(lambda hint: None if len(notes) < count else hint, "took off a cache hint", notes)
