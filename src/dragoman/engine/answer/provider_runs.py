"""Runs of a provider's tools in an answer, in the form that the client's dialect has for them.

Some vendors tell of a run in one block and some in two, a call and its result; others tell of it at the end of the
answer. A run is written once it is whole. What only the vendor can read never goes along.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from dragoman.conversation.canonical import base62
from dragoman.conversation.envelope import seal, seal_several, unseal_several
from dragoman.conversation.events import (
    Cited,
    Ended,
    Event,
    Failed,
    MediaDelta,
    OpaqueBlock,
    Started,
    Stopped,
    TextDelta,
    Used,
)
from dragoman.conversation.literals import EMPTY
from dragoman.conversation.parts import OURS, Extras, Opaque
from dragoman.conversation.provider_tools import AskedRuns, CitationRange, Family, FoundPage, GroundedSpan, ToolRun
from dragoman.conversation.replies import Stop
from dragoman.conversation.tools import NativeTool, Tool
from dragoman.dialects.dialect import Dialect
from dragoman.dialects.shared.citations import page_of
from dragoman.engine.answer.placed_citations import PlacedCitations

_BROKEN_OFF = "unavailable"
"""Why a run came to nothing that was asked for and never answered."""
_LAST = 1 << 32
"""The number of the first part that is told at the end of an answer: above those of all others."""
_BREAK = b"\\n"
"""A line break in a JSON literal."""
_LINE_END = _BREAK + b'"'
_MOST_KEPT = 1 << 20
"""So many characters of a vendor's own blocks are kept of an answer. Later runs are told in words on the next turn."""
_MOST_HELD = 20_000
"""So many events wait for the end of an answer."""


class ProviderRuns(msgspec.Struct):
    """`tools` are those of the request, since some vendors tell only the names of found ones. `holds`: the answer may
    tell of runs at its end, so what would stand behind them in the client's form waits for that."""

    _upstream: Dialect
    _client: Dialect
    _citations: PlacedCitations
    _tools: Mapping[str, Tool]
    _holds: bool | None
    """None: as far as nothing of the answer has been written."""
    seed: str = ""
    """What tells this answer from others. The ids of runs that have none are made of it."""
    last_text: bytes = b""
    """The last piece of text that was written."""
    _held: list[Event] = []
    _begin: int | None = None
    """The first part that may be told by two."""
    _shift: int = 0
    """How many parts are told before it."""
    kept: dict[str, tuple[Opaque, ...]] = {}
    """Blocks that their vendor wants back and the client cannot carry, by the ids of the runs that it is shown."""
    _kept_size: int = 0
    unshown: list[Opaque] = []
    """Such blocks of runs that the client is not shown."""
    _asked: AskedRuns = msgspec.field(default_factory=AskedRuns)
    _asked_blocks: list[Opaque] = []
    """The blocks of these."""
    _bare: list[ToolRun] = []
    """Searches that were made, if the end of the answer tells what they have found."""
    _bare_blocks: dict[str, list[Opaque]] = {}
    """All blocks of these searches, which their vendor wants back, by the ids of the searches."""
    _runs: list[ToolRun] = []
    _pages: list[FoundPage] = []
    _spans: list[GroundedSpan] = []
    """What was cited in rounds before this."""
    _text_before: int = 0
    _line: int = 0
    """The bytes of their text, and of the line behind it."""
    _gap: int | None = None
    """The part of a run that the client is not shown, since the last text; -1 if a block has it that nobody shows."""
    is_resumed: bool = False
    """If the provider pauses, it is asked to go on: what it has not done until then, it will do."""

    @property
    def _is_one_text(self) -> bool:
        """The client reads all texts of an answer as one."""
        codec = self._client.provider_tools
        return codec is None or codec.cites is CitationRange.ANSWER

    def go_on_from(self, earlier: ProviderRuns, text: str, line: str) -> None:
        """Begin with what was asked for, told and cited before the provider paused. `text`: what the client was given
        then. `line`: what sets the next text off from it, unless a run is shown between them."""
        self._spans, self._text_before, self._line = earlier._find_spans(), len(text.encode()), len(line)
        self._asked, self._asked_blocks = earlier._asked.copy(), list(earlier._asked_blocks)
        self._runs, self._pages = list(earlier._runs), list(earlier._pages)
        self.unshown, self._kept_size = list(earlier.unshown), earlier._kept_size

    def put(self, events: Sequence[Event]) -> list[Event]:
        """The events with every run in its form."""
        if self._holds is None:
            self._holds = self._client.runs_first and type(events[0]) is Started
        out: list[Event] = []
        for event in events:
            for one in self._citations.put(self._set_off(event)):
                out += self._put(one)
        return out

    def _put(self, event: Event) -> list[Event]:
        match event:
            case Stopped() | Ended() | Failed():
                return self._end(event)
            case _ if self._held or (self._holds and isinstance(event, (TextDelta, MediaDelta))):
                self._held.append(event)
                if isinstance(event, Cited):
                    self._cite(event)
                return self._release() if len(self._held) > _MOST_HELD else []
        return self._write(event)

    def _set_off(self, event: Event) -> tuple[Event, ...]:
        """The event, and before it a blank line in the place of a run that stood between two texts of the model's, if
        the client is not shown the run and reads both as one."""
        if type(event) is not TextDelta or event.choice or event.literal == EMPTY:
            return (event,)
        gap, last = self._gap, self.last_text
        self._gap, self.last_text = None, event.literal
        if gap is None or not last or last.endswith(_LINE_END) or event.literal.startswith(b'"' + _BREAK):
            return (event,)
        part = gap if gap + 1 == event.part else event.part  # what stands between them stays before the blank line
        return TextDelta(0, part, b'"' + 2 * _BREAK + b'"'), event

    def _write(self, event: Event) -> list[Event]:
        match event:
            case OpaqueBlock(opaque=opaque) if opaque.origin.dialect == self._upstream.name:
                written = self._take(event)
                shown = any(isinstance(one, OpaqueBlock) and self._shows(one.opaque) for one in written)
                self._line = 0 if shown and not self.last_text else self._line
                self._gap = None if shown or not self._is_one_text else -1 if written else event.part
                return written
            case Used():
                return [self._count(event)]
            case Cited():
                self._cite(event)
        return [self._renumber(event)]

    def _shows(self, opaque: Opaque) -> bool:
        """Only a block of the client's own dialect is written for it."""
        return opaque.origin.dialect == self._client.name

    def _release(self) -> list[Event]:
        """What was held, as it is. From here on nothing is."""
        held, self._held, self._holds = self._held, [], False
        return [one for event in held for one in self._write(event)]

    def _take(self, event: OpaqueBlock) -> list[Event]:
        run = self._upstream.provider_tools.parse_run(event.opaque) if self._upstream.provider_tools else None
        if run is not None and self._is_bare(run):
            self._bare += [] if run.is_result else [run]
            self._bare_blocks.setdefault(run.id, []).append(event.opaque)
            return []
        self._holds = False  # this answer tells of its runs when they are done
        if self._begin is None:
            self._begin = event.part
        if run is None:
            return [self._renumber(event)]
        if run.is_open:
            self._asked.add(run, len(self._asked_blocks))
            self._asked_blocks.append(event.opaque)
            return []
        half = self._asked.take(run)
        whole = run if half is None else half[0].joined(run)
        if half is not None and whole.goes_back:
            whole = replace(whole, state=seal_several((self._asked_blocks[half[1]], event.opaque)))
        elif not run.is_result:
            whole = replace(whole, state=seal(event.opaque))
        return self._tell(event.choice, 2 * event.part + self._shift, whole)

    def _is_bare(self, run: ToolRun) -> bool:
        """Whether a block shows that a search was made, and the end of the answer what it has found."""
        found = run.pages or run.error or run.output is not None
        return self._upstream.runs_last and run.family is Family.WEB_SEARCH and not found

    def _tell(self, choice: int, number: int, run: ToolRun) -> list[Event]:
        found = tuple([self._tools.get(tool.name, tool) for tool in run.tools])
        identity = run.id or base62(self.seed, len(self._runs), run.arguments, length=24)
        run = replace(run, id=identity, tools=found, arguments=run.arguments or b"{}")
        self._runs.append(run)
        codec = self._client.provider_tools
        blocks = codec.render_run(run) if codec is not None else ()
        if run.goes_back:
            self._keep(run, [codec.parse_run(block) for block in blocks] if codec is not None else [])
        return [OpaqueBlock(choice, number + place, block) for place, block in enumerate(blocks)]

    def _keep(self, run: ToolRun, shown: Sequence[ToolRun | None]) -> None:
        """Keep the vendor's own blocks of a run, unless the client carries them."""
        ids = {one.id for one in shown if one is not None}
        self._kept_size += len(run.state)
        if self._kept_size <= _MOST_KEPT and not any(one.state for one in shown if one is not None):
            own = unseal_several(run.state)
            self.kept |= dict.fromkeys(ids, own)
            self.unshown += () if ids else own

    def _renumber(self, event: Event) -> Event:
        """The event with the number of its part, if a part before it may have become two."""
        part = getattr(event, "part", None)
        if part is None or self._begin is None or part < self._begin:
            return event
        return replace(event, part=2 * part + self._shift)

    def _cite(self, event: Cited) -> None:
        page = page_of(event.json) if event.origin.dialect in (OURS.dialect, self._upstream.name) else None
        if page is not None:
            self._pages.append(FoundPage(page.url, page.title))

    def _end(self, event: Stopped | Ended | Failed) -> list[Event]:
        """The end of an answer, and before it the runs that it tells of, those that nobody ended, and what was held."""
        late = self._late_runs(event) if isinstance(event, Stopped) else []
        first = next((part for one in self._held if (part := getattr(one, "part", None)) is not None), None)
        choice = event.choice if isinstance(event, Stopped) else 0
        shown = not self._client.runs_first or bool(self._holds)
        blocks: list[Event] = []
        number = _LAST if first is None else 2 * first
        for run in late:
            made = self._tell(choice, number + len(blocks), run)
            blocks += made if shown else []
        if first is not None and blocks:
            self._begin, self._shift = first, len(blocks)
        if not isinstance(event, Stopped):
            return [*blocks, *self._release(), event]
        codec = self._client.provider_tools
        members = codec.render_ending(self._runs, self._pages, self._find_spans()) if codec is not None else {}
        ended = replace(event, extras=Extras(self._client.name, members)) if members else event
        return [*blocks, *self._release(), ended]

    def _find_spans(self) -> list[GroundedSpan]:
        """What was cited so far, in bytes of the whole text."""
        shift = self._text_before + self._line
        found = self._citations.spans()
        return [*self._spans, *[replace(one, start=one.start + shift, end=one.end + shift) for one in found]]

    def _late_runs(self, event: Stopped) -> list[ToolRun]:
        codec = self._upstream.provider_tools
        fields = event.extras.fields if event.extras is not None else {}
        known = {run.family for run in self._runs}
        asked: list[ToolRun] = []
        if not (self.is_resumed and event.reason is Stop.PAUSE):
            asked, self._asked = self._asked.rest(), AskedRuns()
        late = [run for run in codec.parse_ending(fields) if run.family not in known] if codec is not None else []
        blocks, self._bare_blocks = self._bare_blocks, {}
        bare = [_with_blocks(run, blocks.get(run.id, ())) for run in self._bare]
        found = next((at for at, run in enumerate(late) if run.family is Family.WEB_SEARCH), None)
        if found is not None and bare:
            first = replace(late[found], id=bare[0].id or late[found].id, goes_back=bare[0].goes_back)
            late[found] = _with_blocks(first, [block for one in blocks.values() for block in one])
            bare = []
        return [*[replace(run, is_open=False, error=_BROKEN_OFF) for run in asked], *bare, *late]

    def _count(self, event: Used) -> Used:
        codec = self._client.provider_tools
        counts = codec.render_usage(self._runs) if codec is not None and self._runs else {}
        return Used(replace(event.usage, extras=Extras(self._client.name, counts))) if counts else event


def _with_blocks(run: ToolRun, blocks: Sequence[Opaque]) -> ToolRun:
    """A whole search that carries its vendor's own blocks."""
    return replace(run, is_open=False, state=seal_several(blocks) if blocks else "")


def list_declared(tools: Sequence[Tool | NativeTool], names: Mapping[str, str]) -> Mapping[str, Tool]:
    """The functions of a request by the names that the target knows. `names`: the target's, each with the client's."""
    functions = [one for tool in tools for one in ((tool,) if isinstance(tool, Tool) else tool.meant or ())]
    by_name = {one.called.name if one.called is not None else one.name: one for one in functions}
    made = {name: by_name[old] for name, old in names.items() if old in by_name}
    return {**{one.name: one for one in functions}, **made}
