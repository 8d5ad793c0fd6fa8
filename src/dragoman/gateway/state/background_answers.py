"""Answers that are made in the background: told as queued, polled, cancelled, and streamed again from any event.

The request runs here as a stream, whatever its provider. Its state is written when it changes, and a beat while it
goes on. A job whose process has died has no beat any more: it ends as failed, and is never run again. A job that
another process cancels or removes ends when its own next looks.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any

import msgspec

from dragoman.conversation.failures import Failure, FailureKind
from dragoman.dialects.contracts.background import BackgroundForm
from dragoman.dialects.registry import dialect
from dragoman.gateway.callers.caller import Caller, Refused, begin_work
from dragoman.gateway.http.inbound import Inbound, ReadInbound
from dragoman.gateway.http.outbound import SSE, Outbound
from dragoman.gateway.served_request import ServedRequest
from dragoman.gateway.services import Services
from dragoman.gateway.state.background_job import AnswerTooLong, BackgroundJob
from dragoman.gateway.state.stored_chains import remove_stored, shorten
from dragoman.store.contracts.stored_responses import StoredResponse
from dragoman.wire.error_bodies import parse_failure
from dragoman.wire.json_size import LARGE

MOST_JOBS = 256
"""Of one process."""
_MOST_EVENTS = 3 << 20
"""Bytes of events that are kept to be streamed again."""
_BEAT, _DEAD = 5.0, 60.0
"""Seconds between two beats, and without one after which a job is taken for dead."""
_TRIES = 8
"""Times that a state is written anew because something else of its answer has changed meanwhile."""
_LOOK = 0.5
"""Seconds between two looks at a job of another process whose events are waited for."""
_BEATS, _EVENTS = "#beat", "#events"
_DIED = Failure(FailureKind.SERVER, "the process that made this answer has ended; it was not run again", 500)
_TOO_LARGE = Failure(FailureKind.ANSWER_TOO_LARGE, "the answer is larger than what is kept of one", 502)
_STOPPED = Failure(FailureKind.SERVER, "the gateway was shut down while it made this answer", 500)

Generate = Callable[..., Awaitable[None]]
"""The endpoint that answers a request."""


async def queue_job(services: Services, caller: Caller, client: str, body: bytes) -> BackgroundJob | None:
    """An answer that waits to be begun, and is stored as such; None if the client waits for its answer itself. Raises
    Refused."""
    form = dialect(client).background
    if form is None:
        return None
    ask = await begin_work(services.dispatcher.heavy, caller.name, body).run(partial(form.parse, body))
    if ask is None:
        return None
    if not services.live.config.state.enabled:
        what = "background answers are not kept here (state: off); send the request without `background`"
        raise Refused(Failure(FailureKind.BAD_REQUEST, what, 400, param="background"))
    if len(services.conversations.jobs) >= MOST_JOBS:
        what = "too many answers are made in the background; try again later"
        raise Refused(Failure(FailureKind.OVERLOADED, what, 503, retry_after=5))
    job = BackgroundJob(dialect(client).id_prefix + secrets.token_hex(25), caller, ask, form)
    job.stored, beginning = await shorten(services, caller.name, job.id, job.stored)
    await _put_beat(services, job)  # whoever finds the job must see that it lives
    if job.ask.streams:
        await services.store.responses.put(caller.name, job.id + _EVENTS, StoredResponse(b"", b""))
    if not await services.store.responses.put(caller.name, job.id, job.stored):
        what = "the answer could not be stored, so it was not begun"
        raise Refused(Failure(FailureKind.OVERLOADED, what, 503, retry_after=5))
    if beginning is not None:
        services.conversations.beginnings.put(caller.name, beginning)
    return job


async def begin_job(request: ServedRequest, client: str, job: BackgroundJob, run: Generate) -> None:
    """Begin the answer, and tell its client that it is queued, or its events."""
    queued, services, outbound = job.state, request.services, request.outbound
    services.conversations.jobs[job.id] = job
    job.task = asyncio.get_running_loop().create_task(_work(request, client, job, run))
    if job.ask.streams:
        job.events.append(job.form.render_created(queued))
        await outbound.streamed(job.follow(-1), [], SSE, services.live.config.server.write_timeout)
    else:
        await outbound.whole(200, queued)


async def _work(request: ServedRequest, client: str, job: BackgroundJob, run: Generate) -> None:
    """Answer the request, as a client of ours would ask for it, and write down how it goes."""
    services = request.services
    teller = job.form.teller(job.id, job.ask)
    refused = bytearray()
    status = 0

    async def take(message: Any) -> None:
        nonlocal status
        if message["type"] == "http.response.start":
            status = message["status"]
        elif status != 200:
            refused.extend(message.get("body", b""))
        else:
            body = message.get("body", b"")
            feed, size = partial(teller.feed, body), teller.held + len(body)
            events = feed() if size <= LARGE else await services.dispatcher.heavy.run_to_end(feed, job.caller.name)
            job.add(events)
            if teller.state is not None and teller.state is not job.state and not teller.is_over:
                job.state = teller.state
                if not _is_open(job.form, await _tell(services, job)):
                    job.is_cancelled = True
                    raise asyncio.CancelledError

    beat = asyncio.get_running_loop().create_task(_beat(services, job))
    failure: Failure | None = _DIED
    try:
        outbound = Outbound(take, request.outbound.id)
        inbound = _Detached(request.inbound, job.ask.body)
        await run(ServedRequest(services, inbound, outbound, job.caller), client)
        failure = parse_failure(status, {}, bytes(refused)) if status != 200 else None
    except asyncio.CancelledError:
        failure = None if job.is_cancelled else _STOPPED
    except AnswerTooLong:
        failure = Failure(FailureKind.ANSWER_TOO_LARGE, "the answer is longer than one in the background may be", 502)
    except Exception as fault:
        failure = Failure(FailureKind.SERVER, f"the gateway itself failed: {type(fault).__name__}", 500)
    finally:
        beat.cancel()
        job.is_ending = True
        if not job.is_cancelled:
            whole = teller.state if teller.is_over and teller.state is not None else None
            job.state = whole or job.form.render_ended(job.state, "failed", failure or _DIED)
            if whole is None:
                job.events.append(job.form.render_failed(job.state, len(job.events)))
        await _put_end(services, job)
        job.is_over = True
        job.notify()
        services.conversations.jobs.pop(job.id, None)


class _Detached(ReadInbound):
    """A request whose client need not wait: it never disconnects."""

    __slots__ = ()

    def __init__(self, inbound: Inbound, content: bytes) -> None:
        super().__init__(inbound, content)
        self.receive = _never


async def _never() -> Any:
    await asyncio.get_running_loop().create_future()


async def _beat(services: Services, job: BackgroundJob) -> None:
    """Show that the job lives, and end it if another process has."""
    while True:
        await asyncio.sleep(_BEAT)
        found = await services.store.responses.find_latest(job.caller.name, job.id)
        if found is None or not job.form.is_open(found.response):
            job.cancel()
            return
        await _put_beat(services, job)


async def _put_beat(services: Services, job: BackgroundJob) -> None:
    beat = StoredResponse(b"", msgspec.json.encode(time.time()))
    await services.store.responses.put(job.caller.name, job.id + _BEATS, beat)


def _is_open(form: BackgroundForm, state: bytes | None) -> bool:
    return state is not None and form.is_open(state)


async def _tell(services: Services, job: BackgroundJob) -> bytes | None:
    """Write the job's state; see `_write`."""
    return await _write(services, job.caller.name, job.id, job.form, lambda _: job.state)


async def _write(
    services: Services, caller: str, id: str, form: BackgroundForm, render: Callable[[bytes], bytes]
) -> bytes | None:
    """Write what follows from the state of an answer that goes on. The state that is there then; None: it was removed.

    What another process has ended or removed stays so, however late it did.
    """
    responses = services.store.responses
    for _ in range(_TRIES):
        found = await responses.find_latest(caller, id)
        if found is None or not form.is_open(found.response):
            break
        written = msgspec.structs.replace(found, response=render(found.response))
        if await responses.swap(caller, id, found, written) == written:
            return written.response
    return found.response if found is not None else None


async def _put_end(services: Services, job: BackgroundJob) -> None:
    """Write how the job ended: its events first, because they are looked for when it is over."""
    responses, caller = services.store.responses, job.caller.name
    if job.ask.streams and job.size <= _MOST_EVENTS:
        await responses.put(caller, job.id + _EVENTS, StoredResponse(b"", b"".join(job.events)))
    elif job.ask.streams:
        await responses.forget(caller, job.id + _EVENTS)
    state = await _tell(services, job)
    if state is None:
        for name in _names(job.id):  # what was written after the removal
            await responses.forget(caller, name)
    elif job.form.is_open(state) and not job.is_cancelled:
        job.state = job.form.render_ended(state, "failed", _TOO_LARGE)
        await _tell(services, job)


async def find_state(
    services: Services, caller: str, id: str, form: BackgroundForm, found: StoredResponse
) -> bytes | None:
    """A stored answer as it is now: one in the background whose process has died is failed. None: it was removed."""
    responses = services.store.responses
    if not form.is_open(found.response) or id in services.conversations.jobs:
        return found.response
    latest = await responses.find_latest(caller, id)
    if latest is None or not form.is_open(latest.response):
        return latest.response if latest is not None else None
    beat = await responses.find_latest(caller, id + _BEATS)
    if beat is not None and time.time() - msgspec.json.decode(beat.response, type=float) < _DEAD:
        return latest.response
    return await _write(services, caller, id, form, lambda state: form.render_ended(state, "failed", _DIED))


async def cancel(services: Services, caller: str, id: str, form: BackgroundForm, found: StoredResponse) -> bytes | None:
    """End an answer. One that is over stays as it is. None: it was removed."""
    if not form.is_background(found.response):
        what = "Cannot cancel a synchronous response."
        raise Refused(Failure(FailureKind.BAD_REQUEST, what, 400))
    state = await find_state(services, caller, id, form, found)
    if not _is_open(form, state):
        return state
    state = await _write(services, caller, id, form, lambda state: form.render_ended(state, "cancelled", None))
    if (job := services.conversations.jobs.get(id)) is not None:
        job.cancel()
    return state


async def remove(services: Services, caller: str, id: str) -> None:
    """Remove an answer with all that is kept of it. If it is under way, it ends first."""
    job = services.conversations.jobs.get(id)
    if job is not None and job.task is not None and job.caller.name == caller:
        job.cancel()
        await asyncio.wait({job.task})
    await remove_stored(services.store.responses, caller, *_names(id))


def _names(id: str) -> tuple[str, ...]:
    """Under which all that is kept of an answer is."""
    return id, id + _EVENTS, id + _BEATS


async def follow(
    services: Services, caller: str, id: str, form: BackgroundForm, since: int
) -> AsyncIterator[bytes] | None:
    """The events of an answer from one on; None if it was made without a stream, or they are no longer there."""
    job = services.conversations.jobs.get(id)
    if job is not None and job.caller.name == caller:
        return job.follow(since) if job.ask.streams else None
    kept = await services.store.responses.find_latest(caller, id + _EVENTS)
    return _await_events(services, caller, id, form, since) if kept is not None else None


async def _await_events(
    services: Services, caller: str, id: str, form: BackgroundForm, since: int
) -> AsyncIterator[bytes]:
    """The events of an answer that another process makes or has made, once it is over."""
    responses, is_over = services.store.responses, False
    state: bytes | None = None
    while True:
        kept = await responses.find_latest(caller, id + _EVENTS)
        if kept is None or kept.response or is_over:
            break
        found = await responses.find_latest(caller, id)
        state = await find_state(services, caller, id, form, found) if found is not None else None
        is_over = not _is_open(form, state)
        if not is_over:
            await asyncio.sleep(_LOOK)
    if kept is not None and kept.response:
        async for event in _retell(kept.response, form, since):
            yield event
    elif state:  # its process has died, and the events with it
        yield form.render_failed(state, since + 1)


async def _retell(events: bytes, form: BackgroundForm, since: int) -> AsyncIterator[bytes]:
    for event in events.split(b"\n\n"):
        if event and form.number(event) > since:
            yield event + b"\n\n"


async def stop_jobs(services: Services) -> None:
    """End all jobs; they are told as failed."""
    tasks = [job.task for job in services.conversations.jobs.values() if job.task is not None]
    for job in services.conversations.jobs.values():
        job.stop()
    await asyncio.gather(*tasks, return_exceptions=True)
