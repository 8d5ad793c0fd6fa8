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
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from dragoman.config import Clients, Config
from dragoman.config.file_watch import ConfigFile
from dragoman.config.load import Loaded, profile_files
from dragoman.config.schema import LogLevel, StoreKind
from dragoman.engine.answer.stream_redaction import Redaction
from dragoman.engine.memory.conversation_memory import CallerMemory, ConversationMemory
from dragoman.errors import DragomanError
from dragoman.gateway.http.inbound import CoarseTimer
from dragoman.gateway.http.restart_required import keep_running_values
from dragoman.gateway.models.health_checks import HealthChecker
from dragoman.gateway.models.known_names import known_names, own_profiles
from dragoman.gateway.models.live_models import LiveModels
from dragoman.gateway.models.model_limits import ModelLimiter
from dragoman.gateway.models.server_probes import ServerProbes
from dragoman.gateway.records import metrics
from dragoman.gateway.records.metrics import LiveFigures, MetricsSnapshot, summed
from dragoman.gateway.records.metrics_board import BoardPlace
from dragoman.gateway.records.records import Records
from dragoman.gateway.records.store_spans import traced
from dragoman.gateway.records.stored_prompt_record import record_stored
from dragoman.gateway.sockets.open_sockets import OpenSockets
from dragoman.gateway.state.background_tasks import BackgroundTasks, CircuitBreaker
from dragoman.gateway.state.seals import Seals
from dragoman.gateway.state.stored_beginnings import StoredBeginnings
from dragoman.gateway.tools.tool_runs import GatewayTools, check_extra
from dragoman.profiles.profile import Profiles
from dragoman.store import (
    Store,
    open_store,
    store_file,
)
from dragoman.store.clock import REAL_CLOCKS, Clocks
from dragoman.store.exchange_state import StoredState
from dragoman.store.settings import options_of
from dragoman.upstream.destinations import Routes
from dragoman.upstream.dispatch import Dispatcher, Transports
from dragoman.upstream.health import Health
from dragoman.upstream.heavy_work import HeavyWork
from dragoman.upstream.media_fetch import MediaFetcher
from dragoman.upstream.stored_prompts import StoredBooking

if TYPE_CHECKING:
    from dragoman.gateway.state.background_answers import BackgroundJob

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
        self.records = records = Records(self.config)
        self.store: Store = self._open_store(alone)
        self._place = place
        if place is not None:
            records.metrics.before = place.read().counters()
        self.live_models = LiveModels()
        self.ticker = CoarseTimer()
        self.figures = LiveFigures()
        self.summaries = BackgroundTasks(_SUMMARIES_AT_ONCE, CircuitBreaker(_SUMMARY_FAILURES, _SUMMARY_PAUSE))
        self.memory = StoredState(self.store, records.note_lesson)
        self.media = MediaFetcher(self.config.media)
        self.tools = GatewayTools(self.config)
        self.send_limits = ModelLimiter(self.store.limits, records.metrics, clocks.steady)
        self.dispatcher = Dispatcher(
            memory=self.memory,
            media=self.media,
            send_limits=self.send_limits,
            health=Health(self.store.cooldowns),
            transports=Transports(),
            heavy=HeavyWork(),
            limits=self.config.limits,
            redaction=Redaction(records.redactor.text, records.redactor.known),
            note_failure=records.note_failure,
            note_stored=self._note_stored,
            tools=self.tools,
        )
        self.checks = HealthChecker(self.dispatcher, lambda: (self.config, self.routes), self.log)
        self.probes = ServerProbes(
            self.store.lessons,
            self.store.leases,
            models=self.live_models,
            connect=self.dispatcher.transports.of,
            sign=self.dispatcher.health.signed,
            redact=records.redactor.text,
            log=self.log,
        )
        self.started = time.time()
        self.request_ids: Iterator[str] = map(f"req_{secrets.token_hex(5)}{{:08x}}".format, count(1))
        """Ids for requests, unlike any other of this or another process."""
        self.concurrent: dict[str, int] = {}
        self.sockets = OpenSockets(self.config.server.workers, place.sockets if place is not None else None)
        self.beginnings = StoredBeginnings(clocks.steady)
        self.conversations = self._open_memory()
        self._forgets = 0
        self._reloading = asyncio.Lock()
        self.closing = False
        self.ending = False
        self.setup_token = ""
        self.jobs: dict[str, BackgroundJob] = {}
        """Answers that this process makes in the background, by their ids."""
        self.seals: tuple[list[bytes], Seals] | None = None
        """What seals for clients to carry, and the configured secrets that it was made of."""

    def _open_store(self, alone: bool) -> Store:
        """The store that the configuration asks for; a configuration without a file is kept in memory."""
        file, store = self.file, self.config.store
        path = store_file(store, file.path) if file is not None else None
        if file is None and store.path is not None:
            path = store_file(store, None)
        opened = open_store(self.config, path, clocks=self.clocks, redactor=self.records.redactor, alone=alone)
        if opened.warning is not None:
            self.log(LogLevel.WARNING, {"event": "store", "warning": opened.warning})
        if self.records.spans is None:
            return opened.store
        self.records.spans.place = opened.store.place
        return traced(opened.store)

    def _open_memory(self) -> ConversationMemory:
        """An empty memory of conversations. What open sockets remember counts in it."""
        server = self.config.server
        budget = server.conversation_memory // server.workers
        return ConversationMemory(budget, clock=self.clocks.steady, beside=lambda: self.sockets.memory.size)

    def memory_of(self, caller: str) -> CallerMemory | None:
        """What is remembered of a caller's conversations; None if that is turned off."""
        if not self.config.server.conversation_memory:
            return None
        self.follow_forgets()
        return self.conversations.of(caller)

    def follow_forgets(self) -> None:
        """Forget what is remembered of conversations, if another worker was told to since."""
        if self._place is not None and self._place.forgets != self._forgets:
            self._forgets = self._place.forgets
            self.conversations.forget()
            self.sockets.forget()
            self.dispatcher.stored.forget()

    def forget_conversations(self, caller: str) -> None:
        """Drop what all workers remember of a caller's conversations."""
        self.sockets.forget(caller)
        self.conversations.forget(caller)
        self.dispatcher.stored.forget(caller)
        if self._place is not None:
            self._place.note_forget()

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
        check_extra(loaded.config)
        if self._check is not None:
            self._check(loaded.config)
        routes = Routes(loaded.config, self.profiles)
        for name in loaded.config.models:
            routes.find(name)
        return loaded, routes

    def _adopt(self, config: Config, routes: Routes) -> None:
        """Requests under way keep what they have; the next one sees the new configuration."""
        self.records.reconfigure(config)
        self.dispatcher.limits = config.limits
        self.media.config = config.media
        self.tools.reconfigure(config)
        self.store.reconfigure(options_of(config))
        self.config, self.routes, self.clients = config, routes, Clients(config.keys)
        self.conversations = self._open_memory()

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
                self.log(LogLevel.ERROR, {"event": "config-refused", "error": self.records.redactor.text(str(fault))})
                return
            except Exception as fault:  # whoever watches the file must go on watching
                trace = self.records.redactor.text("".join(traceback.format_exception(fault)))
                self.log(LogLevel.ERROR, {"event": "crash", "error": trace})
                return
            self._adopt(loaded.config, routes)
            self.config_digest = loaded.digest
        line = {"event": "config-reloaded", "digest": loaded.digest, "warnings": list(loaded.warnings)}
        self.log(LogLevel.INFO, line)

    async def close(self) -> None:
        self.live_models.close()
        await self.dispatcher.close()
        await self.media.close()
        await self.tools.close()
        self.records.close()
        await self.store.aclose()
        if self.records.spans is not None:
            self.records.spans.close()

    def _note_stored(self, booked: StoredBooking) -> None:
        record_stored(self.records, self.store, self.clocks, self.config, next(self.request_ids), booked)

    def log(self, level: LogLevel, line: dict[str, Any]) -> None:
        """Write a line, as the log is configured now."""
        self.records.lines.add(level, line)

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
        connections = [transport.stats for transport in self.dispatcher.transports.values()]
        store = self.store.health()
        return self.records.metrics.snapshot(
            {
                metrics.ACTIVE.name: self.records.metrics.active,
                metrics.ABORTED.name: self.records.metrics.aborted,
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


def open_services(
    path: Path | None,
    env_files: tuple[Path, ...] = (),
    profiles: Profiles | None = None,
    *,
    in_memory: bool = False,
    alone: bool = False,
    clocks: Clocks = REAL_CLOCKS,
) -> Services:
    """Read the configuration and open everything. Raises InvalidConfig. `in_memory`: read and write no store's file.
    `alone`: no other process is expected to use it."""
    found = profiles or Profiles()
    file = ConfigFile(path, known=known_names(found), process=os.environ, env_files=env_files)
    loaded = file.load()
    return Services(in_memory_only(loaded) if in_memory else loaded, file, found, alone=alone, clocks=clocks)


def in_memory_only(loaded: Loaded) -> Loaded:
    """The same configuration with its state in memory."""
    store = replace(loaded.config.store, kind=StoreKind.MEMORY, hot=None, ledger=None)
    return replace(loaded, config=replace(loaded.config, store=store))
