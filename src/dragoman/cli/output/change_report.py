"""What `adapt` changed: a table for one request; for a file of them, how many were changed by which rule."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from dragoman.cli.inputs.request_files import RequestItem
from dragoman.cli.output.console import print_note, print_table, printable
from dragoman.engine.library.report_summary import FoldedChange, harmless_lines, weight


class RuleTally(msgspec.Struct):
    """What one rule did in a file."""

    did: str
    first: str
    """Where it did so first."""
    loses: str
    requests: int = 0
    changes: int = 0


class ChangeReport:
    """Prints changes to standard error as they come, and the table of a file at its end."""

    def __init__(self, target: str, quiet: bool, details: bool) -> None:
        self.details = details
        self._target = target
        self._quiet = quiet
        self._requests = self._changed = 0
        self._rules: dict[str, RuleTally] = {}

    def add(self, item: RequestItem, changes: Sequence[FoldedChange], printed: bool) -> None:
        self._requests += 1
        self._changed += bool(changes)
        for rule in {one.rule: None for one in changes}:
            self._count(rule, [one for one in changes if one.rule == rule], item.where)
        if self._quiet or not printed:
            return
        if not item.line:
            self._print_request(item, changes)
        elif changes and self.details:
            print_note(f"{printable(item.where)}: {_by_rule(changes)}")

    def _count(self, rule: str, changes: Sequence[FoldedChange], where: str) -> None:
        heaviest = max(changes, key=lambda one: weight(one.loses))
        tally = self._rules.setdefault(rule, RuleTally(heaviest.did, where, heaviest.loses))
        tally.requests += 1
        tally.changes += sum(one.count for one in changes)
        if weight(heaviest.loses) > weight(tally.loses):
            tally.loses = heaviest.loses

    def _print_request(self, item: RequestItem, changes: Sequence[FoldedChange]) -> None:
        name = f"{item.where} → {self._target}" if item.label else self._target
        if not changes:
            print_note(f"{printable(name)}: nothing changed")
            return
        if item.label:
            print_note(printable(name))
        rows = [(one.rule, one.where.removeprefix("at "), one.did, one.loses) for one in changes if not one.harmless]
        if rows:
            print_table(("rule", "where", "change", "loses"), rows, err=True)
        for harmless in harmless_lines(changes):
            print_note(harmless.replace("`", ""))

    def end(self, refused: int) -> None:
        """The table: which rules changed how many requests."""
        if self._quiet:
            return
        total = self._requests + refused
        print_note(f"{total:,} requests for {printable(self._target)}: {self._changed:,} changed, {refused:,} refused")
        heaviest = sorted(self._rules.items(), key=lambda rule: (-weight(rule[1].loses), -rule[1].requests))
        rows = [
            (f"{tally.requests:,}", f"{tally.changes:,}", rule, tally.loses, tally.did, tally.first)
            for rule, tally in heaviest
        ]
        if rows:
            print_table(("requests", "changes", "rule", "loses", "change", "first"), rows, err=True, always_head=True)


def _by_rule(changes: Sequence[FoldedChange]) -> str:
    """The rules in the order of their weight, with counts."""
    counts: dict[str, int] = {}
    for one in changes:
        counts[one.rule] = counts.get(one.rule, 0) + one.count
    return ", ".join(rule if count == 1 else f"{rule} ×{count}" for rule, count in counts.items())
