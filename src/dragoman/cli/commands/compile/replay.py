"""`dragoman replay`: compile, judge, shrink or send a recorded request again."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import msgspec

from dragoman.cli.inputs.given_config import GivenConfig
from dragoman.cli.inputs.recorded_requests import from_config, from_gateway, is_request_id
from dragoman.cli.inputs.state_access import GatewayState, key_option, state_options
from dragoman.cli.output.console import print_error, print_table, printable
from dragoman.cli.reproduction import Reproduction, reproduction
from dragoman.emulation.emulator_verdict import EmulatorVerdict, emulator_for, judge_request
from dragoman.errors import DragomanError, OptionError
from dragoman.store.journals.refusal_log import RefusalLine, parse_refusal, parse_refusals


class ReplayOptions(msgspec.Struct, frozen=True):
    """What to do with a refusal, by the options of the command."""

    given: GivenConfig
    against: str | None
    send: bool
    direct: bool
    minimise: bool
    test: Path | None
    as_json: bool


@click.command()
@click.argument("source")
@click.option(
    "--to", "target", metavar="TARGET", help="PROFILE/MODEL, or a model in --config; by default that of the line."
)
@click.option("--send", is_flag=True, help="Send the request to the configured provider.")
@click.option("--against", metavar="EMULATOR", help="The emulator that judges it; by default that of the target.")
@click.option("--direct", is_flag=True, help="Judge the client's own request, without repairs.")
@click.option("--minimise", "--minimize", is_flag=True, help="Shrink it to the smallest request that is still refused.")
@click.option("--as-test", "test", metavar="FILE", type=click.Path(path_type=Path), help="Write a pytest test for it.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
@state_options
@key_option
def replay(state: GatewayState, /, *, source: str, target: str | None, **flags: Any) -> int:
    """Compile a recorded request again, offline, and show the report.

    SOURCE is the id of a request (of the store beside the configuration, or of the gateway at --url), a file such as
    logs/provider_errors.jsonl, one of its lines as FILE:NUMBER, the text of a line, or - for standard input. The exit
    code is 1 if the emulator or the provider still refuses the request.
    """
    given = state.given
    if state.gateway is not None:
        failures = [(1, from_gateway(state.gateway, source))]
    elif is_request_id(source):
        failures = [(1, from_config(given, source))]
    else:
        failures = list(_failures(source))
    if not failures:
        raise OptionError("contains no refusals", at=printable(source))
    options = ReplayOptions(given, **flags)
    if (options.minimise or options.test) and len(failures) > 1:
        hint = f"choose one, as in {source}:{failures[-1][0]}"
        raise OptionError(f"contains {len(failures)} refusals; --minimise and --as-test take one", at=source, hint=hint)
    bad = 0
    for number, failure in failures:
        try:
            found = reproduction(failure, target, given)
            bad += _replay_one(number, found, options)
        except DragomanError as error:
            print_error(f"line {number}: {error}")
            bad += 1
    return 1 if bad else 0


def _failures(source: str) -> Iterator[tuple[int, RefusalLine]]:
    """The refusals of the argument, with their line numbers."""
    try:
        if source.lstrip().startswith("{"):
            yield 1, parse_refusal(source)
        elif source == "-":
            yield from ((at, parse_refusal(line)) for at, line in enumerate(sys.stdin, 1) if line.strip())
        else:
            yield from _from_file(source)
    except ValueError as error:
        given = "standard input" if source == "-" else "the text" if source.lstrip().startswith("{") else ""
        raise OptionError(str(error), at=given) from None
    except FileNotFoundError:
        hint = "`dragoman requests` lists the ids; --url asks a gateway that runs"
        raise OptionError("is no file and no id of a request", at=printable(source), hint=hint) from None
    except OSError as error:
        raise OptionError(f"cannot be read: {error.strerror}", at=source) from None


def _from_file(source: str) -> Iterator[tuple[int, RefusalLine]]:
    name, colon, number = source.rpartition(":")
    if not (colon and number.isdigit()) or Path(source).exists():
        yield from parse_refusals(Path(source))
        return
    chosen = [(at, failure) for at, failure in parse_refusals(Path(name)) if at == int(number)]
    if not chosen:
        raise ValueError(f"{name} has no refusal in line {number}")
    yield from chosen


def _replay_one(number: int, found: Reproduction, options: ReplayOptions) -> int:
    """Replay one refusal. Returns 1 if it is still refused."""
    emulator = options.against or emulator_for(found.destination.target.profile)
    if options.minimise:
        found, verdict = _shrink(found, emulator, options.direct)
    else:
        verdict = _judge(found, emulator, options.direct)
    if options.as_json:
        click.echo(msgspec.json.encode(_json_result(number, found, emulator, verdict)))
    else:
        _print_result(number, found, emulator, verdict, options.direct)
    if options.minimise and not options.as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(found.request), indent=2))
    if options.test is not None:
        _write_test(options.test, found, emulator)
    return _send(found, options) if options.send else int(not verdict.accepted)


def _judge(found: Reproduction, emulator: str, direct: bool) -> EmulatorVerdict:
    root = found.destination.base_url
    if direct:
        path, headers, body = found.direct()
        return judge_request(emulator, path, headers, body)
    adapted = found.adapted
    return judge_request(emulator, adapted.path, adapted.headers, adapted.body, root)


def _shrink(found: Reproduction, emulator: str, direct: bool) -> tuple[Reproduction, EmulatorVerdict]:
    """The smallest request that is refused for the same reason."""
    from dragoman.engine.library.minimise import minimise_request

    verdict = _judge(found, emulator, direct)
    if verdict.accepted:
        hint = "choose another emulator with --against" if direct else "--direct judges the request without repairs"
        raise OptionError(f'"{emulator}" accepts it: there is nothing to shrink', hint=hint)

    def fails(request: dict[str, Any]) -> bool:
        try:
            return _judge(found.of(request), emulator, direct).kind == verdict.kind
        except DragomanError:
            return False

    smallest = found.of(minimise_request(found.request, fails))
    return smallest, _judge(smallest, emulator, direct)


def _json_result(number: int, found: Reproduction, emulator: str, verdict: EmulatorVerdict) -> dict[str, Any]:
    failure = found.failure
    return {
        "line": number,
        "target": found.destination.name,
        "recorded_error": failure.error,
        "request": found.request,
        "path": found.adapted.path,
        "body": msgspec.Raw(found.adapted.body),
        "outline": {name: {"asked": asked, "sent": sent} for name, asked, sent in found.outline()},
        "changes": found.adapted.changes,
        "differs": found.differs(),
        "emulator": emulator,
        "accepted": verdict.accepted,
        "message": verdict.message,
    }


def _print_result(number: int, found: Reproduction, emulator: str, verdict: EmulatorVerdict, direct: bool) -> None:
    failure, adapted = found.failure, found.adapted
    when = f"{failure.timestamp}  " if failure.timestamp else ""
    click.echo(f"line {number}  {when}{printable(failure.target)}  {failure.client_dialect} → {adapted.dialect}")
    click.echo(f"  recorded    {failure.status_code or ''} {printable(failure.error)}")
    for name, asked, sent in found.outline():
        click.echo(f"  {name:<11} {printable(asked if asked == sent else f'{asked} → {sent}')}")
    differs = found.differs()
    if failure.sent_request is not None:
        result = f"another body than was sent, at {', '.join(differs[:5])}" if differs else "the body that was sent"
        click.echo(f"  compiles to {result}")
    what = "the client's own request" if direct else "it"
    result = f"accepts {what}" if verdict.accepted else f"refuses {what}: {verdict.status} {verdict.message}"
    click.echo(f"  emulator    {emulator} {printable(result)}")
    if adapted.changes:
        rows = [(change.rule, change.at or "/", change.did, change.loses) for change in adapted.changes]
        print_table(("rule", "at", "change", "loses"), rows)
    else:
        click.echo("  nothing changed")


def _write_test(path: Path, found: Reproduction, emulator: str) -> None:
    path.write_text(found.test(emulator), "utf-8")
    click.echo(f"{path} written; run it with: pytest {path}", err=True)


def _send(found: Reproduction, options: ReplayOptions) -> int:
    """Send the request to the provider. Returns 1 if it is refused."""
    import asyncio

    failure, answer = asyncio.run(found.send(options.given))
    if failure is not None:
        click.echo(f"  provider    refuses it: {failure.status} {printable(failure.message)}")
        return 1
    click.echo(f"  provider    answers: {printable(answer[:400])}")
    return 0
