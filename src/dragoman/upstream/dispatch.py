"""The attempt loop: compile, send, and where that fails do what `next_step` says.

Every attempt is compiled afresh from the client's original request. Until the first byte has left for the client
anything may be tried again; after it, a failure is the last event of the stream.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from functools import partial

import msgspec

from dragoman.conversation.changes import Change, Loss
from dragoman.conversation.conversation import Ask
from dragoman.conversation.failures import Failure
from dragoman.conversation.parts import Origin
from dragoman.dialects.dialect import AnswerContext
from dragoman.engine.adapt import PLAIN, Adapted, Options, compile_ask
from dragoman.engine.attempts import Correct, FallBack, GiveUp, History, NextKey, Retry, next_step
from dragoman.engine.lessons import Learnt, learn
from dragoman.engine.reasoning_capture import Keep
from dragoman.engine.reasoning_restore import Kept
from dragoman.engine.translation import Translation
from dragoman.errors import RequestError
from dragoman.profiles.facts import Need
from dragoman.profiles.profile import Layer, Target, patched
from dragoman.upstream.configured_options import configured
from dragoman.upstream.destinations import Destination
from dragoman.upstream.health import Health
from dragoman.upstream.refusals import refusal, transport_failure
from dragoman.upstream.transport import Incoming, Outgoing, Transport, TransportFailure

ANSWER_LIMIT = 256 * 1024 * 1024


class Wish(msgspec.Struct, frozen=True):
    """One request on its way: what was asked, by whom, where it may go, how it is to be answered.

    `max_loss` overrides what the destinations allow.
    """

    ask: Ask
    route: tuple[Destination, ...]
    answering: AnswerContext
    caller: str = ""
    max_loss: Loss | None = None


class Hooks(msgspec.Struct, frozen=True):
    """What the loop asks of the world: clock, chance, memory, media, and who wants to know of failures.

    `reserved` are the destinations for one kind of failure. `told` is a failure as it may be shown: a provider may
    have repeated a key of ours; `hush` does the same for bytes.
    """

    clock: Callable[[], float]
    chance: Callable[[], float]
    fetch: Callable[[Destination, Wish], Mapping[str, Kept]] | None = None
    keep: Callable[[Destination, Wish], Keep] | None = None
    media: Callable[[Sequence[str]], Awaitable[Mapping[str, bytes]]] | None = None
    corrected: Callable[[Destination], Target] | None = None
    learnt: Callable[[Destination, Learnt], None] | None = None
    reserved: Callable[[Wish, Failure], tuple[Destination, ...]] | None = None
    failed: Callable[[Wish, Destination, Adapted, Failure], None] | None = None
    told: Callable[[Failure], Failure] | None = None
    hush: Callable[[bytes], bytes] | None = None


class Answer:
    """What came back. `whole` is the body, or None for a stream; `asked_at` when the provider was first asked.
    Afterwards it tells what it saw."""

    __slots__ = (
        "_ended",
        "_first",
        "_incoming",
        "_over",
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
        self._over = False
        self._ended: Callable[[Answer], None] | None = None

    @property
    def changes(self) -> tuple[Change, ...]:
        return self.adapted.changes if self.adapted is not None else ()

    async def stream(self) -> AsyncGenerator[bytes]:
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
                last = b"" if self._over else translation.close()
            except TransportFailure as fault:
                last = translation.fail(transport_failure(fault))
            self.failure = translation.failure
            if self._ended is not None:
                self._ended(self)
            if last:
                yield last
        finally:
            await incoming.close()

    def cut(self, failure: Failure) -> bytes:
        """The last words of a stream that we end ourselves."""
        self.failure = failure
        return self.translation.fail(failure) if self.translation is not None else b""


class Dispatch:
    """Sends wishes. Holds no state of its own but the connections and the health it was given."""

    def __init__(self, transport: Callable[[Destination], Transport], health: Health, hooks: Hooks) -> None:
        self._transport = transport
        self._health = health
        self._hooks = hooks

    async def send(self, wish: Wish) -> Answer:
        """The first answer that can be had, or the last failure. Raises RequestError where no target may be asked."""
        answer = Answer()
        route = list(wish.route)
        refused: RequestError | None = None
        while route:
            destination = self._pick(route)
            route.remove(destination)
            try:
                answer.failure = await self._try(wish, destination, answer, route)
            except RequestError as fault:  # this target cannot be told, or not without more loss than is allowed
                refused = refused or fault
                self._health.released(destination)
                continue
            except BaseException:
                self._health.released(destination)
                raise
            if answer.failure is None:
                return answer
        if answer.failure is None and refused is not None:
            raise refused
        return answer

    def _pick(self, route: list[Destination]) -> Destination:
        """The first that is not left alone; the first of all where each is."""
        if len(route) == 1:
            return route[0]
        now = self._hooks.clock()
        return next((one for one in route if self._health.open(one, now)), route[0])

    async def _try(
        self, wish: Wish, destination: Destination, answer: Answer, route: list[Destination]
    ) -> Failure | None:
        """All attempts on one destination. None where it answered; `route` is then what else may be tried."""
        health, clock = self._health, self._hooks.clock
        keys = len(destination.keys)
        key = health.key(destination, clock()) if keys > 1 else 0
        history = History(keys_left=max(keys - 1, 0), total=answer.attempts)
        target = self._corrected(destination)
        lessons: list[Learnt] = []
        while True:
            history.tries += 1
            history.total += 1
            failure = await self._attempt(wish, destination, target, key, answer)
            if failure is None:
                self._remember(destination, lessons)
                return None
            failure = self._noted(wish, answer, failure)
            reserved = self._reserved(wish, destination, failure)
            history.targets_left, history.reserved = len(route), bool(reserved)
            lesson = learn(failure, target.facts, wish.ask.conversation)
            match next_step(history, failure, destination.policy, self._hooks.chance(), lesson):
                case Retry(delay):
                    await asyncio.sleep(delay)
                case Correct(learnt):
                    history.lessons += 1
                    history.tries -= 1
                    lessons.append(learnt)
                    answer.lessons.append(learnt.lesson)
                    target = patched(target, Layer(f"lesson {learnt.lesson}", learnt.facts))
                case NextKey():
                    history.keys_left -= 1
                    history.tries -= 1
                    health.spoilt(destination, key, failure, clock())
                    key += 1
                case FallBack():
                    route[:] = [*reserved, *[one for one in route if one not in reserved]]
                    return failure
                case GiveUp():
                    route.clear()
                    return failure

    def _corrected(self, destination: Destination) -> Target:
        corrected = self._hooks.corrected
        return destination.target if corrected is None else corrected(destination)

    def _remember(self, destination: Destination, lessons: list[Learnt]) -> None:
        """What was learnt has proved true: the corrected request was accepted."""
        if self._hooks.learnt is not None:
            for learnt in lessons:
                if learnt.lasting:
                    self._hooks.learnt(destination, learnt)

    def _noted(self, wish: Wish, answer: Answer, failure: Failure) -> Failure:
        """A failure counted and written down, and as it may be told."""
        hooks, destination, adapted = self._hooks, answer.destination, answer.adapted
        if destination is not None and adapted is not None:
            self._health.failed(destination, failure, hooks.clock())
            if hooks.failed is not None:
                hooks.failed(wish, destination, adapted, failure)
        return failure if hooks.told is None else hooks.told(failure)

    def _ended(self, wish: Wish, answer: Answer) -> None:
        """A stream is over, well or not."""
        if answer.failure is not None:
            answer.failure = self._noted(wish, answer, answer.failure)
        elif answer.destination is not None:
            self._health.succeeded(answer.destination)

    def _reserved(self, wish: Wish, tried: Destination, failure: Failure) -> list[Destination]:
        """Where the configuration sends just this kind of failure; only the first choice has such a say."""
        if self._hooks.reserved is None or tried is not wish.route[0]:
            return []
        return [one for one in self._hooks.reserved(wish, failure) if one is not tried]

    async def _attempt(
        self, wish: Wish, destination: Destination, target: Target, key: int, answer: Answer
    ) -> Failure | None:
        adapted = await self._compiled(wish, destination, target)
        answer.destination, answer.adapted = destination, adapted
        answer.attempts += 1
        headers = (*adapted.headers.items(), *destination.signed(key))
        outgoing = Outgoing("POST", destination.url(adapted.path), headers, adapted.body)
        answer.asked_at = answer.asked_at or self._hooks.clock()
        try:
            incoming = await self._transport(destination).send(outgoing, destination.timeouts)
        except TransportFailure as fault:
            return transport_failure(fault)
        if incoming.status >= 300:
            return await refusal(incoming, destination.provider)
        translation = answer.translation = self._translation(wish, destination, target, adapted)
        try:
            if wish.ask.stream:
                answer._ended = partial(self._ended, wish)
                return await self._open(incoming, translation, answer)
            return await self._read(incoming, translation, answer)
        except TransportFailure as fault:
            await incoming.close()
            return transport_failure(fault)
        except BaseException:
            await incoming.close()
            raise

    async def _compiled(self, wish: Wish, destination: Destination, target: Target) -> Adapted:
        options = self._options(wish, destination)
        adapted = compile_ask(wish.ask, target, options)
        if adapted.wants and self._hooks.media is not None:
            media = await self._hooks.media(adapted.wants)
            if media:
                adapted = compile_ask(wish.ask, target, msgspec.structs.replace(options, media=media))
        return configured(adapted, destination) if destination.options or destination.omit else adapted

    def _options(self, wish: Wish, destination: Destination) -> Options:
        """What this destination allows, and what was kept for it."""
        max_loss = destination.max_loss if wish.max_loss is None else wish.max_loss
        kept = self._hooks.fetch(destination, wish) if self._hooks.fetch is not None else None
        if not kept and max_loss is Loss.CONTENT and destination.synthetic and not destination.ask_usage:
            return PLAIN
        return Options(max_loss, destination.synthetic, ask_usage=destination.ask_usage, kept=kept or {})

    def _translation(self, wish: Wish, destination: Destination, target: Target, adapted: Adapted) -> Translation:
        facts = target.facts
        needed = wish.ask.dialect != adapted.dialect or facts.reasoning_required is Need.TOOL_TURNS
        return Translation(
            adapted.dialect,
            wish.ask.dialect,
            adapted.undo,
            wish.answering,
            keep=self._hooks.keep(destination, wish) if self._hooks.keep is not None and needed else None,
            think_tags=facts.think_tags,
            origin=Origin(adapted.dialect, facts.family or facts.provider, target.model),
            told=self._hooks.told,
            hush=self._hooks.hush,
        )

    async def _read(self, incoming: Incoming, translation: Translation, answer: Answer) -> Failure | None:
        body = await incoming.read(ANSWER_LIMIT)
        answer.whole = translation.whole(body)
        if translation.failure is None and answer.destination is not None:
            self._health.succeeded(answer.destination)
        return translation.failure

    async def _open(self, incoming: Incoming, translation: Translation, answer: Answer) -> Failure | None:
        """Read until there is something for the client: only then can nothing be tried again."""
        first = b""
        async for chunk in incoming:
            first += translation.feed(chunk)
            if translation.failure is not None:
                await incoming.close()
                return translation.failure
            if first and (not translation.relays or _says_something(first)):
                self._opened(incoming, first, answer)
                return None
        first += translation.close()
        answer._over = True
        if translation.failure is None:
            self._opened(incoming, first, answer)
        return translation.failure

    def _opened(self, incoming: Incoming, first: bytes, answer: Answer) -> None:
        answer._first, answer._incoming = first, incoming
        if answer.destination is not None:
            self._health.began(answer.destination)


_HELD = 4096


def _says_something(begun: bytes) -> bool:
    """A relayed stream has a whole event, not only comments that keep the line open, or half of an error."""
    at = begun.find(b"data:")
    return len(begun) > _HELD or (at >= 0 and (begun.find(b"\n\n", at) >= 0 or begun.find(b"\n\r\n", at) >= 0))
