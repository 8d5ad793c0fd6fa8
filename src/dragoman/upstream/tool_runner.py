"""What runs a provider's tools in its place: web search, fetching pages, the tools of a server.

The exchange decides which calls are run and what becomes of the results (`engine/tool_runs/tool_rounds.py`). A runner
does nothing but run them. Everything that it returns is data of strangers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from time import perf_counter, time
from typing import Protocol

from msgspec.structs import replace

from dragoman.conversation.failures import Failure, FailureKind
from dragoman.conversation.provider_tools import Family, McpServer, ProviderTool, ToolRun
from dragoman.conversation.tools import Tool
from dragoman.engine.tool_runs.approvals import WantedRun
from dragoman.engine.tool_runs.run_limits import USUAL_LIMITS, RunLimits
from dragoman.engine.tool_runs.tool_rounds import OVER, TOO_LATE, TOO_MANY, FinishedCall, fit_media, run_size
from dragoman.upstream.heavy_work import RequestWork
from dragoman.wire.json_size import LARGE

_NOT_RUN = "[what came of this call: nothing is run as long as nothing is sent]"


class ToolRunner(Protocol):
    """`caller` is the name of the key that asks. Whatever waits is cancelled with its request."""

    offers: bool
    """Whether any server is configured whose tools a request may be given."""

    families: frozenset[Family]
    """What can be run, as it is configured now. Tool search needs no runner."""

    @property
    def limits(self) -> RunLimits:
        """What one answer may take, as it is configured now."""

    def offered(self, caller: str, named: tuple[str, ...]) -> tuple[McpServer, ...]:
        """The configured servers whose tools a request is given: those of the caller, and those that are `named` for
        its destination. Never waits."""

    async def list_tools(self, caller: str, server: McpServer) -> tuple[Tool, ...] | Failure:
        """The tools of a server that the client may use (`allowed`, `read_only`), sorted by the names that the server
        has for them; or why they cannot be had. A failure has the status that the client gets if it is told."""

    async def run(self, caller: str, tool: ProviderTool, call: ToolRun) -> ToolRun:
        """The call with what came of it: `output` is what the model reads, at most `limits.bytes` long. A run that
        fails has an `error`, a word of those that vendors use (`unavailable`, `invalid_tool_input`, `url_not_allowed`,
        `too_many_requests`), and says in `output` what is wrong. It raises nothing but `CancelledError`.

        `tool` is what the client declared, with its domains, place and server. `call` has the family, the id, the
        arguments (a JSON object), and for a server the tool's name there."""

    def cost(self, tool: ProviderTool) -> float:
        """What one run costs, in dollars, as configured; 0 if nobody says."""


class ToolRuns:
    """Lists and runs tools for one request, within its limits."""

    def __init__(self, runner: ToolRunner | None, caller: str, work: RequestWork) -> None:
        """`work`: where the request is worked on; it becomes a large one with large lists or results."""
        self._runner = runner
        self._caller = caller
        self._work = work
        self.limits = runner.limits if runner is not None else USUAL_LIMITS

    async def list_all(self, tools: tuple[ProviderTool, ...]) -> list[tuple[Tool, ...] | None] | Failure:
        """Which of these can be run for the caller: the tools of each server, nothing for what needs no list, and None
        for what cannot be run; or why the tools of a server cannot be had. Time and bytes are for all together."""
        seconds = self.limits.seconds
        try:
            async with asyncio.timeout(seconds):
                return await self._list_each(tools)
        except TimeoutError:
            return _refuse_lists(tools, f"took longer than {seconds:g} seconds (tools.limits.seconds)")

    async def _list_each(self, tools: tuple[ProviderTool, ...]) -> list[tuple[Tool, ...] | None] | Failure:
        runner, size, most = self._runner, 0, self.limits.listed_bytes
        families = runner.families if runner is not None else ()
        found: list[tuple[Tool, ...] | None] = []
        for tool in tools:
            listed: tuple[Tool, ...] | Failure | None = () if tool.family in families else None
            if runner is not None and listed is not None and tool.server is not None:
                listed = await runner.list_tools(self._caller, tool.server)
            if isinstance(listed, Failure):
                return listed
            size += sum([len(one.name) + len(one.description or b"") + len(one.schema or b"") for one in listed or ()])
            if size > most:
                return _refuse_lists(tools, f"hold more than {most} bytes (tools.limits.listed_bytes)")
            found.append(listed)
        if size > LARGE:
            self._work.is_large = True
        return found

    async def run_approved(self, approved: Sequence[WantedRun]) -> list[FinishedCall]:
        """Run what the client has approved. A client may claim any number of questions."""
        limits = self.limits
        late = [FinishedCall(replace(one.call, output=OVER, error=TOO_MANY)) for one in approved[limits.calls :]]
        done = await self.run_all(approved[: limits.calls], limits.seconds)
        return [*fit_media(done, limits.media_bytes), *late]

    async def run_all(self, wanted: Sequence[WantedRun], seconds: float) -> list[FinishedCall]:
        """Run these side by side, each for so many seconds."""
        done = await asyncio.gather(*[self._run(one, seconds) for one in wanted])
        if sum([run_size(one.run) for one in done]) > LARGE:
            self._work.is_large = True
        return done

    async def _run(self, wanted: WantedRun, seconds: float) -> FinishedCall:
        runner, began, now = self._runner, perf_counter(), time()
        assert runner is not None
        try:
            async with asyncio.timeout(seconds):
                run = await runner.run(self._caller, wanted.tool, wanted.call)
        except TimeoutError:
            run = replace(wanted.call, output=f"The tool took longer than {seconds:.0f} seconds.", error=TOO_LATE)
        return FinishedCall(run, now, perf_counter() - began, runner.cost(wanted.tool))


def leave_unrun(approved: Sequence[WantedRun]) -> list[FinishedCall]:
    """What stands for results as long as nothing is sent."""
    return [FinishedCall(replace(one.call, output=_NOT_RUN)) for one in approved]


def _refuse_lists(tools: tuple[ProviderTool, ...], what: str) -> Failure:
    message = f"the lists of tools of {len(tools)} servers {what}"
    return Failure(FailureKind.BAD_REQUEST, message, 424, type="external_connector_error")
