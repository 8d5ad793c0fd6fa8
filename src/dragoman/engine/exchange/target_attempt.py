"""All sends of an exchange, and the destination that is being asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Generic

import msgspec
from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.canonical import digest
from dragoman.conversation.changes import Change, Loss
from dragoman.conversation.conversation import Ask
from dragoman.conversation.failures import Failure
from dragoman.conversation.tools import NativeTool
from dragoman.dialects.dialect import AnswerContext
from dragoman.dialects.registry import dialect
from dragoman.engine.compile.cache_members import CacheQuestionAsked, with_question, with_session
from dragoman.engine.compile.compiled_request import CompiledRequest
from dragoman.engine.compile.compiler import PLAIN, Options, compile_ask
from dragoman.engine.compile.plan import expects_reasoning
from dragoman.engine.compile.reasoning_restore import KeptParts, has_keys, issuer, keeps, keys, scope
from dragoman.engine.exchange.caller_options import NOTHING_SET, USAGE_ASKED, CallerOptions
from dragoman.engine.exchange.care import find_proven_by_care
from dragoman.engine.exchange.destination import AnswerMembers, AnswerModel, CacheHints, D, ShownReasoning
from dragoman.engine.exchange.lessons import Learnt
from dragoman.engine.exchange.steps import AttemptFailed, FoundSummary, Recall, Recalled
from dragoman.engine.history.calibration import calibration_key
from dragoman.engine.history.client_choice import choose_policy, forbids_cuts, history_choice
from dragoman.engine.history.compaction import UsedSummary, compact_keys, put_summary
from dragoman.engine.history.cuts import Cut
from dragoman.engine.history.prompt_digests import PromptDigests, digest_prompt
from dragoman.engine.history.recall import cut_key, cut_keys, may_need_cut
from dragoman.engine.history.sent_prompts import SentBefore
from dragoman.engine.history.trim_policy import TrimPolicy
from dragoman.engine.history.trimming import TrimRequest
from dragoman.engine.routing.sessions import find_named_session, find_session
from dragoman.engine.tool_runs.kept_runs import find_runs
from dragoman.engine.tool_runs.run_functions import RunnableTool
from dragoman.errors import RequestError
from dragoman.profiles.doubts import Doubt
from dragoman.profiles.facts import CachePlace, Stance
from dragoman.profiles.profile import Layer, Target, merge, patch_target

_WITH_USAGE = Options(ask_usage=True)
_CONTENT, _FAITHFUL = Loss.CONTENT, Doubt.FAITHFUL
_TOKEN_BYTES = 3
"""A token of a prompt has hardly fewer bytes in the request."""
SHORTEST_PROMPT = 512 * _TOKEN_BYTES
"""No provider caches shorter ones."""


class TriedTarget(msgspec.Struct, frozen=True, gc=False):
    """A send that failed: to which target, and how."""

    target: str
    failed: str
    status: int


class Attempts(msgspec.Struct):
    """Every send of a request: how many there were, and what became of those that failed."""

    sends: int = 0
    """All sends."""
    tries: int = 0
    """Those of the same body to the destination that is being asked."""
    corrections: int = 0
    """The lessons that were applied for that destination."""
    failures: tuple[AttemptFailed[Any], ...] = ()
    """The sends that failed, in their order."""

    def begin(self) -> None:
        """Another destination is asked."""
        self.tries = self.corrections = 0

    def count(self, sends: int = 1) -> None:
        """The same body goes out once more; with -1, it did not go out after all."""
        self.sends += sends
        self.tries += sends

    def correct(self) -> None:
        """A fact is corrected: the next body is another one."""
        self.tries = 0
        self.corrections += 1

    @property
    def tried(self) -> tuple[TriedTarget, ...]:
        return tuple(
            [TriedTarget(one.destination.name, one.failure.kind.value, one.failure.status) for one in self.failures]
        )

    def named(self, failure: Failure) -> Failure:
        """The failure with every target that was asked, if it was more than one: the provider's words come first."""
        last = {one.target: one for one in self.tried}
        if len(last) < 2:
            return failure
        asked = ", ".join(f"{one.target}: {one.status or one.failed}" for one in last.values())
        return replace(failure, message=f"{failure.message} (asked without success: {asked})")


class TargetAttempt(msgspec.Struct, Generic[D]):
    """One destination being asked: what it is taken to accept, and what is put into its request."""

    destination: D
    target: Target
    """Its target, with what has been learnt about it."""
    key: int
    """The number of its key."""
    keys_left: int
    learnt: tuple[Learnt, ...] = ()
    """The lessons that were applied, in their order."""
    uncorrected: Target | None = None
    """Its target before the first of them."""
    kept: Mapping[str, KeptParts] = {}
    """State of earlier turns."""
    media: Mapping[str, bytes] = {}
    """What was fetched, by URL."""
    urls: tuple[str, ...] = ()
    """What was to be fetched."""
    refused: AttemptFailed[D] | None = None
    """The refusal over which care is taken, while the careful body is under way."""
    cared: bool = False
    """Care was taken, or would change nothing."""
    learnt_before_care: int = 0
    """The number of lessons that were applied until then."""
    tries_before_care: int = 0
    """How often the body had been sent that care replaced."""
    corrected: tuple[tuple[bytes, Mapping[str, str]], ...] = ()
    """The bodies, in canonical form, and headers that were refused and corrected."""
    summary: UsedSummary | None = None
    """What stands for the beginning of the history."""
    history: TrimRequest | None = None
    """How the history is trimmed."""
    shortened: bool = False
    """It was trimmed again because the provider found it too long."""
    renewed: bool = False
    """Newer credentials were asked for."""
    sent_before: SentBefore = SentBefore.UNKNOWN
    """How much of the prompt its provider may have in its cache."""
    session: str = ""
    """The name by which its provider finds the session's cache."""
    question: CacheQuestionAsked | None = None
    """Why it missed the cache, if that is asked."""
    runs: tuple[RunnableTool, ...] | None = None
    """The tools that the gateway runs, because the destination lacks them; None: nobody asked yet."""
    kept_runs: Mapping[str, KeptParts] = {}
    """What the model saw of such tools in earlier turns."""
    summary_keys: Mapping[str, int] = {}
    """The keys under which a summary may be kept, with the number of units that it stands for."""

    def find_recall(self, ask: Ask, wants_summary: bool, offered: bool, runnable: bool) -> Recall | None:
        """What may have been kept for the request; None if that is nothing. `wants_summary`: no summary is given.
        `offered`: the gateway runs tools for it. `runnable`: it does if the request declares such tools."""
        facts, destination = self.target.facts, self.destination
        wants_state = keeps(facts, ask) and has_keys(ask.conversation)
        asked = ask.conversation
        declares = runnable and (asked.extras is not None or NativeTool in map(type, asked.tools))
        runs_tools = offered or declares
        may_tell = runs_tools or ask.traits is None or ask.traits & traits.OPAQUE
        runs = self._unknown_runs(ask, runs_tools) if may_tell else ()
        prompt, session = self._digest_prompt(ask), ""
        if facts.session_field and len(ask.source) >= SHORTEST_PROMPT and self.sets_hints(ask):
            session = find_named_session(ask) or ask.conversation.settings.prompt_cache_key or ""
        if destination.compact is None and destination.history is None and ask.conversation.extras is None:
            if wants_state:
                state = keys(ask.conversation, facts)
                return Recall(issuer(facts), scope(facts), state, prompt=prompt, runs=runs, session=session)
            if prompt is None and not runs and not session:
                return None
            return Recall(prompt=prompt, runs=runs, session=session)
        policy = self.trim_policy(ask)
        trims = policy is not None and may_need_cut(ask, policy)
        self.summary_keys = self._find_summary_keys(ask) if wants_summary else {}
        if policy is not None and trims:
            price = destination.price
            self.history = TrimRequest(policy, break_even=price.break_even if price is not None else 0.0)
        if not wants_state and not trims and not self.summary_keys and prompt is None and not runs and not session:
            return None
        return Recall(
            provider=issuer(facts) if wants_state else "",
            scope=scope(facts),
            keys=keys(ask.conversation, facts) if wants_state else (),
            summaries=self.summary_keys,
            cuts=partial(self._cut_keys, ask, policy) if policy is not None and trims else None,
            calibration=calibration_key(destination.name, ask.conversation) if trims else "",
            prompt=prompt,
            runs=runs,
            session=session,
        )

    def take_recalled(self, found: Recalled) -> None:
        """Put what was kept into the request."""
        self.kept, self.sent_before, self.session = found.kept, found.sent_before, found.session
        if found.runs:
            self.kept_runs = {**self.kept_runs, **found.runs}
        if found.summary is not None:
            self.summary = self._use_summary(found.summary)
        if self.history is not None:
            cuts = () if found.cut is None else (found.cut,)
            self.history = TrimRequest(self.history.policy, cuts, found.scale.per_estimate, found.scale.fixed)

    def _unknown_runs(self, ask: Ask, beside_calls: bool) -> tuple[str, ...]:
        """The ids of blocks that may tell of tools that the gateway ran, if they do not carry what is kept of that; and
        those of calls, if runs may have been kept beside them."""
        found = find_runs(ask.conversation, ask.dialect, beside_calls)
        self.kept_runs = {key: parts for key, parts in found.items() if parts}
        return tuple([key for key, parts in found.items() if not parts])

    def sets_hints(self, ask: Ask) -> bool:
        """Whether hints for the provider's cache are ours to set."""
        if self.destination.cache is CacheHints.CLIENT:
            return False
        return self.destination.cache is CacheHints.AUTO or ask.dialect != self.target.profile.dialect

    def _digest_prompt(self, ask: Ask) -> PromptDigests | None:
        """The digests of the prompt, if hints are set on what was sent before; None if it is too short to be cached."""
        facts = self.target.facts
        if len(ask.source) < SHORTEST_PROMPT or len(ask.source) < _TOKEN_BYTES * facts.cache_minimum:
            return None
        if facts.cache_hints is not Stance.ACCEPTS or facts.cache_place is CachePlace.NONE or not self.sets_hints(ask):
            return None
        return digest_prompt(ask.conversation, self.destination.name, ask.known, find_session(ask))

    def _find_summary_keys(self, ask: Ask) -> Mapping[str, int]:
        policy = self.destination.compact
        if policy is None or len(ask.source) <= policy.above_tokens or forbids_cuts(ask.conversation):
            return {}
        return compact_keys(ask.conversation, policy)

    def _cut_keys(self, ask: Ask, policy: TrimPolicy, found: FoundSummary | None) -> Iterable[str]:
        """The keys of cuts of the history, which begins with the summary if there is one."""
        sent = ask.conversation
        if found is not None:
            sent = put_summary(sent, self._use_summary(found)).conversation
        return cut_keys(sent, self.destination.name, policy)

    def _use_summary(self, found: FoundSummary) -> UsedSummary:
        return UsedSummary(self.summary_keys[found[0]], found[1])

    def trim_policy(self, ask: Ask) -> TrimPolicy | None:
        """How the history is trimmed for the destination: as configured, unless the client wants something else."""
        configured, extras = self.destination.history, ask.conversation.extras
        if extras is None:
            return configured
        return choose_policy(configured, history_choice(ask.conversation), self.target.facts, extras)

    def compile(self, ask: Ask, caller: CallerOptions) -> CompiledRequest:
        """The request for the next send. Raises RequestError."""
        destination = self.destination
        request = compile_ask(ask, self.target, self.options(caller))
        if self.refused is None and not self.learnt:  # it may be this that was refused
            request = with_session(request, self.session) if self.session else request
            request = with_question(request, self.question) if self.question is not None else request
        if destination.options or destination.omit:
            return configured(request, destination.options, destination.omit)
        return request

    def options(self, caller: CallerOptions) -> Options:
        """What bounds a compilation: the destination's limits, tightened or replaced by the caller's. While care is
        taken every doubt counts as a refusal."""
        destination, careful = self.destination, self.refused is not None
        if (
            (caller is NOTHING_SET or caller is USAGE_ASKED)
            and not (self.kept or self.media or careful or self.history or self.summary or self.sent_before)
            and not (self.runs or self.kept_runs)
            and destination.max_loss is _CONTENT
            and destination.synthetic
            and destination.doubt is _FAITHFUL
        ):
            return _WITH_USAGE if destination.ask_usage or caller is USAGE_ASKED else PLAIN
        return Options(
            max_loss=caller.bound_loss(destination) if caller.max_loss is not None else destination.max_loss,
            synthetic=destination.synthetic,
            stream=caller.stream,
            ask_usage=destination.ask_usage or caller.ask_usage,
            kept=self.kept,
            media=self.media,
            stop_after=caller.stop_after,
            doubt=Doubt.CAREFUL if careful else caller.bound_doubt(destination) if caller.doubt else destination.doubt,
            history=self.history,
            summary=self.summary,
            sent_before=self.sent_before,
            answer=caller.answer,
            runs=self.runs or (),
            kept_runs=self.kept_runs,
        )

    def answer_context(
        self, ask: Ask, request: CompiledRequest, context: AnswerContext, caller: CallerOptions
    ) -> AnswerContext:
        """What an answer needs to know, with what is configured for its looks."""
        destination, client = self.destination, ask.dialect
        completes, named = destination.answers is AnswerMembers.COMPLETE, destination.answer_model
        if named is not None or destination.shows_model or completes:
            context = replace(
                context,
                model="" if named is AnswerModel.UPSTREAM else context.model,
                renames=named is AnswerModel.ALIAS and context.model != destination.target.model,
                completes=completes,
                prefix=f"[{destination.name}] " if destination.shows_model else "",
            )
        shown = caller.reasoning or destination.reasoning
        if shown is ShownReasoning.SHOW or request.dialect == client or not dialect(client).hides_unasked:
            return context
        # The client is spared thinking that it did not ask for. What the target wants back is kept.
        return context if expects_reasoning(ask) else replace(context, hides_reasoning=True)

    def find_proven(self, ask: Ask, caller: CallerOptions) -> tuple[Learnt, ...]:
        """What an accepted request proves: the lessons that shaped it and that last, and what care was right about."""
        proven = tuple([one for one in self._find_needed(ask, caller) if one.lasting])
        by_care = find_proven_by_care(ask, self.target, self.options(caller)) if self.refused is not None else None
        return proven if by_care is None else (*proven, by_care)

    def _find_needed(self, ask: Ask, caller: CallerOptions) -> tuple[Learnt, ...]:
        """The lessons without which another request would have been sent. A request without tools does not prove the
        shape in which tools were refused last."""
        needed = self.learnt
        if len(needed) < 2 or self.uncorrected is None:
            return needed
        options = self.options(caller)
        accepted = compile_ask(ask, self.target, options)
        for one in self.learnt:
            fewer, target = tuple([other for other in needed if other is not one]), self.uncorrected
            for other in fewer:
                target = patch_target(target, _layer(other))
            try:
                request = compile_ask(ask, target, options)
            except RequestError:
                continue
            if (request.body, request.headers) == (accepted.body, accepted.headers):
                needed = fewer
        return needed

    def inherit(self, whole: TargetAttempt[D]) -> None:
        """Begin with what another attempt at the same destination has learnt and fetched for the same request."""
        self.media, self.urls, self.runs, self.kept_runs = whole.media, whole.urls, whole.runs, whole.kept_runs
        for learnt in whole.learnt:
            self.correct(learnt)

    def find_unasked_media(self, request: CompiledRequest) -> tuple[str, ...]:
        """The URLs that the request wants fetched and that were not asked for yet. Each is asked for once."""
        missing = tuple([url for url in request.media_to_fetch if url not in self.urls])
        self.urls += missing
        return missing

    def correct(self, learnt: Learnt) -> None:
        """Take a fact as the refusal states it."""
        self.uncorrected = self.uncorrected or self.target
        self.learnt = (*self.learnt, learnt)
        self.target = patch_target(self.target, _layer(learnt))

    def take_next_key(self) -> None:
        self.key = (self.key + 1) % self.destination.key_count
        self.keys_left -= 1

    def cut_to_keep(self, cut: Cut | None) -> tuple[str, Cut] | None:
        """The cut and its key, if it was made for this request and later turns can use it."""
        history = self.history
        if cut is None or history is None or self.shortened or cut in history.cuts:
            return None
        return cut_key(cut.digest, self.destination.name, history.policy), cut


def _layer(learnt: Learnt) -> Layer:
    return Layer(f"lesson {learnt.lesson}", learnt.facts)


OPTION = "option"


def configured(adapted: CompiledRequest, options: Mapping[str, Any], omit: tuple[str, ...]) -> CompiledRequest:
    """The body with a model's options merged in deeply and its omissions left out."""
    before: dict[str, Any] = msgspec.json.decode(adapted.body)
    after = merge(before, options)
    for name in omit:
        after.pop(name, None)
    changes = [
        Change(
            OPTION,
            f"/{name}",
            _did(name, after),
            str(Loss.METADATA),
            "repair",
            before=digest(before.get(name)),
            after=digest(after.get(name)),
        )
        for name in {**before, **after}
        if before.get(name) != after.get(name)
    ]
    if not changes:
        return adapted
    return replace(adapted, body=msgspec.json.encode(after), changes=(*adapted.changes, *changes))


def _did(name: str, after: dict[str, Any]) -> str:
    return f"set {name} as configured" if name in after else f"left out {name} as configured"
