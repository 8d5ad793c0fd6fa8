"""Running the gateway: bind, serve, reload, and an end that loses nothing."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
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

from dragoman.config import Config, ConfigFile, Loaded, public_bind_refusal
from dragoman.config.schema import Log, LogLevel
from dragoman.errors import DragomanError
from dragoman.gateway import banner, open_files
from dragoman.gateway.app import Gateway
from dragoman.gateway.http_protocol import bounded_protocol, close_overdue
from dragoman.gateway.request_log import RequestLog
from dragoman.gateway.restart_required import NewestConfig
from dragoman.gateway.services import Services, known_names
from dragoman.gateway.store_alerts import StoreAlerts
from dragoman.profiles.profile import Profiles
from dragoman.store import file_refusal, memory_refusal, store_file

KEEP_ALIVE = 75
"""Seconds that an idle connection of a client is kept."""
LAST_WORDS = 2.0
"""Seconds for telling what is still running that it ends now."""
_TICKS_PER_SECOND = 10
_YOUNG = 20_000
"""Objects more than before until the collector looks at the young ones."""


class ServeError(DragomanError):
    """The gateway does not start, and why."""


class Plan(msgspec.Struct, frozen=True):
    """What the command line says; None where the file decides."""

    path: Path | None = None
    env_files: tuple[Path, ...] = ()
    host: str | None = None
    port: int | None = None
    workers: int | None = None
    watch: bool = True


class ServedFile(ConfigFile):
    """A configuration file with the command line, and the emulators where nobody else is there, laid over it."""

    def __init__(self, plan: Plan, profiles: Profiles) -> None:
        super().__init__(plan.path, known=known_names(profiles), process=os.environ, env_files=plan.env_files)
        self._plan = plan
        self.completed: Callable[[Loaded], Loaded] | None = None

    def load(self) -> Loaded:
        loaded = _settled(super().load(), self._plan)
        return self.completed(loaded) if self.completed is not None else loaded


def run(plan: Plan) -> int:
    """Serve until a signal ends it. Raises InvalidConfig or ServeError before anything is bound."""
    profiles = Profiles()
    file = ServedFile(plan, profiles)
    loaded = file.load()
    notice = ""
    if not loaded.config.providers:
        loaded, notice = _stood_in(file, loaded)
    server = loaded.config.server
    check(loaded.config)
    state = store_file(loaded.config.store, plan.path)
    if (refusal := file_refusal(loaded.config, state)) is not None:
        raise ServeError(refusal)
    listening = bind(server.host, server.port)
    told = banner.facts(loaded.config, url_of(listening, server.host), loaded.file, str(state or "memory"), notice)
    if server.workers == 1:
        return _serve(loaded, file, profiles, listening, plan, told)
    from dragoman.gateway.workers import Workers

    announce(told, loaded.config.log, at_once=True)  # a thread would not survive the fork
    newest = NewestConfig(file, loaded, check)
    work = partial(_work, newest, profiles, listening, plan)
    return Workers(server.workers, work, newest.refresh, watch=plan.watch).run()


def check(config: Config) -> None:
    """Raise ServeError where it would be wrong to start."""
    for refusal in (public_bind_refusal(config, config.server.host), memory_refusal(config)):
        if refusal is not None:
            raise ServeError(refusal)
    if config.server.workers > 1 and not hasattr(os, "fork"):
        raise ServeError("this system has no fork, which several workers need; run one worker")


def bind(host: str, port: int) -> socket.socket:
    """The listening socket. Raises ServeError with what to do."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host.strip("[]"), port), family=family, backlog=2048)
    except OSError as fault:
        hint = "choose another with --port" if port else "choose another --host"
        raise ServeError(f"{host}:{port} cannot be bound: {fault.strerror}", hint=hint) from None


def url_of(listening: socket.socket, host: str) -> str:
    """The address as a client on this machine would write it."""
    port, host = listening.getsockname()[1], host.strip("[]")
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)  # noqa: S104
    return f"http://{shown}:{port}"


def _settled(loaded: Loaded, plan: Plan) -> Loaded:
    given = {"host": plan.host, "port": plan.port, "workers": plan.workers}
    named = {name: value for name, value in given.items() if value is not None}
    server = msgspec.structs.replace(loaded.config.server, **named)
    return msgspec.structs.replace(loaded, config=msgspec.structs.replace(loaded.config, server=server))


def _stood_in(file: ServedFile, loaded: Loaded) -> tuple[Loaded, str]:
    if loaded.config.server.workers > 1:
        raise ServeError("no provider is configured, and the emulators stand in for one worker only")
    from dragoman.gateway.emulator_fallback import NOTICE, EmulatorFallback

    emulators = EmulatorFallback().start()
    file.completed = emulators.completed
    return emulators.completed(loaded), NOTICE


def _work(newest: NewestConfig, profiles: Profiles, listening: socket.socket, plan: Plan) -> int:
    """One of several workers: it opens its own state after the fork."""
    return _serve(newest.loaded, newest.file, profiles, listening, plan, None, os.getppid())


def _serve(
    loaded: Loaded,
    file: ConfigFile,
    profiles: Profiles,
    listening: socket.socket,
    plan: Plan,
    told: banner.Facts | None,
    parent: int | None = None,
) -> int:
    services = Services(loaded, file, profiles, check, alone=loaded.config.server.workers == 1)
    _relay_log(services)
    shortage = open_files.shortage(open_files.raise_limit(), loaded.config.server.max_concurrent)
    for warning in (*loaded.warnings, *([shortage] if shortage is not None else [])):
        services.lines.add(LogLevel.WARNING, {"event": "config", "warning": warning})
    started = None
    if told is not None:
        told = msgspec.structs.replace(told, state=services.store.place)
        started = partial(announce, told, loaded.config.log)
    server = Server(services, Gateway(services, watch=plan.watch), started, parent)
    server.run(sockets=[listening])
    return 0 if server.started else 1


class Server(uvicorn.Server):
    """uvicorn with our signals and our way of ending."""

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
                http=bounded_protocol(services.config.server.max_headers, KEEP_ALIVE),
                ws="none",
                lifespan="on",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,  # nobody here asks where a client is, and every request would pay for it
                timeout_graceful_shutdown=1,
            )
        )
        self._services = services
        self._store_alerts = StoreAlerts(services)
        self._reloads: set[asyncio.Task[None]] = set()
        self._announce = started
        self._parent = parent

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """As uvicorn does it, but a graceful end is a success, not a death by signal."""
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
        _settle_memory()

    async def on_tick(self, counter: int) -> bool:
        if counter % _TICKS_PER_SECOND == 0:
            close_overdue(self.server_state.connections, asyncio.get_running_loop().time())
            self._store_alerts.look()
            if self._parent is not None and os.getppid() != self._parent:  # whoever watched over us is gone
                return True
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop accepting, let streams finish, end those that do not in their own dialect, then close."""
        services = self._services
        services.closing = True
        services.lines.add(LogLevel.INFO, {"event": "stopping", "under_way": len(self.server_state.tasks)})
        for server in self.servers:
            server.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        await self._drained(services.config.server.shutdown_grace)
        if self.server_state.tasks:
            services.ending = True
            for task in list(self.server_state.tasks):
                task.cancel("the gateway is shutting down")
            await self._drained(LAST_WORDS)
        self.config.timeout_graceful_shutdown = 1
        await super().shutdown(sockets)

    async def _drained(self, seconds: float) -> None:
        """Until nothing is under way, the time is up, or the user is out of patience."""
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        while (tasks := set(self.server_state.tasks)) and loop.time() < until and not self.force_exit:
            await asyncio.wait(tasks, timeout=0.05)

    def _reload(self) -> None:
        task = asyncio.get_running_loop().create_task(self._services.reload_now())
        self._reloads.add(task)
        task.add_done_callback(self._reloads.discard)


def _settle_memory() -> None:
    """What stands at the start stays: the collector need not look at it again, nor at every few requests.

    Requests leave no cycles behind. With Python's own threshold the collector took 4 % of a small request's time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG)


def announce(told: banner.Facts, log: Log, at_once: bool = False) -> None:
    """For people a banner, for machines one line. The banner takes a thread, so that no request waits for it."""
    if sys.stderr.isatty() and at_once:
        show(told)
        return
    if sys.stderr.isatty():
        threading.Thread(target=show, args=(told,), name="dragoman-banner", daemon=True).start()
        return
    lines = RequestLog(log)
    lines.add(
        LogLevel.INFO,
        {
            "event": "listening",
            "url": told.url,
            "config": told.file,
            "models": len(told.models),
            "providers": told.providers,
            "keys": told.keys,
            "workers": told.workers,
            "state": told.state,
            "note": told.notice,
        },
    )
    lines.flush()


def show(told: banner.Facts) -> None:
    """The banner, on the error stream: standard output stays free."""
    from rich.console import Console

    banner.show(Console(stderr=True, highlight=False), told)


def _relay_log(services: Services) -> None:
    """What uvicorn has to say goes into our log."""
    logger = logging.getLogger("uvicorn.error")
    logger.handlers = [_Relay(services)]
    logger.setLevel(logging.WARNING)
    logger.propagate = False


class _Relay(logging.Handler):
    def __init__(self, services: Services) -> None:
        super().__init__(logging.WARNING)
        self._services = services

    def emit(self, record: logging.LogRecord) -> None:
        fault = record.exc_info[1] if record.exc_info else None
        if isinstance(fault, asyncio.CancelledError):
            return  # a client left; that is no fault of anybody
        line = {"event": "server", "message": record.getMessage().strip()}
        if fault is not None:
            line["traceback"] = "".join(traceback.format_exception(fault))
        self._services.lines.add(LogLevel.ERROR if record.levelno >= logging.ERROR else LogLevel.WARNING, line)
