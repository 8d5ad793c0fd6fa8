"""`dragoman demo`: what providers refuse, what Dragoman makes of it, and the answer."""

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

from dragoman.cli.demo_conversations import SHOWN, Shown

if TYPE_CHECKING:
    from rich.console import Console

    from dragoman.gateway.emulator_fallback import StandIn

OTHERS = ("anthropic", "gemini", "openai", "openai-responses", "deepseek", "mistral", "openrouter", "groq")
PORT = 8642
WIDTH = 110
"""Columns where there is no terminal to ask."""


@click.command()
@click.option("--keep/--no-keep", default=None, help="Keep serving afterwards; by default on a terminal.")
@click.option("--port", type=click.IntRange(0, 65535), help=f"Port of the gateway; by default {PORT}, or a free one.")
def demo(keep: bool | None, port: int | None) -> int:
    """Show refusal, repair and answer for all four client dialects, on emulated providers: no keys needed."""
    from dragoman.cli.console import console

    stays = sys.stdout.isatty() if keep is None else keep
    out = console()
    if not sys.stdout.isatty():
        out.width = WIDTH
    with _running(port) as (url, emulators):
        failed = _show(out, url, emulators)
        if stays:
            _stay(out, url)
    return 1 if failed else 0


@contextmanager
def _running(port: int | None) -> Iterator[tuple[str, StandIn]]:
    """A gateway on the strict emulators, in a thread of this process."""
    from dragoman.config import Config, Loaded
    from dragoman.config.schema import Log, LogLevel, ProviderErrors
    from dragoman.gateway.app import Gateway
    from dragoman.gateway.emulator_fallback import StandIn
    from dragoman.gateway.server import Server, url_of
    from dragoman.gateway.services import Services

    emulators = StandIn().start()
    quiet = Log(level=LogLevel.ERROR, provider_errors=ProviderErrors(path=None))
    services = Services(emulators.completed(Loaded(config=Config(log=quiet))))
    listening = _bound(port)
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


def _bound(port: int | None) -> Any:
    from dragoman.gateway.server import ServeError, bind

    try:
        return bind("127.0.0.1", PORT if port is None else port)
    except ServeError:
        if port is not None:
            raise
        return bind("127.0.0.1", 0)


def _show(out: Console, url: str, emulators: StandIn) -> int:
    """The whole show; how many conversations were not answered."""
    out.print()
    out.print("Dragoman: any conversation works on any model, and nothing is changed behind your back.", style="bold")
    out.print("The providers below are strict emulators on this machine. They refuse what the real ones refuse.")
    failed = sum(_shown(out, url, emulators, number, one) for number, one in enumerate(SHOWN, 1))
    return failed + _everywhere(out, url)


def _shown(out: Console, url: str, emulators: StandIn, number: int, one: Shown) -> int:
    from rich.text import Text

    out.print()
    out.rule(Text(f"{number}. {one.client}", style="bold"), align="left", characters="-")
    out.print(f"To {one.provider}/{one.model}: {one.why}.")
    status, said, _ = _post(_root(emulators, one), *one.request(one.model))
    out.print(Text(f"  directly         {status}  {_words(status, said)}", style="red"))
    status, said, headers = _post(url, *one.request(f"{one.provider}/{one.model}"))
    style = "green" if status == 200 else "bold red"
    out.print(Text(f"  through Dragoman {status}  {_words(status, said)}", style=style))
    _report(out, url, headers.get("x-dragoman-request-id", ""))
    return int(status != 200)


def _root(emulators: StandIn, one: Shown) -> str:
    """The provider's own address, as the client's SDK would call it: the path names the version already."""
    return emulators.urls[one.provider].removesuffix("/v1")


def _report(out: Console, url: str, request_id: str) -> None:
    from rich.table import Table
    from rich.text import Text

    with urllib.request.urlopen(f"{url}/dragoman/requests/{request_id}") as answer:  # noqa: S310
        changes = msgspec.json.decode(answer.read()).get("changes", [])
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    for change in changes:
        words = f"{change['did']} ({change['at'] or '/'}, loses {change['loses']})"
        table.add_row(Text(f"    {change['rule']}", style="cyan"), Text(words, style="dim"))
    out.print(table)


def _everywhere(out: Console, url: str) -> int:
    """The same conversations on every provider."""
    from rich.table import Table
    from rich.text import Text

    from dragoman.gateway.emulator_fallback import MODELS

    out.print()
    out.rule(Text("The same conversations on every provider", style="bold"), align="left", characters="-")
    table = Table(box=None, pad_edge=False, header_style="dim")
    for head in ("provider", *(one.dialect for one in SHOWN)):
        table.add_column(head, no_wrap=True)
    failed = 0
    for name in OTHERS:
        statuses = [_post(url, *one.request(f"{name}/{MODELS[name][0]}"))[0] for one in SHOWN]
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


def _words(status: int, body: bytes) -> str:
    """What a refusal or an answer says, in whichever dialect, on one line."""
    from dragoman.wire.error_bodies import read_failure

    if status >= 400:
        return _one_line(read_failure(status, {}, body).message)
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
    from dragoman.cli.console import clean

    short = clean(" ".join(text.split()))
    return short if len(short) <= 160 else short[:157] + "…"


def _stay(out: Console, url: str) -> None:
    from dragoman.cli.stop_signals import until_told
    from dragoman.gateway.banner import show_clients

    until_told()
    try:
        show_clients(out, url, "claude-sonnet-4-5")
        out.print(f"\nServing at {url} until Ctrl-C. Reports: {url}/dragoman/requests/ID; metrics: {url}/metrics")
        threading.Event().wait()
    except KeyboardInterrupt:
        out.print("stopped")


if __name__ == "__main__":
    demo()
