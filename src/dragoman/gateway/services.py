"""All live state of a gateway, made at start and passed down: configuration, connections, store, counts."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import msgspec
from msgspec.structs import replace

from dragoman.config.file_watch import ConfigFile
from dragoman.config.load import Loaded
from dragoman.config.schema.config_file import Config
from dragoman.config.schema.log import LogLevel
from dragoman.config.schema.store import StoreKind
from dragoman.engine.answer.stream_redaction import Redaction
from dragoman.gateway.callers.caller import Traffic
from dragoman.gateway.config_names import collect_names
from dragoman.gateway.live_config import LiveConfig
from dragoman.gateway.models.health_checks import HealthChecker
from dragoman.gateway.models.live_models import LiveModels
from dragoman.gateway.models.model_limits import ModelLimiter
from dragoman.gateway.models.server_probes import ServerProbes
from dragoman.gateway.records import metrics
from dragoman.gateway.records.metrics import LiveFigures, MetricsSnapshot, sum_snapshots
from dragoman.gateway.records.metrics_board import BoardPlace
from dragoman.gateway.records.records import Records
from dragoman.gateway.records.store_spans import trace_store
from dragoman.gateway.records.stored_prompt_record import book_stored, record_stored
from dragoman.gateway.state.kept_conversations import KeptConversations
from dragoman.gateway.tools.tool_runs import GatewayTools
from dragoman.profiles.profile import Profiles
from dragoman.store.clock import REAL_CLOCKS, Clocks
from dragoman.store.exchange_state import StoredState
from dragoman.store.location import store_file
from dragoman.store.open_store import open_store
from dragoman.store.settings import options_of
from dragoman.store.store import Store
from dragoman.upstream.auth.authorizers import Authorizers
from dragoman.upstream.cooldowns import Health
from dragoman.upstream.dispatch import Dispatcher
from dragoman.upstream.heavy_work import HeavyWork
from dragoman.upstream.media_fetch import MediaFetcher
from dragoman.upstream.stored_prompts import StoredBooking, StoredPrompts
from dragoman.upstream.transports import Transports


class ModelStates(msgspec.Struct):
    """What is known of models and their providers, beside the configuration."""

    lists: LiveModels
    """What providers say which models they have."""
    figures: LiveFigures
    """How fast and how busy each destination is."""
    limits: ModelLimiter
    """How much each destination may be sent."""
    checks: HealthChecker
    """Which models answer."""
    probes: ServerProbes
    """What servers of one's own accept."""


class Services:
    """One gateway's state, in a few parts. A function that needs one part takes that one."""

    def __init__(
        self,
        loaded: Loaded,
        file: ConfigFile | None = None,
        profiles: Profiles | None = None,
        *,
        check: Callable[[Config], None] | None = None,
        alone: bool = False,
        place: BoardPlace | None = None,
        clocks: Clocks = REAL_CLOCKS,
    ) -> None:
        """`check` raises if a configuration is good in itself and yet not for this server.

        `alone`: no other process is expected to use the same store. `place`: where the metrics of this worker go, for
        the others. `clocks`: by which days, months and minutes are counted.
        """
        config = loaded.config
        self.clocks = clocks
        self.records = records = Records(config)
        self.live = live = LiveConfig(loaded, records, file, profiles, check)
        self.store: Store = self._open_store(alone)
        self.traffic = Traffic(records.metrics, config.server.max_concurrent)
        self.exchange_state = StoredState(self.store, records.note_lesson)
        self.media = MediaFetcher(config.media)
        self.tools = GatewayTools(config)
        limits = ModelLimiter(self.store.limits, records.metrics, clocks.steady)
        transports, authorizers = Transports(), Authorizers()
        self.dispatcher = dispatcher = Dispatcher(
            memory=self.exchange_state,
            media=self.media,
            send_limits=limits,
            health=Health(self.store.cooldowns),
            transports=transports,
            heavy=HeavyWork(),
            authorizers=authorizers,
            stored=StoredPrompts(transports, authorizers, self._note_stored),
            limits=config.limits,
            redaction=Redaction(records.redactor.text, records.redactor.known),
            note_failure=records.note_failure,
            tools=self.tools,
        )
        self.conversations = KeptConversations(config.server, clocks.steady, dispatcher.stored, place)
        lists = LiveModels()
        self.models = ModelStates(
            lists=lists,
            figures=LiveFigures(),
            limits=limits,
            checks=HealthChecker(dispatcher, lambda: (live.config, live.routes), records.log),
            probes=ServerProbes(
                self.store.lessons,
                self.store.leases,
                models=lists,
                connect=dispatcher.transports.of,
                sign=dispatcher.health.signed,
                redact=records.redactor.text,
                log=records.log,
            ),
        )
        live.followers.append(self._reconfigure)
        self._place = place
        if place is not None:
            records.metrics.before = place.read().counters()

    def _open_store(self, alone: bool) -> Store:
        """The store that the configuration asks for; a configuration without a file is kept in memory."""
        file, store = self.live.file, self.live.config.store
        path = store_file(store, file.path) if file is not None else None
        if file is None and store.path is not None:
            path = store_file(store, None)
        opened = open_store(self.live.config, path, clocks=self.clocks, redactor=self.records.redactor, alone=alone)
        if opened.warning is not None:
            self.records.log(LogLevel.WARNING, {"event": "store", "warning": opened.warning})
        if self.records.spans is None:
            return opened.store
        self.records.spans.place = opened.store.place
        return trace_store(opened.store)

    def _reconfigure(self, config: Config) -> None:
        self.records.reconfigure(config)
        self.traffic.most = config.server.max_concurrent
        self.dispatcher.limits = config.limits
        self.media.config = config.media
        self.tools.reconfigure(config)
        self.store.reconfigure(options_of(config))
        self.conversations.reconfigure(config.server)

    async def close(self) -> None:
        self.models.lists.close()
        await self.dispatcher.close()
        await self.media.close()
        await self.tools.close()
        self.records.close()
        await self.store.aclose()
        if self.records.spans is not None:
            self.records.spans.close()

    def _note_stored(self, booked: StoredBooking) -> None:
        record_stored(self.records, self.store, next(self.traffic.ids), booked)
        book_stored(self.store.budgets, self.live.config.keys, self.clocks, booked)

    async def all_metrics(self) -> MetricsSnapshot:
        """The metrics of this process and of all that serve beside it."""
        own = self._own_metrics(len(await self.exchange_state.records()))
        if self._place is None:
            return own
        self._place.write(own)  # before it is shown: nobody may show less later
        return sum_snapshots([own, *self._place.others()])

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
                metrics.WAITING_FOR_LIMITS.name: self.models.limits.waiting,
                metrics.WAITING.name: store.waiting,
                metrics.DROPPED.name: store.dropped,
                metrics.FAILED.name: store.failed,
                metrics.UNREAD.name: store.unread,
                metrics.REPLACED.name: store.replaced,
                metrics.AWAY.name: int(bool(store.away)),
                metrics.LOCAL.name: store.local,
                metrics.RECONNECTS.name: store.reconnects,
                metrics.REPLICAS.name: store.replicas,
                metrics.LESSONS.name: lessons,
                metrics.WORKERS.name: 1,
            },
            {metrics.CONFIG.name: (self.live.digest,)},
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
    file = ConfigFile(path, known=collect_names(found), process=os.environ, env_files=env_files)
    loaded = file.load()
    return Services(keep_in_memory(loaded) if in_memory else loaded, file, found, alone=alone, clocks=clocks)


def keep_in_memory(loaded: Loaded) -> Loaded:
    """The same configuration with its state in memory."""
    store = replace(loaded.config.store, kind=StoreKind.MEMORY, hot=None, ledger=None)
    return replace(loaded, config=replace(loaded.config, store=store))
