"""An upstream's answer in the client's dialect: bytes in, bytes out.

Between equal dialects with nothing to undo the bytes are relayed as they are and only watched. In all other cases they
are read into events, the client's own names and ids are put back, and the events are written in its dialect. A whole
reply takes the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from dragoman.conversation.changes import NOTHING_TO_UNDO, Undo
from dragoman.conversation.collect import collect, merged
from dragoman.conversation.events import CallStarted, Ended, Event, Failed, Stopped, TextDelta, Used
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.conversation.parts import Origin
from dragoman.conversation.replies import Stop, Usage
from dragoman.dialects.dialect import AnswerContext, StreamParser, StreamRenderer
from dragoman.dialects.registry import dialect
from dragoman.engine.argument_names import Renaming
from dragoman.engine.reasoning_capture import Keep, ReasoningCapture
from dragoman.engine.relay_observer import RelayObserver
from dragoman.engine.stream_redaction import StreamRedactor

__all__ = ["Translation"]


class Translation:
    """One answer on its way back. Afterwards it tells what it saw: `usage`, `stop`, `failure`.

    `started`: something has gone out to the client, so that nothing can be tried again. `skipped` counts frames that
    could not be read. `origin` says who made opaque state; by default only the upstream's dialect is known.
    `told` is a failure as it may be shown; `hush` takes secrets out of bytes that are relayed: a provider may repeat
    our key to us.
    """

    __slots__ = (
        "_answering",
        "_client",
        "_hush",
        "_keeping",
        "_origin",
        "_parser",
        "_renaming",
        "_rendering",
        "_said",
        "_think_tags",
        "_told",
        "_undo",
        "_upstream",
        "_watch",
        "failure",
        "started",
        "stop",
        "usage",
    )

    def __init__(
        self,
        upstream: str,
        client: str,
        undo: Undo = NOTHING_TO_UNDO,
        answering: AnswerContext | None = None,
        keep: Keep | None = None,
        think_tags: bool = False,
        origin: Origin | None = None,
        told: Callable[[Failure], Failure] | None = None,
        hush: Callable[[bytes], bytes] | None = None,
    ) -> None:
        self._answering = answering or AnswerContext()
        self._upstream = dialect(upstream)
        self._client = dialect(client)
        self._undo = undo
        self._renaming = Renaming(undo.keys) if undo.keys else None
        self._origin = origin
        self._think_tags = think_tags
        self._keeping = ReasoningCapture(client, keep) if keep is not None else None
        self._parser: StreamParser | None = None
        self._rendering: StreamRenderer | None = None
        same = upstream == client and self._answering.framing is self._upstream.framing
        relayed = same and not undo and not think_tags
        self._watch = RelayObserver(self._new_parser) if relayed else None
        self._told = told
        self._hush = StreamRedactor(hush) if hush is not None else None
        self.usage: Usage | None = None
        self.stop: Stop | None = None
        self._said = ""
        self.failure: Failure | None = None
        self.started = False

    @property
    def relays(self) -> bool:
        """Whether the bytes go through as they are."""
        return self._watch is not None

    @property
    def skipped(self) -> int:
        """Frames that could not be read."""
        return self._parser.skipped if self._parser is not None else 0

    def feed(self, data: bytes) -> bytes:
        """A chunk of the upstream's stream, as the client is to see it."""
        watch = self._watch
        if watch is not None:
            watch.see(data)
            if self._keeping is not None:
                self._listen(self._keeping, data)
            self.failure = watch.failure
            self.started = True
            return data if self._hush is None else self._hush.feed(data)
        if self._parser is None:
            self._parser = self._new_parser()
        return self._written(self._parser.feed(data))

    def close(self) -> bytes:
        """The upstream's stream is over: what is still to be said, an error where the end was not a proper one."""
        if self._watch is not None:
            return self._close_watch(self._watch)
        if self._parser is None:
            self._parser = self._new_parser()
        out = self._written(self._parser.close())
        if self._keeping is not None and self.failure is None:
            self._keeping.close()
        return out + self._renderer.close()

    def fail(self, failure: Failure) -> bytes:
        """The connection broke or timed out: the client's own terminal error."""
        if self.failure is not None:
            return b""
        if self._watch is not None:
            self.failure = failure
            return self._torn() + self._renderer.render([Failed(failure)])
        return self._written([Failed(failure)])

    def whole(self, body: bytes) -> bytes:
        """A whole reply, or the body of an error where `failure` is set afterwards."""
        seen = self._upstream.answers.glance(body) if self._watch is not None and self._keeping is None else None
        if seen is not None:
            self.usage, self.stop = seen
            return body
        events = self._upstream.answers.parse(body, self._origin, seed=self._answering.id, think_tags=self._think_tags)
        if self._renaming is not None:
            events = self._renaming.put(events)
        self._note(events)
        if self.failure is None and self._keeping is not None:
            self._keeping.close()
        if self._watch is not None and self.failure is None:
            return body
        reply = collect(events)
        if isinstance(reply, Failure):
            self.failure = reply
            return self._client.answers.render_error(reply, self._answering)[2]
        return self._client.answers.render(reply, self._answering)

    def _listen(self, keeping: ReasoningCapture, data: bytes) -> None:
        """Relayed all the same: only what has to be kept makes it worth reading."""
        if self._parser is None:
            self._parser = self._new_parser()
        for event in self._parser.feed(data):
            keeping.add(event)

    @property
    def _renderer(self) -> StreamRenderer:
        """Made when something is to be written: most whole answers go through as they are."""
        if self._rendering is None:
            self._rendering = self._client.answers.stream_renderer(self._answering)
        return self._rendering

    def _new_parser(self) -> StreamParser:
        make = self._upstream.answers.stream_parser
        return make(self._origin, seed=self._answering.id, think_tags=self._think_tags)

    def _written(self, events: list[Event]) -> bytes:
        if not events or self.failure is not None:
            return b""
        if self._renaming is not None:
            events = self._renaming.put(events)
        if not events:
            return b""
        if len(events) > 1 or type(events[0]) is not TextDelta or self._keeping is not None:
            self._note(events)
        out = (self._rendering or self._renderer).render(events)
        if out:
            self.started = True
        return out

    def _note(self, events: list[Event]) -> None:
        """See what goes by, and put the client's names and ids back."""
        for index, event in enumerate(events):
            note = _NOTES.get(type(event))
            if note is not None:
                events[index] = note(self, event)
        if self._keeping is not None:
            for event in events:
                self._keeping.add(event)

    def _call(self, event: CallStarted) -> CallStarted:
        undo = self._undo
        name, identity = undo.names.get(event.name, event.name), undo.ids.get(event.id, event.id)
        if name is event.name and identity is event.id:
            return event
        return msgspec.structs.replace(event, name=name, id=identity)

    def _used(self, event: Used) -> Used:
        self.usage = merged(self.usage, event.usage)
        return event

    def _stopped(self, event: Stopped) -> Stopped:
        if event.choice == 0 or self.stop is None:
            self.stop = event.reason
            self._said = event.said
        return event

    def _ended(self, event: Ended) -> Event:
        """An answer that broke down, or is yet to be made, is a failure, except to who speaks its dialect and knows the
        word for that."""
        if self._upstream is self._client or self.stop not in (None, Stop.ERROR):
            return event
        why = "The provider took the request and has not answered it yet."
        if self.stop is not None:
            why = f"The model broke off: {self._said or 'it gave no reason'}."
        return self._failed(Failed(Failure(FailureKind.SERVER, why, 502)))

    def _failed(self, event: Failed) -> Failed:
        if self._told is not None:
            event = Failed(self._told(event.failure))
        self.failure = event.failure
        return event

    def _torn(self) -> bytes:
        """What must end a relayed frame before we may speak ourselves."""
        return self._hush.drop() if self._hush is not None else b""

    def _close_watch(self, watch: RelayObserver) -> bytes:
        """A relayed stream that broke off gets the error that its dialect has for this."""
        proper = watch.close()
        if proper and self._keeping is not None:
            self._keeping.close()
        self.usage, self.stop, told = watch.usage, watch.stop, watch.failure
        self.failure = self.failure or told
        spoken_of = told is not None and told.kind is not FailureKind.BROKEN_STREAM and watch.framed
        if proper or spoken_of:
            return self._hush.close() if self._hush is not None else b""
        if not self.started:
            return self._renderer.close()
        if self._hush is not None:
            return self._torn() + self._renderer.close()
        return (b"\n\n" if watch.cut_short else b"") + self._renderer.close()


_NOTES: Mapping[type[Event], Callable[[Any, Any], Event]] = {
    CallStarted: Translation._call,
    Used: Translation._used,
    Stopped: Translation._stopped,
    Ended: Translation._ended,
    Failed: Translation._failed,
}
