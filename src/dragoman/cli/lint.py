"""`dragoman lint`: what targets would refuse in stored requests; `--fix` repairs the files."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from dragoman.cli.atomic_write import AtomicWriter, keep_layout
from dragoman.cli.compile_context import (
    UserChoices,
    doubt_option,
    lines_option,
    parse_choices,
    profile_options,
    source_option,
)
from dragoman.cli.console import print_error, print_note, printable
from dragoman.cli.finding_formats import FORMATS, PlacedFinding, Report
from dragoman.cli.progress import with_progress
from dragoman.cli.request_files import RequestItem, open_requests
from dragoman.engine import lint as linter
from dragoman.engine.adapt import choose
from dragoman.errors import MalformedRequest, RequestError
from dragoman.profiles.facts import Doubt

ALL = "all"


class LintContext(msgspec.Struct, frozen=True):
    """The targets and choices that every request is checked against."""

    source: str
    targets: tuple[str, ...]
    choices: UserChoices
    doubt: str

    def findings(self, item: RequestItem, body: bytes) -> list[PlacedFinding]:
        choices = self.choices
        found = linter.lint(
            body,
            source=self.source,
            targets=self.targets,
            profiles=choices.profiles,
            rules=choices.rules,
            doubt=self.doubt,
        )
        return [PlacedFinding(item.file, item.line, finding) for finding in found]

    def fix(self, body: bytes) -> bytes:
        choices, target = self.choices, self.targets[0]
        done = linter.fix(
            body,
            source=self.source,
            target=target,
            profiles=choices.profiles,
            rules=choices.rules,
            doubt=self.doubt,
        )
        return keep_layout(body, done.body)


@click.command()
@click.argument("files", nargs=-1, required=True)
@source_option
@click.option("--to", "names", metavar="TARGET,…|all", required=True, multiple=True, help="PROFILE/MODEL, or all.")
@click.option("--format", "output_format", type=click.Choice(sorted(FORMATS)), default="text", show_default=True)
@click.option("--fix", "fixing", is_flag=True, help="Repair the files in place, in their own dialect, for one target.")
@doubt_option
@lines_option
@profile_options
def lint(
    files: tuple[str, ...],
    source: str,
    names: tuple[str, ...],
    output_format: str,
    fixing: bool,
    doubt: str | None,
    lines: bool,
    rules: tuple[str, ...],
    profiles: Path | None,
) -> int:
    """Show what each target would refuse in FILES, and why.

    A file holds one request as JSON, or one request per line; `-` is standard input. The exit code is 1 if there are
    findings.
    """
    choices = parse_choices(profiles, rules)
    context = LintContext(source, _targets(names, choices), choices, doubt or Doubt.FAITHFUL)
    report = FORMATS[output_format](context.targets)
    if fixing:
        _check_fixable(files, names, context.targets)
    report.begin()
    bad = sum([_check_file(file, lines, fixing, context, report) for file in files])
    report.end()
    return 1 if bad or report.count else 0


def _targets(names: tuple[str, ...], choices: UserChoices) -> tuple[str, ...]:
    words = [word.strip() for name in names for word in name.split(",") if word.strip()]
    if not words:
        raise click.UsageError("--to names no target")
    listed = [target for word in words for target in (linter.every_target(choices.profiles) if word == ALL else [word])]
    return tuple(dict.fromkeys(choose(target, choices.profiles).name for target in listed))


def _check_fixable(files: tuple[str, ...], names: tuple[str, ...], targets: tuple[str, ...]) -> None:
    if len(targets) != 1 or ALL in names:
        raise click.UsageError("--fix needs exactly one target, because targets may contradict each other")
    if "-" in files:
        raise click.UsageError("--fix rewrites files and cannot rewrite standard input (use `dragoman adapt`)")


def _check_file(file: str, lines: bool, fixing: bool, context: LintContext, report: Report) -> int:
    """How many requests of the file failed. A file that cannot be used is reported and counts as one."""
    try:
        return (_fix_file if fixing else _lint_file)(file, lines, context, report)
    except MalformedRequest as error:
        print_error(str(error))
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        print_error(f"{file}: cannot be written: {error.strerror}")
    return 1


def _lint_file(file: str, lines: bool, context: LintContext, report: Report) -> int:
    bad = 0
    with open_requests(file, lines) as source, with_progress(source) as items:
        for item in items:
            try:
                report.add(item, context.findings(item, item.valid_body()))
            except RequestError as error:
                print_error(f"{item.where}: {error}")
                bad += 1
    return bad


def _fix_file(file: str, lines: bool, context: LintContext, report: Report) -> int:
    """Repair all requests of a file. A new file replaces it at the end, so it changes as a whole or not at all."""
    bad = 0
    with open_requests(file, lines) as source, AtomicWriter(file) as out, with_progress(source) as items:
        for item in items:
            if item.too_long:
                raise MalformedRequest("a request is too long; the file is unchanged", at=item.where)
            fixed = _fix_item(item, context, report)
            bad += fixed is None
            out.write(item.body, item.body if fixed is None else fixed)
    if out.count:
        print_note(f"{printable(file)}: {out.count} request{'s' if out.count > 1 else ''} repaired")
    return bad


def _fix_item(item: RequestItem, context: LintContext, report: Report) -> bytes | None:
    """The repaired request, with its remaining findings reported; None if it cannot be parsed or repaired."""
    try:
        body = context.fix(item.valid_body())
        report.add(item, context.findings(item, body))
    except RequestError as error:
        print_error(f"{item.where}: {error}")
        return None
    return body
