"""An upstream's answer in the client's dialect: bytes in, bytes out.

Between equal dialects with nothing to undo the bytes are relayed as they are and only observed. In all other cases they
are read into events, the client's own names and ids are put back, and the events are written in its dialect. A whole
reply takes the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import msgspec
from msgspec.structs import replace

from dragoman.conversation.changes import NOTHING_TO_UNDO, Undo
from dragoman.conversation.collect import UNFINISHED, collect, merge_usage
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.events import (
    CallStarted,
    Cited,
    Ended,
    Event,
    Failed,
    OpaqueBlock,
    RefusalDelta,
    Started,
    Stopped,
    TextDelta,
    Used,
)
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.conversation.literals import EMPTY, quote
from dragoman.conversation.parts import Origin, Part
from dragoman.conversation.replies import Stop, Usage
from dragoman.conversation.tools import NativeTool
from dragoman.dialects.dialect import AnswerContext, Framing, StreamParser, StreamRenderer
from dragoman.dialects.registry import dialect
from dragoman.dialects.shared.client_agents import find_agent
from dragoman.dialects.shared.raw_json import is_stream
from dragoman.engine.answer.altered_events import AlteredEvents
from dragoman.engine.answer.client_names import ClientNames
from dragoman.engine.answer.joined_answers import ChoiceWriter, RoundWriter
from dragoman.engine.answer.placed_citations import PlacedCitations
from dragoman.engine.answer.provider_runs import ProviderRuns, list_declared
from dragoman.engine.answer.reasoning_capture import ReasoningCapture, TurnKeys
from dragoman.engine.answer.relay_frames import RelayFrames, without_leftovers
from dragoman.engine.answer.relay_observer import has_event
from dragoman.engine.answer.relayed_stream import RelayedStream, is_plain, open_relay
from dragoman.engine.answer.stream_redaction import Redaction
from dragoman.engine.compile.compiled_request import CompiledRequest
from dragoman.engine.compile.envelopes import ChunkReader, ChunkWriter, unwrapping
from dragoman.engine.compile.reasoning_restore import find_answered_turn, issuer, keeps, may_keep
from dragoman.engine.tokens.answer_tally import MOST_WEIGHT, AnswerTally
from dragoman.engine.tokens.token_estimate import estimate_request
from dragoman.engine.tool_runs.run_functions import declares_by_members
from dragoman.profiles.profile import NO_ENVELOPE
from dragoman.wire.sse import BOM, DONE_FRAME

__all__ = ["Translation", "translation_of"]

_NO_CONTEXT = AnswerContext()
_SEARCHED = 2048
"""So many bytes of a stream are searched for thinking."""
_MOST_CAPTURED = 1 << 25
"""Bytes of a relayed stream that are read for state."""
_HOLDS_TOO_MUCH = Failure(FailureKind.ANSWER_TOO_LARGE, "The provider's answer holds more than can be translated.", 502)
_USAGE_ASKED = Undo(usage=True)
"""What was asked on nobody's behalf is taken out of the frames of a stream, which is relayed all the same."""
_MOST_WORDS, _LONGEST_WORD = 64, 256
"""Pieces of text that are held before they are counted, and the bytes of each."""
_DECLINED = (Stop.REFUSAL, Stop.FILTER)
_ANSWERING = (TextDelta, RefusalDelta, CallStarted)
_LAST_PART = 1 << 33
"""The number of a part that comes behind all others."""
_THINKING_PART = b'"thinking"'
"""Stands in every whole answer with thinking among the parts of its content."""


class Translation:
    """One answer on its way back. Afterwards it has what it saw: `usage`, `stop`, `failure`, `kept`."""

    __slots__ = (
        *("_altered", "_beginning", "_capture", "_captured", "_choice", "_client", "_completes", "_context"),
        *("_is_closed", "_is_explained", "_last_text", "_names", "_open_text", "_origin", "_parser"),
        *("_pass_words", "_prompt", "_provider_runs", "_redaction", "_relayed", "_relays_alone"),
        *("_relays_whole", "_renderer", "_stop_word", "_tally", "_think_tags", "_thinking_parts", "_turn"),
        *("_undo", "_unwrap", "_upstream", "_words", "_wrap", "ended", "failure", "kept", "provider"),
        *("relays", "settled", "started", "stop", "usage"),
    )

    def __init__(
        self,
        upstream: str,
        client: str,
        undo: Undo = NOTHING_TO_UNDO,
        context: AnswerContext = _NO_CONTEXT,
        *,
        keep: bool = False,
        think_tags: bool = False,
        thinking_parts: bool = False,
        origin: Origin | None = None,
        redaction: Redaction | None = None,
        completes: bool = False,
        turn: Callable[[], TurnKeys] = TurnKeys,
        unwrap: ChunkReader | None = None,
        seek: bool = False,
        prompt: Conversation | None = None,
    ) -> None:
        """What is given decides how the answer is read.

        - `keep`: state that the client's dialect cannot carry is gathered.
        - `seek`: the same, but only if the answer shows early that it has thinking.
        - `origin`: who made that state; by default only the upstream's dialect is known.
        - `redaction`: takes our own secrets out.
        - `completes`: a whole answer gets the members that the dialect's own vendor always sends.
        - `turn`: gives the keys of the request's last turn.
        - `prompt`: what was asked. Its tokens are estimated for a client of another dialect if nobody reports them.
        """
        # Every piece of a stream asks for these: what stands on the class is found ten times as slowly.
        self.usage: Usage | None = None
        self.stop: Stop | None = None
        self.failure: Failure | None = None
        self.kept: Mapping[str, tuple[Part, ...]] = {}
        """State that the client's dialect cannot carry, by the key under which the next turn finds it."""
        self.started = self.ended = self._is_closed = False
        """The client has been given something; the answer came to its proper end."""
        self._is_explained = False
        """The model declined, and its provider said why; the client is yet to be told."""
        self.settled = False
        """`kept` has all that there is: the answer is over, though its stream may still be open."""
        self.provider = self._stop_word = ""
        self._provider_runs: ProviderRuns | None = None
        self._open_text = -1
        """The part to which more text may come that need only be held; -1: there is none."""
        self._words: list[bytes] = []
        """Text of that part that is yet to be counted, and to be gathered for the next turn."""
        self._last_text = b""
        """The last piece of text before a run was told of."""
        self._capture: ReasoningCapture | None = None
        self._captured = 0
        self._turn = turn
        """Gives the keys of the turn that is answered."""
        self._beginning: bytes | None = None
        """The beginning of an answer, while it is searched for thinking; None: it is not searched."""
        self._parser: StreamParser | None = None
        self._renderer: StreamRenderer | None = None
        self._wrap: ChunkWriter | None = None
        self._relayed: RelayedStream | None = None
        """What sees and what cleans the chunks of a stream that is relayed."""
        self._relays_alone = False
        """Nothing else is done with them."""
        self._pass_words: Callable[[bytes], bytes] | None = None
        """What passes frames on in which nothing but words is new."""
        self._choice: ChoiceWriter | RoundWriter | None = None
        """What writes this answer as one choice of several, or as one round of it."""
        self._prompt = prompt
        self._unwrap = unwrap
        self._context = context
        self._upstream = dialect(upstream)
        self._client = dialect(client)
        self._undo = undo
        self._origin = origin
        self._think_tags = think_tags
        self._redaction = redaction
        self._completes = completes or context.completes
        self._tally: AnswerTally | None = None
        undoes = undo is not NOTHING_TO_UNDO and undo not in (NOTHING_TO_UNDO, _USAGE_ASKED)
        self._names: ClientNames | None = None
        if keep:
            self._capture = self._new_capture()
        same = upstream == client
        native = prompt is not None and (prompt.extras is not None or NativeTool in map(type, prompt.tools))
        if not same and native and _asks_for_runs(prompt):
            self._provider_runs = self._new_runs(self._client.runs_first and self._upstream.runs_last)
        if context.framing is not None:
            wraps = context.framing is Framing.EVENT_STREAM and self._client.framing is not Framing.EVENT_STREAM
            self._wrap = ChunkWriter() if wraps else None
            same = same and (wraps or context.framing is self._upstream.framing)
        alters = undoes or bool(context.prefix) or context.opening is not None
        self._altered = AlteredEvents(undo, context) if alters else None
        self._relays_whole = same and not (alters or think_tags or context.renames)
        self._thinking_parts = thinking_parts
        self.relays = self._relays_whole and not (context.completes or thinking_parts)
        """The bytes go through as they are."""
        if seek and not keep and self._upstream.thinking_mark:
            self._beginning = b""

    def join(self, choice: ChoiceWriter | RoundWriter) -> None:
        """Be one choice of several that are asked for one by one, or one round of an answer."""
        self._renderer = self._choice = choice
        self.relays = self._relays_whole = False
        choice.go_on(self._provider_runs, self._capture)

    @property
    def is_joined_in(self) -> bool:
        """Whether the client has been given something of this one among several answers."""
        return self._choice is not None and self._choice.has_begun

    @property
    def skipped(self) -> int:
        """Frames that could not be read."""
        skipped = self._parser.skipped if self._parser is not None else 0
        return skipped + (self._relayed.frames.skipped if self._relayed is not None else 0)

    def has_begun(self, opening: bytes, *, late: bool = False) -> bool:
        """Whether what the client would be given first says something of the answer: then nothing can be tried again.
        `late`: it has waited for that long enough, and its head will do."""
        if self._choice is not None:
            return self.is_joined_in
        framing, wraps = self._upstream.framing, self._wrap is not None
        if not opening or late:
            return bool(opening) and (not self.relays or wraps or has_event(opening, framing))
        if self.relays and framing is not Framing.EVENT_STREAM:
            return wraps or self._has_words(opening)
        tally = self._tally
        return self.ended or self.stop is not None or (tally is not None and tally.weight > 0)

    def _has_words(self, data: bytes) -> bool:
        """Whether a piece of a relayed stream says something of the answer."""
        return has_event(data, self._upstream.framing, self._upstream.answers.find_beginning)

    def feed(self, data: bytes) -> bytes:
        """A chunk of the upstream's stream, as the client reads it."""
        if self._pass_words is not None and (out := self._pass_words(data)):
            return out
        if self._relays_alone and self._relayed is not None:
            observer = self._relayed.observer
            observer.see(data)
            self.failure = observer.failure
            return self._relayed.frames.feed(data)
        out = self._feed(data) if self._unwrap is None else self._feed_wrapped(self._unwrap, data)
        return out if self._wrap is None else self._wrap.feed(out)

    def _feed_wrapped(self, unwrap: ChunkReader, data: bytes) -> bytes:
        out = self._feed(inner) if (inner := unwrap.feed(data)) else b""
        return out if unwrap.failure is None else out + self._fail(unwrap.failure)

    def _feed(self, data: bytes) -> bytes:
        if not self.relays:
            if self._beginning is not None:
                self._seek_thinking(data)
            return self._write((self._parser or self._reader()).feed(data))
        if self._relayed is None and is_plain(data, self._upstream.framing):
            self.relays = False
            return self._feed(data)
        relayed = self._relayed or self._open_relay()
        observer, frames = relayed.observer, relayed.frames
        observer.see(data)
        unseen = data
        if self._beginning is not None:
            unseen = self._seek_thinking(data)
        if self._capture is not None:
            self._capture_from(self._capture, unseen)
        self.failure = observer.failure
        if data.endswith(DONE_FRAME) and not (self.started or self.failure or self._has_words(data)):
            return b""  # the end of an answer that never began: the error comes first
        self.started = True
        if self._capture is None and self._beginning is None and self._wrap is None and self._unwrap is None:
            self._relays_alone = True
            self._pass_words = frames.pass_words if isinstance(frames, RelayFrames) else None
        return frames.feed(data)

    def _capture_from(self, capture: ReasoningCapture, data: bytes) -> None:
        """Gather state from a piece of a relayed stream."""
        events = self._reader().feed(data)
        for event in events:
            capture.add(event)
        self._captured += len(data)
        if self._captured > _MOST_CAPTURED:
            self._capture = self._parser = None
        elif events and type(events[-1]) is Ended:
            self._finish_capture()

    def _new_capture(self) -> ReasoningCapture:
        client = self._client
        return ReasoningCapture(client.name, self._upstream.name, self._turn, drops_ids=client.optional_ids)

    def _seek_thinking(self, data: bytes) -> bytes:
        """Gather state from here on if the answer has thinking; all that came so far. Models think first."""
        begun = (self._beginning or b"") + data
        found = self._upstream.thinking_mark in begun
        if found:
            self._capture = self._new_capture()
        self._beginning = None if found or len(begun) > _SEARCHED else begun
        return begun

    def close(self) -> bytes:
        """The upstream's stream is over: the client's last bytes, an error if the end was not a proper one."""
        out = self._close()
        self._is_closed = True
        return out if self._wrap is None else self._wrap.feed(out) + self._wrap.close()

    def _close(self) -> bytes:
        if self.relays:
            return self._close_relay(self._relayed or self._open_relay())
        return self._end_with(self._reader().close())

    def _end_with(self, events: list[Event]) -> bytes:
        out = self._write(events)
        self._finish_capture()
        return out + self._writer().close()

    def _end_read(self) -> bytes | None:
        """The proper end of an answer that had said why it stopped before the connection broke; None for others."""
        if self._is_closed:
            return None
        events = self._reader().close()
        is_whole = self.ended or (bool(events) and type(events[-1]) is Ended)
        return self._end_with(events) if is_whole else None

    def fail(self, failure: Failure) -> bytes:
        """The connection broke or timed out: the client's own terminal error.

        A client that has the whole answer already gets its proper end: an error after it would be a second end.
        """
        out = self._fail(failure)
        if self._wrap is None:
            return out
        return self._wrap.fail(out) if self.failure is not None else self._wrap.feed(out) + self._wrap.close()

    def _fail(self, failure: Failure) -> bytes:
        if self.failure is not None:
            return b""
        failure = failure.at(self.provider)
        if not self.relays:
            out = self._end_read()
            return self._write([Failed(failure)]) if out is None else out
        relayed = self._relayed
        if relayed is not None and self._has_relayed_all(relayed):
            self._finish_capture()
            return relayed.frames.close()
        self.failure = failure
        half = relayed.frames.drop() if relayed is not None else b""
        return half + self._writer().render([Failed(failure)])

    def _has_relayed_all(self, relayed: RelayedStream) -> bool:
        """Whether the client has seen all of the answer: it has said why it stopped."""
        return not self._is_closed and self._close_observer(relayed)

    def whole(self, body: bytes) -> bytes:
        """A whole reply, or the body of an error if `failure` is set afterwards."""
        body = body.removeprefix(BOM)
        relays = self._relays_whole and not (self._thinking_parts and _THINKING_PART in body)
        relays = relays and not is_stream(body)
        if self._beginning is not None:
            self._seek_thinking(body)
        peek_usage = self._upstream.answers.peek_usage(body) if relays and self._capture is None else None
        if peek_usage is not None and peek_usage[0] is not None:
            self.usage, self.stop = peek_usage
            self.ended = True
            return self._without_secrets(self._complete(body))
        relays = relays and not (self._completes and self._is_misread(body))
        events = self.read_whole(body)
        if relays and self.failure is None:
            return self._without_secrets(self._complete(body))
        events = self._with_usage(events)
        reply = collect(events)
        if isinstance(reply, Failure):
            self.failure = reply
            return self._client.answers.render_error(reply, self._context)[2]
        if self._choice is not None:
            return self._choice.render(events)
        answer = self._client.answers.render(reply, self._context)
        return answer if self._redaction is None else self._redaction.data(answer)

    def _is_misread(self, body: bytes) -> bool:
        """Whether clients cannot read a whole answer as it is: then it is written anew."""
        try:
            self._upstream.answers.check_whole(body)
            body.decode()
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            return True
        return False

    def _complete(self, body: bytes) -> bytes:
        body = without_leftovers(body, self._upstream.answer_leftovers)
        return self._client.answers.complete(body, self._context) if self._completes else body

    def _without_secrets(self, data: bytes) -> bytes:
        """Without our own keys, should the provider repeat one."""
        return data if self._redaction is None else self._redaction.data(data)

    def read_whole(self, body: bytes) -> list[Event]:
        """The events of a whole reply, with the client's names and ids."""
        body = body.removeprefix(BOM)
        if is_stream(body):
            parser = self._reader()
            events = [*parser.feed(body), *parser.close()]
        else:
            parse = self._upstream.answers.parse
            events = parse(body, self._origin, seed=self._context.id, think_tags=self._think_tags)
        events = self._note(events)
        self._finish_capture()
        return events

    def read(self, data: bytes) -> list[Event]:
        """The events in a chunk, with the client's names and ids: for a caller that wants values, not bytes."""
        if self._unwrap is not None:
            data = self._unwrap.feed(data)
            if self._unwrap.failure is not None:
                return self._note([*self._reader().feed(data), Failed(self._unwrap.failure)])
        return self._note(self._reader().feed(data))

    def read_end(self) -> list[Event]:
        """The last events of a stream that `read` was given."""
        events = self._note(self._reader().close())
        self._finish_capture()
        return events

    def output_tokens(self) -> tuple[int, bool]:
        """The tokens of the answer so far, and whether they are estimated. A count in the middle of a stream may be
        behind what the client has been given."""
        relayed = self._relayed
        if relayed is not None and not relayed.observer.closed:
            self._close_observer(relayed)
        elif self._parser is not None and not self.ended:
            for event in self._parser.close():  # some providers count in each event, and are heard at the end
                if type(event) is Used:
                    self._note_usage(event)
        reported = self.usage.output if self.usage is not None else 0
        if self.ended and reported:
            return reported, False
        if relayed is not None:
            relayed.observer.count_held()
        seen = self._count_words().tokens() if self._tally is not None else 0
        return max(reported, seen), seen > 0

    def let_go(self) -> None:
        """Let go of what the answer was read and written with: each may hold a long event, and some know each other."""
        self._relayed = self._pass_words = self._parser = self._renderer = self._capture = None
        self._last_text = b""

    def _start_tally(self) -> AnswerTally:
        """Made when an answer is read: most whole answers go through as they are."""
        self._tally = AnswerTally(self._origin.model if self._origin is not None else "")
        return self._tally

    def _open_relay(self) -> RelayedStream:
        """Made when a stream begins: most whole answers go through as they are."""
        self._relayed = open_relay(
            self._upstream,
            self._client,
            self._new_parser,
            self._start_tally(),
            self._redaction.data if self._redaction is not None else None,
            id=self._context.id,
            provider=self.provider,
            hides_usage=self._undo.usage,
        )
        return self._relayed

    def _reader(self) -> StreamParser:
        if self._parser is None:
            self._parser = self._new_parser()
        return self._parser

    def _new_parser(self) -> StreamParser:
        make = self._upstream.answers.stream_parser
        return make(self._origin, seed=self._context.id, think_tags=self._think_tags)

    def _writer(self) -> StreamRenderer:
        """Made when something is written."""
        if self._renderer is None:
            self._renderer = self._client.answers.stream_renderer(self._context)
        return self._renderer

    def _write(self, events: list[Event]) -> bytes:
        events = self._note(events)
        if not events:
            return b""
        if self.ended and self._prompt is not None:
            events = self._with_usage(events)
        out = (self._renderer or self._writer()).render(events)
        if self._redaction is not None:
            out = self._redaction.data(out)
        if out:
            self.started = True
        return out

    def _with_usage(self, events: list[Event]) -> list[Event]:
        """The last events of an answer, with an estimate if the provider did not report its tokens.

        It is what is booked, and not noted as reported.
        """
        prompt, self._prompt = self._prompt, None
        usage = self.usage or Usage()
        if prompt is None or (usage.input and usage.output) or type(events[-1]) is not Ended:
            return events
        tokens = usage.input or estimate_request(prompt, self._origin.model if self._origin is not None else "")
        estimated = Used(replace(usage, input=tokens, output=self.output_tokens()[0]))
        return [*events[:-1], estimated, events[-1]]

    def _note(self, events: list[Event]) -> list[Event]:
        """The events with the client's names and ids, once what they tell is noted. Nothing follows a failure."""
        if self.failure is not None:
            return []
        if events and self._altered is not None:
            events = self._altered.put(events)
        if not events:
            return []
        if self._choice is not None:
            self._choice.gather(events)
        first, words = events[0], self._words
        if (
            len(events) == 1
            and type(first) is TextDelta
            and first.part == self._open_text
            and not first.choice
            and len(first.literal) <= _LONGEST_WORD
            and len(words) < _MOST_WORDS
        ):
            words.append(first.literal)
            return events
        tally = self._count_words()
        texts: list[bytes] = []
        for index, event in enumerate(events):
            if type(event) is TextDelta and event.part == tally.part:
                texts.append(event.literal)
                continue
            if texts:
                tally.add_texts(texts)
                texts = []
            tally.add(event)
            note = _NOTES.get(type(event))
            if note is not None:
                events[index] = note(self, event)
        if texts:
            tally.add_texts(texts)
        if self._is_explained:
            events = self._tell_why(events)
        if tally.weight > MOST_WEIGHT and self.failure is None:
            return [self._note_failure(Failed(_HOLDS_TOO_MUCH))]
        if self._capture is not None:
            for event in events:
                self._capture.add(event)
        if self._provider_runs is not None:
            self._open_text = -1
            events = self._provider_runs.put(events)
        else:
            self._open_text = tally.part
            for event in reversed(events):
                if type(event) is TextDelta and event.literal != EMPTY:
                    self._last_text = event.literal
                    break
        if self.ended:
            self._finish_capture()
        names = self._names
        return events if names is None or names.calls is None else names.calls.put(events)

    def _count_words(self) -> AnswerTally:
        """The tally, with the text that was held."""
        tally = self._tally or self._start_tally()
        if self._words:
            words, self._words = self._words, []
            tally.add_texts(words)
            self._last_text = next((word for word in reversed(words) if word != EMPTY), self._last_text)
            if self._capture is not None:
                self._capture.add_texts(self._open_text, words)
        return tally

    def _client_names(self) -> ClientNames:
        """Made when something is to be named: most whole answers go through as they are."""
        if self._names is None:
            self._names = ClientNames(self._upstream, self._client, self._undo, self._context.id)
        return self._names

    def _note_usage(self, event: Used) -> Used:
        self.usage = event.usage if self.usage is None else merge_usage(self.usage, event.usage)
        return event

    def _tell_runs(self, event: Event) -> Event:
        """What may tell of a tool that the provider ran is told in the client's form from here on."""
        if self._provider_runs is None and self._upstream is not self._client:
            self._provider_runs = self._new_runs(None)
        return event

    def _new_runs(self, holds: bool | None) -> ProviderRuns:
        prompt = self._prompt
        tools = list_declared(prompt.tools, self._undo.names) if prompt is not None else {}
        citations = PlacedCitations(self._upstream, self._client)
        seed, last = self._context.id, self._last_text
        return ProviderRuns(self._upstream, self._client, citations, tools, holds, seed=seed, last_text=last)

    def _note_stop(self, event: Stopped) -> Stopped:
        if event.extras is not None:
            self._tell_runs(event)
        if event.choice == 0 or self.stop is None:
            self.stop = event.reason
            self._stop_word = f"{event.word}. {event.why}".rstrip(". ") if event.why else event.word
        if event.why and event.reason in _DECLINED and self._upstream is not self._client:
            self._is_explained = True
        return event

    def _tell_why(self, events: list[Event]) -> list[Event]:
        """The events, with why the model declined as its words if it has none: only its own dialect has another place
        for that."""
        self._is_explained = False
        if self._last_text or any(type(event) in _ANSWERING for event in events):
            return events
        at, stop = next((at, one) for at, one in enumerate(events) if isinstance(one, Stopped))
        return [*events[:at], RefusalDelta(stop.choice, _LAST_PART, quote(stop.why)), *events[at:]]

    def _note_end(self, event: Ended) -> Event:
        """An answer that broke down, or has not been made yet, is a failure, except to a client of the same dialect,
        which has a word for that."""
        if self._upstream is self._client or self.stop not in (None, Stop.ERROR):
            self.ended = True
            return event
        why = "The provider took the request and has not answered it yet."
        if self.stop is not None:
            why = f"The model broke off: {self._stop_word or 'it gave no reason'}."
        return self._note_failure(Failed(Failure(FailureKind.SERVER, why, 502)))

    def _note_failure(self, event: Failed) -> Failed:
        failure = event.failure.at(self.provider)
        self.failure = failure if self._redaction is None else self._redaction.failure(failure)
        return Failed(self.failure)

    def _finish_capture(self) -> None:
        if self._capture is not None and self.failure is None:
            runs = self._provider_runs
            self.kept = self._capture.close() if runs is None else {**self._capture.close(runs.unshown), **runs.kept}
            self._capture, self.settled = None, True

    def _close_relay(self, relayed: RelayedStream) -> bytes:
        """A relayed stream that broke off gets the error that its dialect has for this."""
        observer, frames = relayed.observer, relayed.frames
        proper = self._close_observer(relayed)
        self.failure = self.failure or observer.failure
        if proper:
            self._finish_capture()
        if proper or relayed.tells_failure:
            rest = frames.close()
            return rest if proper or observer.marked_end else rest + self._client.stream_end
        failure = self.failure or UNFINISHED
        half = frames.drop() if self.started else b""
        return half + self._writer().render([Failed(failure.at(self.provider))])

    def _close_observer(self, relayed: RelayedStream) -> bool:
        observer = relayed.observer
        self.ended = observer.close()
        self.usage, self.stop = observer.usage, observer.stop
        return self.ended


def _asks_for_runs(prompt: Conversation | None) -> bool:
    """Whether a request declares a tool that a provider runs."""
    assert prompt is not None
    native = any(type(tool) is NativeTool and tool.meant is None for tool in prompt.tools)
    return native or (prompt.extras is not None and declares_by_members(prompt))


_NOTES: Mapping[type[Event], Callable[[Any, Any], Event]] = {
    Started: lambda translation, event: translation._client_names().name_answer(event),
    CallStarted: lambda translation, event: translation._client_names().name_call(event),
    OpaqueBlock: Translation._tell_runs,
    Cited: lambda translation, event: translation._tell_runs(translation._client_names().name_cited(event)),
    Used: Translation._note_usage,
    Stopped: Translation._note_stop,
    Ended: Translation._note_end,
    Failed: Translation._note_failure,
}


def translation_of(adapted: CompiledRequest, context: AnswerContext, redaction: Redaction | None = None) -> Translation:
    """The way back of one compiled request."""
    facts, client = adapted.facts, adapted.ask.dialect
    keep = keeps(facts, adapted.ask)
    translation = Translation(
        adapted.dialect,
        client,
        adapted.undo,
        context,
        keep=keep,
        think_tags=facts.think_tags,
        thinking_parts=facts.thinking_parts and not find_agent(adapted.ask.headers).reads_thinking_parts,
        origin=Origin(adapted.dialect, issuer(facts), facts.model),
        redaction=redaction,
        completes=not facts.complete_answers,
        turn=partial(find_answered_turn, adapted.ask),
        unwrap=None if adapted.envelope is NO_ENVELOPE else unwrapping(adapted.envelope),
        seek=not keep and may_keep(facts, adapted.ask),
        prompt=adapted.ask.conversation,
    )
    translation.provider = facts.provider
    return translation
