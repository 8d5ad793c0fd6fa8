"""`dragoman replay`: a refusal of a provider, once more."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import msgspec

from dragoman.cli.config import chosen_file, config_option, env_option
from dragoman.cli.console import print_error, print_table, printable
from dragoman.cli.emulator_verdict import EmulatorVerdict, emulator_for, judge_request
from dragoman.cli.reproduction import Reproduction, reproduction
from dragoman.errors import DragomanError, OptionError
from dragoman.store import Failure, read_failure, read_failures


@click.command()
@click.argument("source")
@click.option("--to", "target", metavar="TARGET", help="PROFILE/MODEL, or a model of --config; by default the line's.")
@click.option("--send", is_flag=True, help="Send it to the configured provider.")
@click.option("--against", metavar="EMULATOR", help="Let this emulator judge it; by default the one of the target.")
@click.option("--direct", is_flag=True, help="Judge the client's own request, without any repair.")
@click.option("--minimise", "--minimize", is_flag=True, help="Shrink it to the smallest that is still refused.")
@click.option("--as-test", "test", metavar="FILE", type=click.Path(path_type=Path), help="Write it as a pytest.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@config_option
@env_option
def replay(
    source: str,
    target: str | None,
    against: str | None,
    path: Path | None,
    env_files: tuple[Path, ...],
    **how: Any,
) -> int:
    """Compile a recorded refusal again, offline, and show the report.

    SOURCE is a file like logs/provider_errors.jsonl, one line of it as FILE:NUMBER, the text of a line, or - for
    standard input. Exit code 1 says that an emulator or the provider still refuses.
    """
    failures = list(_failures(source))
    if not failures:
        raise OptionError("holds no refusals", at=printable(source))
    if (how["minimise"] or how["test"]) and len(failures) > 1:
        hint = f"choose one, as in {source}:{failures[-1][0]}"
        raise OptionError(f"has {len(failures)} refusals; --minimise and --as-test take one", at=source, hint=hint)
    file = chosen_file(path)
    bad = 0
    for number, failure in failures:
        try:
            found = reproduction(failure, target, file, env_files)
            bad += _replayed(number, found, against, file, env_files, **how)
        except DragomanError as error:
            print_error(f"line {number}: {error}")
            bad += 1
    return 1 if bad else 0


def _failures(source: str) -> Iterator[tuple[int, Failure]]:
    """The refusals that an argument names, with their line numbers."""
    try:
        if source.lstrip().startswith("{"):
            yield 1, read_failure(source)
        elif source == "-":
            yield from ((at, read_failure(line)) for at, line in enumerate(sys.stdin, 1) if line.strip())
        else:
            yield from _from_file(source)
    except ValueError as error:
        raise OptionError(str(error)) from None
    except OSError as error:
        raise OptionError(f"cannot be read: {error.strerror}", at=source) from None


def _from_file(source: str) -> Iterator[tuple[int, Failure]]:
    name, colon, number = source.rpartition(":")
    if not (colon and number.isdigit()) or Path(source).exists():
        yield from read_failures(Path(source))
        return
    chosen = [(at, failure) for at, failure in read_failures(Path(name)) if at == int(number)]
    if not chosen:
        raise ValueError(f"{name} has no refusal in line {number}")
    yield from chosen


def _replayed(
    number: int,
    found: Reproduction,
    against: str | None,
    file: Path | None,
    env_files: tuple[Path, ...],
    send: bool,
    direct: bool,
    minimise: bool,
    test: Path | None,
    as_json: bool,
) -> int:
    """One refusal; 1 where it is still one."""
    emulator = against or emulator_for(found.destination.target.profile)
    if minimise:
        found, verdict = _shrunk(found, emulator, direct)
    else:
        verdict = _judged(found, emulator, direct)
    if as_json:
        click.echo(msgspec.json.encode(_object(number, found, emulator, verdict)))
    else:
        _tell(number, found, emulator, verdict, direct)
    if minimise and not as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(found.request), indent=2))
    if test is not None:
        _write(test, found, emulator)
    return _sent(found, file, env_files) if send else int(not verdict.accepted)


def _judged(found: Reproduction, emulator: str, direct: bool) -> EmulatorVerdict:
    root = found.destination.base_url
    if direct:
        path, headers, body = found.direct()
        return judge_request(emulator, path, headers, body)
    adapted = found.adapted
    return judge_request(emulator, adapted.path, adapted.headers, adapted.body, root)


def _shrunk(found: Reproduction, emulator: str, direct: bool) -> tuple[Reproduction, EmulatorVerdict]:
    """The smallest request that is refused for the same reason."""
    from dragoman.engine.minimise import minimised

    verdict = _judged(found, emulator, direct)
    if verdict.accepted:
        hint = "--direct shrinks what is refused without repairs" if not direct else "choose another with --against"
        raise OptionError(f'"{emulator}" accepts it: there is nothing to shrink', hint=hint)

    def fails(request: dict[str, Any]) -> bool:
        try:
            return _judged(found.of(request), emulator, direct).kind == verdict.kind
        except DragomanError:
            return False

    smallest = found.of(minimised(found.request, fails))
    return smallest, _judged(smallest, emulator, direct)


def _object(number: int, found: Reproduction, emulator: str, verdict: EmulatorVerdict) -> dict[str, Any]:
    failure = found.failure
    return {
        "line": number,
        "target": found.destination.name,
        "said": failure.error,
        "request": found.request,
        "path": found.adapted.path,
        "body": msgspec.Raw(found.adapted.body),
        "changes": found.adapted.changes,
        "differs": found.differs(),
        "emulator": emulator,
        "accepted": verdict.accepted,
        "says": verdict.message,
    }


def _tell(number: int, found: Reproduction, emulator: str, verdict: EmulatorVerdict, direct: bool) -> None:
    failure, adapted = found.failure, found.adapted
    when = f"{failure.timestamp}  " if failure.timestamp else ""
    click.echo(f"line {number}  {when}{printable(failure.target)}  {failure.client_dialect} → {adapted.dialect}")
    click.echo(f"  said        {failure.status_code or ''} {printable(failure.error)}")
    for name, words in found.outline():
        click.echo(f"  {name:<11} {printable(words)}")
    differs = found.differs()
    if failure.sent_request is not None:
        told = f"not as it was sent then, at {', '.join(differs[:5])}" if differs else "as it was sent then"
        click.echo(f"  compiles    {told}")
    what = "the client's own request" if direct else "it"
    told = f"accepts {what}" if verdict.accepted else f"refuses {what}: {verdict.status} {verdict.message}"
    click.echo(f"  emulator    {emulator} {printable(told)}")
    if adapted.changes:
        rows = [(change.rule, change.at or "/", change.did, change.loses) for change in adapted.changes]
        print_table(("rule", "at", "what was done", "loses"), rows)
    else:
        click.echo("  nothing is changed")


def _write(path: Path, found: Reproduction, emulator: str) -> None:
    path.write_text(found.test(emulator), "utf-8")
    click.echo(f"{path} written; run it with: pytest {path}", err=True)


def _sent(found: Reproduction, file: Path | None, env_files: tuple[Path, ...]) -> int:
    """What the provider says to it now."""
    import asyncio

    failure, answer = asyncio.run(found.send(file, env_files))
    if failure is not None:
        click.echo(f"  provider    refuses it: {failure.status} {printable(failure.message)}")
        return 1
    click.echo(f"  provider    answers: {printable(answer[:400])}")
    return 0


if __name__ == "__main__":
    replay()
