"""Prompts stored at providers: made, renewed and deleted beside the requests of their sessions, which wait for none of
it. What that costs is booked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from time import monotonic
from typing import Any

import msgspec

from dragoman.conversation.replies import Usage
from dragoman.dialects.contracts.stored_prompts import StoredPromptForm
from dragoman.dialects.registry import dialect
from dragoman.engine.history import stored_prompts
from dragoman.upstream.auth.authorizer import NoCredentials
from dragoman.upstream.auth.authorizers import Authorizers
from dragoman.upstream.destinations import HttpDestination
from dragoman.upstream.refusals import ERROR_LIMIT
from dragoman.upstream.transport.failures import TransportFailure
from dragoman.upstream.transport.outgoing import Outgoing
from dragoman.upstream.transports import Transports

_JSON = ("content-type", "application/json")
_LAST_SECONDS = 2.0
"""So long the end of the program waits for what is deleted. All of it is gone within an hour anyway."""


class StoredBooking(msgspec.Struct, frozen=True, gc=False):
    """What it costs that a prompt is stored, or stays so."""

    caller: str
    session: str
    model: str
    """The one that the client asked for."""
    destination: HttpDestination
    cost: float
    did: str
    tokens: int = 0
    """Those that were sent for it."""


class StoredPrompts:
    """All that this process has stored."""

    def __init__(
        self,
        transports: Transports,
        authorizers: Authorizers,
        note: Callable[[StoredBooking], None],
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.book = stored_prompts.StoredPromptBook(clock)
        self._transports = transports
        self._authorizers = authorizers
        self._note = note
        self._tasks: set[asyncio.Task[None]] = set()

    def note(self, use: stored_prompts.PromptUse, usage: Usage, destination: HttpDestination, key: int) -> None:
        """A request was answered: begin what is to be done then."""
        if destination.price is None:
            return
        for order in self.book.note(use, usage, destination):
            if isinstance(order, stored_prompts.StoreOrder):
                self._begin(self._store(order, destination, key))
            else:
                self._begin(self._carry_out(order, use))

    def forget(self, caller: str | None = None) -> None:
        """Delete what was stored for a caller, or for all."""
        for stored in self.book.drop(caller):
            self._begin(self._delete(stored))

    async def close(self) -> None:
        """Delete everything."""
        self.forget()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_LAST_SECONDS)

    async def wait(self) -> None:
        """Wait for all that is under way."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _store(self, order: stored_prompts.StoreOrder, destination: HttpDestination, key: int) -> None:
        price, pieces, form, path = destination.price, order.use.pieces, order.use.form, order.use.path
        assert price is not None
        where, body = form.create(path, pieces, order.count, order.seconds)
        answer = await self._send("POST", where, body, destination, key)
        made = form.read(answer) if answer is not None else None
        if made is None:
            self.book.refused(order)
            return
        name, tokens = made
        digest = stored_prompts.digest_prompt(pieces, order.count)
        stored = stored_prompts.StoredPrompt(
            name, destination, path, key, digest, order.count, tokens=tokens, seconds=order.seconds
        )
        cost = price.cost(Usage(tokens)) + stored_prompts.price_of_storing(tokens, order.seconds, price)
        did = f"made a cache of {tokens:,} tokens for the session, for {order.seconds / 60:.0f} minutes"
        self._book(order.use, destination, cost, did, tokens)
        for following in self.book.made(order, stored, price):
            await self._carry_out(following, order.use)

    async def _carry_out(self, order: stored_prompts.Order, use: stored_prompts.PromptUse) -> None:
        if isinstance(order, stored_prompts.DeleteOrder):
            await self._delete(order.stored)
        elif isinstance(order, stored_prompts.RenewOrder):
            stored = order.stored
            destination, form = _place_of(stored)
            where = form.address(stored.path, stored.name)
            if await self._send("PATCH", where, form.renew(stored.seconds), destination, stored.key) is not None:
                assert destination.price is not None
                cost = stored_prompts.price_of_storing(stored.tokens, stored.seconds, destination.price)
                did = f"renewed a cache of {stored.tokens:,} tokens, for {stored.seconds / 60:.0f} minutes"
                self._book(use, destination, cost, did)

    async def _delete(self, stored: stored_prompts.StoredPrompt) -> None:
        destination, form = _place_of(stored)
        await self._send("DELETE", form.address(stored.path, stored.name), b"", destination, stored.key)

    def _book(
        self, use: stored_prompts.PromptUse, destination: HttpDestination, cost: float, did: str, tokens: int = 0
    ) -> None:
        caller, session, *_ = use.session
        self._note(StoredBooking(caller, session, use.model, destination, cost=cost, did=did, tokens=tokens))

    async def _send(self, method: str, path: str, body: bytes, destination: HttpDestination, key: int) -> bytes | None:
        """What the provider answers; None if it refuses, or cannot be asked. It is asked once."""
        headers = (_JSON, *destination.signed(key)) if body else destination.signed(key)
        outgoing = Outgoing(method, destination.url(path), headers, body)
        try:
            if destination.scheme is not None:
                outgoing = await self._authorizers.authorize(destination.scheme, outgoing, None)
            incoming = await self._transports.of(destination).send(outgoing, destination.timeouts)
            answer = await incoming.read(ERROR_LIMIT)
        except (TransportFailure, NoCredentials):
            return None
        return answer if 200 <= incoming.status < 300 else None


def _place_of(stored: stored_prompts.StoredPrompt) -> tuple[HttpDestination, StoredPromptForm]:
    """Where it lies, and how it is asked for there."""
    destination = stored.destination
    form = dialect(destination.target.dialect).stored_prompts
    assert isinstance(destination, HttpDestination)
    assert form is not None
    return destination, form
