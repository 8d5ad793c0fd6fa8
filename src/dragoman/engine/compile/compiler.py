"""The compiler: a parsed request and a target in, what the target accepts and a report of every change out.

Pure: the same request, target, options and kept state give the same bytes and the same report.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import NOTHING_TO_UNDO, Change, Loss, Note, Rewrite, Undo
from dragoman.conversation.conversation import Ask, Conversation, KnownBeginning
from dragoman.conversation.traits import observe_change, observe_messages
from dragoman.dialects.dialect import Dialect, RenderOptions
from dragoman.engine.compile.beta_names import with_betas, without_refused, without_words
from dragoman.engine.compile.compiled_request import CompiledRequest
from dragoman.engine.compile.content_checks import (
    require_any_message,
    require_content,
    require_known_content,
    require_messages,
)
from dragoman.engine.compile.continued_repairs import ContinuedRepairs
from dragoman.engine.compile.envelopes import with_header_members
from dragoman.engine.compile.plan import Plan, RuleStep, client_of, plan, serving_target
from dragoman.engine.compile.reasoning_restore import KeptParts, PutBack, kept_reasoning, restore_reasoning
from dragoman.engine.compile.refusal_places import find_in, with_place
from dragoman.engine.compile.report import (
    ReportBuilder,
    body_repairs,
    stream_asked,
    usage_asked,
    usage_not_asked,
    whole_asked,
    without_spelling,
)
from dragoman.engine.compile.request_frames import form_body, with_passed
from dragoman.engine.compile.unseen_content import find_unseen, unseen_content
from dragoman.engine.history.client_choice import (
    NO_CHOICE,
    HistoryChoice,
    clearing,
    fulfil_choice,
    history_choice,
    history_choice_rule,
)
from dragoman.engine.history.compaction import UsedSummary, history_summary, put_summary
from dragoman.engine.history.cuts import Cut
from dragoman.engine.history.result_clearing import clear_results
from dragoman.engine.history.sent_prompts import SentBefore
from dragoman.engine.history.sizes import estimate_bytes_per_token
from dragoman.engine.history.trimming import TrimRequest, TrimStatistics, history_trim, trim
from dragoman.engine.tool_runs.approvals import with_settled
from dragoman.engine.tool_runs.kept_runs import restore_runs
from dragoman.engine.tool_runs.run_functions import (
    RunnableTool,
    WantedTool,
    declares_by_members,
    find_wanted,
    with_functions,
)
from dragoman.errors import RepairRefused, Unrepresentable
from dragoman.profiles.doubts import Doubt
from dragoman.profiles.facts import ACCEPTS, REFUSES, CacheForm
from dragoman.profiles.profile import NO_ENVELOPE, Target
from dragoman.rules.cache_hints import hints_of, marks_own_end
from dragoman.rules.clean.off_schema import off_schema, report_written
from dragoman.rules.media.remote_media import find_links, media_of, remote_media
from dragoman.rules.reasoning import thinks
from dragoman.rules.rule import FAIL, Rule
from dragoman.rules.settings.cache_marks import (
    MOST_HINTS,
    cache_marks,
    in_input,
    mark_breakpoints,
    mark_prompt,
    mark_turns,
)
from dragoman.rules.settings.refused_setting import refused_setting

READ_BY_THE_COMPILER = frozenset(
    {"drops", "stream_usage", "streams", "tools_streamed", "logprobs_streamed", "thinking_whole", "refused_words"}
)
"""The facts that the compiler itself reads. All others are read by rules."""
_USAGE = "stream_options"
_MEDIA = traits.MEDIA | traits.RESULT_PARTS
_FAITHFUL = Doubt.FAITHFUL
_NO_LOSS, _CONTENT = Loss.NOTHING, Loss.CONTENT


class Options(msgspec.Struct, frozen=True):
    """What the caller allows and hands over."""

    max_loss: Loss = Loss.CONTENT
    synthetic: bool = True
    """Turns may be made up."""
    stream: bool | None = None
    ask_usage: bool = False
    """Chat streams are to report their usage, though the client did not ask for it."""
    kept: Mapping[str, KeptParts] = {}
    media: Mapping[str, bytes] = {}
    stop_after: str = ""
    """The name of the last rule that runs."""
    doubt: Doubt = _FAITHFUL
    """How a fact that nobody knows is taken."""
    summary: UsedSummary | None = None
    """Stands for the beginning of the conversation."""
    history: TrimRequest | None = None
    """How a long history is trimmed. None: not at all."""
    sent_before: SentBefore = SentBefore.UNKNOWN
    """How much of the prompt the provider may have in its cache. Hints are set for it."""
    answer: int | None = None
    """Which one of several answers is asked for. None: all of them."""
    runs: tuple[RunnableTool, ...] = ()
    """Tools that the gateway runs, because the target lacks them."""
    kept_runs: Mapping[str, KeptParts] = {}
    """What the model saw of such tools in earlier turns, by the ids of blocks."""


PLAIN = Options()


def compile_ask(ask: Ask, target: Target, options: Options = PLAIN) -> CompiledRequest:
    """The request for one attempt. Reading is done once, this for every target that is tried."""
    if target.twin is not None or target.versions:
        target = serving_target(ask, target)
    return compile_by(plan(target, client_of(ask, target, options.doubt is _FAITHFUL)), ask, target, options)


def compile_by(steps: Plan, ask: Ask, target: Target, options: Options) -> CompiledRequest:
    """The request by a plan for its target."""
    if not ask.conversation.messages:
        require_messages(ask)
    compilation = _Compilation(steps, ask, target, options)
    if ask.conversation.extras is not None or options.summary is not None or options.history is not None:
        compilation.shorten_history()
    if ask.known is not None:
        compilation.continue_turn(ask.known)
    try:
        compilation.repair()
    except Unrepresentable as fault:
        raise with_place(fault, ask) from None
    compilation.check_content()
    if compilation.seen & traits.HINTS:
        compilation.keep_form()
    elif options.sent_before:
        compilation.mark_prompt()
    return compilation.render()


class _Compilation:
    """A request on its way to one target: what it has become so far, what was changed, and what its answer must undo.

    `heaviest`: the heaviest loss so far. `same`: the client speaks the target's dialect. `seen`: the traits of the
    messages before the rules run. `beside`: how many repairs left messages and tools as they were, but for hints.
    `media_to_fetch`: URLs of media that the target cannot fetch. `context`: what the rules are given, that of the plan
    and what only this request tells them. `put_back`: thinking that was kept for the client.
    """

    __slots__ = (
        "_report",
        "ask",
        "beside",
        "changes",
        "context",
        "continued",
        "conversation",
        "cut",
        "facts",
        "has_native_tools",
        "heaviest",
        "media_to_fetch",
        "options",
        "put_back",
        "same",
        "seen",
        "steps",
        "stream",
        "target",
        "tools_to_run",
        "trimmed",
        "undo",
    )  # fmt: skip

    def __init__(self, steps: Plan, ask: Ask, target: Target, options: Options) -> None:
        self.steps = steps
        self.ask = ask
        self.target = target
        self.options = options
        self.same = ask.dialect == target.profile.dialect
        self.stream = ask.stream if options.stream is None else options.stream
        self.facts = steps.context.facts
        context, media = steps.context, options.media
        if media:
            context = replace(context, media=media)
        if self.stream and self.facts.format_streamed is REFUSES:
            context = replace(context, streams=True)
        if options.answer is not None:
            context = replace(context, answer=options.answer)
        self.context = context
        self.conversation = ask.conversation
        self.put_back: PutBack | None = None
        if options.runs or options.kept_runs:
            functions = {one.name: one for run in options.runs for one in (*run.functions, *run.catalogue)}
            self.conversation = with_settled(self.conversation, ask.dialect, options.kept_runs, functions)
            self.conversation = restore_runs(self.conversation, ask.dialect, options.kept_runs, functions)
        if options.kept:
            done = restore_reasoning(self.conversation, ask.dialect, options.kept, self.facts)
            self.conversation = done.conversation
            self.put_back = PutBack(done.notes) if done.notes else None
        if options.runs:
            self.conversation = with_functions(self.conversation, options.runs)
        self.tools_to_run: tuple[WantedTool, ...] = ()
        self.changes = body_repairs(ask) if ask.repairs or ask.wrapper is not None else []
        self.undo = NOTHING_TO_UNDO
        self.heaviest = _NO_LOSS
        self.beside = 0
        self.seen = 0
        self.has_native_tools = False
        self.media_to_fetch: tuple[str, ...] = ()
        self.trimmed: TrimStatistics | None = None
        self.cut: Cut | None = None
        self._report: ReportBuilder | None = None
        self.continued: ContinuedRepairs | None = None

    # What was compiled on the turn before.

    def continue_turn(self, known: KnownBeginning) -> None:
        """Compile only what is new, if nothing but the conversation counts."""
        ask, steps, options = self.ask, self.steps, self.options
        if self.context is steps.context and self.conversation is ask.conversation and not options.stop_after:
            before = known.made.get((id(steps), options.max_loss, options.synthetic))
            self.continued = ContinuedRepairs(steps, ask.conversation.messages, known, before)

    def _keep(self, known: KnownBeginning, continued: ContinuedRepairs) -> None:
        """Keep what was compiled for the next turn."""
        turn, options = continued.now, self.options
        known.keep((id(self.steps), options.max_loss, options.synthetic), turn, turn.size())

    # A long history.

    def shorten_history(self) -> None:
        """Do what the client, a kept summary and the configured policy ask for, in this order."""
        conversation, options = self.conversation, self.options
        choice = NO_CHOICE if conversation.extras is None else history_choice(conversation)
        if choice is not NO_CHOICE:
            self._fulfil(choice)
        if choice.cut is False:
            return
        if options.summary is not None:
            self._sum_up(options.summary)
        if options.history is not None:
            self._trim(options.history)

    def _fulfil(self, choice: HistoryChoice) -> None:
        """Do what the client wants done about its history, and the provider does not do.

        If no content may be lost, no result is cleared, and the field is reported like any other that is left out.
        """
        allowed = self.options.max_loss is Loss.CONTENT
        policy = clearing(choice, self.facts, self.conversation.extras) if allowed else None
        if policy is not None:
            cleared = clear_results(self.conversation, policy, self._bytes_per_token())
            self.changes += self._entries(history_trim, cleared.notes)
            self.conversation = cleared.conversation
        done = fulfil_choice(self.conversation, choice, self.facts, policy is not None)
        self.changes += self._entries(history_choice_rule, done.notes)
        self.conversation = done.conversation

    def _bytes_per_token(self) -> float:
        scale, history = estimate_bytes_per_token(self.conversation.messages, self.facts.model), self.options.history
        return scale if history is None else scale / history.tokens_per_estimate

    def _sum_up(self, summary: UsedSummary) -> None:
        summed_up = put_summary(self.conversation, summary)
        self._enter(history_summary, summed_up.notes)
        self.conversation = summed_up.conversation

    def _trim(self, history: TrimRequest) -> None:
        trimming = trim(self.conversation, history, self.target.model)
        self._enter(history_trim, trimming.rewrite.notes)
        self.conversation, self.trimmed, self.cut = trimming.rewrite.conversation, trimming.statistics, trimming.cut

    # The rules.

    def repair(self) -> None:
        """Run all rules that the target calls for and the conversation has a defect for."""
        conversation, steps, context = self.conversation, self.steps, self.context
        known = self.ask.traits if conversation is self.ask.conversation else None
        self.seen = seen = observe_messages(conversation.messages) if known is None else known
        top = steps.tops.of(conversation)
        self._find_needs(seen, top.traits)
        stop_after = self.options.stop_after
        end = steps.count_until(stop_after) if stop_after else len(steps.rules)
        left = iter(steps.steps[seen | top.traits, top.idle])
        continued = self.continued
        while (step := next(left, None)) is not None:
            place, rule, bit = step
            if place >= end:
                break
            if bit:
                done = top.repair(rule, bit, conversation, context)
            elif continued is None:
                done = rule.repair(conversation, context)
            else:
                done = continued.repair(place, rule, conversation, context, seen)
            if done.conversation is conversation:
                top.idle |= bit
                continue
            seen = self._take(step, conversation, done, seen)
            conversation = done.conversation
            top = steps.tops.of(conversation)
            # What was changed may call for other rules, of those that follow.
            called = steps.steps[seen | top.traits, top.idle]
            left = iter(called[bisect_left(called, (place + 1,)) :])
        if conversation.near_misses and self.same:
            done = report_written(self.ask.conversation, conversation)
            self._enter(off_schema, done.notes)
            conversation = done.conversation
        elif continued is not None:
            continued.finish()
        self.conversation = conversation
        if self.put_back is not None and (stayed := self.put_back.find_stayed(conversation)):
            self.changes += self._entries(kept_reasoning, stayed)

    def _find_needs(self, seen: int, top_traits: int) -> None:
        """What must come from elsewhere before the request is whole: media to fetch, and tools that we run."""
        conversation, context = self.conversation, self.context
        if seen & _MEDIA and remote_media in self.steps.rules:
            continued = self.continued
            media = media_of(conversation.messages) if continued is None else continued.find_media()
            self.media_to_fetch = find_links(media, context)
        declares = top_traits & traits.NATIVE_TOOLS or (
            conversation.extras is not None and declares_by_members(conversation)
        )
        self.has_native_tools = bool(declares)
        if declares and not self.options.runs:
            self.tools_to_run = find_wanted(conversation, context)

    def _take(self, step: RuleStep, before: Conversation, done: Rewrite, seen: int) -> int:
        """Take over what a rule rewrote: into the report, what undoes it, and the traits that hold from now on."""
        place, rule, bit = step
        continued, entered, messages = self.continued, len(self.changes), done.conversation.messages
        if messages is not before.messages:
            if continued is not None and continued.seen is not None and not bit:
                seen = continued.seen
            elif done.adds is not None:
                seen = (seen & ~done.ends) | done.adds
            else:
                seen = observe_change(before.messages, messages, seen)
        notes = done.notes if self.same or not rule.spelling else without_spelling(done.notes)
        if continued is not None and messages is not before.messages:
            if bit:
                continued.stop()
            notes = [*continued.carried, *notes]
            self._enter(rule, notes)
            continued.note(place, before, messages, (notes, self.changes[entered:]), seen)
        else:
            known = None if continued is None or not bit else continued.find_entries(done.notes)
            self._enter(rule, notes, known)
            if continued is not None and bit:
                continued.keep_entries(done.notes, self.changes[entered:])
        if rule.looks_for == traits.HINTS or (messages is before.messages and done.conversation.tools is before.tools):
            self.beside += sum([change.kind != "added" for change in self.changes[entered:]])
        if done.undo is not NOTHING_TO_UNDO:
            self.undo = self.undo.then(done.undo)
        return seen

    def _enter(self, rule: Rule, notes: Sequence[Note], known: Sequence[Change] | None = None) -> None:
        """Enter what a rule did into the report. Raises RepairRefused if the caller does not want it. `known`: the
        entries, if they were made on the turn before."""
        if self.put_back is not None:
            notes = self.put_back.sort_out(notes)
        if not notes:
            return
        choices = self.context.choices
        fails = rule.name in choices and rule.chosen(choices) == FAIL  # no rule fails by default
        most, synthetic, usual = self.options.max_loss, self.options.synthetic, rule.loses
        for note in notes:
            lost = usual if note.loses is None else note.loses
            if lost > self.heaviest:
                self.heaviest = lost
            if fails or lost > most or (not synthetic and note.kind == "synthetic"):
                raise self._refusal(rule, note, lost > most)
        self.changes += self._entries(rule, notes) if known is None else known

    def _entries(self, rule: Rule, notes: Sequence[Note]) -> list[Change]:
        if self._report is None:
            continued = self.continued
            self._report = ReportBuilder(self.ask, None if continued is None else continued.known_changes)
        return self._report.entries(rule, notes)

    def _refusal(self, rule: Rule, note: Note, heavy: bool) -> RepairRefused:
        entry = self._entries(rule, [note])[0]
        made_up = note.kind == "synthetic" and not self.options.synthetic
        why = f"loses {entry.loses}" if heavy else "makes up what was not said" if made_up else "is set to fail"
        return RepairRefused(
            f"{rule.name} is needed for {self.facts.provider}/{self.facts.model} and {why}: {entry.did}",
            rule=rule.name,
            at=entry.at,
            hint=f"change the request, allow more, or choose another answer for {rule.name}",
        )

    def keep_form(self) -> None:
        """Write results alike, whether or not a breakpoint of the client's stands on them: it moves along."""
        if self.facts.cache_form is CacheForm.BREAKPOINT and not self.same:
            self._rewrite(in_input(self.conversation))

    def mark_prompt(self) -> None:
        """Set cache hints on what was sent before."""
        sent, facts = self.options.sent_before, self.facts
        if self.seen & traits.PART_EXTRAS and (own := hints_of(self.conversation)):  # they came as breakpoints
            if facts.cache_form is CacheForm.BREAKPOINT or sent is not SentBefore.TURNS:
                return
            if marks_own_end(self.ask.conversation):
                return
            done = mark_turns(self.conversation, facts, (facts.cache_hint_max or MOST_HINTS) - len(own))
        elif facts.cache_form is CacheForm.BREAKPOINT:
            if marks_own_end(self.conversation):
                return
            known = sent >= SentBefore.OPENING
            done = mark_breakpoints(self.conversation, self.same, known, sent is SentBefore.TURNS)
        elif sent is SentBefore.NOTHING:
            return
        else:
            done = mark_prompt(self.conversation, self.facts, sent is SentBefore.TURNS)
        self._enter(cache_marks, done.notes)
        self._rewrite(done.conversation)

    def _rewrite(self, marked: Conversation) -> None:
        """Go on with the conversation in the form for its cache hints, which is made after the last rule."""
        if self.continued is not None and marked is not self.conversation:
            marked = self.continued.reuse_opening(marked)
        self.conversation = marked

    def check_content(self) -> None:
        """Report what the target would not see, and raise MalformedRequest if nothing of the client's is left."""
        if self.heaviest is _CONTENT:
            require_content(self.conversation, self.changes, self.target)
        if not self.conversation.messages:
            require_any_message(self.ask, self.conversation, self.changes, self.target)
        if self.facts.drops:
            self._enter(unseen_content, find_unseen(self.conversation, self.facts))
        if self.seen & traits.OPAQUE and self.same:
            require_known_content(self.ask, self.target)

    # The body.

    def render(self) -> CompiledRequest:
        """Write the request for the wire."""
        target, same, profile = self.target, self.same, self.target.profile
        frame = self.steps.frame
        dialect = frame.dialect
        writing = self._writing(dialect)
        body = self._body(dialect, writing)
        if self.continued is not None and self.ask.known is not None and self.continued.is_worth_keeping():
            self._keep(self.ask.known, self.continued)
        headers = with_passed(frame.headers, self.ask, profile, dialect) if same else frame.headers
        if profile.beta is not None and (same or self.has_native_tools):
            headers = with_betas(headers, self.conversation, profile.beta, self.ask if same else None)
            if refused_betas := self.facts.refused_words.get(profile.beta.header):
                body, lost = without_refused(body, headers, profile.beta, refused_betas)
                self._enter(refused_setting, lost)
        if self.facts.refused_words and same:
            headers, refused = without_words(headers, self.facts.refused_words)
            self._enter(refused_setting, refused)
        if profile.envelope is not NO_ENVELOPE:
            body, headers = with_header_members(body, headers, profile.envelope)
        if profile.body is not None:
            body = form_body(body, profile.body)
        request = CompiledRequest(  # of more than 15 values Python makes a dict, which takes three times as long
            body=body,
            path=frame.stream_path if writing.stream else frame.path,
            headers=headers,
            changes=tuple(self.changes),
            undo=self.undo,
            media_to_fetch=self.media_to_fetch,
            target=frame.name,
            dialect=profile.dialect,
            conversation=self.conversation,
            ask=self.ask,
            facts=target.facts,
            envelope=profile.envelope,
            added_members=profile.body.add if profile.body is not None else (),
            changes_beside=self.beside,
        )
        if self.trimmed is not None or self.cut is not None:
            request = replace(request, trimmed=self.trimmed, cut=self.cut)
        if self.has_native_tools:
            request = replace(request, tools_to_run=self.tools_to_run, has_native_tools=True)
        return request

    def _body(self, dialect: Dialect, writing: RenderOptions) -> bytes:
        render = dialect.requests.render
        try:
            return render(self.conversation, writing, self.ask if self.same else None)
        except Unrepresentable as fault:
            raise with_place(fault, self.ask, find_in(fault, self.conversation, render, writing)) from None

    def _writing(self, dialect: Dialect) -> RenderOptions:
        """How the body is written: streamed or whole, and asking for its usage or not."""
        usage = bool(dialect.usage_members) and self._asks_usage()
        refused = self._find_refused_members() if self.same else ()
        facts, sent = self.facts, self.conversation
        if self.stream:
            whole = facts.streams is REFUSES
            if sent.tools and not whole:
                logprobs = sent.settings.logprobs and facts.logprobs_streamed is REFUSES
                whole = logprobs or facts.tools_streamed is REFUSES
            if whole:  # it is asked for a whole answer
                self.stream, self.undo = False, self.undo.then(Undo(whole=True))
                self.changes.append(whole_asked(self.ask))
        if self.same and usage:
            self.changes.append(usage_asked())
            self.undo = self.undo.then(Undo(usage=True))
        if not self.ask.stream and facts.thinking_whole is REFUSES and thinks(sent.settings, facts):
            self.stream, usage = True, bool(dialect.usage_members) and facts.stream_usage is ACCEPTS
            self.changes.append(stream_asked())
        written = None if self.continued is None else self.continued.now.written
        return RenderOptions(self.target.model, self.stream, usage, refused, not self.same, written)

    def _asks_usage(self) -> bool:
        """Whether a stream is asked for its usage: the client's dialect always reports it, or the caller wants it."""
        if not self.stream or self.facts.stream_usage is not ACCEPTS:
            return False
        return not self.same or (self.options.ask_usage and not self.ask.include_usage)

    def _find_refused_members(self) -> tuple[str, ...]:
        """The member that asks a stream for its usage, if the client wrote it and the target refuses it."""
        if self.facts.stream_usage is not REFUSES or _USAGE not in self.ask.members:
            return ()
        if all(change.at != f"/{_USAGE}" for change in self.changes):
            self.changes.append(usage_not_asked())
        return (_USAGE,)
