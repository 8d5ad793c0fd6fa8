"""Several dispatches, at once or one after the other, for a client that gets all of their answers as one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import Any, Protocol

from dragoman.engine.exchange.exchange import Exchange
from dragoman.engine.exchange.steps import Answered, End, GaveUp, Streaming, StreamingAll


class PartUnderWay(Protocol):
    """What carries out the exchange for one part of the answer."""

    @property
    def exchange(self) -> Exchange[Any]: ...
    async def run(self) -> End: ...
    def pieces(self, opened: Streaming | StreamingAll) -> AsyncGenerator[bytes]: ...


class SideBySide:
    """Dispatches under way, each in a task of its own. They stand in one line to say that there is something for the
    client. The line is short: a client that reads slowly slows all of them down."""

    def __init__(
        self, parts: Sequence[PartUnderWay], then: Callable[[], Awaitable[PartUnderWay | None]] | None = None
    ) -> None:
        """`then` gives the dispatch that follows one that was answered, if any does."""
        self._then = then
        self._line: asyncio.Queue[Answered | GaveUp | Exception | None] = asyncio.Queue(len(parts))
        self._left = len(parts)
        self._tasks = [asyncio.ensure_future(self._follow(part)) for part in parts]

    async def more(self) -> GaveUp | bool:
        """Whether there is more of a stream, of whichever answer; False: all answers are there. Else the failure of one
        that cannot be had: then nothing else is wanted."""
        while self._left:
            came = await self._line.get()
            if isinstance(came, Exception):
                raise came
            if not isinstance(came, Answered):
                return True if came is None else came
            self._left -= 1
        return False

    async def stop(self) -> None:
        """End what is still under way, and wait for it."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _follow(self, part: PartUnderWay) -> None:
        try:
            end = await self._pass_on(part)
            while (
                self._then is not None and isinstance(end, Answered) and (following := await self._then()) is not None
            ):
                if following.exchange.ask.stream:
                    await self._line.put(None)  # what came between them
                end = await self._pass_on(following)
            await self._line.put(end)
        except Exception as fault:  # it is raised where the answers are awaited
            await self._line.put(fault)

    async def _pass_on(self, part: PartUnderWay) -> Answered | GaveUp:
        end = await part.run()
        if not isinstance(end, (Streaming, StreamingAll)):
            return end
        async with aclosing(part.pieces(end)) as pieces:
            async for _ in pieces:
                await self._line.put(None)
        failure = part.exchange.failure
        return Answered(b"") if failure is None else GaveUp(failure)
