"""Run the gateway: listen, serve, reload, and shut down without losing anything."""

from __future__ import annotations

import asyncio
import errno
import gc
import logging
import os
import secrets
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import msgspec
import uvicorn
from msgspec.structs import replace

from dragoman.config.environment_providers import warn_of_keys
from dragoman.config.errors import InvalidConfig
from dragoman.config.file_watch import ConfigFile
from dragoman.config.load import Loaded
from dragoman.config.schema.config_file import Config
from dragoman.config.schema.log import Log, LogLevel
from dragoman.config.validation import is_loopback, public_bind_refusal
from dragoman.errors import DragomanError
from dragoman.gateway.app import Gateway
from dragoman.gateway.config_names import collect_names, own_profiles
from dragoman.gateway.http import banner, open_files
from dragoman.gateway.http.http_protocol import bounded_protocol, close_overdue
from dragoman.gateway.http.restart_required import NewestConfig
from dragoman.gateway.http.unread_watch import HTTP_LOGGER
from dragoman.gateway.records.metrics_board import MetricsBoard
from dragoman.gateway.records.records import Records
from dragoman.gateway.records.request_log import RequestLog
from dragoman.gateway.records.store_alerts import StoreAlerts
from dragoman.gateway.services import Services
from dragoman.profiles.models import find_model
from dragoman.profiles.profile import Profiles
from dragoman.store.errors import StoreError
from dragoman.store.location import store_file
from dragoman.store.open_store import file_refusal, memory_refusal, place_of_store
from dragoman.upstream.heavy_work import tune_allocator

KEEP_ALIVE = 75
"""Seconds that an idle client connection stays open."""
FINAL_SECONDS = 2.0
"""Seconds for a last error to requests that did not finish."""
_LOOK_SECONDS = 0.05
_TICKS_PER_SECOND = 10
_GC_THRESHOLD = 20_000
"""New objects until the garbage collector runs. Requests leave no cycles: with Python's default the collector takes 4 %
of a small one."""
ACCEPTED_AT_ONCE = 16
"""New connections in one turn of the event loop."""
_SWITCH_SECONDS = 0.0005
"""How long the event loop waits for the interpreter until it asks a thread for it."""


class ServeError(DragomanError):
    """The gateway cannot start."""


class ServeOptions(msgspec.Struct, frozen=True):
    """The options of the command line. None: the file decides."""

    path: Path | None = None
    env_files: tuple[Path, ...] = ()
    host: str | None = None
    port: int | None = None
    workers: int | None = None
    watch: bool = True
    profiles: tuple[Path, ...] = ()
    setup: bool = False
    """Whether the console may edit the configuration."""


class ServedFile(ConfigFile):
    """The configuration file, with the options of the command line, and with emulators if it has no providers."""

    def __init__(self, options: ServeOptions, profiles: Profiles) -> None:
        super().__init__(options.path, known=collect_names(profiles), process=os.environ, env_files=options.env_files)
        self._options = options
        self.complete: Callable[[Loaded], Loaded] | None = None

    def load(self) -> Loaded:
        loaded = _with_options(super().load(), self._options)
        return self.complete(loaded) if self.complete is not None else loaded


def run(options: ServeOptions) -> int:
    """Serve until a signal. Raises InvalidConfig or ServeError before it listens."""
    profiles = own_profiles(options.profiles)
    file = ServedFile(options, profiles)
    loaded, notice = _load(file, options)
    if not loaded.config.providers:
        loaded, no_providers = _with_emulators(file, loaded)
        notice = notice or no_providers
    server = loaded.config.server
    check(loaded.config)
    state = store_file(loaded.config.store, options.path)
    if (refusal := file_refusal(loaded.config, state)) is not None:
        raise ServeError(refusal)
    try:
        place = place_of_store(loaded.config, state)
    except StoreError as error:
        raise ServeError(str(error)) from None
    listening = bind(server.host, server.port)
    summary = banner.summarise(loaded.config, url_of(listening, server.host), loaded.file, place, notice)
    if server.workers == 1:
        return _serve(GatewayStart(options, profiles, listening), loaded, file, summary)
    from dragoman.gateway.http.workers import Workers

    newest = NewestConfig(file, loaded, check)
    board = MetricsBoard(server.workers)
    work = partial(_work, GatewayStart(options, profiles, listening), newest, board)
    workers = Workers(server.workers, work, newest.refresh, partial(_note_ended, newest), watch=options.watch)
    announce(summary, loaded.config.log, at_once=True)  # a thread would not survive the fork
    return workers.run()


def _note_ended(newest: NewestConfig, child: int, code: int) -> None:
    lines = RequestLog(newest.loaded.config.log)
    lines.add(LogLevel.WARNING, {"event": "worker-ended", "pid": child, "code": code})
    lines.flush()


def _load(file: ServedFile, options: ServeOptions) -> tuple[Loaded, str]:
    """The configuration. In setup mode a bad one is put right in the console, on this machine alone."""
    try:
        return file.load(), ""
    except InvalidConfig as fault:
        if not options.setup:
            raise
        local = replace(options, host=None, workers=1)
        return _with_options(Loaded(config=Config()), local), f"{fault}\nOpen the console to put it right."


def _needs_setup(options: ServeOptions, config: Config) -> bool:
    """Whether a token for the console is printed: without a file or by wish, if only this machine can call."""
    return (options.setup or options.path is None) and not config.keys and is_loopback(config.server.host)


def check(config: Config) -> None:
    """Raise ServeError if the gateway must not start with this configuration."""
    for refusal in (public_bind_refusal(config, config.server.host), memory_refusal(config)):
        if refusal is not None:
            raise ServeError(refusal)
    if config.server.workers > 1 and not hasattr(os, "fork"):
        raise ServeError("several workers need fork, which this system does not have; use one worker")


def bind(host: str, port: int) -> socket.socket:
    """The listening socket. Raises ServeError with a hint."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host.strip("[]"), port), family=family, backlog=2048)
    except OSError as error:
        number = error.errno or 0  # below 0 if the name cannot be resolved
        hint = f"choose another with --{'host' if not port or number < 0 or number == errno.EADDRNOTAVAIL else 'port'}"
        # Since Python 3.11 `strerror` repeats the address.
        reason = os.strerror(number) if number > 0 else (error.strerror or "").partition(" (while ")[0]
        raise ServeError(f"cannot listen on {host}:{port}: {reason}", hint=hint) from None


def url_of(listening: socket.socket, host: str) -> str:
    """The URL for clients on this machine."""
    port, host = listening.getsockname()[1], host.strip("[]")
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)  # noqa: S104
    return f"http://{shown}:{port}"


def _with_options(loaded: Loaded, options: ServeOptions) -> Loaded:
    overrides = {"host": options.host, "port": options.port, "workers": options.workers}
    named = {name: value for name, value in overrides.items() if value is not None}
    server = replace(loaded.config.server, **named)
    origins = {**loaded.origins, **{f"server.{name}": f"--{name}" for name in named}}
    return replace(loaded, config=replace(loaded.config, server=server), origins=origins)


def _with_emulators(file: ServedFile, loaded: Loaded) -> tuple[Loaded, str]:
    if loaded.config.server.workers > 1:
        hint = "set a key such as ANTHROPIC_API_KEY, or leave out --workers"
        raise ServeError("there is no provider, and the emulators work with one worker only", hint=hint)
    from dragoman.emulation.emulator_fallback import NOTICE, EmulatorFallback

    try:
        emulators = EmulatorFallback().start()
    except ModuleNotFoundError as error:
        hint = "set a key such as ANTHROPIC_API_KEY, or pip install 'dragoman[emulators]'"
        raise ServeError(
            f"there is no provider, and {error.name} of the emulators is not installed", hint=hint
        ) from None
    file.complete = emulators.complete
    return emulators.complete(loaded), NOTICE


class GatewayStart(msgspec.Struct, frozen=True):
    """What does not change while the gateway runs, whatever its file says."""

    options: ServeOptions
    """Those of the command line."""
    profiles: Profiles
    """With those of the user's files."""
    listening: socket.socket
    """Where clients connect."""


def _work(start: GatewayStart, newest: NewestConfig, board: MetricsBoard, place: int) -> int:
    """Run one of several workers. It opens its own state after the fork."""
    return _serve(start, newest.loaded, newest.file, role=WorkerRole(os.getppid(), board, place))


class WorkerRole(msgspec.Struct, frozen=True):
    """What one of several workers knows of the others."""

    parent: int
    """The first process."""
    board: MetricsBoard
    """Where all show their metrics."""
    place: int
    """The number of this one there."""


def _serve(
    start: GatewayStart,
    loaded: Loaded,
    file: ConfigFile,
    summary: banner.GatewaySummary | None = None,
    role: WorkerRole | None = None,
) -> int:
    """Serve in this process. `summary`: what is shown at the start. `role`: this is one of several workers."""
    place = role.board.place(role.place) if role is not None else None
    services = Services(loaded, file, start.profiles, check=check, alone=role is None, place=place)
    _redirect_server_log(services.records)
    shortage = open_files.shortage(open_files.raise_limit(), loaded.config.server.max_concurrent)
    keyless = warn_of_keys(loaded.config, loaded.origins, collect_names(start.profiles))
    for warning in (*loaded.warnings, *keyless, *([shortage] if shortage is not None else [])):
        services.records.lines.add(LogLevel.WARNING, {"event": "config", "warning": warning})
    started = None
    if summary is not None:
        if _needs_setup(start.options, services.live.config):
            services.live.setup_token = secrets.token_urlsafe(24)
        summary = replace(summary, state=services.store.place, setup=services.live.setup_token)
        started = partial(announce, summary, loaded.config.log)
    parent = role.parent if role is not None else None
    server = Server(services, Gateway(services, watch=start.options.watch), started, parent)
    server.run(sockets=accept_sockets(start.listening) if role is None else [start.listening])
    return 0 if server.started else 1


def accept_sockets(listening: socket.socket) -> list[socket.socket]:
    """The socket several times over: libuv takes one connection from each in a turn of the loop.

    A turn of a busy gateway takes a while. Of a hundred clients that came at once, the last one waited for a hundred.
    Several workers take one each, so that none takes all.
    """
    return [listening, *(listening.dup() for _ in range(ACCEPTED_AT_ONCE - 1))]


class Server(uvicorn.Server):
    """uvicorn with its own signal handling and shutdown."""

    def __init__(
        self,
        services: Services,
        app: Gateway,
        started: Callable[[], None] | None = None,
        parent: int | None = None,
    ) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                loop="auto",
                http=bounded_protocol(
                    services.live.config.server.max_headers, KEEP_ALIVE, lambda: services.live.config.server.max_body
                ),
                ws="none",
                lifespan="on",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,  # the client's address is not used, and every request would pay for it
                timeout_graceful_shutdown=1,
            )
        )
        self._services = services
        self._store_alerts = StoreAlerts(services.store, services.records)
        self._reloads: set[asyncio.Task[None]] = set()
        self._announce = started
        self._parent = parent

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """As in uvicorn, but a graceful shutdown exits with 0 and not by the signal."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self.handle_exit)
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if threading.current_thread() is threading.main_thread() and hasattr(signal, "SIGHUP"):
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self._reload)
        if self._announce is not None:
            self._announce()
        gc.freeze()  # the start leaves next to no cycles: looking for them takes longer than they are worth
        gc.set_threshold(_GC_THRESHOLD)
        _tune_threads()
        # The catalogue takes a while to read: not while the first client waits.
        asyncio.get_running_loop().run_in_executor(None, find_model, "")

    async def on_tick(self, counter: int) -> bool:
        if counter % _TICKS_PER_SECOND == 0:
            write_seconds = self._services.live.config.server.write_timeout
            now = asyncio.get_running_loop().time()
            self._services.records.metrics.aborted += close_overdue(self.server_state.connections, now, write_seconds)
            self._store_alerts.check()
            self._services.publish_metrics()
            if self._parent is not None and os.getppid() != self._parent:  # the first process is gone
                return True
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop accepting, let requests finish, send the others an error in their dialect, then close."""
        services = self._services
        services.traffic.closing = True
        services.records.lines.add(LogLevel.INFO, {"event": "stopping", "running": len(self.server_state.tasks)})
        for server in self.servers:
            server.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        await self._wait_for_tasks(services.live.config.server.shutdown_grace)
        if self.server_state.tasks:
            services.traffic.ending = True
            for task in list(self.server_state.tasks):
                task.cancel("the gateway is shutting down")
            await self._wait_for_tasks(FINAL_SECONDS)
        services.publish_metrics()
        self.config.timeout_graceful_shutdown = 1
        await super().shutdown(sockets)

    async def _wait_for_tasks(self, seconds: float) -> None:
        """Wait until no request runs, the time is up, or the user presses Ctrl-C again.

        Looks are counted, and not seconds: while this process stands still, no request can finish.
        """
        looks = int(seconds / _LOOK_SECONDS)
        while (tasks := set(self.server_state.tasks)) and looks > 0 and not self.force_exit:
            await asyncio.wait(tasks, timeout=_LOOK_SECONDS)
            looks -= 1

    def _reload(self) -> None:
        task = asyncio.get_running_loop().create_task(self._services.live.reload_now())
        self._reloads.add(task)
        task.add_done_callback(self._reloads.discard)


def _tune_threads() -> None:
    """Let the event loop have its turn soon while a thread works on a large body, and memory come back after it.

    A request takes several turns of the loop. With Python's five milliseconds before each, the thread has gone on to
    its next long call before a request is answered, and the request waits for that one too.
    """
    sys.setswitchinterval(_SWITCH_SECONDS)
    tune_allocator()


def announce(summary: banner.GatewaySummary, log: Log, at_once: bool = False) -> None:
    """Print a banner on a terminal, else log one line. The banner has its own thread, so that no request waits."""
    is_seen = sys.stderr is not None and sys.stderr.isatty()  # None: closed before the start
    if is_seen and at_once:
        show(summary)
        return
    if is_seen:
        threading.Thread(target=show, args=(summary,), name="dragoman-banner", daemon=True).start()
        return
    lines = RequestLog(log)
    lines.add(
        LogLevel.INFO,
        {
            "event": "listening",
            "url": summary.url,
            "config": summary.file,
            **({"models": len(summary.models)} if summary.models else {}),
            "providers": summary.providers,
            "keys": summary.keys,
            "workers": summary.workers,
            "state": summary.state,
            "note": summary.notice,
            "console": summary.console,
        },
    )
    lines.flush()


def show(summary: banner.GatewaySummary) -> None:
    """Print the banner to standard error."""
    from rich.console import Console

    banner.show(Console(stderr=True, highlight=False), summary)


def _redirect_server_log(records: Records) -> None:
    """Write the messages of uvicorn and of the HTTP protocol to the gateway's log."""
    handler = _ServerLogHandler(records)
    for logger in (logging.getLogger("uvicorn.error"), HTTP_LOGGER):
        logger.handlers = [handler]
        logger.setLevel(logging.WARNING)
        logger.propagate = False


class _ServerLogHandler(logging.Handler):
    def __init__(self, records: Records) -> None:
        super().__init__(logging.WARNING)
        self._records = records

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, asyncio.CancelledError):
            return  # a client disconnected
        line = {"event": "server", "message": record.getMessage().strip()}
        if error is not None:
            line["traceback"] = "".join(traceback.format_exception(error))
        self._records.log(LogLevel.ERROR if record.levelno >= logging.ERROR else LogLevel.WARNING, line)
