"""What a careful request has proved: the facts whose rules changed it, once a provider that had refused accepts it.

A provider that refuses and does not say why leaves every doubt open. The request is compiled again with each of them
taken as a refusal. If that is accepted, some of these facts are true; the fewest that explain the body are taken.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from dragoman.conversation.conversation import Ask
from dragoman.conversation.traits import observe
from dragoman.engine.compile.compiler import READ_BY_THE_COMPILER, Options, compile_by
from dragoman.engine.compile.evidence import watch_facts
from dragoman.engine.compile.plan import client_of, context_for, plan, plan_for, rules_for
from dragoman.engine.compile.reasoning_restore import restore_reasoning
from dragoman.engine.exchange.corrections import Patch
from dragoman.engine.exchange.lessons import Learnt
from dragoman.profiles.doubts import DOUBTS, settle_doubts
from dragoman.profiles.facts import Facts, Stance
from dragoman.profiles.profile import Target, merge
from dragoman.rules.context import Context

LESSON = "careful"
_REFUSES = Stance.REFUSES.value


def find_proven_by_care(ask: Ask, target: Target, options: Options) -> Learnt | None:
    """The fewest doubtful facts of the target that give the careful body of this request when they are refusals."""
    client = client_of(ask, target, faithful=False)
    careful = compile_by(plan(target, client), ask, target, options).body
    read = _read_by_rules_that_act(ask, context_for(target, client), options) | READ_BY_THE_COMPILER
    needed = [doubt.patch for doubt in _doubts(target.facts) if not read.isdisjoint(doubt.names)]
    for patch in list(needed):
        fewer = [one for one in needed if one is not patch]
        if _body(ask, target, options, fewer) == careful:
            needed = fewer
    return Learnt(LESSON, _merge(needed), tentative=True) if needed else None


class _Doubt(msgspec.Struct, frozen=True):
    """A fact that nobody knows: the names under which rules ask for it, and the patch that says it refuses."""

    names: tuple[str, ...]
    patch: Patch


def _doubts(facts: Facts) -> Iterator[_Doubt]:
    for name in _unknown_fields(facts):
        yield _Doubt((name,), {name: _REFUSES})
    for table in ("media", "settings"):
        for entry, value in getattr(facts, table).items():
            names = (table, f"{table}.{entry}")
            yield from (_Doubt(names, {table: {entry: {field: _REFUSES}}}) for field in _unknown_fields(value))


def _unknown_fields(value: msgspec.Struct) -> Iterator[str]:
    return (name for name in value.__struct_fields__ if getattr(value, name) in DOUBTS)


def _body(ask: Ask, target: Target, options: Options, refused: list[Patch]) -> bytes:
    """The request if just these doubts are refusals, and the others are decided for the client."""
    known = msgspec.to_builtins(target.facts, str_keys=True)
    facts = msgspec.convert(merge(known, _merge(refused)), Facts)
    client = client_of(ask, target, faithful=True)
    context = replace(context_for(target, client), facts=settle_doubts(facts, client.care))
    return compile_by(plan_for(target, context), ask, target, options).body


def _merge(patches: list[Patch]) -> Patch:
    merged: Patch = {}
    for patch in patches:
        merged = merge(merged, patch)
    return merged


def _read_by_rules_that_act(ask: Ask, context: Context, options: Options) -> set[str]:
    """The names of the facts that were read by those rules which change this conversation."""
    context = replace(context, media=options.media)
    conversation = restore_reasoning(ask.conversation, ask.dialect, options.kept, context.facts).conversation
    traits = observe(conversation)
    found: set[str] = set()
    for rule in rules_for(context):
        if not rule.looks_for & traits:
            continue
        seen, reading = watch_facts(context)
        rule.is_called_for(seen)
        done = rule.repair(conversation, seen)
        if done.conversation is not conversation:
            conversation = done.conversation
            traits = observe(conversation)
            found.update(reading.read)
    return found
