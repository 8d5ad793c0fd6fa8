"""A report for the console: each change with the reason for its rule, and the provider's own words."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import islice
from typing import Protocol

import msgspec
from msgspec.structs import replace

from dragoman.conversation.changes import Change, ChangeKind
from dragoman.engine.compile.cloud_requests import apply_path
from dragoman.engine.compile.compiled_request import CompiledRequest
from dragoman.engine.exchange.exchange import Exchange
from dragoman.engine.exchange.offline_driver import compile_offline
from dragoman.engine.library.adapt import read
from dragoman.engine.library.explain import Reason, explain_target
from dragoman.engine.library.lint import headline
from dragoman.engine.library.report_summary import FoldedChange, ReportedChange, fold, weight
from dragoman.gateway.console import body_marks
from dragoman.profiles.profile import Profiles, Target
from dragoman.rules import BY_NAME
from dragoman.upstream.destinations import HttpDestination

MOST_CHANGES = 2000
"""Changes that are shown one by one. The summary counts all of them."""


class ShownRule(msgspec.Struct, frozen=True, kw_only=True):
    """A rule that changed something: what it repairs, why for this target, and where in the body that is sent."""

    rule: str
    count: int
    loses: str
    kind: ChangeKind
    defect: str
    text: str
    options: tuple[str, ...]
    because: tuple[Reason, ...]
    marks: tuple[body_marks.BodyMark, ...]


class KeptChange(ReportedChange, Protocol):
    """A change with the digests of what stood there and of what stands there now."""

    @property
    def before(self) -> str | None: ...

    @property
    def after(self) -> str | None: ...


class ShownChange(msgspec.Struct, frozen=True):
    """One change."""

    rule: str
    at: str
    did: str
    loses: str
    kind: body_marks.MarkKind


class ShownReport(msgspec.Struct, frozen=True, kw_only=True):
    """All that a request's changes come to."""

    verdict: str
    """`as-is` or `repaired`."""
    loses: str
    """The heaviest loss."""
    summary: tuple[FoldedChange, ...]
    rules: tuple[ShownRule, ...]
    changes: tuple[ShownChange, ...]
    omitted: int


def show_report(
    changes: Sequence[KeptChange],
    target: Target | None,
    profiles: Profiles,
    marks: dict[str, tuple[body_marks.BodyMark, ...]] | None = None,
) -> ShownReport:
    """The report of a request, its heaviest rules first."""
    rules = _by_weight(changes)
    because = {one.rule: one.because for one in explain_target(target, profiles, rules)} if target is not None else {}
    return ShownReport(
        verdict="repaired" if changes else "as-is",
        loses=max((one.loses for one in changes), key=weight, default="nothing"),
        summary=fold(changes),
        rules=tuple(
            _show_rule(rule, of_rule, because.get(rule, ()), (marks or {}).get(rule, ()))
            for rule, of_rule in rules.items()
        ),
        changes=tuple(ShownChange(one.rule, one.at, one.did, one.loses, _kind(one)) for one in changes[:MOST_CHANGES]),
        omitted=max(len(changes) - MOST_CHANGES, 0),
    )


def show_compiled(exchange: Exchange[HttpDestination], sent: CompiledRequest, profiles: Profiles) -> ShownReport:
    """The report of a request that was compiled, with marks in the body that is sent."""
    rules: dict[str, list[Change]] = {}
    for one in sent.changes:
        rules.setdefault(one.rule, []).append(one)
    marks = body_marks.marks_of_rules(sent.body, rules, partial(_without_rule, exchange)) if rules else {}
    for rule, changes in islice(rules.items(), body_marks.MOST_RULES):
        places = [one.at for one in changes if one.before is not None and one.after is not None]
        if rule not in marks and places:
            marks[rule] = body_marks.find_moved_marks(
                sent.body, dict.fromkeys(places), partial(_without_place, exchange)
            )
    return show_report(sent.changes, exchange.target, profiles, marks)


def _without_rule(exchange: Exchange[HttpDestination], rule: str) -> bytes:
    return exchange.compile_with(body_marks.keep_choice(rule)).body


def _without_place(exchange: Exchange[HttpDestination], at: str) -> bytes:
    """What the same target would get if the client had left something out."""
    ask, destination, target = exchange.ask, exchange.destination, exchange.target
    assert destination is not None
    assert target is not None
    request = body_marks.without_place(msgspec.json.decode(ask.source), at)
    again = apply_path(read(request, source=ask.dialect), ask.model, ask.stream)
    corrected = replace(destination, target=target)
    return compile_offline(again, corrected, exchange.context)[1].body


def _kind(change: KeptChange) -> body_marks.MarkKind:
    if change.after is None:
        return body_marks.MarkKind.REMOVED
    return body_marks.MarkKind.ADDED if change.before is None else body_marks.MarkKind.CHANGED


def _by_weight(changes: Sequence[ReportedChange]) -> dict[str, list[ReportedChange]]:
    rules: dict[str, list[ReportedChange]] = {}
    for one in sorted(changes, key=lambda change: -weight(change.loses)):
        rules.setdefault(one.rule, []).append(one)
    return rules


def _fitting(reason: Reason, changes: list[ReportedChange]) -> Reason:
    """A reason without words that were said about something else than was changed."""
    fits = not reason.names or any(reason.names in one.did or reason.names in one.at for one in changes)
    return reason if fits else replace(reason, says="", seen="")


def _show_rule(
    rule: str, changes: list[ReportedChange], because: tuple[Reason, ...], marks: tuple[body_marks.BodyMark, ...]
) -> ShownRule:
    known = BY_NAME.get(rule)
    return ShownRule(
        rule=rule,
        count=len(changes),
        loses=max((one.loses for one in changes), key=weight),
        kind=changes[0].kind,
        defect=headline(known) if known is not None else "",
        text=known.text if known is not None else "",
        options=known.options if known is not None else (),
        because=tuple(_fitting(reason, changes) for reason in because),
        marks=marks,
    )
