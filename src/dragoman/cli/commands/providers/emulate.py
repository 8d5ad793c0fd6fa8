"""`dragoman emulate`: serve strict imitations of providers on this machine."""

from __future__ import annotations

import asyncio
import shlex
import sys
from collections.abc import Callable, Sequence
from typing import IO, Any

import click
import orjson

from dragoman.cli.stop_signals import raise_on_stop_signals
from dragoman.cli.value_completion import complete_emulators
from dragoman.emulators.answer_script import BadScriptError, Script, load
from dragoman.emulators.catalogue import ANSWERS, UnknownEmulatorError, answering, names, provider
from dragoman.emulators.emulator_core import EmulatorCore, RecordedRequest
from dragoman.emulators.faults import BadFaultError, parse_fault
from dragoman.emulators.provider import EmulatedProvider
from dragoman.emulators.rate_limits import BadLimitError, parse_limits
from dragoman.emulators.serving.background_server import sdk_address
from dragoman.emulators.serving.http_server import ServerLimits, start


@click.command("emulate")
@click.argument("providers", nargs=-1, metavar="[PROVIDER]...", shell_complete=complete_emulators)
@click.option(
    "--port", default=8100, show_default=True, help="The port of the first provider; the others use the next ones."
)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--script",
    "script_file",
    metavar="FILE",
    help="A YAML list of turns to answer with.",
)
@click.option(
    "--answers",
    type=click.Choice(list(ANSWERS)),
    default="plausible",
    show_default=True,
    help="What answers without a script: a model that calls tools as it is asked to, or a description of the request.",
)
@click.option("--strict/--lenient", default=True, help="Refuse what the real provider refuses, or accept any request.")
@click.option(
    "--signatures",
    type=click.Choice(["lenient", "strict"]),
    default="lenient",
    help="Whether to refuse signatures that no emulator made.",
)
@click.option("--models", metavar="NAME,NAME", help="The only model names to accept; by default any.")
@click.option(
    "--window",
    type=click.IntRange(min=0),
    default=0,
    metavar="TOKENS",
    help="Refuse prompts of more tokens, as the emulator counts them; by default none.",
)
@click.option(
    "--limits",
    metavar="KIND=N,KIND=N",
    help="What a key may use in a minute, such as 'requests=50,tokens=30000' (or input, output); by default all.",
)
@click.option("--fault", metavar="FAULT", help="Cause this fault, such as '429;retry-after=2;times=3'.")
@click.option("--write-size", default=0, metavar="BYTES", help="Write streams in pieces of this many bytes.")
@click.option("--max-body", default=32 << 20, show_default=True, metavar="BYTES", help="The largest request body.")
@click.option(
    "--log", "log_file", metavar="FILE", help="Append each request and its verdict to this file as JSON Lines."
)
@click.option("--list", "listing", is_flag=True, help="List the providers and exit.")
def emulate(
    *, providers: tuple[str, ...], port: int, host: str, write_size: int, max_body: int, listing: bool, **chosen: Any
) -> None:
    """Serve strict imitations of PROVIDERs, each on its own port; by default the nine main ones.

    They refuse what the real ones refuse, with the same messages. They accept any key, and answer from a script,
    or as a plausible model would: it calls the tools that it is asked to and answers from their results.
    """
    if listing:
        click.echo("\n".join(names()))
        return
    cores = _cores(providers or MAIN, **chosen)
    raise_on_stop_signals()
    try:
        asyncio.run(_serve(cores, host, port, ServerLimits(body=max_body, write_size=write_size)))
    except KeyboardInterrupt:
        click.echo("\nstopped")
    except (OSError, OverflowError) as error:  # a port that no machine has is an OverflowError
        reason = (getattr(error, "strerror", None) or str(error)).rstrip(".")
        raise click.ClickException(
            f"cannot listen on {host}:{port} and the next ports: {reason}; choose another with --port"
        ) from error


MAIN = ("openai", "openai-responses", "anthropic", "gemini", "vertex", "openrouter", "mistral", "deepseek", "groq")


def _cores(
    names: Sequence[str],
    *,
    script_file: str | None,
    answers: str,
    fault: str | None,
    log_file: str | None,
    limits: str | None,
    models: str | None,
    **options: Any,
) -> list[EmulatorCore]:
    """`options`: those that all emulators take as they are given."""
    named = models.split(",") if models else None
    try:
        rates = parse_limits(limits)
        emulated = [provider(name, models=named, **options) for name in names]
        scripts = [load(script_file) if script_file else Script() for _ in names]
        standing_fault = parse_fault(fault) if fault else None
        log = open(log_file, "a", buffering=1, encoding="utf-8") if log_file else None  # noqa: SIM115 - open until exit
    except (UnknownEmulatorError, BadScriptError, BadFaultError, BadLimitError) as error:
        raise click.ClickException(str(error)) from error
    except OSError as error:
        raise click.ClickException(f"{log_file}: cannot be written: {error.strerror}") from error
    cores = [
        EmulatorCore(one, script, _logger(one.name, log), keep=0, model=answering(answers), limits=rates)
        for one, script in zip(emulated, scripts, strict=True)
    ]
    for core in cores:
        core.standing_fault = standing_fault
    return cores


def _logger(name: str, log: IO[str] | None) -> Callable[[RecordedRequest], None]:
    def write(record: RecordedRequest) -> None:
        line = {
            "provider": name,
            "method": record.method,
            "path": record.path,
            "model": record.model,
            "stream": record.stream,
            "verdict": record.verdict,
            "status": record.status,
            "error_body": record.error_body,
        }
        click.echo(
            f"{name}: {record.method} {record.path} {record.model} -> {record.status} {record.verdict}", err=True
        )
        if log is not None:
            log.write(orjson.dumps(line | {"headers": record.headers, "body": record.body}).decode() + "\n")

    return write


async def _serve(cores: list[EmulatorCore], host: str, port: int, limits: ServerLimits) -> None:
    servers = []
    for at, core in enumerate(cores):
        server = await start(core, host, port + at if port else 0, limits)
        servers.append(server)
        click.echo(greet(core.provider, f"http://{host}:{server.sockets[0].getsockname()[1]}"))
    sys.stdout.flush()
    await asyncio.gather(*(server.serve_forever() for server in servers))


def greet(one: EmulatedProvider, url: str) -> str:
    path, body = one.example
    text = shlex.quote(orjson.dumps(body).decode())
    return f"{one.name}\n  {sdk_address(one, url)}\n  curl {url}{path} -H 'content-type: application/json' -d {text}\n"
