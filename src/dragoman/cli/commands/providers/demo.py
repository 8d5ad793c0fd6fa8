"""`dragoman demo`: what providers refuse, what Dragoman repairs, and the answer."""

from __future__ import annotations

import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click
import msgspec

from dragoman.cli.demo_conversations import DEMO_CONVERSATIONS, DemoConversation

if TYPE_CHECKING:
    from rich.console import Console

    from dragoman.emulation.emulator_fallback import EmulatorFallback

OTHERS = (
    *("anthropic", "gemini", "openai", "openai-responses", "bedrock", "cohere", "ollama"),
    *("deepseek", "mistral", "openrouter", "groq"),
)
PORT = 8642
WIDTH = 110
"""The width of the output if it is no terminal."""


@click.command()
@click.option("--keep/--no-keep", default=None, help="Keep the gateway running afterwards; default on a terminal.")
@click.option(
    "--port", type=click.IntRange(0, 65535), help=f"The port of the gateway; by default {PORT}, or a free one."
)
def demo(keep: bool | None, port: int | None) -> int:
    """Show refusal, repair and answer for every client dialect, on emulated providers: no keys needed."""
    from dragoman.cli.output.console import rich_console

    keep_running = sys.stdout.isatty() if keep is None else keep
    out = rich_console()
    if not sys.stdout.isatty():
        out.width = WIDTH
    with _running(port) as (url, emulators):
        failed = _show(out, url, emulators)
        if keep_running:
            _keep_running(out, url)
        else:
            out.print(f"\nThe console shows all of this in a browser: run the demo with --keep, and open {url}/")
    return 1 if failed else 0


@contextmanager
def _running(port: int | None) -> Iterator[tuple[str, EmulatorFallback]]:
    """Run a gateway with the strict emulators, in a thread of this process."""
    from dragoman.config.load import Loaded
    from dragoman.config.schema.config_file import Config
    from dragoman.config.schema.log import Log, LogLevel, ProviderErrors
    from dragoman.emulation.emulator_fallback import EmulatorFallback
    from dragoman.gateway.app import Gateway
    from dragoman.gateway.http.server import Server, url_of
    from dragoman.gateway.services import Services

    emulators = EmulatorFallback(answers="echo").start()
    quiet = Log(level=LogLevel.ERROR, provider_errors=ProviderErrors(path=None))
    services = Services(emulators.complete(Loaded(config=Config(log=quiet))))
    listening = _bind(port)
    server = Server(services, Gateway(services, watch=False))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, name="dragoman-gateway", daemon=True)
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.01)
    try:
        yield url_of(listening, "127.0.0.1"), emulators
    finally:
        server.should_exit = True
        thread.join(10)
        emulators.stop()


def _bind(port: int | None) -> Any:
    from dragoman.gateway.http.server import ServeError, bind

    try:
        return bind("127.0.0.1", PORT if port is None else port)
    except ServeError:
        if port is not None:
            raise
        return bind("127.0.0.1", 0)


def _show(out: Console, url: str, emulators: EmulatorFallback) -> int:
    """Show all conversations. Returns how many were not answered."""
    out.print()
    out.print("Dragoman: any conversation works on any model, and nothing is changed behind your back.", style="bold")
    out.print("The providers below are strict emulators on this machine. They refuse what the real ones refuse.")
    failed = sum(
        _show_one(out, url, emulators, number, demo_conversation)
        for number, demo_conversation in enumerate(DEMO_CONVERSATIONS, 1)
    )
    return failed + _show_table(out, url)


def _show_one(
    out: Console, url: str, emulators: EmulatorFallback, number: int, demo_conversation: DemoConversation
) -> int:
    from rich.text import Text

    out.print()
    out.rule(Text(f"{number}. {demo_conversation.client}", style="bold"), align="left", characters="-")
    out.print(f"To {demo_conversation.provider}/{demo_conversation.model}: {demo_conversation.reason}.")
    status, answer_body, _ = _post(
        _root(emulators, demo_conversation), *demo_conversation.request(demo_conversation.model)
    )
    out.print(Text(f"  directly         {status}  {_summary(status, answer_body)}", style="red"))
    status, answer_body, headers = _post(
        url, *demo_conversation.request(f"{demo_conversation.provider}/{demo_conversation.model}")
    )
    style = "green" if status == 200 else "bold red"
    out.print(Text(f"  through Dragoman {status}  {_summary(status, answer_body)}", style=style))
    _report(out, url, headers.get("x-dragoman-request-id", ""))
    return int(status != 200)


def _root(emulators: EmulatorFallback, demo_conversation: DemoConversation) -> str:
    """The provider's address as the client's SDK calls it. The path already contains the version."""
    return emulators.urls[demo_conversation.provider].removesuffix("/v1")


def _report(out: Console, url: str, request_id: str) -> None:
    from rich.table import Table
    from rich.text import Text

    with urllib.request.urlopen(f"{url}/dragoman/requests/{request_id}") as answer:  # noqa: S310
        changes = msgspec.json.decode(answer.read()).get("summary", [])
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    for change in changes:
        text = f"{change['did']} ({change['where']}, loses {change['loses']})"
        table.add_row(Text(f"    {change['rule']}", style="cyan"), Text(text, style="dim"))
    out.print(table)


def _show_table(out: Console, url: str) -> int:
    """Send the same conversations to every provider. Returns how many were not answered."""
    from rich.table import Table
    from rich.text import Text

    from dragoman.emulation.emulator_fallback import MODELS

    out.print()
    out.rule(Text("The same conversations on every provider", style="bold"), align="left", characters="-")
    table = Table(box=None, pad_edge=False, header_style="dim")
    for head in ("provider", *(demo_conversation.dialect for demo_conversation in DEMO_CONVERSATIONS)):
        table.add_column(head, no_wrap=True)
    failed = 0
    for name in OTHERS:
        statuses = [
            _post(url, *demo_conversation.request(f"{name}/{MODELS[name][0]}"))[0]
            for demo_conversation in DEMO_CONVERSATIONS
        ]
        failed += sum(status != 200 for status in statuses)
        table.add_row(name, *(Text(str(status), style="green" if status == 200 else "bold red") for status in statuses))
    out.print(table)
    return failed


def _post(root: str, path: str, body: bytes) -> tuple[int, bytes, dict[str, str]]:
    headers = {"content-type": "application/json", "anthropic-version": "2023-06-01"}
    request = urllib.request.Request(root + path, body, headers)  # noqa: S310
    try:
        with urllib.request.urlopen(request) as answer:  # noqa: S310
            return answer.status, answer.read(), {name.lower(): value for name, value in answer.headers.items()}
    except urllib.error.HTTPError as refusal:
        with refusal:
            named = {name.lower(): value for name, value in refusal.headers.items()}
            return refusal.code, refusal.read(), named


def _summary(status: int, body: bytes) -> str:
    """The message of a refusal or the text of an answer, in any dialect, in one line."""
    from dragoman.wire.error_bodies import parse_failure

    if status >= 400:
        return _one_line(parse_failure(status, {}, body).message)
    return _one_line(" ".join(_texts(msgspec.json.decode(body))))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict):
        for key in ("choices", "message", "candidates", "content", "output", "parts"):
            yield from _texts(value.get(key))
        if isinstance(value.get("text"), str):
            yield value["text"]
    elif isinstance(value, str):
        yield value


def _one_line(text: str) -> str:
    from dragoman.cli.output.console import printable

    short = printable(" ".join(text.split()))
    return short if len(short) <= 160 else short[:157] + "…"


def _keep_running(out: Console, url: str) -> None:
    from dragoman.cli.stop_signals import stop_signals
    from dragoman.gateway.http.banner import show_clients

    with stop_signals() as wait_for_stop:
        show_clients(out, url, "claude-sonnet-4-6")
        out.print(f"\nServing at {url} until Ctrl-C. Reports: {url}/dragoman/requests/ID; metrics: {url}/metrics")
        out.print(f"See each request and what was changed in it: [bold cyan]{url}/[/]", highlight=False)
        wait_for_stop()
    out.print("stopped")
