"""Findings as text for people, as JSON for programs, as SARIF for code review. Each is printed once it is found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any, Protocol

import click
import msgspec

from dragoman import __version__
from dragoman.cli.inputs.request_files import RequestItem
from dragoman.cli.output.console import print_beside, printable
from dragoman.cli.output.finding_table import FindingTable
from dragoman.engine.library.lint import Finding, Severity, headline
from dragoman.engine.library.report_summary import FoldedChange, fold
from dragoman.rules import ORDER


class PlacedFinding(msgspec.Struct, frozen=True):
    """A finding with its file and line."""

    file: str
    line: int
    """0 if the file is one request."""
    finding: Finding


class Report(Protocol):
    count: int

    def begin(self) -> None: ...

    def add(self, item: RequestItem, findings: Sequence[PlacedFinding]) -> None: ...

    def end(self) -> None: ...


class TextReport:
    """For each target the defect, the provider's message, and what `adapt` does about it. For files with a request per
    line a table, and the same for each line only if `details` are wanted."""

    def __init__(self, targets: Sequence[str], details: bool) -> None:
        self.count = self.errors = self.requests = 0
        self._targets = targets
        self._details = details
        self._table = FindingTable(targets)

    def begin(self) -> None: ...

    def add(self, item: RequestItem, findings: Sequence[PlacedFinding]) -> None:
        self.requests += 1
        self.count += len(findings)
        self.errors += sum(placed.finding.severity is Severity.ERROR for placed in findings)
        if item.line:
            self._table.add([placed.finding for placed in findings], item.where)
        if self._details or not item.line:
            self._print(item, findings)

    def _print(self, item: RequestItem, findings: Sequence[PlacedFinding]) -> None:
        for target, group in groupby(findings, key=lambda placed: placed.finding.target):
            click.echo(click.style(f"{printable(item.where)} → {printable(target or 'every target')}", bold=True))
            _print_findings([placed.finding for placed in group])
        fine = [target for target in self._targets if target not in {placed.finding.target for placed in findings}]
        if fine and findings and len(self._targets) > 1:
            click.echo(f"{printable(item.where)}: accepted unchanged by {', '.join(fine)}")

    def end(self) -> None:
        if self._table.requests and self.count:
            self._table.print()
        if not self.requests:
            return  # what could not be read was reported
        if not self.count:
            click.echo(f"nothing found in {_count(self.requests, 'request')}", err=True)
            return
        warnings = self.count - self.errors
        counts = f"{_count(self.errors, 'error')}, {_count(warnings, 'warning')}"
        click.echo(f"{_count(self.count, 'finding')} ({counts}) in {_count(self.requests, 'request')}", err=True)


def _print_findings(findings: Sequence[Finding]) -> None:
    """Errors before warnings, the heaviest losses first, and repetitions folded."""
    for severity in Severity:
        some = [one for one in findings if one.severity is severity]
        first = {(one.rule, one.at): one for one in reversed(some)}
        for folded in fold(some):
            _print_finding(folded, first[folded.rule, folded.places[0]])


def _print_finding(folded: FoldedChange, first: Finding) -> None:
    colour = "red" if first.severity is Severity.ERROR else "yellow"
    head = click.style(str(first.severity), fg=colour)
    print_beside(f"  {head} {click.style(folded.rule, fg='cyan')} ", printable(folded.where))
    print_beside("    ", printable(first.says))
    print_beside("    → ", printable(folded.did) + ("" if folded.harmless else f" (loses {folded.loses})"))


def _count(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


class JsonReport:
    """One list of objects."""

    def __init__(self, targets: Sequence[str], details: bool) -> None:
        self.count = 0

    def begin(self) -> None:
        click.echo("[", nl=False)

    def add(self, item: RequestItem, findings: Sequence[PlacedFinding]) -> None:
        for placed in findings:
            place = {"file": placed.file, **({"line": placed.line} if placed.line else {})}
            entry = {**place, **msgspec.structs.asdict(placed.finding)}
            click.echo(("\n" if not self.count else ",\n") + msgspec.json.encode(entry).decode(), nl=False)
            self.count += 1

    def end(self) -> None:
        click.echo("\n]" if self.count else "]")


class SarifReport:
    """SARIF 2.1.0, one run."""

    def __init__(self, targets: Sequence[str], details: bool) -> None:
        self.count = 0

    def begin(self) -> None:
        described = [{"id": rule.name, "shortDescription": {"text": headline(rule)}} for rule in ORDER]
        driver = {"name": "dragoman", "version": __version__, "rules": described}
        click.echo(
            '{"$schema":"https://json.schemastore.org/sarif-2.1.0.json","version":"2.1.0","runs":[{"tool":', nl=False
        )
        click.echo(msgspec.json.encode({"driver": driver}).decode() + ',"results":[', nl=False)

    def add(self, item: RequestItem, findings: Sequence[PlacedFinding]) -> None:
        for placed in findings:
            comma = ",\n" if self.count else "\n"
            click.echo(comma + msgspec.json.encode(_sarif_result(placed)).decode(), nl=False)
            self.count += 1

    def end(self) -> None:
        click.echo("]}]}")


def _sarif_result(placed: PlacedFinding) -> dict[str, Any]:
    finding = placed.finding
    place = {"artifactLocation": {"uri": placed.file}, "region": {"startLine": max(placed.line, 1)}}
    message = (
        f"{finding.target or 'every target'}: {finding.says.rstrip('.')}. adapt: {finding.did} (loses {finding.loses})"
    )
    return {
        "ruleId": finding.rule,
        "level": str(finding.severity),
        "message": {"text": message},
        "locations": [{"physicalLocation": place, "logicalLocations": [{"fullyQualifiedName": finding.at}]}],
        "properties": {"target": finding.target, "loses": finding.loses},
    }


REPORTS: dict[str, Callable[[Sequence[str], bool], Report]] = {
    "text": TextReport,
    "json": JsonReport,
    "sarif": SarifReport,
}
