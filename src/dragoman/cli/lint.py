"""`dragoman lint`: what targets would refuse in stored requests, and the repair of them in place."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from dragoman.cli.atomic_write import Rewritten, as_before
from dragoman.cli.compile_context import (
    Choices,
    chosen,
    doubt_option,
    lines_option,
    profile_options,
    source_option,
)
from dragoman.cli.console import clean, complain, remark
from dragoman.cli.finding_formats import FORMATS, Found, Report
from dragoman.cli.progress import watched
from dragoman.cli.request_files import Item, opened
from dragoman.engine import lint as linter
from dragoman.engine.adapt import choose
from dragoman.errors import MalformedRequest, RequestError
from dragoman.profiles.facts import Doubt

ALL = "all"


class Work(msgspec.Struct, frozen=True):
    """What every request is held against."""

    source: str
    targets: tuple[str, ...]
    given: Choices
    doubt: str

    def findings(self, item: Item, body: bytes) -> list[Found]:
        given = self.given
        found = linter.lint(
            body, source=self.source, targets=self.targets, profiles=given.profiles, rules=given.rules, doubt=self.doubt
        )
        return [Found(item.file, item.line, finding) for finding in found]

    def fixed(self, body: bytes) -> bytes:
        given, target = self.given, self.targets[0]
        done = linter.fix(
            body, source=self.source, target=target, profiles=given.profiles, rules=given.rules, doubt=self.doubt
        )
        return as_before(body, done.body)


@click.command()
@click.argument("files", nargs=-1, required=True)
@source_option
@click.option("--to", "names", metavar="TARGET,…|all", required=True, multiple=True, help="PROFILE/MODEL; or all.")
@click.option("--format", "form", type=click.Choice(sorted(FORMATS)), default="text", show_default=True)
@click.option("--fix", "fixing", is_flag=True, help="Rewrite the files in place, in their own dialect; one target.")
@doubt_option
@lines_option
@profile_options
def lint(
    files: tuple[str, ...],
    source: str,
    names: tuple[str, ...],
    form: str,
    fixing: bool,
    doubt: str | None,
    lines: bool,
    rules: tuple[str, ...],
    profiles: Path | None,
) -> int:
    """Say what each target would refuse in FILES, and why.

    A file holds one request as JSON, or one a line; `-` is standard input. Ends with status 1 where something was
    found.
    """
    given = chosen(profiles, rules)
    work = Work(source, _targets(names, given), given, doubt or Doubt.FAITHFUL)
    report = FORMATS[form](work.targets)
    if fixing:
        _check_fixable(files, names, work.targets)
    report.begin()
    bad = sum([_examine(file, lines, fixing, work, report) for file in files])
    report.end()
    return 1 if bad or report.count else 0


def _targets(names: tuple[str, ...], given: Choices) -> tuple[str, ...]:
    words = [word.strip() for name in names for word in name.split(",") if word.strip()]
    if not words:
        raise click.UsageError("--to names no target")
    listed = [target for word in words for target in (linter.every_target(given.profiles) if word == ALL else [word])]
    return tuple(dict.fromkeys(choose(target, given.profiles).name for target in listed))


def _check_fixable(files: tuple[str, ...], names: tuple[str, ...], targets: tuple[str, ...]) -> None:
    if len(targets) != 1 or ALL in names:
        raise click.UsageError("--fix needs exactly one target: what one wants another may refuse")
    if "-" in files:
        raise click.UsageError("--fix rewrites files; standard input is none (use `dragoman adapt`)")


def _examine(file: str, lines: bool, fixing: bool, work: Work, report: Report) -> int:
    """How many of its requests were bad. A file that cannot be used is told, and the next one is taken."""
    try:
        return (_fix_file if fixing else _lint_file)(file, lines, work, report)
    except MalformedRequest as fault:
        complain(str(fault))
    except OSError as fault:
        if isinstance(fault, BrokenPipeError):
            raise
        complain(f"{file}: cannot be written: {fault.strerror}")
    return 1


def _lint_file(file: str, lines: bool, work: Work, report: Report) -> int:
    bad = 0
    with opened(file, lines) as source, watched(source) as items:
        for item in items:
            try:
                report.tell(item, work.findings(item, item.checked()))
            except RequestError as fault:
                complain(f"{item.where}: {fault}")
                bad += 1
    return bad


def _fix_file(file: str, lines: bool, work: Work, report: Report) -> int:
    """Requests are written beside the file, which is replaced at the end: all of it or nothing."""
    bad = 0
    with opened(file, lines) as source, Rewritten(file) as out, watched(source) as items:
        for item in items:
            if item.too_long:
                raise MalformedRequest("a request is too long; the file is left as it is", at=item.where)
            mended = _mended(item, work, report)
            bad += mended is None
            out.write(item.body, item.body if mended is None else mended)
    if out.count:
        remark(f"{clean(file)}: {out.count} request{'s' if out.count > 1 else ''} put right")
    return bad


def _mended(item: Item, work: Work, report: Report) -> bytes | None:
    """The request put right, with what is still wrong told; None where it cannot be read or repaired at all."""
    try:
        body = work.fixed(item.checked())
        report.tell(item, work.findings(item, body))
    except RequestError as fault:
        complain(f"{item.where}: {fault}")
        return None
    return body
