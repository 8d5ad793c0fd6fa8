"""Several answers, each to a request of its own, as the choices of one answer, or as its rounds."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import Any

from msgspec.structs import replace

from dragoman.conversation.collect import Folding, collect, merge_usage
from dragoman.conversation.events import (
    CallStarted,
    Cited,
    Ended,
    Event,
    Failed,
    OpaqueBlock,
    Started,
    Stopped,
    TextDelta,
    Used,
)
from dragoman.conversation.failures import Failure
from dragoman.conversation.literals import join_texts, prefix_literal, quote, unquote
from dragoman.conversation.parts import OURS, Extras, Opaque, Part
from dragoman.conversation.provider_tools import CitationRange, FoundPage, GroundedSpan, ToolRun
from dragoman.conversation.replies import Stop, Usage, sum_usage
from dragoman.dialects.dialect import AnswerContext, StreamRenderer
from dragoman.dialects.registry import dialect
from dragoman.dialects.shared.citations import Page, page_of, place_citation
from dragoman.engine.answer.provider_runs import ProviderRuns
from dragoman.engine.answer.reasoning_capture import ReasoningCapture

_MOST_CITED = 32
_LINE = "\n\n"
"""Sets the text of a round off from that of an earlier one."""
_CUT_OFF = (Stop.LENGTH, Stop.CONTEXT)
"""The model had no room for more. What it was calling is not run, and the answer ends here, as vendors end theirs."""


class JoinedAnswers:
    """What the client is given of several answers. A stream is written as they come; whole answers are gathered.

    What was written waits here in its order: those who read the answers may be overtaken by each other.
    """

    def __init__(self, client: str, id: str, count: int, stream: bool) -> None:
        """`client`: its dialect. `id`: that of the whole answer. `count`: how many answers there are."""
        self.is_over = False
        """Nothing can follow: the proper end, or an error."""
        self.lock = Lock()
        """Held while something is written: a large piece of an answer is read in a thread."""
        self._out: list[bytes] = []
        self._answers = dialect(client).answers
        self.id = id
        self.parts = 0
        """How many parts of the only choice were written, if the answers are its rounds."""
        self.ends_in_text = False
        """Text was written, and no run was shown after it."""
        self.text = ""
        """Of the rounds before, if citations speak of the text of the whole answer."""
        self.runs: list[ToolRun] = []
        """The tools that the gateway ran so far."""
        self.resumes = not dialect(client).pauses
        """An answer that its provider has paused is gone on with here: the client knows no such thing."""
        self.last_round: RoundWriter | None = None
        """The round that has ended, if another follows."""
        self._codec = dialect(client).provider_tools
        self.cites_whole = self._codec is not None and self._codec.cites is CitationRange.ANSWER
        """Citations speak of the text of the whole answer."""
        self._client = client
        self.opening: tuple[Opaque, ...] = ()
        """What is shown before the first round."""
        self._stream = stream
        self._left = count
        self._usages: list[Usage] = []
        self._folding = Folding()
        self._has_head = False
        self._context = AnswerContext(id=id)
        self._renderer: StreamRenderer | None = None

    def begin(self, index: int, context: AnswerContext) -> ChoiceWriter:
        """Write one of the answers. One that failed before anything of it was written may begin again."""
        self._open(context)
        return ChoiceWriter(self, index)

    def begin_round(self, context: AnswerContext) -> RoundWriter:
        """Write the next round of the one answer."""
        self._open(context)
        return RoundWriter(self)

    def _open(self, context: AnswerContext) -> None:
        if self._renderer is None:
            self._context = replace(context, id=self.id)
            self._renderer = self._answers.stream_renderer(self._context)

    def write(self, events: Sequence[Event]) -> bytes:
        if self.is_over or not events:
            return b""
        if self._stream:
            assert self._renderer is not None
            self._out.append(out := self._renderer.render(events))
            return out
        for event in events:
            self._folding.add(event)
        return b""

    def open_rounds(self) -> list[Event]:
        """What stands before the first round."""
        shown, first, self.opening = self.opening, self.parts, ()
        self.parts += len(shown)
        return [OpaqueBlock(0, number, block) for number, block in enumerate(shown, first)]

    def take_head(self) -> bool:
        """Whether the head of an answer is still wanted: the first one stands for all."""
        wanted, self._has_head = not self._has_head, True
        return wanted

    def note_usage(self, usage: Usage | None) -> None:
        self._usages += [] if usage is None else [usage]

    def end(self, usage: Usage | None) -> list[Event]:
        """One answer has ended: the end of all of them if it was the last."""
        self.note_usage(usage)
        self._left -= 1
        if self._left:
            return []
        return [*([Used(self._count_runs(sum_usage(self._usages)))] if self._usages else []), Ended()]

    def _count_runs(self, usage: Usage) -> Usage:
        """The usage with the number of runs, if the client's vendor counts them there."""
        counts = self._codec.render_usage(self.runs) if self._codec is not None and self.runs else {}
        return replace(usage, extras=Extras(self._client, counts)) if counts else usage

    def tell_runs(self, stopped: Stopped, cited: Sequence[FoundPage], spans: Sequence[GroundedSpan]) -> Stopped:
        """The end of the choice with what the client's vendor tells of runs there."""
        members = self._codec.render_ending(self.runs, cited, spans) if self._codec is not None and self.runs else {}
        return replace(stopped, extras=Extras(self._client, members)) if members else stopped

    def take(self) -> bytes:
        """What was written since it was last taken."""
        out, self._out = self._out, []
        return b"".join(out)

    def fail(self, failure: Failure) -> bytes:
        """The client's own error at the end of a stream, unless it has ended."""
        out = self.write([Failed(failure)])
        self.is_over = True
        return out

    @property
    def has_ended(self) -> bool:
        """Whether all answers came to their proper end."""
        return not self._left

    def whole(self) -> bytes:
        """The whole answer, once all of them are there."""
        reply = self._folding.result()
        assert not isinstance(reply, Failure)
        return self._answers.render(reply, self._context)


class ChoiceWriter:
    """Writes one of several answers: its events, as those of one choice among the others."""

    def __init__(self, joined: JoinedAnswers, index: int) -> None:
        self._joined = joined
        self._index = index
        self._usage: Usage | None = None
        self.has_begun = False
        """Something of it was written, so that it cannot be asked for again."""

    def render(self, events: Sequence[Event]) -> bytes:
        with self._joined.lock:
            return self._render(events)

    def _render(self, events: Sequence[Event]) -> bytes:
        failure = next((event.failure for event in events if isinstance(event, Failed)), None)
        if failure is not None and not self.has_begun:
            return b""
        out: list[Event] = []
        for event in events:
            match event:
                case Started():
                    out += [replace(event, choice=self._index)] if self._joined.take_head() else []
                case Used(usage):
                    self._usage = merge_usage(self._usage, usage)
                case Ended():
                    out += self._joined.end(self._usage)
                case Failed():
                    pass
                case _:
                    self.has_begun = True
                    out.append(replace(event, choice=self._index))
        written = self._joined.write(out)
        return written if failure is None else written + self._joined.fail(failure)

    def gather(self, events: Sequence[Event]) -> None:
        """Nothing: no other answer follows from this one."""

    def go_on(self, runs: ProviderRuns | None, capture: ReasoningCapture | None) -> None:
        """Nothing: each answer tells of its own runs and has its own state."""

    def close(self) -> bytes:
        """Nothing: the end is written with the last answer."""
        return b""


class RoundWriter:
    """Writes one round of an answer: its parts after those of earlier rounds. Calls of tools that the gateway runs are
    not written but gathered: a round that has some is not the last one, or ends when they have been run. Neither is one
    the last that the provider has paused, if the client could not send it back."""

    def __init__(self, joined: JoinedAnswers) -> None:
        self.calls: list[Opaque] = []
        """The calls of tools that the gateway runs: `meant` has the call, `kind` the key of the tool."""
        self.client_calls: list[str] = []
        """The ids of calls that are the client's."""
        self.is_paused = False
        """The provider goes on with the answer once it has all of this round."""
        self.has_begun = False
        """Something of it was written, so that it cannot be asked for again."""
        self._joined = joined
        self._given: list[Event] = []
        self._places: dict[int, int] = {}
        self._usage: Usage | None = None
        self._stopped: list[Stopped] = []
        self._texts: dict[int, list[bytes]] = {}
        """The texts of the round, by the numbers of their parts."""
        self._has_text = False
        self._set_off = ""
        """What stands before the first text of the round."""
        self._provider_runs: ProviderRuns | None = None
        """What tells of the tools that the provider ran in this round."""
        self._capture: ReasoningCapture | None = None
        """The state of this round and of those before it."""

    def render(self, events: Sequence[Event]) -> bytes:
        with self._joined.lock:
            if len(events) == 1 and type(events[0]) is TextDelta:  # most of a stream
                return self._joined.write([self._place(events[0])])
            failure = next((event.failure for event in events if isinstance(event, Failed)), None)
            if failure is not None and not self.has_begun:
                return b""
            written = self._joined.write([one for event in events for one in self._find_shown(event)])
            return written if failure is None else written + self._joined.fail(failure)

    def gather(self, events: Sequence[Event]) -> None:
        """Gather what the model gave, as its provider told it: the next round goes on from there."""
        self._given += events

    def go_on(self, runs: ProviderRuns | None, capture: ReasoningCapture | None) -> None:
        """Have what the provider runs told, and what is captured kept, as one with the round before this."""
        self._provider_runs, self._capture = runs, capture
        if runs is not None:
            runs.is_resumed = self._joined.resumes
        if (last := self._joined.last_round) is None:
            return
        if runs is not None and last._provider_runs is not None and last.is_paused:
            runs.go_on_from(last._provider_runs, self._joined.text, _LINE if self._joined.ends_in_text else "")
        if capture is not None and last._capture is not None:
            capture.go_on_from(last._capture, last.is_paused)

    def _find_shown(self, event: Event) -> list[Event]:
        """What the client sees of an event."""
        match event:
            case Started():
                return [event, *self._joined.open_rounds()] if self._joined.take_head() else []
            case Used(usage):
                self._usage = merge_usage(self._usage, usage)
            case OpaqueBlock(opaque=Opaque(meant=(_,)) as block) if block.origin == OURS:
                self.calls.append(block)
            case Stopped():
                self._stopped.append(event)
                self.is_paused = event.reason is Stop.PAUSE and self._joined.resumes
                self.calls = [] if event.reason in _CUT_OFF else self.calls
            case Ended() if not (self.calls or self.is_paused):
                return self._end()
            case Ended() | Failed():
                pass
            case _:
                return [self._place(event)]
        return []

    def _place(self, event: Any) -> Event:
        """An event of a part, which has the next free number. The first text of a round is set off from that of an
        earlier one."""
        self.has_begun = True
        answer, place = self._joined, self._places.get(event.part)
        is_text = type(event) is TextDelta
        if place is None:
            place = self._places[event.part] = answer.parts
            answer.parts += 1
            self.client_calls += [event.id] if type(event) is CallStarted else []
            answer.ends_in_text = answer.ends_in_text and type(event) is not OpaqueBlock
        if is_text and not self._has_text:
            self._has_text = True
            self._set_off = _LINE if answer.ends_in_text else ""
            answer.ends_in_text = True
            event = replace(event, literal=prefix_literal(self._set_off, event.literal)) if self._set_off else event
        if is_text and (answer.runs or answer.cites_whole):
            self._texts.setdefault(place, []).append(event.literal)
        if type(event) is Cited and answer.cites_whole and (before := len(answer.text + self._set_off)):
            event = _move_citation(event, before)
        placed: Event = event if event.part == place and not event.choice else replace(event, part=place, choice=0)
        return placed

    def parts(self) -> tuple[Part, ...]:
        """All that the model gave in this round."""
        reply = collect(self._given)
        return reply.choices[0].parts if not isinstance(reply, Failure) and reply.choices else ()

    def show(self, blocks: Sequence[Opaque], run: ToolRun | None = None) -> None:
        """Show what came of a call that the gateway ran."""
        with self._joined.lock:
            self._joined.runs += [] if run is None else [run]
            first = self._joined.parts
            self._joined.parts += len(blocks)
            self._joined.ends_in_text = self._joined.ends_in_text and not blocks
            self._joined.write([OpaqueBlock(0, number, block) for number, block in enumerate(blocks, first)])

    def say(self, text: str) -> None:
        """Add a text of the gateway's own."""
        with self._joined.lock:
            words = f"\n\n{text}" if self._joined.ends_in_text else text
            self._joined.write([TextDelta(0, self._joined.parts, quote(words))])
            self._joined.parts += 1
            self._joined.ends_in_text = True

    def next_round(self) -> None:
        """Another round follows."""
        self._joined.note_usage(self._usage)
        if self._joined.cites_whole:
            self._joined.text += "".join([unquote(join_texts("", literals)) for literals in self._texts.values()])
        self._joined.last_round = self

    def finish(self, stopped: Stopped | None) -> None:
        """The answer ends here; for another reason than the model's if there is one."""
        with self._joined.lock:
            self._stopped = self._stopped if stopped is None else [stopped]
            self._joined.write(self._end())

    def _end(self) -> list[Event]:
        """The last events. A page that was found is cited if its address stands in the answer."""
        cited: dict[str, FoundPage] = {}
        events: list[Event] = []
        spans: list[GroundedSpan] = []
        before = self._joined.text
        for place, literals in self._texts.items():
            text = unquote(join_texts("", literals))
            for page in [page for run in self._joined.runs for page in run.pages if page.url not in cited]:
                start = text.find(page.url) if page.url and len(cited) < _MOST_CITED else -1
                if start >= 0:
                    cited[page.url] = page
                    first = len(before) + start if self._joined.cites_whole else start
                    spans += [_span(page.url, before + text[:start])] if self._joined.cites_whole else []
                    events.append(place_citation(0, place, Page(page.url, page.title, first, first + len(page.url))))
            before += text
        stopped = [self._joined.tell_runs(one, tuple(cited.values()), spans) for one in self._stopped]
        return [*events, *stopped, *self._joined.end(self._usage)]

    def close(self) -> bytes:
        """Nothing: the end is written with the last round."""
        return b""


def _span(url: str, before: str) -> GroundedSpan:
    """An address in an answer, behind this text."""
    start = len(before.encode())
    return GroundedSpan(url, start, start + len(url.encode()), url)


def _move_citation(cited: Cited, characters: int) -> Cited:
    """A citation of a text that stands behind another one."""
    page = page_of(cited.json)
    if page is None or not page.end:
        return cited
    start, end = page.start + characters, page.end + characters
    return place_citation(cited.choice, cited.part, replace(page, start=start, end=end))
