"""`dragoman adapt`: the exact upstream body, and a report of what was changed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click
import msgspec

from dragoman.cli.compile_context import (
    Errand,
    chosen,
    config_option,
    doubt_option,
    errand,
    lines_option,
    profile_options,
    source_option,
)
from dragoman.cli.console import clean, complain, on_terminal, pretty_json, remark, table
from dragoman.cli.progress import watched
from dragoman.cli.request_diff import tell_difference
from dragoman.cli.request_files import Item, opened
from dragoman.engine.adapt import Adapted
from dragoman.errors import OptionError, RequestError, near_match
from dragoman.rules import BY_NAME


class Showing(msgspec.Struct, frozen=True):
    """How results are told: as JSON, as a difference, with or without the report. `source` is the request's dialect."""

    source: str
    as_json: bool
    diff: bool
    quiet: bool


@click.command()
@click.argument("file", default="-")
@source_option
@click.option("--to", "name", metavar="TARGET", required=True, help="PROFILE/MODEL, or a model of --config.")
@click.option("--json", "as_json", is_flag=True, help="One object: target, path, body and changes.")
@click.option("--diff", is_flag=True, help="Show what was changed, before and after.")
@click.option("--stream/--no-stream", default=None, help="Ask for a stream, or for a whole answer.")
@click.option(
    "--max-loss", metavar="LOSS", help="nothing, order, metadata, authority or content: refuse what loses more."
)
@doubt_option
@click.option("--stop-after", metavar="RULE", default="", help="Run the rules up to this one, to see what it does.")
@click.option("--quiet", "-q", is_flag=True, help="No report.")
@lines_option
@profile_options
@config_option
def adapt(
    file: str,
    source: str,
    name: str,
    stream: bool | None,
    max_loss: str | None,
    doubt: str | None,
    stop_after: str,
    lines: bool,
    rules: tuple[str, ...],
    profiles: Path | None,
    config: Path | None,
    **showing: bool,
) -> int:
    """Compile a request for a target.

    FILE holds one request as JSON, or one a line; without it, standard input is read. The upstream body goes to
    standard output and the report to the error stream.
    """
    how = Showing(source, **showing)
    if how.as_json and how.diff:
        raise click.UsageError("--json and --diff are two answers to one question; give one")
    if stop_after and stop_after not in BY_NAME:
        raise OptionError(f'no rule is called "{stop_after}"; {near_match(stop_after, BY_NAME)}', at="--stop-after")
    given = chosen(profiles, rules, config)
    work = errand(name, given, max_loss=max_loss, stream=stream, stop_after=stop_after, doubt=doubt)
    return _adapt_all(file, lines, stream, work, how)


def _adapt_all(file: str, lines: bool, stream: bool | None, work: Errand, how: Showing) -> int:
    bad = changed = count = 0
    with opened(file, lines) as found, watched(found) as items:
        for item in items:
            count += 1
            try:
                adapted = work.run(item.checked(), how.source, stream)
            except RequestError as fault:
                complain(f"{item.where}: {fault}")
                bad += 1
                continue
            changed += bool(adapted.changes)
            _tell(item, adapted, work, how)
    if found.lines and not how.quiet:
        remark(f"{count} requests: {changed} changed, {bad} refused")
    return 1 if bad else 0


def _tell(item: Item, adapted: Adapted, work: Errand, how: Showing) -> None:
    if how.diff:
        tell_difference(item.body, adapted, how.source)
    elif how.as_json:
        click.echo(msgspec.json.encode(_object(item, adapted, work)))
    elif on_terminal(sys.stdout) and not item.line:
        pretty_json(adapted.body)
    else:
        click.echo(_one_line(adapted.body))
    if not how.quiet and not how.as_json:
        _report(item, adapted, work)


def _object(item: Item, adapted: Adapted, work: Errand) -> dict[str, Any]:
    line = {"line": item.line} if item.line else {}
    body = msgspec.Raw(adapted.body)
    return {**line, "target": work.name, "path": adapted.path, "body": body, "changes": adapted.changes}


def _one_line(body: bytes) -> bytes:
    """A body that goes out as it came in may be spread over lines."""
    return msgspec.json.format(body, indent=-1) if b"\n" in body else body


def _report(item: Item, adapted: Adapted, work: Errand) -> None:
    if item.line:
        if adapted.changes:
            remark(f"{clean(item.where)}: {_counted(adapted)}")
        return
    if not adapted.changes:
        remark(f"{clean(work.name)}: nothing changed")
        return
    rows = [(change.rule, change.at or "/", change.did, change.loses) for change in adapted.changes]
    table(("rule", "at", "what was done", "loses"), rows, err=True)


def _counted(adapted: Adapted) -> str:
    counts: dict[str, int] = {}
    for change in adapted.changes:
        counts[change.rule] = counts.get(change.rule, 0) + 1
    return ", ".join(rule if count == 1 else f"{rule} ×{count}" for rule, count in counts.items())
