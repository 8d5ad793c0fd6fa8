"""What comes back for a request that `adapt` compiled, in the dialect of the request: whole, streamed, or an error.

    adapted = dragoman.adapt(request, target="anthropic/claude-sonnet-4-6")
    response = httpx.post(url + adapted.path, content=adapted.body, headers=...)
    answer = adapted.answer(response.content, response.status_code, response.headers)

Sending is yours; everything here is pure.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping
from functools import partial
from hashlib import blake2b
from typing import Any

import msgspec

from dragoman.conversation.changes import Change
from dragoman.conversation.collect import collect
from dragoman.conversation.events import Event
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.conversation.replies import Reply, Stop, Usage
from dragoman.dialects.dialect import AnswerContext
from dragoman.engine.answer.client_failures import render_failure, with_numbers
from dragoman.engine.answer.translation import Translation, translation_of
from dragoman.engine.compile.compiled_request import CompiledRequest
from dragoman.engine.compile.reasoning_restore import KeptParts
from dragoman.engine.history.sizes import estimate_reserve
from dragoman.wire.error_bodies import parse_failure

JSON = "application/json"


class Answer(msgspec.Struct, frozen=True, dict=True):
    """A provider's whole answer as the client of the request reads it."""

    status: int
    """The HTTP status for the client."""
    headers: Mapping[str, str]
    """The headers for the client."""
    body: bytes
    """The answer in the client's dialect; an error of this dialect if there was a failure."""
    received: bytes
    """The provider's own body."""
    request: CompiledRequest
    """The request that this answers."""
    context: AnswerContext
    """What the client's dialect repeats of the request (internal)."""
    failure: Failure | None = None
    """Why the provider refused or broke down; None if it did not."""
    usage: Usage | None = None
    """The tokens that were counted, if the provider tells them."""
    stop: Stop | None = None
    """Why the model stopped."""
    reasoning_state: Mapping[str, KeptParts] = {}
    """State that the client's dialect cannot carry. `State.after` keeps it for the next turn."""

    def __repr__(self) -> str:
        end = self.failure.kind if self.failure is not None else self.stop
        return f"<Answer: {self.status} from {self.request.target}, {len(self.body)} bytes, {end}>"

    @property
    def changes(self) -> tuple[Change, ...]:
        """What was changed in the request."""
        return self.request.changes

    @property
    def json(self) -> Any:
        """The body decoded, once."""
        if "_json" not in self.__dict__:
            self.__dict__["_json"] = msgspec.json.decode(self.body)
        return self.__dict__["_json"]

    @property
    def reply(self) -> Reply | None:
        """The answer as a value, with the client's names and ids; None if there was a failure."""
        if "_reply" not in self.__dict__:
            self.__dict__["_reply"] = None if self.failure is not None else self._read()
        reply: Reply | None = self.__dict__["_reply"]
        return reply

    def _read(self) -> Reply | None:
        reply = collect(translation_of(self.request, self.context).read_whole(self.received))
        return None if isinstance(reply, Failure) else reply


class AnswerStream(msgspec.Struct, eq=False):
    """A provider's stream on its way to the client: `feed` it chunk by chunk, then `finish`.

    Any cut of the bytes gives the same events. Afterwards it has `usage`, `stop`, `failure` and `reasoning_state`, as
    an `Answer`. If you want values instead of bytes, `events` reads the whole stream.
    """

    _translation: Translation
    request: CompiledRequest

    def __repr__(self) -> str:
        return f"<AnswerStream: from {self.request.target} to {self.request.ask.dialect}>"

    @property
    def changes(self) -> tuple[Change, ...]:
        """What was changed in the request."""
        return self.request.changes

    def feed(self, chunk: bytes) -> bytes:
        """Bytes of the provider in, bytes for the client out."""
        return self._translation.feed(chunk)

    def finish(self) -> bytes:
        """The provider's stream is over: the last bytes for the client, an error if it broke off."""
        return self._translation.close()

    def fail(self, reason: str) -> bytes:
        """The connection to the provider broke: the error with which the client's stream ends."""
        return self._translation.fail(Failure(FailureKind.NETWORK, reason, 502))

    def events(self, chunks: Iterable[bytes]) -> Iterator[Event]:
        """The whole stream as typed events, with the client's names and ids; the last is `Ended` or `Failed`."""
        for chunk in chunks:
            yield from self._translation.read(chunk)
        yield from self._translation.read_end()

    async def async_events(self, chunks: AsyncIterable[bytes]) -> AsyncIterator[Event]:
        """The whole stream as typed events, for an asynchronous client."""
        async for chunk in chunks:
            for event in self._translation.read(chunk):
                yield event
        for event in self._translation.read_end():
            yield event

    @property
    def failure(self) -> Failure | None:
        return self._translation.failure

    @property
    def usage(self) -> Usage | None:
        return self._translation.usage

    @property
    def stop(self) -> Stop | None:
        return self._translation.stop

    @property
    def reasoning_state(self) -> Mapping[str, KeptParts]:
        return self._translation.kept


def answer_to(
    adapted: CompiledRequest, body: bytes, status: int, headers: Mapping[str, str], *, id: str, created: int
) -> Answer:
    """A provider's whole answer, read and written again in the client's dialect."""
    context = context_of(adapted, id, created)
    if not 200 <= status < 300:
        return _refuse(adapted, body, parse_failure(status, headers, body, adapted.facts.provider), context)
    translation = translation_of(adapted, context)
    text = translation.whole(body)
    if translation.failure is not None:
        return _refuse(adapted, body, translation.failure, context)
    usage, stop, kept = translation.usage, translation.stop, translation.kept
    headers = {"content-type": JSON}
    return Answer(200, headers, text, body, adapted, context, usage=usage, stop=stop, reasoning_state=kept)


def _refuse(adapted: CompiledRequest, body: bytes, failure: Failure, context: AnswerContext) -> Answer:
    failure = with_numbers(failure, adapted.ask, adapted.facts.context_window)
    error = render_failure(adapted.ask.dialect, failure, context)
    return Answer(error.status, error.headers, error.body, body, adapted, context, failure=failure)


def stream_of(adapted: CompiledRequest, id: str, created: int) -> AnswerStream:
    return AnswerStream(translation_of(adapted, context_of(adapted, id, created)), adapted)


def context_of(adapted: CompiledRequest, id: str, created: int) -> AnswerContext:
    """What the client's dialect repeats of the request. Without an id, one that the request alone decides: the ids of
    calls are made from it if a provider gives none, and two turns must not share them."""
    ask = adapted.ask
    return AnswerContext(
        model=ask.model or adapted.facts.model,
        created=created,
        id=id or "req_" + blake2b(ask.source, digest_size=12).hexdigest(),
        include_usage=ask.include_usage,
        request=ask.members,
        input_tokens=partial(estimate_reserve, ask.conversation, ask.known),
    )
