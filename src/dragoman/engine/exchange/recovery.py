"""What an exchange does after a failure: it asks the same destination again, in another way, or the next one, or ends.

`attempts.py` decides which of these it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic

from dragoman.conversation.canonical import canonical_text
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.engine.answer.client_failures import failure_of, with_numbers
from dragoman.engine.compile.compiled_request import CompiledRequest
from dragoman.engine.compile.reasoning_restore import keeps
from dragoman.engine.exchange import care
from dragoman.engine.exchange.attempts import (
    CompileWithCare,
    Correct,
    FallBack,
    GiveUp,
    History,
    NextKey,
    Renew,
    RestoreRefusal,
    Retry,
    next_step,
)
from dragoman.engine.exchange.destination import D
from dragoman.engine.exchange.lessons import Learnt, is_recognised, learn
from dragoman.engine.exchange.open_exchange import OpenExchange
from dragoman.engine.exchange.steps import AttemptFailed, Choose, GaveUp, Step, Wait
from dragoman.engine.history.recall import shorter
from dragoman.engine.history.sizes import estimate_tokens
from dragoman.engine.history.trimming import TrimRequest
from dragoman.errors import RequestError


class Recovery(Generic[D]):
    """What follows the failures of one exchange."""

    _chance = 0.0
    """The number that the driver drew last."""
    _waits = False
    """The driver waits before the same body is sent again."""
    _cared = False
    """A careful body was sent, to whichever destination."""
    _earlier: Failure | None = None
    """The failure of the destination before this one."""
    _fault: RequestError | None = None
    """Why the first destination was skipped that was."""

    def __init__(self, exchange: OpenExchange[D]) -> None:
        self._exchange = exchange

    def resume(self, chance: float) -> Step[D]:
        """Go on after a failure that was noted, or after a wait."""
        if self._waits:
            self._waits = False
            return self._send_again()
        self._chance = chance
        return self._decide()

    def avoid_repeat(self, request: CompiledRequest) -> Step[D] | None:
        """What to do instead of sending what was refused already; None if it was not. A correction that changes nothing
        proves nothing."""
        last, visit = self._exchange.request, self._exchange.visit
        if self._exchange.destination is not visit.destination or last is None:
            return None
        sent = _meaning(request)
        if sent != _meaning(last) and sent not in visit.corrected:
            return None
        if visit.refused is not None and len(visit.learnt) <= visit.learnt_before_care:
            return self._restore_refusal()
        visit.learnt = visit.learnt[:-1]
        return self._decide()

    def note_lesson(self) -> None:
        """Write down which correction is sent."""
        exchange, visit = self._exchange, self._exchange.visit
        self._cared = self._cared or visit.refused is not None
        lesson = care.LESSON if visit.refused is not None else visit.learnt[-1].lesson
        exchange.lessons = (*exchange.lessons, lesson)

    def skip(self, fault: RequestError) -> Step[D]:
        """This target cannot be asked, or not without more loss than is allowed: the next one, or the end."""
        exchange = self._exchange
        if exchange.visit.refused is not None:
            return self._restore_refusal()
        self._fault = self._fault or fault
        if exchange.destination is exchange.visit.destination:
            exchange.failure = self._earlier
        if exchange.left:
            return Choose(exchange.left)
        if exchange.failure is not None:
            return self._give_up(exchange.failure)
        exchange.failure = failure_of(self._fault)
        return GaveUp(exchange.failure, self._fault)

    def take_next_target(self, failure: Failure) -> Step[D]:
        """This target is not asked: the next one, or the end. The client gets what a provider said before, if any."""
        exchange = self._exchange
        if exchange.left:
            return Choose(exchange.left)
        if exchange.destination is not None:
            return self._give_up(exchange.failure or failure)
        exchange.failure = failure
        return GaveUp(failure)

    def _decide(self) -> Step[D]:
        exchange, visit, failure = self._exchange, self._exchange.visit, self._exchange.failure
        assert failure is not None
        if failure.kind is FailureKind.CONTEXT_LENGTH and self._may_shorten(failure):
            return exchange.prepare()
        learnt = learn(failure, visit.target.facts, exchange.ask.conversation)
        history, known = self._history(failure), learnt is not None or is_recognised(failure)
        match next_step(history, failure, visit.destination.policy, self._chance, learnt, recognised=known):
            case Retry(delay):
                self._waits = True
                return Wait(delay)
            case Correct(lesson):
                return self._correct(lesson)
            case CompileWithCare():
                return self._take_care(failure)
            case RestoreRefusal():
                return self._restore_refusal()
            case NextKey():
                visit.take_next_key()
                return self._send_same()
            case Renew():  # the sender knows of the refusal, and fetches credentials before it sends
                visit.renewed = True
                return self._send_same()
            case FallBack():
                return self._fall_back(failure)
            case GiveUp():
                return self._give_up(failure)

    def _may_shorten(self, failure: Failure) -> bool:
        """Trim the conversation to what the provider said, once; unless the configuration sends it elsewhere."""
        exchange, visit = self._exchange, self._exchange.visit
        policy = visit.trim_policy(exchange.ask)
        if policy is None or visit.shortened or exchange.request is None or self._find_reserved(failure):
            return False
        estimate = estimate_tokens(exchange.request.conversation, visit.target.model)
        history = shorter(visit.history or TrimRequest(policy), failure, estimate)
        if history is None:
            return False
        visit.history, visit.shortened = history, True
        exchange.attempts.tries = 0
        return True

    def _history(self, failure: Failure) -> History:
        visit, attempts = self._exchange.visit, self._exchange.attempts
        return History(
            tries=attempts.tries,
            corrections=attempts.corrections,
            keys_left=visit.keys_left,
            targets_left=len(self._exchange.left),
            total=attempts.sends,
            reserved=bool(self._find_reserved(failure)),
            careful=visit.refused is not None,
            cared=self._cared or visit.cared,
            renewable=visit.destination.renews_credentials and not visit.renewed,
            as_caller=visit.destination.as_caller,
        )

    def _correct(self, learnt: Learnt) -> Step[D]:
        exchange, visit, ask = self._exchange, self._exchange.visit, self._exchange.ask
        if exchange.destination is visit.destination and exchange.request is not None:
            visit.corrected = (*visit.corrected, _meaning(exchange.request))
        kept = keeps(visit.target.facts, ask)
        visit.correct(learnt)
        exchange.attempts.correct()
        if not kept and keeps(visit.target.facts, ask):
            runs = bool(exchange.offered), bool(exchange.runnable)
            return visit.find_recall(ask, exchange.given_summary is None, *runs) or exchange.prepare()
        return exchange.prepare()

    def _take_care(self, failure: Failure) -> Step[D]:
        exchange, visit = self._exchange, self._exchange.visit
        assert exchange.request is not None
        visit.refused = AttemptFailed(visit.destination, visit.key, exchange.request, failure)
        visit.cared = True
        visit.learnt_before_care, visit.tries_before_care = len(visit.learnt), exchange.attempts.tries
        exchange.attempts.tries = 0
        return exchange.prepare()

    def _restore_refusal(self) -> Step[D]:
        """Care did not help, or changes nothing, or is not allowed: the refusal that led to it stands."""
        exchange, visit = self._exchange, self._exchange.visit
        refused = visit.refused
        assert refused is not None
        exchange.failure, exchange.request = refused.failure, refused.request
        exchange.changes = refused.request.changes
        visit.refused = None
        exchange.attempts.tries = visit.tries_before_care
        return self._decide()

    def _send_same(self) -> Step[D]:
        """Send the same body with another credential: that does not count as a try."""
        self._exchange.attempts.tries -= 1
        return self._send_again()

    def _send_again(self) -> Step[D]:
        exchange = self._exchange
        if exchange.prompt is not None and not exchange.prompt.belongs_to(exchange.visit.key):
            return exchange.send(exchange.prompt.take_whole())
        assert exchange.request is not None
        return exchange.send(exchange.request)

    def _fall_back(self, failure: Failure) -> Step[D]:
        exchange, reserved = self._exchange, self._find_reserved(failure)
        self._earlier = failure
        exchange.left = (*reserved, *[one for one in exchange.left if one not in reserved])
        return Choose(exchange.left)

    def _find_reserved(self, failure: Failure) -> tuple[D, ...]:
        """Where the configuration sends just this kind of failure; only the first choice has such a say."""
        route, tried = self._exchange.route, self._exchange.visit.destination
        if not route.reserved or tried is not route.first:
            return ()
        return tuple([one for one in route.reserved.get(failure.kind, ()) if one is not tried])

    def _give_up(self, failure: Failure) -> GaveUp:
        exchange = self._exchange
        assert exchange.destination is not None
        window = exchange.destination.target.facts.context_window or exchange.route.first.target.facts.context_window
        exchange.failure = exchange.attempts.named(with_numbers(failure, exchange.ask, window))
        return GaveUp(exchange.failure)


def _meaning(request: CompiledRequest) -> tuple[bytes, Mapping[str, str]]:
    """What a provider reads of a request: the spaces of a client's own text are no difference to it."""
    return canonical_text(request.body), request.headers
