"""`dragoman adapt`: compile a request, and print the exact upstream body and the changes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click
import msgspec

from dragoman.cli.compile_context import (
    CompileContext,
    compile_context,
    config_option,
    doubt_option,
    lines_option,
    parse_choices,
    profile_options,
    source_option,
)
from dragoman.cli.console import is_terminal, print_error, print_json, print_note, print_table, printable
from dragoman.cli.progress import with_progress
from dragoman.cli.request_diff import print_diff
from dragoman.cli.request_files import RequestItem, open_requests
from dragoman.engine.adapt import Adapted
from dragoman.engine.summary import fold, harmless_line
from dragoman.errors import OptionError, RequestError, near_match
from dragoman.rules import BY_NAME


class OutputFormat(msgspec.Struct, frozen=True):
    """How to print a result: as JSON, as a diff, with or without the report. `source` is the request's dialect."""

    source: str
    as_json: bool
    diff: bool
    quiet: bool


@click.command()
@click.argument("file", default="-")
@source_option
@click.option("--to", "name", metavar="TARGET", required=True, help="PROFILE/MODEL, or a model in --config.")
@click.option("--json", "as_json", is_flag=True, help="Print one object: target, path, body and changes.")
@click.option("--diff", is_flag=True, help="Print a diff of before and after.")
@click.option("--stream/--no-stream", default=None, help="Ask for a stream, or for a whole answer.")
@click.option(
    "--max-loss", metavar="LOSS", help="Refuse repairs that lose more: nothing, order, metadata, authority or content."
)
@doubt_option
@click.option("--stop-after", metavar="RULE", default="", help="Run the rules up to this one only.")
@click.option("--quiet", "-q", is_flag=True, help="Print no report.")
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
    **flags: bool,
) -> int:
    """Compile a request for a target.

    FILE holds one request as JSON, or one request per line. Without FILE, the command reads standard input. It prints
    the upstream body to standard output and the report to standard error.
    """
    output = OutputFormat(source, **flags)
    if output.as_json and output.diff:
        raise click.UsageError("--json and --diff exclude each other; give one of them")
    if stop_after and stop_after not in BY_NAME:
        raise OptionError(f'no rule is called "{stop_after}"; {near_match(stop_after, BY_NAME)}', at="--stop-after")
    choices = parse_choices(profiles, rules, config)
    context = compile_context(name, choices, max_loss=max_loss, stream=stream, stop_after=stop_after, doubt=doubt)
    return _adapt_all(file, lines, stream, context, output)


def _adapt_all(file: str, lines: bool, stream: bool | None, context: CompileContext, output: OutputFormat) -> int:
    bad = changed = count = 0
    with open_requests(file, lines) as source, with_progress(source) as items:
        for item in items:
            count += 1
            try:
                adapted = context.compile(item.valid_body(), output.source, stream)
            except RequestError as error:
                print_error(f"{item.where}: {error}")
                bad += 1
                continue
            changed += bool(adapted.changes)
            _print_result(item, adapted, context, output)
    if source.lines and not output.quiet:
        print_note(f"{count} requests: {changed} changed, {bad} refused")
    return 1 if bad else 0


def _print_result(item: RequestItem, adapted: Adapted, context: CompileContext, output: OutputFormat) -> None:
    if output.diff:
        print_diff(item.body, adapted, output.source)
    elif output.as_json:
        click.echo(msgspec.json.encode(_json_result(item, adapted, context)))
    elif is_terminal(sys.stdout) and not item.line:
        print_json(adapted.body)
    else:
        click.echo(_one_line(adapted.body))
    if not output.quiet and not output.as_json:
        _print_report(item, adapted, context)


def _json_result(item: RequestItem, adapted: Adapted, context: CompileContext) -> dict[str, Any]:
    line = {"line": item.line} if item.line else {}
    body = msgspec.Raw(adapted.body)
    report = {"changes": adapted.changes, "summary": fold(adapted.changes)}
    return {**line, "target": context.name, "path": adapted.path, "body": body, **report}


def _one_line(body: bytes) -> bytes:
    """The body on one line. A body that is sent unchanged may have several."""
    return msgspec.json.format(body, indent=-1) if b"\n" in body else body


def _print_report(item: RequestItem, adapted: Adapted, context: CompileContext) -> None:
    if item.line:
        if adapted.changes:
            print_note(f"{printable(item.where)}: {_count_by_rule(adapted)}")
        return
    if not adapted.changes:
        print_note(f"{printable(context.name)}: nothing changed")
        return
    folded = fold(adapted.changes)
    rows = [(one.rule, one.where.removeprefix("at "), one.did, one.loses) for one in folded if not one.harmless]
    if rows:
        print_table(("rule", "where", "change", "loses"), rows, err=True)
    if harmless := harmless_line(folded):
        print_note(harmless.replace("`", ""))


def _count_by_rule(adapted: Adapted) -> str:
    """The rules in the order of their weight, with counts."""
    counts: dict[str, int] = {}
    for one in fold(adapted.changes):
        counts[one.rule] = counts.get(one.rule, 0) + one.count
    return ", ".join(rule if count == 1 else f"{rule} ×{count}" for rule, count in counts.items())
