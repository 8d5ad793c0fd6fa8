"""Findings as text for people, as JSON for programs, as SARIF for code review. All are written as they are found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any, Protocol

import click
import msgspec

from dragoman import __version__
from dragoman.cli.console import clean
from dragoman.cli.request_files import Item
from dragoman.engine.lint import Finding, Severity, headline
from dragoman.rules import ORDER


class Found(msgspec.Struct, frozen=True):
    """A finding and the file it is about; `line` is 0 where the file is one request."""

    file: str
    line: int
    finding: Finding


class Report(Protocol):
    count: int

    def begin(self) -> None: ...

    def tell(self, item: Item, found: Sequence[Found]) -> None: ...

    def end(self) -> None: ...


class TextReport:
    """Target by target, the defect, the provider's words, and what `adapt` does about it."""

    def __init__(self, targets: Sequence[str]) -> None:
        self.count = self.errors = self.requests = 0
        self._targets = targets

    def begin(self) -> None: ...

    def tell(self, item: Item, found: Sequence[Found]) -> None:
        self.requests += 1
        self.count += len(found)
        self.errors += sum(one.finding.severity is Severity.ERROR for one in found)
        for target, group in groupby(found, key=lambda one: one.finding.target):
            click.echo(click.style(f"{clean(item.where)} → {clean(target or 'every target')}", bold=True))
            for one in group:
                _print(one.finding)
        fine = [target for target in self._targets if target not in {one.finding.target for one in found}]
        if fine and found and len(self._targets) > 1:
            click.echo(f"{clean(item.where)}: taken as it is by {', '.join(fine)}")

    def end(self) -> None:
        if not self.count:
            click.echo(f"nothing found in {_some(self.requests, 'request')}", err=True)
            return
        warnings = self.count - self.errors
        told = f"{_some(self.errors, 'error')}, {_some(warnings, 'warning')}"
        click.echo(f"{_some(self.count, 'finding')} ({told}) in {_some(self.requests, 'request')}", err=True)


def _print(finding: Finding) -> None:
    colour = "red" if finding.severity is Severity.ERROR else "yellow"
    head = click.style(str(finding.severity), fg=colour)
    click.echo(f"  {head} {click.style(finding.rule, fg='cyan')} at {clean(finding.at or '/')}")
    click.echo(f"    {clean(finding.says)}")
    click.echo(f"    → {clean(finding.did)}" + (f" (loses {finding.loses})" if finding.loses != "nothing" else ""))


def _some(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


class JsonReport:
    """One list of objects."""

    def __init__(self, targets: Sequence[str]) -> None:
        self.count = 0

    def begin(self) -> None:
        click.echo("[", nl=False)

    def tell(self, item: Item, found: Sequence[Found]) -> None:
        for one in found:
            place = {"file": one.file, **({"line": one.line} if one.line else {})}
            entry = {**place, **msgspec.structs.asdict(one.finding)}
            click.echo(("\n" if not self.count else ",\n") + msgspec.json.encode(entry).decode(), nl=False)
            self.count += 1

    def end(self) -> None:
        click.echo("\n]" if self.count else "]")


class SarifReport:
    """SARIF 2.1.0, one run."""

    def __init__(self, targets: Sequence[str]) -> None:
        self.count = 0

    def begin(self) -> None:
        described = [{"id": rule.name, "shortDescription": {"text": headline(rule)}} for rule in ORDER]
        driver = {"name": "dragoman", "version": __version__, "rules": described}
        click.echo(
            '{"$schema":"https://json.schemastore.org/sarif-2.1.0.json","version":"2.1.0","runs":[{"tool":', nl=False
        )
        click.echo(msgspec.json.encode({"driver": driver}).decode() + ',"results":[', nl=False)

    def tell(self, item: Item, found: Sequence[Found]) -> None:
        for one in found:
            comma = ",\n" if self.count else "\n"
            click.echo(comma + msgspec.json.encode(_sarif(one)).decode(), nl=False)
            self.count += 1

    def end(self) -> None:
        click.echo("]}]}")


def _sarif(one: Found) -> dict[str, Any]:
    finding = one.finding
    place = {"artifactLocation": {"uri": one.file}, "region": {"startLine": max(one.line, 1)}}
    told = f"{finding.target or 'every target'}: {finding.says}. adapt: {finding.did} (loses {finding.loses})"
    return {
        "ruleId": finding.rule,
        "level": str(finding.severity),
        "message": {"text": told},
        "locations": [{"physicalLocation": place, "logicalLocations": [{"fullyQualifiedName": finding.at}]}],
        "properties": {"target": finding.target, "loses": finding.loses},
    }


FORMATS: dict[str, Callable[[Sequence[str]], Report]] = {"text": TextReport, "json": JsonReport, "sarif": SarifReport}
