"""`dragoman lint`: what targets would refuse in stored requests; `--fix` repairs the files."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import click
import msgspec

from dragoman.cli.atomic_write import AtomicWriter
from dragoman.cli.inputs import compile_context
from dragoman.cli.inputs.file_jobs import run_task
from dragoman.cli.inputs.request_files import RequestItem, RequestSource, open_requests
from dragoman.cli.inputs.unread_requests import UnreadRequests
from dragoman.cli.json_splice import splice
from dragoman.cli.output.console import print_error, print_note, printable
from dragoman.cli.output.finding_formats import REPORTS, PlacedFinding, Report, TextReport
from dragoman.cli.output.progress import with_progress
from dragoman.cli.value_completion import complete_targets
from dragoman.engine.library import lint as linter
from dragoman.engine.library.adapt import choose
from dragoman.engine.library.report_summary import FoldedChange, fold
from dragoman.errors import MalformedRequest, RequestError
from dragoman.profiles.doubts import Doubt
from dragoman.profiles.profile import Profiles, Target

ALL = "all"


class LintOutcome(msgspec.Struct, frozen=True):
    """What was found in a request, or why it cannot be used."""

    findings: tuple[PlacedFinding, ...] = ()
    error: str = ""
    fixed: bytes = b""
    """The new text."""
    changes: tuple[FoldedChange, ...] = ()
    """What became of it."""


class LintTask(msgspec.Struct, frozen=True):
    """What every request is checked against, in plain values."""

    source: str
    targets: tuple[str, ...]
    doubt: str
    profiles: Path | None
    rules: tuple[str, ...]
    fix: bool
    """Whether it is repaired first."""

    def run(self, item: RequestItem) -> LintOutcome:
        try:
            body = item.valid_body()
            return self._fix(item, body) if self.fix else LintOutcome(self._findings(item, body))
        except RequestError as error:
            return LintOutcome(error=str(error))

    def _findings(self, item: RequestItem, body: bytes) -> tuple[PlacedFinding, ...]:
        profiles, targets = _resolve(self)
        source = item.source(self.source)
        found = linter.lint_targets(body, source=source, targets=targets, profiles=profiles, doubt=Doubt(self.doubt))
        return tuple(PlacedFinding(item.file, item.line, finding) for finding in found)

    def _fix(self, item: RequestItem, body: bytes) -> LintOutcome:
        _, (target,) = _resolve(self)
        done = linter.fix(body, source=self.source, target=target, doubt=Doubt(self.doubt))
        text = splice(body, done.body)
        return LintOutcome(self._findings(item, text), "", text, fold(done.changes))


@lru_cache(maxsize=1)
def _resolve(task: LintTask) -> tuple[Profiles, tuple[Target, ...]]:
    """The targets of a task; resolved once in each process."""
    choices = compile_context.parse_choices(task.profiles, task.rules)
    return choices.profiles, tuple(choose(name, choices.profiles, choices.rules) for name in task.targets)


class Run(msgspec.Struct, frozen=True):
    """One call of the command: the work, where its results go, and how it is done."""

    task: LintTask
    report: Report
    lines: bool
    jobs: int
    details: bool
    backup: bool


@click.command()
@click.argument("files", nargs=-1, required=True)
@compile_context.format_option
@click.option(
    "--to",
    "names",
    metavar="TARGET,…|all",
    required=True,
    multiple=True,
    shell_complete=complete_targets,
    help="PROFILE/MODEL, or all.",
)
@click.option("--format", "output_format", type=click.Choice(sorted(REPORTS)), default="text", show_default=True)
@compile_context.json_option
@compile_context.details_option
@compile_context.jobs_option
@click.option("--fix", "fixing", is_flag=True, help="Repair the files in place, in their own dialect, for one target.")
@click.option(
    "--backup/--no-backup", default=True, show_default=True, help="With --fix, keep the old file as FILE.bak."
)
@compile_context.doubt_option
@compile_context.lines_option
@compile_context.profile_options
def lint(
    *,
    files: tuple[str, ...],
    source: str,
    names: tuple[str, ...],
    output_format: str,
    as_json: bool,
    details: bool,
    jobs: int,
    fixing: bool,
    backup: bool,
    doubt: str | None,
    lines: bool,
    rules: tuple[str, ...],
    profiles: Path | None,
) -> int:
    """Show what each target would refuse in FILES, and why.

    A file holds one request as JSON, one request per line, or the transcript of an agent; `-` is standard input. A
    file with a request per line ends in a table. A line that cannot be used is named, and the rest goes on.

    The exit code is 0 if nothing was found, 1 if there are findings or requests that cannot be used, 2 if the command
    itself is wrong.
    """
    targets = _targets(names, compile_context.parse_choices(profiles, rules))
    if fixing:
        _check_fixable(files, names, targets)
    report = REPORTS["json" if as_json else output_format](targets, details)
    task = LintTask(source, targets, doubt or Doubt.FAITHFUL, profiles, rules, fixing)
    _resolve.cache_clear()  # its files may have changed since the last call in this process
    run = Run(task, report, lines, jobs, details, backup)
    report.begin()
    bad = sum([_check_file(file, run) for file in files])
    report.end()
    return 1 if bad or report.count else 0


def _targets(names: tuple[str, ...], choices: compile_context.UserChoices) -> tuple[str, ...]:
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


def _check_file(file: str, run: Run) -> int:
    """How many requests of the file failed. A file that cannot be used is reported and counts as one."""
    try:
        with open_requests(file, run.lines, run.task.source) as source:
            print_format(source, run.task.source)
            return (_fix_file if run.task.fix else _lint_file)(file, source, run)
    except MalformedRequest as error:
        print_error(str(error))
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        print_error(f"{file}: cannot be written: {error.strerror}")
    return 1


def print_format(source: RequestSource, given: str) -> None:
    """Say what a file was taken for, unless the user said it."""
    if source.form is not None and source.form.name != given:
        print_note(f"{printable(source.name)}: read as {source.form.title} (--from {source.form.name})")


def _lint_file(file: str, source: RequestSource, run: Run) -> int:
    unread = UnreadRequests(run.details)
    with with_progress(source, prints_items=run.details or not isinstance(run.report, TextReport)) as items:
        for item, outcome in run_task(run.task, items, run.jobs if source.lines else 1):
            if outcome.error:
                unread.add(item, outcome.error)
            else:
                run.report.add(item, outcome.findings)
    unread.end()
    return unread.count


def _fix_file(file: str, source: RequestSource, run: Run) -> int:
    """Repair all requests of a file. A new file replaces it at the end, so it changes as a whole or not at all."""
    if source.form is not None:
        raise MalformedRequest(
            f"--fix cannot write {source.form.title}", at=file, hint="--from DIALECT takes it for requests"
        )
    unread = UnreadRequests(run.details)
    changes: list[FoldedChange] = []
    with AtomicWriter(file, run.backup) as out, with_progress(source) as items:
        for item, outcome in run_task(run.task, items, run.jobs if source.lines else 1):
            if item.too_long:
                raise MalformedRequest("a request is too long; the file is unchanged", at=item.where)
            if outcome.error:
                unread.add(item, outcome.error)
                out.write(item.body, item.body)
                continue
            run.report.add(item, outcome.findings)
            out.write(item.body, outcome.fixed)
            if item.body != outcome.fixed:
                changes += outcome.changes
                _print_changes(item, outcome.changes, run.details)
    unread.end()
    if out.count:
        _print_fixes(file, out, changes)
    return unread.count


def _print_changes(item: RequestItem, changes: tuple[FoldedChange, ...], details: bool) -> None:
    """What was changed in one request. Of a file with many, only if details are wanted."""
    if details or not item.line:
        for one in changes:
            print_note(f"{printable(item.where)}: {printable(str(one))}".replace("`", ""))


def _print_fixes(file: str, out: AtomicWriter, changes: list[FoldedChange]) -> None:
    counts: dict[str, int] = {}
    for one in changes:
        counts[one.rule] = counts.get(one.rule, 0) + one.count
    named = ", ".join(rule if count == 1 else f"{rule} ×{count:,}" for rule, count in counts.items())
    kept = f"; the old file is {printable(str(out.copy))}" if out.copy is not None else ""
    plural = "s" if out.count > 1 else ""
    print_note(f"{printable(file)}: {out.count:,} request{plural} repaired: {named}{kept}")
