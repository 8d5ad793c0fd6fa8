"""Servers that are asked what they accept, at first use, beside the requests: those whose profile says `probed`.

The first request goes out at once, compiled with care. Beside it the chat template is run if the server tells it,
else the server is asked. What is found is kept in the store like a lesson, under the name `probe`, and is used from
then on. The refusals behind it are kept beside it, for whoever asks why. It is done again when the models change.
"""

from __future__ import annotations

import asyncio
import time
import traceback
from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import msgspec
from msgspec.structs import replace

from dragoman.config.schema.log import LogLevel
from dragoman.conversation.dialect_names import DEFAULT_DIALECT
from dragoman.dialects.dialect import RenderOptions
from dragoman.engine.exchange.lesson_book import DAY, LessonRecord
from dragoman.errors import TemplateError
from dragoman.gateway.models.live_models import LiveModels
from dragoman.gateway.state.background_tasks import BackgroundTasks, CircuitBreaker
from dragoman.probe.live.budget import ProbeBudget
from dragoman.store.contracts.leases import Leases
from dragoman.store.contracts.lesson_records import LessonRecords
from dragoman.upstream.destinations import HttpDestination
from dragoman.upstream.transport.failures import ConnectFailed
from dragoman.upstream.transport.transport import Transport

if TYPE_CHECKING:
    from dragoman.probe.live.asked_server import AskedServer
    from dragoman.probe.template.sources import TemplateSource

PROBE = "probe"
"""The name of the record with all facts."""
REFUSALS = " (refusals)"
"""Ends the name under which the refusals are kept. No request goes there, so they are shown and not used."""
KEPT_SECONDS = 30 * DAY
KEPT_IN_PART = DAY
"""Of a probe that ended early."""
LOOK_SECONDS = 300.0
"""How often the server is asked whether its models have changed, while it is used."""
_BUDGET = ProbeBudget(requests=100, seconds=300.0, rate=2.0)
_LEASE_MARGIN = 60.0
"""Seconds that a probe may take besides its budget: to find the server, to run a template, to write."""
_OTHERS_SECONDS = 10.0
"""After so many seconds it is looked whether another one that asks has found something, or is gone."""
_AT_ONCE = 2
_FIND_SECONDS = 10.0
_FAILURES, _PAUSE = 1, 3600.0
_LONGEST_NAME = 200


class ServerProbes(msgspec.Struct, eq=False):
    """Begins probes, and keeps what they find."""

    records: LessonRecords
    leases: Leases
    models: LiveModels
    connect: Callable[[HttpDestination], Transport]
    """The connections to a server."""
    sign: Callable[[HttpDestination], tuple[tuple[str, str], ...]]
    """The headers for it."""
    redact: Callable[[str], str]
    """Takes secrets out of what it says."""
    log: Callable[[LogLevel, dict[str, Any]], None]
    budget: ProbeBudget = _BUDGET
    look_seconds: float = LOOK_SECONDS
    _holder: str = msgspec.field(default_factory=lambda: uuid4().hex)
    _tasks: BackgroundTasks = msgspec.field(
        default_factory=lambda: BackgroundTasks(_AT_ONCE, CircuitBreaker(_FAILURES, _PAUSE))
    )
    _looked: dict[str, float] = {}

    def note_use(self, destination: HttpDestination) -> None:
        """Somebody sends a request there. Never waits."""
        if not destination.target.profile.probed or self._tasks.breaker.is_open(destination.name):
            return
        if time.monotonic() < self._looked.get(destination.name, 0.0):
            return
        if self._tasks.start(destination.name, lambda: self._look(destination)):
            self._looked[destination.name] = time.monotonic() + self.look_seconds

    async def wait(self) -> None:
        """Wait for all that is under way."""
        await self._tasks.wait()

    async def stop(self) -> None:
        await self._tasks.stop()

    async def _look(self, destination: HttpDestination) -> None:
        """Ask the server, unless it was asked before and has the same models still."""
        try:
            source = await self._template(destination)
            mark = await self._mark(destination, "" if source is None else source.text)
            if not self._is_known(destination, mark):
                await self._find_out(destination, mark, source)
        except Exception as fault:  # nobody waits for this task, so nobody else would tell
            self._tasks.breaker.failed(destination.name)
            trace = self.redact("".join(traceback.format_exception(fault)))
            self.log(LogLevel.ERROR, {"event": "crash", "error": trace})

    def _is_known(self, destination: HttpDestination, mark: str) -> bool:
        known = next((one for one in self.records.find(destination.name) if one.name == PROBE), None)
        return known is not None and known.request_id == mark

    async def _find_out(self, destination: HttpDestination, mark: str, source: TemplateSource | None) -> None:
        """Ask the server, unless another worker or replica does. What that one finds comes by the store.

        The lease is not given up at the end, so that nobody asks again before the others see what was found.
        """
        lease = f"{PROBE} {destination.name}"
        if not await self.leases.take(lease, self._holder, self.budget.seconds + _LEASE_MARGIN):
            self._looked[destination.name] = time.monotonic() + min(self.look_seconds, _OTHERS_SECONDS)
            return
        try:
            await self._keep(destination, mark, await self._find(destination, source))
        except BaseException:
            await self.leases.release(lease)
            raise

    async def _template(self, destination: HttpDestination) -> TemplateSource | None:
        """The chat template that the server tells, if it does and it can be run. It says what is accepted of Chat
        requests; what becomes of others before they reach it is the server's own affair."""
        if destination.target.dialect != DEFAULT_DIALECT:
            return None
        from dragoman.probe.live.server_template import find_template

        url, model = destination.base_url, destination.target.model
        try:
            return await find_template(url, model, self.sign(destination), self.connect(destination), _FIND_SECONDS)
        except ConnectFailed:
            return None

    async def _mark(self, destination: HttpDestination, template: str) -> str:
        """What tells one state of a server from another: its models, what it says about this one, and the template."""
        entries = await self.models.entries(destination, self.connect(destination))
        entry = {name: value for name, value in entries.get(destination.target.model, {}).items() if name != "created"}
        stated = msgspec.json.encode((sorted(entries), entry, template), order="sorted")
        return f"{PROBE}-{sha256(stated).hexdigest()[:16]}"

    async def _find(self, destination: HttpDestination, source: TemplateSource | None) -> AskedServer:
        """What the template says; if there is none, or it takes no conversation, what the server says."""
        from dragoman.probe.live.asked_server import run_template

        if source is None:
            return await self._ask(destination)
        try:
            return await asyncio.to_thread(run_template, source)
        except TemplateError:
            return await self._ask(destination)

    async def _keep(self, destination: HttpDestination, mark: str, asked: AskedServer) -> None:
        line = {"event": "probe", "target": destination.name, "requests": asked.requests, "facts": asked.facts}
        self.log(LogLevel.INFO, {**line, "by": asked.by, "ended": asked.ended})
        if not asked.facts:
            self._tasks.breaker.failed(destination.name)
            return
        now = time.time()
        record = LessonRecord(
            target=destination.name,
            name=PROBE,
            facts=asked.facts,
            confirmed=True,
            request_id=mark,
            learnt=now,
            expires=now + (KEPT_IN_PART if asked.ended else KEPT_SECONDS),
        )
        await self.records.put(record)
        await self.records.forget(destination.name + REFUSALS)
        for one in _refusals(record, asked):
            await self.records.put(one)

    async def _ask(self, destination: HttpDestination) -> AskedServer:
        # Loaded with the first use, as the others above: most gateways know all their servers.
        from dragoman.probe.asked_dialects import find_asked_dialect, list_asked
        from dragoman.probe.findings import FoundBy
        from dragoman.probe.live.asked_server import AskedServer, ask_server
        from dragoman.probe.live.probed_server import ProbedServer

        model = destination.target.model
        if destination.target.dialect not in list_asked():
            return AskedServer({}, (), FoundBy.ASKED, ended=f"nothing is asked in {destination.target.dialect}")
        asked = find_asked_dialect(destination.target.dialect)
        path = asked.dialect.request_path(RenderOptions(model, False), "")
        server = ProbedServer(destination.url(path), model, self.sign(destination), asked)
        return await ask_server(server, self.connect(destination), self.budget, self.redact)


def _refusals(record: LessonRecord, asked: AskedServer) -> Iterator[LessonRecord]:
    """A record for each refusal: what was asked, and the server's words."""
    for refusal in asked.refusals:
        name, facts = f"{refusal.asks}: {refusal.says}"[:_LONGEST_NAME], dict(refusal.facts)
        yield replace(record, target=record.target + REFUSALS, name=name, facts=facts)
