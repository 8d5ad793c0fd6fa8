"""`dragoman adapt`: compile a request, and print the exact upstream body and the changes."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import click
import msgspec

from dragoman.cli.commands.compile.lint import print_format
from dragoman.cli.inputs.compile_context import (
    CompileContext,
    compile_context,
    config_option,
    details_option,
    doubt_option,
    format_option,
    jobs_option,
    lines_option,
    parse_choices,
    profile_options,
)
from dragoman.cli.inputs.file_jobs import run_task
from dragoman.cli.inputs.request_files import RequestItem, RequestSource, open_requests
from dragoman.cli.inputs.unread_requests import UnreadRequests
from dragoman.cli.output.change_report import ChangeReport
from dragoman.cli.output.console import is_terminal, print_json, printable
from dragoman.cli.output.progress import with_progress
from dragoman.cli.value_completion import complete_losses, complete_rules, complete_targets
from dragoman.conversation.notation.script import show
from dragoman.engine.compile.compiled_request import CompiledRequest
from dragoman.engine.library.adapt import read
from dragoman.engine.library.report_summary import FoldedChange, fold
from dragoman.errors import MalformedRequest, OptionError, RequestError, near_match
from dragoman.rules import BY_NAME


class AdaptOutcome(msgspec.Struct, frozen=True):
    """What to print for a request, and its changes; or why it cannot be compiled."""

    output: bytes = b""
    changes: tuple[FoldedChange, ...] = ()
    error: str = ""


class AdaptTask(msgspec.Struct, frozen=True):
    """How every request is compiled and printed, in plain values."""

    source: str
    name: str
    stream: bool | None
    max_loss: str | None
    doubt: str | None
    stop_after: str
    rules: tuple[str, ...]
    profiles: Path | None
    config: Path | None
    as_json: bool
    diff: bool

    def run(self, item: RequestItem) -> AdaptOutcome:
        context = resolve_context(self, quiet=True)
        try:
            body = item.valid_body()
            adapted = context.compile(body, item.source(self.source), self.stream)
            return AdaptOutcome(self._output(item, body, adapted, context.name), fold(adapted.changes))
        except RequestError as error:
            return AdaptOutcome(error=str(error))

    def _output(self, item: RequestItem, body: bytes, adapted: CompiledRequest, target: str) -> bytes:
        if self.diff:
            return "\n".join(request_diff(body, adapted, item.source(self.source))).encode()
        if self.as_json:
            return msgspec.json.encode(_json_result(item, adapted, target))
        return adapted.body


@lru_cache(maxsize=2)
def resolve_context(task: AdaptTask, quiet: bool) -> CompileContext:
    """The target and options of a task; resolved once in each process."""
    choices = parse_choices(task.profiles, task.rules, task.config, quiet)
    return compile_context(
        task.name,
        choices,
        max_loss=task.max_loss,
        stream=task.stream,
        stop_after=task.stop_after,
        doubt=task.doubt,
    )


@click.command()
@click.argument("file", default="-")
@format_option
@click.option(
    "--to",
    "name",
    metavar="TARGET",
    required=True,
    shell_complete=complete_targets,
    help="PROFILE/MODEL, or a model in --config.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one object: target, path, body and changes.")
@click.option("--diff", is_flag=True, help="Print a diff of before and after.")
@click.option("--stream/--no-stream", default=None, help="Ask for a stream, or for a whole answer.")
@click.option(
    "--max-loss",
    metavar="LOSS",
    shell_complete=complete_losses,
    help="Refuse repairs that lose more: nothing, order, metadata, authority or content.",
)
@doubt_option
@click.option(
    "--stop-after",
    metavar="RULE",
    default="",
    shell_complete=complete_rules,
    help="Run the rules up to this one only.",
)
@click.option("--quiet", "-q", is_flag=True, help="Print no report.")
@details_option
@jobs_option
@lines_option
@profile_options
@config_option
def adapt(*, file: str, quiet: bool, details: bool, jobs: int, lines: bool, **chosen: Any) -> int:
    """Compile a request for a target.

    FILE holds one request as JSON, one request per line, or the transcript of an agent. Without FILE, the command reads
    standard input. It prints the upstream body to standard output and the report to standard error; for a file with a
    request per line, the report is a table.

    The exit code is 0 if every request could be compiled, 1 if not, 2 if the command itself is wrong.
    """
    task = AdaptTask(**chosen)
    if task.as_json and task.diff:
        raise click.UsageError("--json and --diff exclude each other; give one of them")
    if task.stop_after and task.stop_after not in BY_NAME:
        unknown = f'no rule is called "{task.stop_after}". {near_match(task.stop_after, BY_NAME)}'
        raise OptionError(unknown, at="--stop-after")
    resolve_context.cache_clear()  # its files may have changed since the last call in this process
    target = resolve_context(task, quiet=False).name
    with open_requests(file, lines, task.source) as opened:
        if not quiet:
            print_format(opened, task.source)
        return _adapt_all(opened, jobs if opened.lines else 1, task, ChangeReport(target, quiet, details))


def _adapt_all(source: RequestSource, jobs: int, task: AdaptTask, report: ChangeReport) -> int:
    unread = UnreadRequests(report.details)
    with with_progress(source) as items:
        for item, outcome in run_task(task, items, jobs):
            if outcome.error:
                unread.add(item, outcome.error)
                continue
            _print_output(item, outcome.output, task)
            report.add(item, outcome.changes, printed=not task.as_json)
    unread.end()
    if source.lines:
        report.end(unread.count)
    return 1 if unread.count else 0


def _print_output(item: RequestItem, output: bytes, task: AdaptTask) -> None:
    if task.diff:
        print_diff(output.decode().split("\n"))
    elif not task.as_json and is_terminal(sys.stdout) and not item.line:
        print_json(output)
    else:
        click.echo(output if task.as_json else _one_line(output))


def _json_result(item: RequestItem, adapted: CompiledRequest, target: str) -> dict[str, Any]:
    line = {"line": item.line} if item.line else {}
    body = msgspec.Raw(adapted.body)
    report = {"changes": adapted.changes, "summary": fold(adapted.changes)}
    return {**line, "target": target, "path": adapted.path, "body": body, **report}


def _one_line(body: bytes) -> bytes:
    """The body on one line. A body that is sent unchanged may have several."""
    return msgspec.json.format(body, indent=-1) if b"\n" in body else body


MAX_LINES = 20_000
"""More lines cannot be compared in reasonable time."""

_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


def request_diff(request: bytes, adapted: CompiledRequest, source: str) -> Iterator[str]:
    """The lines of the diff between a request and what became of it."""
    return render_diff(*_sides(request, adapted, source))


def print_diff(lines: Iterable[str]) -> None:
    """Print a diff, coloured on a terminal."""
    coloured = is_terminal(sys.stdout)
    for line in lines:
        text = printable(line)
        click.echo(click.style(text, fg=_COLOURS.get(text[:1])) if coloured else text)


def render_diff(before: str, after: str) -> Iterator[str]:
    """The lines of a unified diff."""
    old, new = before.split("\n"), after.split("\n")
    if max(len(old), len(new)) > MAX_LINES:
        raise MalformedRequest(
            "the request is too long to compare line by line", hint="compare the bodies with --json instead"
        )
    yield from difflib.unified_diff(old, new, "before", "after", lineterm="")


def _sides(request: bytes, adapted: CompiledRequest, source: str) -> tuple[str, str]:
    ask = read(request, source=source)
    if ask.dialect != adapted.dialect:
        return show(ask.conversation), show(adapted.conversation)
    return _pretty(request), _pretty(adapted.body)


def _pretty(body: bytes) -> str:
    return msgspec.json.format(body, indent=2).decode("utf-8", "replace")
