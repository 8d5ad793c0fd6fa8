"""All live state of a gateway, made at start and passed down: configuration, connections, store, counts."""

from __future__ import annotations

import asyncio
import os
import secrets
import time
import traceback
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from dragoman.config import Clients, Config
from dragoman.config.file_watch import ConfigFile
from dragoman.config.load import Loaded, profile_files
from dragoman.config.schema import LogLevel, StoreKind
from dragoman.conversation.conversation import Ask
from dragoman.engine.exchange import Exchange
from dragoman.engine.lessons import Learnt
from dragoman.engine.steps import AttemptFailed
from dragoman.engine.stream_redaction import Redaction
from dragoman.errors import DragomanError
from dragoman.gateway import metrics
from dragoman.gateway.background_tasks import BackgroundTasks, CircuitBreaker
from dragoman.gateway.health_checks import HealthChecker
from dragoman.gateway.inbound import CoarseTimer
from dragoman.gateway.known_names import known_names, own_profiles
from dragoman.gateway.live_models import LiveModels
from dragoman.gateway.media_fetch import MediaFetcher
from dragoman.gateway.metrics import LiveFigures, Metrics, MetricsSnapshot, summed
from dragoman.gateway.metrics_board import BoardPlace
from dragoman.gateway.model_limits import ModelLimiter
from dragoman.gateway.recent_exchanges import RecentExchanges, keeps_bodies
from dragoman.gateway.request_log import RequestLog
from dragoman.gateway.restart_required import keep_running_values
from dragoman.gateway.server_probes import ServerProbes
from dragoman.gateway.store_spans import traced
from dragoman.gateway.tracing import open_spans
from dragoman.profiles.profile import Profiles
from dragoman.store import (
    ExchangeFiles,
    Redactor,
    RefusalLine,
    RefusalLog,
    Store,
    open_store,
    secrets_of,
    store_file,
    timestamp,
)
from dragoman.store.clock import REAL_CLOCKS, Clocks
from dragoman.store.exchange_memory import StoredMemory
from dragoman.upstream.destinations import HttpDestination, Routes
from dragoman.upstream.dispatch import Dispatcher, Transports
from dragoman.upstream.health import Health
from dragoman.upstream.heavy_work import HeavyWork
from dragoman.wire.error_bodies import provider_error

_SUMMARIES_AT_ONCE = 4
_LOGGED_ERROR = 8 * 1024
"""The body of an error that is in the log as it came; of a longer one its message is."""
_SUMMARY_FAILURES, _SUMMARY_PAUSE = 3, 300.0


class Services:
    """One gateway's state. `reload` replaces the configuration as a whole, or leaves everything as it was."""

    def __init__(
        self,
        loaded: Loaded,
        file: ConfigFile | None = None,
        profiles: Profiles | None = None,
        check: Callable[[Config], None] | None = None,
        alone: bool = False,
        place: BoardPlace | None = None,
        clocks: Clocks = REAL_CLOCKS,
    ) -> None:
        """`check` raises where a configuration is good in itself and yet not for this server.

        `alone`: no other process is expected to use the same store. `place`: where the metrics of this worker go, for
        the others. `clocks`: by which days, months and minutes are counted.
        """
        self.clocks = clocks
        folder = file.path.parent if file is not None and file.path is not None else Path()
        self.profiles = own_profiles(profile_files(loaded.config, folder), profiles)
        self.file = file
        self._check = check
        self.config: Config = loaded.config
        self.config_digest = loaded.digest
        self.clients = Clients(self.config.keys)
        self.routes = Routes(self.config, self.profiles)
        self.lines = RequestLog(self.config.log)
        self.recent = RecentExchanges(keeps_bodies(self.config))
        self.redactor = Redactor.of(self.config)
        self.spans = open_spans()
        self.store: Store = self._open_store(alone)
        self.failures = RefusalLog(self.config.log.provider_errors, self.redactor)
        self.exchanges = ExchangeFiles(self.config.log.exchanges, self.redactor)
        self.metrics = Metrics()
        self._place = place
        if place is not None:
            self.metrics.before = place.read().counters()
        self.send_limits = ModelLimiter(self.store.limits, self.metrics, clocks.steady)
        self.live_models = LiveModels()
        self.ticker = CoarseTimer()
        self.health = Health(self.store.cooldowns)
        self.figures = LiveFigures()
        self.summaries = BackgroundTasks(_SUMMARIES_AT_ONCE)
        self.summary_breaker = CircuitBreaker(_SUMMARY_FAILURES, _SUMMARY_PAUSE)
        self.redaction = Redaction(self.redactor.text, self.redactor.known)
        self.memory = StoredMemory(self.store, self._note_lesson)
        self.media = MediaFetcher(self.config.media)
        self.heavy = HeavyWork()
        self.transports = Transports()
        self.dispatcher = Dispatcher(
            memory=self.memory,
            media=self.media,
            send_limits=self.send_limits,
            health=self.health,
            transports=self.transports,
            heavy=self.heavy,
            limits=self.config.limits,
            redaction=self.redaction,
            note_failure=self._note_failure,
        )
        self.checks = HealthChecker(self.dispatcher, lambda: (self.config, self.routes), self.log)
        self.probes = ServerProbes(
            self.store.lessons,
            self.store.leases,
            models=self.live_models,
            connect=self.transports.of,
            sign=self.health.signed,
            redact=self.redactor.text,
            log=self.log,
        )
        self.started = time.time()
        self.request_ids: Iterator[str] = map(f"req_{secrets.token_hex(5)}{{:08x}}".format, count(1))
        """Ids for requests, unlike any other of this or another process."""
        self.concurrent: dict[str, int] = {}
        self._reloading = asyncio.Lock()
        self.closing = False
        self.ending = False
        self.setup_token = ""

    def _open_store(self, alone: bool) -> Store:
        """The store that the configuration asks for; a configuration without a file is kept in memory."""
        file, store = self.file, self.config.store
        path = store_file(store, file.path) if file is not None else None
        if file is None and store.path is not None:
            path = store_file(store, None)
        opened = open_store(self.config, path, clocks=self.clocks, redactor=self.redactor, alone=alone)
        if opened.warning is not None:
            self.lines.add(LogLevel.WARNING, {"event": "store", "warning": opened.warning})
        if self.spans is None:
            return opened.store
        self.spans.place = opened.store.place
        return traced(opened.store)

    def reload(self) -> tuple[str, ...]:
        """Take the file as it is now. Raises DragomanError, and then nothing has changed."""
        if self.file is None:
            return ()
        loaded, routes = self._prepared(self.file)
        self._adopt(loaded.config, routes)
        self.config_digest = loaded.digest
        return loaded.warnings

    def _prepared(self, file: ConfigFile) -> tuple[Loaded, Routes]:
        """All of a reload that takes time and touches nothing: a thread may do it while requests go on."""
        loaded = keep_running_values(file.load(), self.config)
        if self._check is not None:
            self._check(loaded.config)
        routes = Routes(loaded.config, self.profiles)
        for name in loaded.config.models:
            routes.find(name)
        return loaded, routes

    def _adopt(self, config: Config, routes: Routes) -> None:
        """Requests under way keep what they have; the next one sees the new configuration."""
        self.redactor.know(secrets_of(config))
        if config.log != self.config.log:
            self.lines.flush()
            self.lines = RequestLog(config.log, self.lines.stream)
        if config.log.provider_errors != self.config.log.provider_errors:
            self.failures.close()
            self.failures = RefusalLog(config.log.provider_errors, self.redactor)
        if config.log.exchanges != self.config.log.exchanges:
            self.exchanges.close()
            self.exchanges = ExchangeFiles(config.log.exchanges, self.redactor)
        self.media.config = config.media
        self.store.reconfigure(config.store)
        self.recent.keep(keeps_bodies(config))
        self.dispatcher.limits = config.limits
        self.config, self.routes, self.clients = config, routes, Clients(config.keys)

    async def reload_if_changed(self) -> None:
        """For the watcher: a bad file is refused once, until it changes again."""
        if self.file is not None and self.file.changed():
            await self.reload_now()

    async def reload_now(self) -> None:
        """Reload and say so; a bad file is refused with its error, and the old configuration stays.

        A large file takes seconds to read. No stream stands still for it.
        """
        if self.file is None:
            return
        async with self._reloading:
            try:
                loaded, routes = await asyncio.to_thread(self._prepared, self.file)
            except DragomanError as fault:
                self.lines.add(LogLevel.ERROR, {"event": "config-refused", "error": self.redactor.text(str(fault))})
                return
            except Exception as fault:  # whoever watches the file must go on watching
                trace = self.redactor.text("".join(traceback.format_exception(fault)))
                self.lines.add(LogLevel.ERROR, {"event": "crash", "error": trace})
                return
            self._adopt(loaded.config, routes)
            self.config_digest = loaded.digest
        line = {"event": "config-reloaded", "digest": loaded.digest, "warnings": list(loaded.warnings)}
        self.lines.add(LogLevel.INFO, line)

    async def close(self) -> None:
        self.heavy.close()
        self.live_models.close()
        for transport in self.transports.values():
            await transport.close()
        await self.media.close()
        self.lines.flush()
        self.failures.close()
        self.exchanges.close()
        await self.store.aclose()
        if self.spans is not None:
            self.spans.close()

    def log(self, level: LogLevel, line: dict[str, Any]) -> None:
        """Write a line, as the log is configured now."""
        self.lines.add(level, line)

    async def all_metrics(self) -> MetricsSnapshot:
        """The metrics of this process and of all that serve beside it."""
        own = self._own_metrics(len(await self.memory.records()))
        if self._place is None:
            return own
        self._place.write(own)  # before it is shown: nobody may show less later
        return summed([own, *self._place.others()])

    def publish_metrics(self) -> None:
        """Let the other workers show the metrics of this one. Lessons are told by whoever is asked."""
        if self._place is not None:
            self._place.write(self._own_metrics(0))

    def _own_metrics(self, lessons: int) -> MetricsSnapshot:
        connections = [transport.stats for transport in self.transports.values()]
        store = self.store.health()
        return self.metrics.snapshot(
            {
                metrics.ACTIVE.name: self.metrics.active,
                metrics.ABORTED.name: self.metrics.aborted,
                metrics.TASKS.name: len(asyncio.all_tasks()),
                metrics.CONNECTIONS.name: sum(one.open for one in connections),
                metrics.IDLE.name: sum(one.idle for one in connections),
                metrics.QUEUED.name: sum(one.queued for one in connections),
                metrics.WAITING_FOR_LIMITS.name: self.send_limits.waiting,
                metrics.WAITING.name: store.waiting,
                metrics.DROPPED.name: store.dropped,
                metrics.FAILED.name: store.failed,
                metrics.UNREAD.name: store.unread,
                metrics.REPLACED.name: store.replaced,
                metrics.AWAY.name: int(store.away is not None),
                metrics.LOCAL.name: store.local,
                metrics.RECONNECTS.name: store.reconnects,
                metrics.REPLICAS.name: store.replicas,
                metrics.LESSONS.name: lessons,
                metrics.WORKERS.name: 1,
            },
            {metrics.CONFIG.name: (self.config_digest,)},
        )

    def _note_failure(self, exchange: Exchange[HttpDestination], failed: AttemptFailed[HttpDestination]) -> None:
        """Count a failed send, and write it down with what was asked and what was sent."""
        failure = failed.failure
        self.metrics.failed(failed.destination.name, failure.kind.value)
        self.failures.write(_refusal_line(exchange.context.id, exchange.ask, failed))
        if self.lines.takes(LogLevel.WARNING):
            short = 0 < len(failure.raw) <= _LOGGED_ERROR
            error = (
                self.redactor.value(provider_error(failure.raw))
                if short
                else self.redactor.text(failure.message[:_LOGGED_ERROR])
            )
            line = {"event": "provider-error", "id": exchange.context.id, "target": failed.destination.name}
            self.lines.add(LogLevel.WARNING, {**line, "status": failure.status, "error": error})

    def _note_lesson(self, destination: HttpDestination, learnt: Learnt) -> None:
        self.metrics.learnt(destination.name, learnt.lesson)
        line = {"event": "lesson", "target": destination.name, "lesson": learnt.lesson, "facts": learnt.facts}
        self.lines.add(LogLevel.WARNING, {**line, "tentative": learnt.tentative})


def _refusal_line(request_id: str, ask: Ask, failed: AttemptFailed[HttpDestination]) -> RefusalLine:
    destination, failure = failed.destination, failed.failure
    return RefusalLine(
        timestamp=timestamp(time.time()),
        provider=destination.provider,
        stage="stream" if ask.stream else "request",
        status_code=failure.status or None,
        error_type=failure.kind.value,
        error=failure.message,
        error_object=failure.raw or None,
        request_id=request_id,
        target=destination.name,
        client_dialect=ask.dialect,
        upstream_dialect=failed.request.dialect,
        input_request=ask.source,
        sent_request=failed.request.body,
    )


def open_services(
    path: Path | None,
    env_files: tuple[Path, ...] = (),
    profiles: Profiles | None = None,
    *,
    in_memory: bool = False,
    clocks: Clocks = REAL_CLOCKS,
) -> Services:
    """Read the configuration and open everything. Raises InvalidConfig. `in_memory`: read and write no store's file."""
    found = profiles or Profiles()
    file = ConfigFile(path, known=known_names(found), process=os.environ, env_files=env_files)
    loaded = file.load()
    return Services(in_memory_only(loaded) if in_memory else loaded, file, found, clocks=clocks)


def in_memory_only(loaded: Loaded) -> Loaded:
    """The same configuration with its state in memory."""
    store = replace(loaded.config.store, kind=StoreKind.MEMORY, hot=None, ledger=None)
    return replace(loaded, config=replace(loaded.config, store=store))
