"""Tools of a provider that the gateway runs in its place: what each round asked for, what came of it, and what is
asked next.

A round is an exchange of its own. If its answer calls tools that the gateway runs, the driver runs them, the client is
shown the runs in its own form, and the next round asks the same destination again: with the client's conversation, what
the model gave, and what came of its calls. If the provider runs tools itself and has paused, the next round gives back
what there is. The client gets all rounds as one answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from dragoman.conversation.changes import Change, Loss, Note
from dragoman.conversation.conversation import Ask, Conversation
from dragoman.conversation.events import Stopped
from dragoman.conversation.messages import ASSISTANT, Message
from dragoman.conversation.parts import Call, Citation, Extras, Inline, Media, Opaque, Part, Reasoning, Text
from dragoman.conversation.provider_tools import ProviderTool, ToolRun
from dragoman.conversation.replies import Stop
from dragoman.conversation.tools import TOOLS, ChoiceMode, ToolChoice
from dragoman.dialects.dialect import AnswerContext
from dragoman.dialects.registry import dialect
from dragoman.engine.answer.joined_answers import JoinedAnswers, RoundWriter
from dragoman.engine.compile.reasoning_restore import KeptParts
from dragoman.engine.compile.report import ReportBuilder
from dragoman.engine.tool_runs.approvals import NOT_APPROVED, WantedRun
from dragoman.engine.tool_runs.kept_runs import BEFORE, beside_key, keep_run, run_block, seal_run
from dragoman.engine.tool_runs.run_functions import RunnableTool, find_calls_limit
from dragoman.engine.tool_runs.run_limits import USUAL_LIMITS, RunLimits
from dragoman.engine.tool_runs.tool_catalogue import describe_found, search_tools
from dragoman.wire.json_reader import render_list

TOO_MANY = "max_uses_exceeded"
TOO_LATE = "unavailable"
UNPAID = "budget_exhausted"
TOOL_RUN = "tool-run"
"""What the report calls a run of the gateway's."""
PAUSED_TURN = "paused-turn"
"""What the report calls it that the gateway had the provider go on."""
OVER = "This tool cannot be used again for this answer. Answer with what you have found so far."
_SPENT = "the key's budget is spent"
_CUT = "\n[cut here: the result is longer than it may be]"


class RunTools(msgspec.Struct, frozen=True, gc=False):
    """Run these tools side by side, in so many seconds. What is not done then has failed."""

    runs: tuple[WantedRun, ...]
    seconds: float


class FinishedCall(msgspec.Struct, frozen=True, gc=False):
    """What came of a call."""

    run: ToolRun
    began: float = 0.0
    """Seconds since 1970."""
    seconds: float = 0.0
    cost: float = 0.0
    """In dollars."""
    left_out: int = 0
    """How many pictures, sounds and documents were too large for the model."""


def fit_media(calls: Sequence[FinishedCall], most: int) -> list[FinishedCall]:
    """The calls with as much of their media as the model may be shown, in bytes of base64."""
    fitting: list[FinishedCall] = []
    for call in calls:
        kept: list[Media] = []
        for one in call.run.media:
            if _media_size(one) <= most:
                most -= _media_size(one)
                kept.append(one)
        left_out = len(call.run.media) - len(kept)
        cut = replace(call, run=replace(call.run, media=tuple(kept)), left_out=left_out)
        fitting.append(cut if left_out else call)
    return fitting


class FinishedRun(msgspec.Struct, frozen=True, gc=False):
    """A run as it is written down: nothing of what was asked or found."""

    family: str
    name: str
    """The tool, and its server if it has one."""
    at: int
    """The entry of the client's list that declares it; -1: none does."""
    seconds: float
    size: int
    """The bytes that the model reads of it."""
    cost: float
    error: str
    began: float = 0.0
    """Seconds since 1970."""
    left_out: int = 0
    """How many pictures, sounds and documents were too large for the model."""

    def change(self, ask: Ask) -> Change:
        """The entry of the report."""
        place = ReportBuilder(ask).pointer(Note("", key=TOOLS if self.at < 0 else f"{TOOLS}/{self.at}"))
        if self.error == UNPAID:
            return Change(TOOL_RUN, place, f"did not run {self.name}: {_SPENT}", str(Loss.CONTENT), "added")
        figures = [f"{self.seconds:.2f} s", f"{self.size} bytes", *([f"cost {self.cost:g}"] if self.cost else [])]
        failed = f", which failed: {self.error}" if self.error else ""
        lost = f", and left out {self.left_out} of its media, too large" if self.left_out else ""
        loss = str(Loss.CONTENT if lost else Loss.NOTHING)
        return Change(TOOL_RUN, place, f"ran {self.name} ({', '.join(figures)}){failed}{lost}", loss, "added")


class ToolRounds:
    """The rounds of one answer."""

    def __init__(self, ask: Ask, joined: JoinedAnswers, limits: RunLimits = USUAL_LIMITS) -> None:
        self.ask = ask
        """The request of the round that is under way."""
        self.finished: tuple[FinishedRun, ...] = ()
        """The runs of the last round."""
        self.kept: dict[str, KeptParts] = {}
        """What the next turn needs, by the ids that the client is shown."""
        self._unshown: list[tuple[int, KeptParts]] = []
        """Runs that the client's dialect has no form for, with their rounds."""
        self.rounds = 1
        self._first = ask
        self._resumes = False
        """The provider had paused in the last round, and is asked to go on."""
        self._joined = joined
        self._limits = _narrow(limits, ask.conversation)
        self._writer: RoundWriter | None = None
        self._asked: list[tuple[RunnableTool, Call, ToolRun]] = []
        self._answered: dict[str, ToolRun] = {}
        self._unapproved: list[ToolRun] = []
        """Calls of this round that the client must be asked about."""
        self._codec = dialect(ask.dialect).provider_tools
        self._uses: dict[str, int] = {}
        self._spent: dict[str, float] = {"seconds": 0.0, "bytes": 0, "media": 0, "cost": 0.0}

    def begin(self, context: AnswerContext) -> RoundWriter:
        """Write the round. One that failed before anything of it was written may begin again."""
        self._writer = self._joined.begin_round(context)
        return self._writer

    def to_run(self, runnable: Sequence[RunnableTool]) -> RunTools | None:
        """What the round that has just ended wants run; None: nothing, and the answer is over."""
        writer = self._writer
        assert writer is not None
        if not (writer.calls or writer.is_paused):
            self._keep_unshown(writer.client_calls)
            return None
        by_key = {one.key: (one, one.function_names()) for one in runnable}
        round_key = f"{self._joined.id}.{self.rounds}"
        self._asked = [
            _read_call(*by_key[block.kind], block, f"{round_key}.{number}") for number, block in enumerate(writer.calls)
        ]
        self._answered, self._unapproved = {}, []
        wanted = [self._find_wanted(tool, call) for tool, _, call in self._asked]
        return RunTools(tuple([one for one in wanted if one is not None]), self._seconds_left())

    def _find_wanted(self, tool: RunnableTool, call: ToolRun) -> WantedRun | None:
        """The call to be run; None if it may not be, or need not be: then what came of it is known, or the client is
        asked about it."""
        limits, spent, most = self._limits, self._spent, tool.tool.most_uses
        used = self._uses[tool.key] = self._uses.get(tool.key, 0) + 1
        over = self.rounds > limits.rounds or sum(self._uses.values()) > limits.calls
        over = over or (most is not None and used > most) or spent["bytes"] >= limits.total_bytes
        over = over or self._seconds_left() <= 0 or bool(limits.cost and spent["cost"] >= limits.cost)
        if over:
            self._answered[call.id] = replace(call, output=OVER, error=TOO_MANY)
        elif call.arguments is None or not call.arguments.startswith(b"{"):
            refused = "The arguments are not a JSON object."
            self._answered[call.id] = replace(call, arguments=b"{}", output=refused, error="invalid_tool_input")
        elif needs_approval(tool.tool, call.name):
            self._unapproved.append(call)
        elif tool.catalogue:
            found = search_tools(tool.catalogue, _query(call.arguments))
            self._answered[call.id] = replace(call, tools=found, output=describe_found(found))
        else:
            return WantedRun(tool.tool, call)
        return None

    def _seconds_left(self) -> float:
        return max(self._limits.seconds - self._spent["seconds"], 0.0)

    def ran(self, results: Sequence[FinishedCall], seconds: float) -> Ask | None:
        """What came of the runs, in so many seconds by the clock. The request of the next round; None: the answer is
        over."""
        writer = self._writer
        assert writer is not None
        self._spent["seconds"] += seconds
        fitting = fit_media(results, self._limits.media_bytes - int(self._spent["media"]))
        self._spent["media"] += sum([_media_size(media) for one in fitting for media in one.run.media])
        came = {one.run.id: one for one in fitting}
        unapproved = {id(call) for call in self._unapproved}
        finished: list[FinishedRun] = []
        pairs: list[tuple[Call, ToolRun]] = []
        for tool, call, asked in self._asked:
            if id(asked) in unapproved:
                continue
            done = came.get(asked.id) or FinishedCall(self._answered[asked.id])
            run = self._limit_output(done.run) if asked.id in came else done.run
            pairs.append((call, run))
            self._spent["bytes"] += len((run.output or "").encode())
            self._spent["cost"] += done.cost
            name = f"{run.server}/{run.name}" if run.server else call.name
            family, error = tool.tool.family, run.error
            figures = (done.seconds, run_size(run), done.cost, error, done.began, done.left_out)
            finished.append(FinishedRun(family, name, tool.at, *figures))
        self.finished = tuple(finished)
        thoughts = [part for part in writer.parts() if isinstance(part, Reasoning)]
        self._show(pairs, thoughts)
        if self._unapproved:
            self._ask_client(writer)
            return None
        if writer.client_calls or self.rounds > self._limits.rounds + 1:
            writer.finish(None if writer.client_calls else Stopped(0, Stop.PAUSE))
            return None
        writer.next_round()
        self._resumes = writer.is_paused
        self.ask = self._next(writer.parts(), pairs)
        self.rounds += 1
        return self.ask

    def changes(self) -> list[Change]:
        """What the report says of the last round."""
        runs = [run.change(self._first) for run in self.finished]
        if not self._resumes:
            return runs
        place = ReportBuilder(self._first).pointer(Note("", key=TOOLS))
        did = "sent back what there was of an answer that the provider had paused, to have the rest"
        return [*runs, Change(PAUSED_TURN, place, did, str(Loss.NOTHING), "added")]

    def stop(self, why: str) -> None:
        """End the answer without running what the round has asked for. The client is told why."""
        writer = self._writer
        assert writer is not None
        pairs: list[tuple[Call, ToolRun]] = []
        finished: list[FinishedRun] = []
        for tool, call, asked in self._asked:
            name = f"{asked.server}/{asked.name}" if asked.server else call.name
            pairs.append((call, replace(asked, arguments=asked.arguments or b"{}", output=why, error=TOO_LATE)))
            finished.append(FinishedRun(tool.tool.family, name, tool.at, seconds=0.0, size=0, cost=0.0, error=UNPAID))
        self.finished = tuple(finished)
        self._show(pairs, [part for part in writer.parts() if isinstance(part, Reasoning)])
        writer.say(f"[{why}]")
        writer.finish(None if writer.client_calls else Stopped(0, Stop.PAUSE))

    def _ask_client(self, writer: RoundWriter) -> None:
        """End the answer with a question about each call that must be approved."""
        codec = self._codec
        assert codec is not None
        assert codec.render_approval is not None
        writer.show([codec.render_approval(call) for call in self._unapproved])
        writer.finish(None if writer.client_calls else Stopped(0, Stop.END))

    def show_listed(self, runs: Sequence[RunnableTool]) -> None:
        """Show the tools of servers that the client names, unless it has seen them in an earlier answer."""
        codec = self._codec
        if codec is None or codec.render_listing is None:
            return
        blocks = [part for one in self.ask.conversation.messages for part in one.parts if type(part) is Opaque]
        known = set(map(codec.parse_listing, blocks))
        for one in runs:
            server = one.tool.server
            if server is not None and not server.configured and server.label not in known:
                tools = [replace(tool, name=tool.called.name) for tool in one.functions if tool.called is not None]
                self._joined.opening += (codec.render_listing(f"{self._joined.id}.{one.key}", server.label, tools),)

    def show_approved(self, calls: Sequence[tuple[Call, FinishedCall]]) -> None:
        """Show what came of calls that the client has approved, before anything else."""
        codec = self._codec
        finished: list[FinishedRun] = []
        opening: list[Opaque] = []
        for call, done in calls:
            assert codec is not None
            run, name = done.run, f"{done.run.server}/{done.run.name}"
            figures = (done.seconds, run_size(run), done.cost, run.error, done.began, done.left_out)
            finished.append(FinishedRun(run.family, name, -1, *figures))
            blocks = codec.render_run(run) if run.error != NOT_APPROVED else ()
            kept = keep_run(f"{self._joined.id}.0", call, run, ())
            self.kept |= {one.id: kept for one in map(codec.parse_run, blocks) if one is not None and one.id}
            opening += blocks
        self.finished = tuple(finished)
        self._joined.opening += tuple(opening)

    def _limit_output(self, run: ToolRun) -> ToolRun:
        """The run with what the model reads of it, no longer than it may be."""
        output = run.output if run.output is not None else _words(run)
        most = min(self._limits.bytes, max(self._limits.total_bytes - int(self._spent["bytes"]), 0))
        if len(output.encode()) > most:
            output = output.encode()[:most].decode("utf-8", "ignore") + _CUT
        return replace(run, output=output)

    def _show(self, pairs: Sequence[tuple[Call, ToolRun]], thoughts: Sequence[Reasoning]) -> None:
        """Show the runs as the client's own vendor does, if it does, and keep what the model saw of them."""
        codec = self._codec
        assert self._writer is not None
        round = f"{self._joined.id}.{self.rounds}"
        text = "".join([part.text for part in self._writer.parts() if type(part) is Text])
        for number, (call, run) in enumerate(pairs):
            first = () if number else thoughts
            kept = keep_run(round, call, run, first)
            blocks = codec.render_run(replace(run, state=seal_run(kept))) if codec is not None else ()
            shown = [codec.parse_run(block) for block in blocks] if codec is not None else []
            ids = [one.id for one in shown if one is not None and one.id]
            self.kept |= dict.fromkeys(ids, kept)
            if not ids:
                self._unshown.append((self.rounds, keep_run(round, call, run, first, "" if number else text)))
            self._writer.show(blocks, run)
        self._keep_unshown(self._writer.client_calls)

    def _keep_unshown(self, calls: Sequence[str]) -> None:
        """Keep what the client cannot bring back under the first call that it will answer."""
        if not calls or not self._unshown:
            return
        before = [part for round, kept in self._unshown if round < self.rounds for part in kept]
        beside = [part for round, kept in self._unshown if round == self.rounds for part in kept]
        asked = self._first.conversation.messages
        key = beside_key(calls[0], asked[-1] if asked else None)
        self.kept |= {BEFORE + key: tuple(before)} if before else {}
        self.kept |= {key: tuple(beside)} if beside else {}

    def _next(self, parts: Sequence[Part], pairs: Sequence[tuple[Call, ToolRun]]) -> Ask:
        """The client's request with what the model said in this round, and what came of its calls."""
        given, before = _give_back(parts), self.ask.conversation
        messages = (*before.messages, Message(ASSISTANT, (*given, run_block(pairs)) if pairs else tuple(given)))
        return replace(self.ask, conversation=_unforce(replace(before, messages=messages)), traits=None)


def _give_back(parts: Sequence[Part]) -> list[Part]:
    """What the model gave beside calls, as its provider wants it back. What an answer tells beside a text, such as the
    id of the item that it stands in, is no member of a text in a request."""
    given: list[Part] = []
    cited: dict[int, list[Citation]] = {}
    for part in parts:
        if isinstance(part, Citation):
            cited.setdefault(len(given) - 1, []).append(part)
        elif not isinstance(part, Call):
            given.append(replace(part, extras=None) if type(part) is Text and part.extras is not None else part)
    for place, citations in cited.items():
        given[place] = _with_citations(given[place], citations)
    return given


def _with_citations(part: Part, citations: Sequence[Citation]) -> Part:
    """A text with what it cites, if its vendor has a member for that."""
    vendor = citations[0].origin.dialect
    codec = dialect(vendor).provider_tools
    if codec is None or not codec.cited or not isinstance(part, Text):
        return part
    return replace(part, extras=Extras(vendor, {codec.cited: render_list([one.json for one in citations])}))


def _read_call(
    tool: RunnableTool, names: Mapping[str, str], block: Opaque, place: str
) -> tuple[RunnableTool, Call, ToolRun]:
    """A call as the model made it, of the function, and as one of the tool. `place`: the answer, the round and the
    number of the call, since a model may use an id again."""
    assert block.meant is not None
    call = block.meant[0]
    assert isinstance(call, Call)
    server = tool.tool.server
    named, label = (call.name, server.label) if server is not None else ("", "")
    run = ToolRun(tool.tool.family, f"{place} {call.id}", named, call.arguments, server=label)
    return tool, replace(call, name=names.get(call.name, call.name)), run


def needs_approval(tool: ProviderTool, name: str) -> bool:
    """Whether the client must be asked before a tool of a server is called."""
    approved = tool.server.approved if tool.server is not None else None
    return approved is not None and name not in approved


def _narrow(limits: RunLimits, conversation: Conversation) -> RunLimits:
    """The limits with the one that the client sets for all tools of an answer."""
    extras = conversation.extras
    given = extras.fields.get(find_calls_limit(conversation), b"") if extras is not None else b""
    return replace(limits, calls=min(limits.calls, int(given))) if given.isdigit() else limits


def _unforce(conversation: Conversation) -> Conversation:
    """A choice that forces a call holds for the first round: it has been made."""
    choice = conversation.settings.tool_choice
    if choice is not None and choice.must:
        freed = replace(choice, must=False)
    elif choice is None or choice.mode not in (ChoiceMode.REQUIRED, ChoiceMode.NAMED, ChoiceMode.NATIVE):
        return conversation
    else:
        freed = ToolChoice(ChoiceMode.AUTO)
    return replace(conversation, settings=replace(conversation.settings, tool_choice=freed))


def _query(arguments: bytes) -> str:
    """The words of a search."""
    values = msgspec.json.decode(arguments).values()
    return " ".join([str(value) for value in values])


def run_size(run: ToolRun) -> int:
    """The bytes that the model reads of it."""
    return len((run.output or "").encode()) + sum(map(_media_size, run.media))


def _media_size(media: Media) -> int:
    assert isinstance(media.source, Inline)
    return len(media.source.data)


def _words(run: ToolRun) -> str:
    """What was found, for the model to read."""
    pages = [f"[{number}] {page.title}\n{page.url}\n{page.text}" for number, page in enumerate(run.pages, 1)]
    return "\n\n".join(pages) or run.error or "Nothing was found."
