"""What targets would refuse in a request, and why, without sending it; and the same request put right.

An *error* is what the target is known to refuse. A *warning* is what we would repair out of care, because nobody knows,
or for tidiness.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum

import msgspec
from msgspec.structs import replace

from dragoman.conversation.bounded_cache import IdentityCache
from dragoman.conversation.changes import Change, ChangeKind, Loss, Note
from dragoman.conversation.conversation import Ask, Conversation
from dragoman.conversation.dialect_names import SourceName
from dragoman.conversation.traits import observe
from dragoman.dialects import registry
from dragoman.dialects.dialect import RenderOptions
from dragoman.engine.compile.compiler import Options, compile_ask
from dragoman.engine.compile.evidence import RuleRun, evidence, watch_facts, words
from dragoman.engine.compile.plan import CERTAIN_CLIENT, Plan, client_of, plan
from dragoman.engine.compile.refusal_places import find_in, with_place
from dragoman.engine.compile.report import ReportBuilder, body_repairs, without_spelling
from dragoman.engine.compile.unseen_content import find_unseen, unseen_content
from dragoman.engine.library.adapt import BUILTIN, Request, as_bytes, choose, read
from dragoman.engine.library.policy import Policy, check_kind, parse_doubt
from dragoman.engine.tokens.token_estimate import estimate_request, may_exceed
from dragoman.errors import Unrepresentable
from dragoman.profiles.doubts import Doubt
from dragoman.profiles.models import find_window
from dragoman.profiles.profile import Evidence, Profiles, Target
from dragoman.rules.rule import Rule
from dragoman.wire.duplicate_keys import find_duplicates
from dragoman.wire.json_reader import too_deep

DUPLICATE_KEY = "duplicate-key"
UNREPRESENTABLE = "unrepresentable"
CONTEXT_LENGTH = "context-length"
ANY_MODEL = "latest"
"""Stands for a model of a profile that no glob names: the facts of its newest generation hold for it."""


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"


class Finding(msgspec.Struct, frozen=True):
    """One defect of a request."""

    target: str
    """The target that refuses it; empty: it holds for all."""
    rule: str
    """The rule that repairs it."""
    at: str
    """Where it is: a JSON pointer into the request."""
    says: str
    """The provider's own words if they are known, or the defect in one sentence."""
    loses: str
    """What its repair loses."""
    severity: Severity
    """`error`: the target is known to refuse it. `warning`: it may."""
    did: str = ""
    """What `adapt` does about it."""
    kind: ChangeKind = "repair"
    """What it does that for: a repair, words that it makes up, or what it adds of its own."""


class Fixed(msgspec.Struct, frozen=True):
    """A request put right for a target, in the client's own dialect."""

    body: bytes
    changes: tuple[Change, ...]


class _Step(msgspec.Struct, frozen=True):
    """One repair."""

    run: RuleRun
    """The run of the rule that made it."""
    note: Note
    """What the rule says about it."""
    change: Change
    """Its entry in the report."""


def lint(
    request: Request,
    *,
    targets: str | Iterable[str],
    source: SourceName = "auto",
    policy: Policy | None = None,
    profiles: Profiles | None = None,
) -> list[Finding]:
    """What each target would refuse in this request.

    `targets` are written `PROFILE/MODEL`. Of the policy, `rules` and `doubt` count: with `Policy(doubt="careful")`,
    what targets may refuse is found too, as a warning. Raises MalformedRequest if there is no request to speak about.
    """
    policy, known = Policy() if policy is None else policy, profiles or BUILTIN
    check_kind("policy", policy, Policy)
    chosen = [choose(name, known, policy.rules) for name in _list_targets(targets)]
    doubt = parse_doubt(policy.doubt)
    return lint_targets(request, source=source, targets=chosen, profiles=known, doubt=doubt)


def lint_targets(
    request: Request, *, source: str, targets: Sequence[Target], profiles: Profiles, doubt: Doubt
) -> list[Finding]:
    """What each of these targets would refuse. They are chosen before, for files of many requests."""
    try:
        twice, body = find_duplicates(as_bytes(request))
        ask = read(body, source=source)
        found = [_doubled(at) for at in twice] + [_repaired(change) for change in body_repairs(ask)]
        for target in targets:
            found += _lint_target(ask, target, profiles, doubt)
    except RecursionError:
        raise too_deep() from None
    return found


def fix(request: Request, *, source: str, target: Target, doubt: Doubt) -> Fixed:
    """The request with everything repaired that the target would refuse, written in its own dialect again."""
    try:
        _, body = find_duplicates(as_bytes(request))
        ask = read(body, source=source)
        done = compile_ask(ask, target, Options(doubt=doubt))
        if done.conversation is not ask.conversation:
            body = _rewrite(ask, done.conversation)
    except RecursionError:
        raise too_deep() from None
    return Fixed(body, done.changes)


def _rewrite(ask: Ask, repaired: Conversation) -> bytes:
    """The repaired request in its own dialect. A setting that this dialect cannot say as the target wants it is left
    as it was: it stays a finding, and the rest is put right."""
    write = registry.dialect(ask.dialect).requests.render
    wanted = RenderOptions(ask.model or "", ask.stream)
    try:
        return write(repaired, wanted, ask)
    except Unrepresentable:
        return write(replace(repaired, settings=ask.conversation.settings), wanted, ask)


def every_target(profiles: Profiles | None = None) -> list[str]:
    """One target per profile: its newest generation."""
    return [f"{name}/{ANY_MODEL}" for name in (profiles or BUILTIN).names()]


def _list_targets(targets: str | Iterable[str]) -> Sequence[str]:
    return (targets,) if isinstance(targets, str) else tuple(targets)


def _lint_target(ask: Ask, target: Target, profiles: Profiles, doubt: Doubt) -> list[Finding]:
    same = ask.dialect == target.dialect
    planned = plan(target, client_of(ask, target, doubt is Doubt.FAITHFUL))
    conversation, steps, fault = _run(ask, planned, same)
    refused = _find_refused(ask, target, same)
    found = [_finding(step, target, refused, profiles) for step in steps]
    found += _too_long(ask, target)
    found += _unseen(ask, conversation, target)
    fault = fault or _unwritable(ask, conversation, target)
    return found if fault is None else [*found, _unrepresentable(fault, target)]


def _run(ask: Ask, steps: Plan, same: bool) -> tuple[Conversation, list[_Step], Unrepresentable | None]:
    """Every repair in order, with the facts that each one read; and what could not be said at all."""
    conversation = ask.conversation
    found: list[_Step] = []
    report = ReportBuilder(ask)
    traits = observe(conversation)
    for rule in steps.rules:
        if not rule.looks_for & traits:
            continue
        seen, watching = watch_facts(steps.context)
        try:
            rule.when(seen.facts)
            done = rule.repair(conversation, seen)
        except Unrepresentable as fault:
            return conversation, found, with_place(fault, ask)
        if done.conversation is conversation:
            continue
        run = RuleRun(rule, conversation, steps.context, watching.read)
        conversation = done.conversation
        traits = observe(conversation)
        news = done.notes if same or not rule.spelling else without_spelling(done.notes)
        changes = report.entries(rule, news)
        found += [_Step(run, note, change) for note, change in zip(news, changes, strict=True)]
    return conversation, found, None


def _find_refused(ask: Ask, target: Target, same: bool) -> set[tuple[str, str]]:
    """What is repaired even if every doubt is decided in the client's favour: rule and pointer."""
    _, steps, _ = _run(ask, plan(target, CERTAIN_CLIENT), same)
    return {(step.change.rule, step.change.at) for step in steps}


def _finding(step: _Step, target: Target, refused: set[tuple[str, str]], profiles: Profiles) -> Finding:
    rule, change = step.run.rule, step.change
    certain = (change.rule, change.at) in refused
    severity = Severity.ERROR if certain and step.run.against and not rule.optional else Severity.WARNING
    says = (_words(step, target, profiles) if severity is Severity.ERROR else "") or headline(rule)
    return Finding(
        target.name, change.rule, change.at, says, change.loses, severity=severity, did=change.did, kind=change.kind
    )


def _words(step: _Step, target: Target, profiles: Profiles) -> str:
    """What the provider says of the facts that called for a repair; looked up once for each target."""
    known, suspects = _known_evidence(target), step.run.suspects(step.note)
    for name in suspects:
        if name not in known:
            known[name] = [entry for entry in evidence(target, [name], profiles) if entry.says]
    behind = step.run.behind(step.note, [name for name in suspects if known[name]])
    return words((entry for name in behind for entry in known[name]), step.note)


def _no_evidence(target: Target) -> dict[str, list[Evidence]]:
    return {}


_known_evidence = IdentityCache(_no_evidence, size=4096)


def headline(rule: Rule) -> str:
    """The defect in one sentence: how the rule's page begins."""
    first = " ".join(rule.text.split("\n\n")[0].split())
    return first.partition(". ")[0].rstrip(".")


def _too_long(ask: Ask, target: Target) -> list[Finding]:
    """A warning, since the tokens are estimated."""
    window = find_window(target.model, target.facts.context_window)
    if not window or not may_exceed(ask.conversation, window):
        return []
    tokens = estimate_request(ask.conversation)
    if tokens <= window:
        return []
    says = f"the conversation has about {tokens:,} tokens, and the model holds {window:,}"
    did = "nothing, unless `history` shortens it"
    return [Finding(target.name, CONTEXT_LENGTH, "", says, str(Loss.NOTHING), severity=Severity.WARNING, did=did)]


def _unseen(ask: Ask, conversation: Conversation, target: Target) -> list[Finding]:
    """What the target takes and leaves out of the prompt."""
    changes = ReportBuilder(ask).entries(unseen_content, find_unseen(conversation, target.facts))
    return [
        Finding(
            target.name, change.rule, change.at, change.did, change.loses, Severity.WARNING, did="nothing: it is sent"
        )
        for change in changes
    ]


def _unwritable(ask: Ask, conversation: Conversation, target: Target) -> Unrepresentable | None:
    render, options = registry.dialect(target.dialect).requests.render, RenderOptions(target.model, False)
    try:
        render(conversation, options)
    except Unrepresentable as fault:
        return with_place(fault, ask, find_in(fault, conversation, render, options))
    return None


def _unrepresentable(fault: Unrepresentable, target: Target) -> Finding:
    return Finding(
        target.name,
        UNREPRESENTABLE,
        fault.at,
        says=fault.message,
        loses=str(Loss.CONTENT),
        severity=Severity.ERROR,
        did="nothing: no request",
    )


def _doubled(at: str) -> Finding:
    top = at.count("/") == 1
    return Finding(
        "",
        DUPLICATE_KEY,
        at,
        says="the key stands twice"
        + (": refused, since two readers could disagree" if top else "; readers take the last"),
        loses=str(Loss.CONTENT),
        severity=Severity.ERROR if top else Severity.WARNING,
        did="nothing: no request" if top else "took the last one",
    )


def _repaired(change: Change) -> Finding:
    return Finding("", change.rule, change.at, change.did, change.loses, severity=Severity.WARNING, did=change.did)
