"""All live state of a gateway, made at start and passed down: configuration, connections, store, counts."""

from __future__ import annotations

import asyncio
import os
import random
import secrets
import time
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from dragoman.config import Clients, Config, ConfigFile, FallbackReason, KnownNames, Loaded
from dragoman.config.schema import LogLevel
from dragoman.conversation.conversation import Ask
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.conversation.parts import Part
from dragoman.engine.adapt import Adapted
from dragoman.engine.lessons import Learnt
from dragoman.engine.reasoning_capture import Keep
from dragoman.engine.reasoning_restore import Kept, keeps, keys, pack, scope, unpack
from dragoman.errors import DragomanError
from dragoman.gateway.coarse_timer import CoarseTimer
from dragoman.gateway.media_fetch import MediaFetcher
from dragoman.gateway.metrics import Metrics
from dragoman.gateway.request_log import RequestLog
from dragoman.gateway.restart_required import pinned
from dragoman.gateway.tracing import open_spans
from dragoman.profiles.facts import Facts
from dragoman.profiles.profile import Layer, Profiles, Target, merge, patched
from dragoman.rules import ORDER
from dragoman.rules.context import TEXTS
from dragoman.rules.rule import FAIL, KEEP
from dragoman.store import Failure as FailureLine
from dragoman.store import Failures, Redactor, Shelf, Store, open_store, secrets_of, timestamp
from dragoman.upstream.destinations import Destination, Routes
from dragoman.upstream.dispatch import Dispatch, Hooks, Wish
from dragoman.upstream.health import Health
from dragoman.upstream.transport import Tls, Transport, TransportLimits

_REASONS = {
    FailureKind.CONTEXT_LENGTH: FallbackReason.CONTEXT_LENGTH,
    FailureKind.CONTENT_FILTER: FallbackReason.CONTENT_FILTER,
    FailureKind.RATE_LIMIT: FallbackReason.RATE_LIMIT,
}


def known_names(profiles: Profiles) -> KnownNames:
    """What a configuration may name."""
    names = profiles.names()
    variables = {name: profiles.profile(name).key.names for name in names}
    return KnownNames(
        profiles=frozenset(names),
        rules={rule.name: () if rule.free else (*rule.options, KEEP, FAIL) for rule in ORDER},
        facts=dict.fromkeys(Facts.__struct_fields__, ()),
        texts=frozenset(TEXTS),
        variables={name: found for name, found in variables.items() if found},
    )


class Services:
    """One gateway's state. `reload` replaces the configuration as a whole, or leaves everything as it was."""

    def __init__(
        self,
        loaded: Loaded,
        file: ConfigFile | None = None,
        profiles: Profiles | None = None,
        check: Callable[[Config], None] | None = None,
    ) -> None:
        """`check` raises where a configuration is good in itself and yet not for this server."""
        self.profiles = profiles or Profiles()
        self.file = file
        self._check = check
        self.config: Config = loaded.config
        self.clients = Clients(self.config.keys)
        self.routes = Routes(self.config, self.profiles)
        self.store: Store = open_store(self.config, time.time)
        self.lines = RequestLog(self.config.log)
        self.redactor = Redactor.of(self.config)
        self.failures = Failures(self.config.log.provider_errors, self.redactor)
        self.metrics = Metrics()
        self.ticker = CoarseTimer()
        self.spans = open_spans()
        self.health = Health()
        self.lessons = Lessons(self.store)
        self.media = MediaFetcher(self.config.media)
        self._retired: list[MediaFetcher] = []
        self.transports: dict[tuple[str | None, int], Transport] = {}
        self.dispatch = Dispatch(self.transport, self.health, self._hooks())
        self.started = time.time()
        self._prefix = secrets.token_hex(5)
        self._count = 0
        self.concurrent: dict[str, int] = {}
        self._reloading = asyncio.Lock()
        self.closing = False
        self.ending = False

    def request_id(self) -> str:
        """Unlike any other of this or another process."""
        self._count += 1
        return f"req_{self._prefix}{self._count:08x}"

    def reload(self) -> tuple[str, ...]:
        """Take the file as it is now. Raises DragomanError, and then nothing has changed."""
        if self.file is None:
            return ()
        loaded, routes = self._prepared(self.file)
        self._adopt(loaded.config, routes)
        return loaded.warnings

    def _prepared(self, file: ConfigFile) -> tuple[Loaded, Routes]:
        """All of a reload that takes time and touches nothing: a thread may do it while requests go on."""
        loaded = pinned(file.load(), self.config)
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
            self.failures = Failures(config.log.provider_errors, self.redactor)
        if config.media != self.config.media:
            self._retired.append(self.media)
            self.media = MediaFetcher(config.media)
        self.store.config = config.store
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
                told = self.redactor.text("".join(traceback.format_exception(fault)))
                self.lines.add(LogLevel.ERROR, {"event": "crash", "error": told})
                return
            self._adopt(loaded.config, routes)
        self.lines.add(LogLevel.INFO, {"event": "config-reloaded", "warnings": list(loaded.warnings)})

    async def close(self) -> None:
        for transport in self.transports.values():
            await transport.close()
        for media in (self.media, *self._retired):
            await media.close()
        self.lines.flush()
        self.failures.close()
        self.store.close()
        if self.spans is not None:
            self.spans.close()

    def signed(self, destination: Destination) -> tuple[tuple[str, str], ...]:
        """The headers for a destination, with a key of its pool that is not left alone."""
        key = self.health.key(destination, time.perf_counter()) if len(destination.keys) > 1 else 0
        return destination.signed(key)

    def transport(self, destination: Destination) -> Transport:
        """The connections for a destination: those of one trust and one bound are shared."""
        key = (destination.ca_file, destination.connections)
        found = self.transports.get(key)
        if found is None:
            found = self.transports[key] = Transport(TransportLimits(per_origin=key[1]), Tls(key[0]))
        return found

    def _hooks(self) -> Hooks:
        return Hooks(
            clock=time.perf_counter,
            chance=random.random,
            media=self._fetch_media,
            corrected=self.lessons.corrected,
            learnt=self._learnt,
            fetch=self._fetch,
            keep=self._keep,
            reserved=self._reserved,
            failed=self._failed,
            told=self.told,
            hush=self.redactor.known,
        )

    async def _fetch_media(self, urls: object) -> Mapping[str, bytes]:
        return await self.media.fetch(urls)  # type: ignore[arg-type]

    def told(self, failure: Failure) -> Failure:
        """A provider's words as they may be shown: it may have repeated a key of ours."""
        message = self.redactor.text(failure.message)
        return failure if message == failure.message else msgspec.structs.replace(failure, message=message)

    def _learnt(self, destination: Destination, learnt: Learnt) -> None:
        self.lessons.learn(destination, learnt)
        line = {"event": "lesson", "target": destination.name, "lesson": learnt.lesson, "facts": learnt.facts}
        self.lines.add(LogLevel.WARNING, line)

    def _fetch(self, destination: Destination, wish: Wish) -> Mapping[str, Kept]:
        """What the vault holds for this caller and this destination."""
        facts = destination.target.facts
        if not keeps(facts, wish.ask.dialect) or not self.config.store.vault.enabled:
            return {}
        held = self.store.fetch(wish.caller, facts.provider, scope(facts), keys(wish.ask.conversation))
        return {key: unpack(kept.value) for key, kept in held.items()}

    def _keep(self, destination: Destination, wish: Wish) -> Keep:
        facts = destination.target.facts

        def put(key: str, parts: tuple[Part, ...]) -> None:
            self.store.keep(wish.caller, facts.provider, scope(facts), key, pack(parts), "reasoning")

        return put

    def _reserved(self, wish: Wish, failure: Failure) -> tuple[Destination, ...]:
        reason = _REASONS.get(failure.kind)
        return self.routes.reserved(wish.answering.model, reason) if reason is not None else ()

    def _failed(self, wish: Wish, destination: Destination, adapted: Adapted, failure: Failure) -> None:
        self.metrics.failed(destination.name, failure.kind.value)
        self.failures.write(_line(wish.answering.id, destination, wish.ask, adapted, failure))


def _line(request_id: str, destination: Destination, ask: Ask, adapted: Adapted, failure: Failure) -> FailureLine:
    return FailureLine(
        timestamp=timestamp(time.time()),
        provider=destination.provider,
        stage="stream" if ask.stream else "request",
        status_code=failure.status or None,
        error_type=failure.kind.value,
        error=failure.message,
        request_id=request_id,
        target=destination.name,
        client_dialect=ask.dialect,
        upstream_dialect=adapted.dialect,
        input_request=ask.source,
        sent_request=adapted.body,
    )


class Lessons:
    """Facts that refusals corrected, remembered per target."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._facts: dict[str, dict[str, object]] = {
            name: msgspec.json.decode(value) for name, value in store.remembered(Shelf.LESSONS).items()
        }
        self._targets: dict[str, tuple[Target, Target]] = {}

    def corrected(self, destination: Destination) -> Target:
        """The destination's target as the lessons have it."""
        facts = self._facts.get(destination.name)
        if not facts:
            return destination.target
        known = self._targets.get(destination.name)
        if known is None or known[0] is not destination.target:
            made = patched(destination.target, Layer("lessons", facts))
            known = self._targets[destination.name] = (destination.target, made)
        return known[1]

    def learn(self, destination: Destination, learnt: Learnt) -> None:
        merged = merge(self._facts.get(destination.name, {}), learnt.facts)
        self._facts[destination.name] = merged
        self._targets.pop(destination.name, None)
        self._store.remember(Shelf.LESSONS, destination.name, msgspec.json.encode(merged))

    def patches(self) -> dict[str, dict[str, object]]:
        """What was learnt, as facts for a profile."""
        return dict(self._facts)


def open_services(path: Path | None, env_files: tuple[Path, ...] = (), profiles: Profiles | None = None) -> Services:
    """Read the configuration and open everything. Raises InvalidConfig."""
    found = profiles or Profiles()
    file = ConfigFile(path, known=known_names(found), process=os.environ, env_files=env_files)
    return Services(file.load(), file, found)
