"""The attempt loop: compile, send, and where that fails do what `next_step` says.

Every attempt is compiled afresh from the client's original request. Until the first byte has left for the client
anything may be tried again; after it, a failure is the last event of the stream.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence

import msgspec

from dragoman.conversation.changes import Change
from dragoman.conversation.conversation import Ask
from dragoman.conversation.failures import Failure
from dragoman.conversation.parts import Origin
from dragoman.dialects.answering import Answering
from dragoman.engine.adapt import Adapted, Options, compile_ask
from dragoman.engine.attempts import Correct, FallBack, GiveUp, History, NextKey, Retry, next_step
from dragoman.engine.keeping import Keep
from dragoman.engine.lessons import Learnt, learn
from dragoman.engine.translate import Translation
from dragoman.engine.vault import Kept
from dragoman.profiles.facts import Need
from dragoman.profiles.profile import Layer, Target, patched
from dragoman.upstream.destinations import Destination
from dragoman.upstream.failures import refusal, transport_failure
from dragoman.upstream.health import Health
from dragoman.upstream.options import configured
from dragoman.upstream.transport import Incoming, Outgoing, Transport, TransportFailure

ANSWER_LIMIT = 256 * 1024 * 1024


class Hooks(msgspec.Struct, frozen=True):
    """What the loop asks of the world: clock, chance, memory, media, and who wants to know of failures."""

    clock: Callable[[], float]
    chance: Callable[[], float]
    fetch: Callable[[Destination, Ask], Mapping[str, Kept]] | None = None
    keep: Callable[[Destination], Keep] | None = None
    media: Callable[[Sequence[str]], Awaitable[Mapping[str, bytes]]] | None = None
    corrected: Callable[[Destination], Target] | None = None
    learnt: Callable[[Destination, Learnt], None] | None = None
    failed: Callable[[Destination, Adapted, Failure], None] | None = None


class Wish(msgspec.Struct, frozen=True):
    """One request on its way: what was asked, where it may go, how it is to be answered."""

    ask: Ask
    route: tuple[Destination, ...]
    answering: Answering
    options: Options
    fallbacks: Callable[[Failure], tuple[Destination, ...]] | None = None


class Answer:
    """What came back. `whole` is the body, or None for a stream; `asked_at` when the provider was first asked.
    Afterwards it tells what it saw."""

    __slots__ = (
        "_first",
        "_incoming",
        "adapted",
        "asked_at",
        "attempts",
        "destination",
        "failure",
        "lessons",
        "translation",
        "whole",
    )

    def __init__(self) -> None:
        self.attempts = 0
        self.lessons: list[str] = []
        self.whole: bytes | None = None
        self.failure: Failure | None = None
        self.destination: Destination | None = None
        self.adapted: Adapted | None = None
        self.translation: Translation | None = None
        self.asked_at = 0.0
        self._first = b""
        self._incoming: Incoming | None = None

    @property
    def changes(self) -> tuple[Change, ...]:
        return self.adapted.changes if self.adapted is not None else ()

    async def stream(self) -> AsyncIterator[bytes]:
        """The client's bytes, as they come; the last of them say so if it went wrong."""
        incoming, translation = self._incoming, self.translation
        if incoming is None or translation is None:
            return
        try:
            if self._first:
                yield self._first
            try:
                async for chunk in incoming:
                    out = translation.feed(chunk)
                    if out:
                        yield out
                    if translation.failure is not None:
                        break
                last = translation.close()
            except TransportFailure as fault:
                last = translation.fail(transport_failure(fault))
            if last:
                yield last
        finally:
            self.failure = translation.failure
            await incoming.close()

    async def close(self) -> None:
        if self._incoming is not None:
            await self._incoming.close()


class Dispatch:
    """Sends wishes. Holds no state of its own but the connections and the health it was given."""

    def __init__(self, transport: Transport, health: Health, hooks: Hooks) -> None:
        self._transport = transport
        self._health = health
        self._hooks = hooks

    async def send(self, wish: Wish) -> Answer:
        """The first answer that can be had, or the last failure."""
        answer = Answer()
        route = list(wish.route)
        while route:
            destination = self._pick(route)
            failure = await self._try(wish, destination, answer, route)
            if failure is None:
                self._health.succeeded(destination)
                return answer
            answer.failure = failure
            route = self._rest(route, destination, wish, failure)
        return answer

    def _pick(self, route: list[Destination]) -> Destination:
        """The first that is not left alone; the first of all where each is."""
        if len(route) == 1:
            return route[0]
        now = self._hooks.clock()
        return next((one for one in route if self._health.open(one, now)), route[0])

    def _rest(self, route: list[Destination], tried: Destination, wish: Wish, failure: Failure) -> list[Destination]:
        rest = [one for one in route if one is not tried]
        special = wish.fallbacks(failure) if wish.fallbacks is not None else ()
        return rest if not special or not rest else [one for one in special if one in rest or one not in wish.route]

    async def _try(
        self, wish: Wish, destination: Destination, answer: Answer, route: list[Destination]
    ) -> Failure | None:
        """All attempts on one destination. None where it answered."""
        history = History(keys_left=max(len(destination.keys) - 1, 0), targets_left=len(route) - 1)
        history.total = answer.attempts
        target = self._corrected(destination)
        key = 0
        while True:
            history.tries += 1
            history.total += 1
            answer.attempts += 1
            failure = await self._attempt(wish, destination, target, key, answer)
            if failure is None:
                return None
            self._health.failed(destination, failure, self._hooks.clock())
            if self._hooks.failed is not None and answer.adapted is not None:
                self._hooks.failed(destination, answer.adapted, failure)
            lesson = self._lesson(failure, target, answer)
            match next_step(history, failure, destination.policy, self._hooks.chance(), lesson):
                case Retry(delay):
                    await asyncio.sleep(delay)
                case Correct(learnt):
                    history.lessons += 1
                    history.tries -= 1
                    answer.lessons.append(learnt.lesson)
                    target = patched(target, Layer(f"lesson {learnt.lesson}", learnt.facts))
                    if learnt.lasting and self._hooks.learnt is not None:
                        self._hooks.learnt(destination, learnt)
                case NextKey():
                    history.keys_left -= 1
                    history.tries -= 1
                    key += 1
                case FallBack():
                    return failure
                case GiveUp():
                    route[:] = [destination]
                    return failure

    def _corrected(self, destination: Destination) -> Target:
        corrected = self._hooks.corrected
        return destination.target if corrected is None else corrected(destination)

    def _lesson(self, failure: Failure, target: Target, answer: Answer) -> Learnt | None:
        if answer.adapted is None:
            return None
        return learn(failure, target.facts, answer.adapted.conversation)

    async def _attempt(
        self, wish: Wish, destination: Destination, target: Target, key: int, answer: Answer
    ) -> Failure | None:
        adapted = await self._compiled(wish, destination, target)
        answer.destination, answer.adapted = destination, adapted
        headers = (*adapted.headers.items(), *destination.signed(key))
        outgoing = Outgoing("POST", destination.url(adapted.path), headers, adapted.body)
        answer.asked_at = answer.asked_at or self._hooks.clock()
        try:
            incoming = await self._transport.send(outgoing, destination.timeouts)
        except TransportFailure as fault:
            return transport_failure(fault)
        if incoming.status >= 300:
            return await refusal(incoming, destination.provider)
        translation = self._translation(wish, destination, target, adapted)
        answer.translation = translation
        try:
            if wish.ask.stream:
                return await self._open(incoming, translation, answer)
            return await self._read(incoming, translation, answer)
        except TransportFailure as fault:
            await incoming.close()
            return transport_failure(fault)
        except BaseException:
            await incoming.close()
            raise

    async def _compiled(self, wish: Wish, destination: Destination, target: Target) -> Adapted:
        options = wish.options
        if self._hooks.fetch is not None:
            kept = self._hooks.fetch(destination, wish.ask)
            if kept:
                options = msgspec.structs.replace(options, kept=kept)
        adapted = compile_ask(wish.ask, target, options)
        if adapted.wants and self._hooks.media is not None:
            media = await self._hooks.media(adapted.wants)
            if media:
                adapted = compile_ask(wish.ask, target, msgspec.structs.replace(options, media=media))
        return configured(adapted, destination) if destination.options or destination.omit else adapted

    def _translation(self, wish: Wish, destination: Destination, target: Target, adapted: Adapted) -> Translation:
        facts = target.facts
        needed = wish.ask.dialect != adapted.dialect or facts.reasoning_required is Need.TOOL_TURNS
        return Translation(
            adapted.dialect,
            wish.ask.dialect,
            adapted.undo,
            wish.answering,
            keep=self._hooks.keep(destination) if self._hooks.keep is not None and needed else None,
            think_tags=facts.think_tags,
            origin=Origin(adapted.dialect, facts.family or facts.provider, target.model),
        )

    async def _read(self, incoming: Incoming, translation: Translation, answer: Answer) -> Failure | None:
        body = await incoming.read(ANSWER_LIMIT)
        answer.whole = translation.whole(body)
        return translation.failure

    async def _open(self, incoming: Incoming, translation: Translation, answer: Answer) -> Failure | None:
        """Read until there is something for the client: only then can nothing be tried again."""
        async for chunk in incoming:
            out = translation.feed(chunk)
            if translation.failure is not None:
                await incoming.close()
                return translation.failure
            if out:
                answer._first, answer._incoming = out, incoming
                return None
        answer._first = translation.close()
        if translation.failure is None:
            answer._incoming = incoming
        return translation.failure
