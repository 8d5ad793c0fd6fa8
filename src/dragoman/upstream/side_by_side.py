"""Several dispatches at once, for a client that gets all of their answers as one."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING

from dragoman.engine.exchange.steps import Answered, GaveUp, Streaming, StreamingAll

if TYPE_CHECKING:
    from dragoman.upstream.dispatch import Dispatch


class SideBySide:
    """Dispatches under way, each in a task of its own. What they have for the client waits in one line, which is short:
    a client that reads slowly slows all of them down."""

    def __init__(self, parts: tuple[Dispatch, ...]) -> None:
        self._line: asyncio.Queue[bytes | Answered | GaveUp | Exception] = asyncio.Queue(len(parts))
        self._left = len(parts)
        self._tasks = [asyncio.ensure_future(self._follow(part)) for part in parts]

    async def next(self) -> bytes | GaveUp | None:
        """The next piece of a stream, of whichever answer; the failure of the first that cannot be had, after which
        nothing else is wanted; None: all answers are there."""
        while self._left:
            came = await self._line.get()
            if isinstance(came, Exception):
                raise came
            if not isinstance(came, Answered):
                return came
            self._left -= 1
        return None

    async def stop(self) -> None:
        """End what is still under way, and wait for it."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _follow(self, part: Dispatch) -> None:
        try:
            end = await part.run()
            if isinstance(end, (Streaming, StreamingAll)):
                async with aclosing(part.pieces(end)) as pieces:
                    async for piece in pieces:
                        await self._line.put(piece)
                failure = part.exchange.failure
                end = Answered(b"") if failure is None else GaveUp(failure)
            await self._line.put(end)
        except Exception as fault:  # it is raised where the answers are awaited
            await self._line.put(fault)
