"""One answer that this process makes in the background."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

from dragoman.dialects.contracts.background import BackgroundAsk, BackgroundForm
from dragoman.gateway.callers.caller import Caller
from dragoman.store.contracts.stored_responses import StoredResponse

MOST_HELD, _OF_EVENT = 64 << 20, 64
"""Bytes of all events of an answer, and what each takes beside its text."""


class AnswerTooLong(Exception):
    """An answer is longer than one in the background may be."""


class BackgroundJob:
    """One answer under way in this process."""

    def __init__(self, id: str, caller: Caller, ask: BackgroundAsk, form: BackgroundForm) -> None:
        self.id = id
        self.caller = caller
        self.ask = ask
        self.form = form
        self.events: list[bytes] = []
        self.size = 0
        self.state = form.render_queued(id, ask, int(time.time()))
        self.stored = StoredResponse(ask.items, self.state, ask.previous)
        self.is_ending = False
        self.is_over = False
        self.is_cancelled = False
        self.task: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()

    def add(self, events: list[bytes]) -> None:
        """Keep events for those that follow them. Raises AnswerTooLong: a provider may send them without end."""
        self.size += sum(map(len, events)) + _OF_EVENT * len(events)
        if self.ask.streams:
            self.events += events
        if self.size > MOST_HELD:
            raise AnswerTooLong
        self.notify()

    def cancel(self) -> None:
        """End it; nothing more is written of it."""
        self.is_cancelled = True
        self.stop()

    def stop(self) -> None:
        """End it, unless it does already."""
        if self.task is not None and not self.is_ending:
            self.task.cancel()

    def notify(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def follow(self, since: int) -> AsyncIterator[bytes]:
        """The events after the one with this number, as they come."""
        at = 0
        while True:
            changed = self._changed
            while at < len(self.events):
                event = self.events[at]
                at += 1
                if self.form.number(event) > since:
                    yield event
            if self.is_over:
                return
            await changed.wait()
