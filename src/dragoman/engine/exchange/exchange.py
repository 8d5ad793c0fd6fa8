"""One request's life, from the client's question to its answer, without a socket, a clock or a store.

An exchange hands out *steps* (`steps.py`). Its driver carries them out and gives back what the world answered, which
gives the next step:

    step = exchange.start()
    step = exchange.chosen(step.candidates[0])     # a Send
    exchange.head(200, headers)                    # Reading.WHOLE
    step = exchange.body(data)                     # Answered: the client's bytes

The exchange compiles every attempt from the client's original, decides what follows a failure (`recovery.py`),
translates what comes back, and has what there is to report, to keep and to remember. `steps.STEPS` is the table of all
steps, and `docs/theory/exchange.md` shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Self

from msgspec.structs import replace

from dragoman.conversation.changes import Note
from dragoman.conversation.conversation import Ask
from dragoman.conversation.failures import Failure
from dragoman.conversation.parts import Call
from dragoman.conversation.replies import Stop, Usage, sum_usage
from dragoman.conversation.tools import Tool
from dragoman.dialects.dialect import AnswerContext
from dragoman.dialects.registry import dialect
from dragoman.engine.answer.client_failures import clip_failure
from dragoman.engine.answer.joined_answers import ChoiceWriter, RoundWriter
from dragoman.engine.answer.provider_changes import (
    MOST_REPORTED,
    find_change_mark,
    find_provider_changes,
    tell_diagnosis,
)
from dragoman.engine.answer.stream_redaction import Redaction
from dragoman.engine.answer.translation import Translation, translation_of
from dragoman.engine.compile.compiled_request import CompiledRequest
from dragoman.engine.compile.plan import serving_target
from dragoman.engine.compile.reasoning_restore import issuer, scope
from dragoman.engine.compile.report import ReportBuilder
from dragoman.engine.exchange.attempts import MAX_TOTAL
from dragoman.engine.exchange.caller_options import NOTHING_SET, CallerOptions
from dragoman.engine.exchange.destination import D, TargetRoute
from dragoman.engine.exchange.lessons import Learnt
from dragoman.engine.exchange.open_exchange import OpenExchange
from dragoman.engine.exchange.recovery import Recovery
from dragoman.engine.exchange.session_cache import SessionCache
from dragoman.engine.exchange.split_answer import SplitChoices, SplitRounds
from dragoman.engine.exchange.steps import (
    Answered,
    AttemptFailed,
    Choose,
    End,
    FetchMedia,
    GaveUp,
    Reading,
    Recalled,
    Send,
    SendAll,
    SendRounds,
    StateToKeep,
    Step,
    Streaming,
)
from dragoman.engine.exchange.target_attempt import Attempts, TargetAttempt
from dragoman.engine.history.calibration import CountedTokens, calibration_key, can_be_estimated
from dragoman.engine.history.sizes import estimate_tokens
from dragoman.engine.tokens.answer_tally import NOTHING_SPENT, Spent, parse_amount
from dragoman.engine.tokens.token_estimate import estimate_request
from dragoman.engine.tool_runs.run_functions import RunnableTool, find_api
from dragoman.engine.tool_runs.run_limits import USUAL_LIMITS, RunLimits
from dragoman.engine.tool_runs.tool_rounds import FinishedCall
from dragoman.engine.tool_runs.wanted_tools import WantedTools, find_wanted_tools, with_approved
from dragoman.errors import MalformedRequest, RequestError
from dragoman.profiles.facts import CacheQuestionForm
from dragoman.profiles.profile import Layer, Target, patch_target
from dragoman.rules.settings.several_answers import MOST_ANSWERS, is_asked_for_each
from dragoman.wire.error_bodies import parse_failure


class Exchange(OpenExchange[D]):
    """One request under way, and afterwards what became of it. `attempts` knows every send."""

    # What most exchanges never change stands on the class: an instance is made for every request.
    learnt: tuple[Learnt, ...] = ()
    """Those that an accepted answer has proved and that last."""
    parts: tuple[Exchange[D], ...] = ()
    split: SplitChoices[Exchange[D]] | SplitRounds[Exchange[D]] | None = None
    """What the client gets of the parts."""
    _write: Callable[[AnswerContext], ChoiceWriter | RoundWriter] | None = None
    """Writes the answer as a part, if this exchange is one."""
    _before: TargetAttempt[D] | None = None
    """How far the exchange was that opened this part."""
    _approved: tuple[tuple[Call, FinishedCall], ...] = ()
    """Calls of an earlier answer that the client was asked about, and what came of them."""
    _translation: Translation | None = None
    _status = 0
    _headers: Iterable[tuple[str, str]] = ()
    _opening = b""
    _cost: float | None = None
    _estimated: tuple[str, int] | None = None
    _reported = 0
    """Changes that the provider says it made."""
    _wanted: WantedTools
    """The tools that are asked for, while their servers are."""
    _run_limits: RunLimits = USUAL_LIMITS
    cache: SessionCache | None = None
    """What the request has to do with the provider's prompt cache; None if it is too short for it."""

    def __init__(
        self,
        ask: Ask,
        route: TargetRoute[D],
        context: AnswerContext,
        options: CallerOptions = NOTHING_SET,
        redaction: Redaction | None = None,
        *,
        splits: bool = False,
        resumes: bool = False,
    ) -> None:
        """`splits`: the driver can carry out several exchanges side by side. `resumes`: it can carry out one after the
        other."""
        self.ask = ask
        self.context = context
        self.attempts = Attempts()
        self.route = route
        self.left = route.destinations
        self._options = options
        self._redaction = redaction
        self._splits = splits
        self._resumes = splits or resumes

    # What there is to report.

    @property
    def target(self) -> Target | None:
        """The target of the last send, with what was learnt about it."""
        return self.visit.target if self.destination is not None else None

    def compile_with(self, rules: Mapping[str, Any]) -> CompiledRequest:
        """What the last send would have been with these choices for rules. Raises RequestError."""
        visit = self.visit
        target = patch_target(visit.target, Layer("request", {}, rules))
        return replace(visit, target=target).compile(self.ask, self._options)

    @property
    def usage(self) -> Usage | None:
        if self.parts:
            return sum_usage([one.usage for one in self.parts if one.usage is not None])
        return self._translation.usage if self._translation is not None else None

    def spent(self) -> Spent:
        """What is booked for the request: what the provider counted, or an estimate of what went by."""
        if self.parts:
            spent = [one.spent() for one in self.parts]
            return Spent(sum_usage([one.usage for one in spent]), any(one.estimated for one in spent))
        translation = self._translation
        if translation is None or not (translation.started or translation.ended):
            return NOTHING_SPENT
        output, estimated = translation.output_tokens()
        usage = translation.usage or Usage()
        if usage.input and not estimated and output == usage.output:
            return Spent(usage)
        if not usage.input:
            estimated = True
            usage = replace(usage, input=self._estimate_input())
        return Spent(replace(usage, output=output), estimated)

    def _estimate_input(self) -> int:
        """About how many tokens the request has. It is counted once: there may be many parts."""
        model = self.visit.target.model
        if self._estimated is None or self._estimated[0] != model:
            self._estimated = model, estimate_request(self.ask.conversation, model)
        return self._estimated[1]

    @property
    def cost(self) -> float | None:
        """What the provider says that the answer cost, in its own currency: in a header, or beside the tokens."""
        usage = self._translation.usage if self._translation is not None else None
        extras = usage.extras if usage is not None else None
        amount = extras.fields.get("cost") if extras is not None else None
        return self._cost if amount is None else parse_amount(amount.decode())

    @property
    def stop(self) -> Stop | None:
        return self._translation.stop if self._translation is not None else None

    def state_to_keep(self) -> StateToKeep | None:
        """What the next turn needs and the client cannot bring, once the answer is whole."""
        translation, visit = self._translation, self.visit
        states = translation.kept if translation is not None else {}
        trims = visit.history is not None or visit.destination.history is not None
        if not states and not trims:
            return None
        facts = visit.target.facts
        if not trims:
            return StateToKeep(issuer(facts), scope(facts), states)
        return StateToKeep(
            issuer(facts),
            scope(facts),
            states,
            cut=visit.cut_to_keep(self.request.cut if self.request is not None else None),
            calibration=self._calibration_key(),
            count=self._count,
        )

    def count_to_keep(self) -> StateToKeep | None:
        """How the provider counted this request, for estimates of others; None if it did not."""
        key = self._calibration_key()
        return StateToKeep("", "", calibration=key, count=self._count) if key else None

    def _calibration_key(self) -> str:
        """What the provider's count of this request says something about; empty if there is no count."""
        usage = self.usage
        if usage is None or not usage.input:
            return ""
        return calibration_key(self.visit.destination.name, self.ask.conversation)

    def _count(self) -> CountedTokens | None:
        """The tokens of this request as we estimate them and as the provider counts them, if both see the same."""
        assert self.usage is not None
        assert self.request is not None
        sent = self.request.conversation
        if not can_be_estimated(sent):
            return None
        return CountedTokens(estimate_tokens(sent, self.visit.target.model), self.usage.input)

    # Before a send.

    def start(self) -> Choose[D]:
        return Choose(self.left)

    def chosen(self, destination: D, target: Target | None = None, key: int = 0) -> Step[D]:
        """Ask this one. `target` is its own with what has been learnt about it, `key` the key to begin with."""
        left = self.left
        self.left = () if len(left) == 1 else tuple([one for one in left if one is not destination])
        self.attempts.begin()
        found = serving_target(self.ask, destination.target if target is None else target)
        if found.twin is not None and (self.ask.conversation.tools or self.ask.conversation.extras is not None):
            found = find_api(self.ask, found, self.runnable)
        if self._options.rules:
            found = patch_target(found, Layer("request", {}, self._options.rules))
        self.visit = TargetAttempt(destination, found, key, destination.key_count - 1)
        if self.given_summary is not None:
            self.visit.summary = self.given_summary
        if self._before is not None and self._before.destination is destination:
            self.visit.inherit(self._before)
        if self.cache is not None and found.facts.cache_question is not CacheQuestionForm.NONE:
            self.cache.ask_provider(self.ask, self.visit)
        recall = self.visit.find_recall(self.ask, self.given_summary is None, bool(self.offered), bool(self.runnable))
        return recall or self.prepare()

    def recalled(self, found: Recalled) -> Step[D]:
        """What was kept."""
        self.visit.take_recalled(found)
        return self.prepare()

    def fetched(self, media: Mapping[str, bytes] | Failure) -> Step[D]:
        """What was fetched, by URL; or why there is no room for it, and then another target may not need it."""
        if isinstance(media, Failure):
            return self._recovery.take_next_target(media)
        visit = self.visit
        visit.media = {**visit.media, **media}
        return self.prepare()

    def listed(
        self,
        found: Sequence[tuple[Tool, ...] | None] | Failure,
        limits: RunLimits = USUAL_LIMITS,
        ran: Sequence[FinishedCall] = (),
    ) -> Step[D]:
        """For each tool, those of its server, if it has one; None: it cannot be run. Or why the request fails. And what
        came of the calls that the client has approved."""
        if isinstance(found, Failure):
            return self._recovery.take_next_target(found)
        if (unapproved := self._wanted.find_unapproved(found, self.ask.dialect)) is not None:
            return self._recovery.take_next_target(unapproved)
        if self._wanted.approvals:
            self._approved = self._wanted.finish_approved(ran)
            self.ask = with_approved(self.ask, self._approved)
        self.visit.runs = self._wanted.find_runnable(found, self.ask.conversation)
        self._run_limits = limits
        return self.prepare()

    # After a send.

    def head(self, status: int, headers: Iterable[tuple[str, str]] = ()) -> Reading:
        """The status and headers of the answer, by which its body is read."""
        assert self.request is not None
        if not 200 <= status < 300:
            self._translation, self._status, self._headers = None, status, headers
            return Reading.ERROR
        context = self.visit.answer_context(self.ask, self.request, self.context, self._options)
        self._translation, self._opening = translation_of(self.request, context, self._redaction), b""
        self._translation.provider = self.visit.destination.provider
        if self._write is not None:
            self._translation.join(self._write(context))
        if self.request.facts.cost_header:
            self._cost = parse_amount(dict(headers).get(self.request.facts.cost_header))
        return Reading.PIECES if self.ask.stream else Reading.WHOLE

    def body(self, data: bytes) -> Step[D]:
        """The whole body of the answer, or of a refusal."""
        translation = self._translation
        if translation is None:
            if self.prompt is not None and self.prompt.may_be_gone(self._status):
                return self.send(self.prompt.take_whole())
            return self.failed(parse_failure(self._status, dict(self._headers), data, self.visit.destination.provider))
        answer = translation.whole(data)
        if translation.failure is not None:
            return self.failed(translation.failure)
        if self.attempts.sends > 1:
            self._accepted()
        self.note_provider_changes(data)
        if self.cache is not None:
            self.note_diagnosis(data)
        return Answered(answer)

    def piece(self, data: bytes | None, *, late: bool = False) -> Step[D] | None:
        """A piece of a stream of which the client has seen nothing yet; without one it has ended. None: read on.

        Only when there is something for the client can nothing be tried again. The head of an answer says nothing, and
        is held until it is `late`.
        """
        translation = self._translation
        assert translation is not None
        over = data is None
        if data:
            self.note_provider_changes(data)
            if self.cache is not None:
                self.note_diagnosis(data)
            self._opening += translation.feed(data)
        elif over:
            self._opening += translation.close()
        if translation.failure is not None and not translation.is_joined_in:
            return self.failed(translation.failure)
        if not over and not translation.has_begun(self._opening, late=late):
            return None
        if self.attempts.sends > 1:
            self._accepted()
        return Streaming(self._opening, translation, over)

    @property
    def change_mark(self) -> bytes:
        """What stands in a piece of an answer in which the provider reports what it changed itself; empty: it does not
        report."""
        return find_change_mark(self.visit.target.facts.change_report)

    def note_provider_changes(self, data: bytes) -> None:
        """Put into the report what the provider says, in a piece of its answer, that it changed itself."""
        member, room = self.visit.target.facts.change_report, MOST_REPORTED - self._reported
        if member and room > 0 and data.find(member.encode()) >= 0:
            known = {(change.at, change.did) for change in self.changes}  # a stream repeats its answer as it grows
            found = [one for one in find_provider_changes(data, member) if (one.at, one.did) not in known][:room]
            self._reported += len(found)
            self.changes = (*self.changes, *found)

    def note_diagnosis(self, data: bytes) -> None:
        """Put into the report what the provider says, in a piece of its answer, of its prompt cache."""
        if self.cache is not None and (why := self.cache.find_miss(data)):
            self.changes = (*self.changes, tell_diagnosis(why))

    @property
    def reads_end(self) -> bool:
        """Whether the last bytes of a stream say something that was asked for."""
        return (
            self.visit.question is not None and self.visit.target.facts.cache_question is CacheQuestionForm.COMPARISON
        )

    def failed(self, failure: Failure) -> AttemptFailed[D]:
        """The send failed. If the client has seen nothing yet, it may be tried again."""
        visit = self.visit
        assert self.request is not None
        failure = clip_failure(failure).at(visit.destination.provider)
        self.failure = failure if self._redaction is None else self._redaction.failure(failure)
        refused = AttemptFailed(visit.destination, visit.key, self.request, self.failure)
        self.attempts.failures += (refused,)
        return refused

    def unsent(self, failure: Failure) -> Step[D]:
        """The driver has no room for this send, and made none: the next target, or the end."""
        if self.parts:
            self.parts, self.split = (), None
        else:
            self.attempts.count(-1)
        return self._recovery.take_next_target(failure)

    def resent(self) -> bool:
        """Whether the same body may go out once more, because its connection closed before an answer.

        The provider may have read it, so it counts as a send: the limit of attempts holds for what a provider sees.
        """
        attempts = self.attempts
        if attempts.tries >= self.visit.destination.policy.attempts or attempts.sends >= MAX_TOTAL:
            return False
        attempts.count()
        return True

    def joined(self, end: GaveUp | None = None) -> End:
        """What became of the parts: all answers are there, or something of a stream; or one cannot be had."""
        assert self.split is not None
        first = self.parts[0]
        self.destination, self.request = first.destination, first.request
        self.changes = tuple({(one.rule, one.at, one.did): one for part in self.parts for one in part.changes}.values())
        if isinstance(end, GaveUp):
            self.failure = end.failure
            return end
        return self.split.begin_answer()

    def stream_ended(self) -> AttemptFailed[D] | None:
        """A stream that the client has seen is over; the failure that ended it, if one did."""
        assert self._translation is not None
        failure = self._translation.failure
        return self.failed(failure) if failure is not None else None

    def cut(self, failure: Failure) -> bytes:
        """The driver itself ends a stream that the client has seen: the error that stands at its end.

        If the client had the whole answer already, there is no failure.
        """
        self.failure = failure
        if self.split is not None:
            self.failure = None if self.split.has_ended else failure
            return self.split.cut(failure)
        if self._translation is None:
            return b""
        last = self._translation.fail(failure)
        if self._translation.failure is None:
            self.failure = None
        return last

    def let_go(self) -> None:
        """Let go of the answer's bytes: it is over, and what was seen of it stays."""
        self._opening = b""
        if self._translation is not None:
            self._translation.let_go()

    # After a failure.

    def resume(self, chance: float = 0.0) -> Step[D]:
        """Go on after a failure that was noted, or after a wait. `chance` is a number from 0 to 1 that the driver
        drew."""
        return self._recovery.resume(chance)

    @cached_property
    def _recovery(self) -> Recovery[D]:
        return Recovery(self)

    # Compiling and sending.

    def prepare(self) -> Step[D]:
        """The next send, or what is needed for it. A body that was refused already is not sent again."""
        visit, options = self.visit, self._options
        one_by_one = self._splits and self.ask.conversation.settings.n is not None and self._is_asked_for_each()
        if one_by_one:
            options = replace(options, answer=0)
        try:
            request = visit.compile(self.ask, options)
        except RequestError as fault:
            return self._recovery.skip(fault)
        if request.media_to_fetch and (missing := visit.find_unasked_media(request)):
            return FetchMedia(missing)
        runs = visit.runs
        if (request.tools_to_run or self.offered) and runs is None and self._may_run_tools(one_by_one):
            self._wanted = find_wanted_tools(self.ask, request.tools_to_run, self.offered)
            return self._wanted.step()
        if self.attempts.sends and (instead := self._recovery.avoid_repeat(request)) is not None:
            return instead
        if one_by_one:
            return self._send_all(self.ask.conversation.settings.n or 0)
        if self._resumes and (runs or (request.has_native_tools and self._may_pause())):
            return self._send_rounds(runs or ())
        if visit.refused is not None or visit.learnt:
            self._recovery.note_lesson()
        return self.send(request)

    def _may_run_tools(self, one_by_one: bool) -> bool:
        """Whether tools may be run for the answer. Several answers at once have no rounds."""
        is_round = self._write is not None and self._options.answer is None
        return (self._splits and not one_by_one) or is_round

    def _may_pause(self) -> bool:
        """Whether the provider may end the answer before the model has, for a client that cannot send it back."""
        return dialect(self.visit.target.facts.dialect).pauses and not dialect(self.ask.dialect).pauses

    def _is_asked_for_each(self) -> bool:
        target = self.visit.target
        return is_asked_for_each(self.ask.conversation, target.facts, target.choices)

    def _send_all(self, count: int) -> Step[D]:
        """One exchange for each answer: it has its own attempts, and falls back by itself."""
        ask, visit = self.ask, self.visit
        if count > MOST_ANSWERS:
            what = f"{count} answers are too many: {visit.destination.name} is asked for at most {MOST_ANSWERS}"
            return self._recovery.skip(MalformedRequest(what, at=ReportBuilder(ask).pointer(Note("", key="n"))))
        split = self.split = SplitChoices(self, count, self._redaction)
        self.parts = split.open_parts(count)
        return SendAll(visit.destination)

    def _send_rounds(self, runs: tuple[RunnableTool, ...]) -> SendRounds[D]:
        split = self.split = SplitRounds(self, self._run_limits, self._redaction)
        self.parts = (split.open_first(runs, self._approved),)
        return SendRounds(self.visit.destination)

    def open_part(
        self,
        context: AnswerContext,
        write: Callable[[AnswerContext], ChoiceWriter | RoundWriter],
        ask: Ask | None = None,
        *,
        answer: int | None = None,
    ) -> Self:
        """The exchange for a part of the answer, which begins with what was learnt here. With a request of its own, it
        is a later round."""
        visit = self.visit
        reserved = self.route.reserved if visit.destination is self.route.first else {}
        options = self._options if answer is None else replace(self._options, answer=answer)
        route = TargetRoute((visit.destination, *self.left), reserved)
        part = type(self)(ask or self.ask, route, context, options, self._redaction)
        part._write, part._before, part.given_summary, part.offered, part.runnable = (
            write, visit, self.given_summary, self.offered, self.runnable,
        )  # fmt: skip
        return part

    def send(self, request: CompiledRequest) -> Send[D]:
        """Have this sent to the destination that is being asked."""
        visit = self.visit
        if self.cache is not None and request is not self.request:
            request = self.cache.blame_change(self.ask, request, visit.destination)
        if self.prompt is not None and request is not self.request:
            request = self.prompt.shorten(self.ask, request, visit)
        self.destination, self.request, self.changes = visit.destination, request, request.changes
        self.attempts.count()
        return Send(visit.destination, visit.key, request)

    def _accepted(self) -> None:
        """The provider took it after all: what was corrected on the way is proved."""
        self.failure = None
        self.learnt = self.visit.find_proven(self.ask, self._options)
