"""One answer that several exchanges give, its parts: one for each of the answers that the client wants at once, or one
for each round, if the gateway runs tools for the answer or the provider pauses while it does.

Each part has its own attempts, lessons and fallbacks. A round begins with the target of the round before it. The client
gets one answer, in the order in which the parts write it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Generic, TypeVar

from msgspec.structs import replace

from dragoman.conversation.failures import Failure
from dragoman.conversation.parts import Call
from dragoman.engine.answer.joined_answers import JoinedAnswers
from dragoman.engine.answer.stream_redaction import Redaction
from dragoman.engine.exchange.open_exchange import OpenExchange
from dragoman.engine.exchange.steps import Answered, StreamingAll
from dragoman.engine.tool_runs.run_functions import RunnableTool
from dragoman.engine.tool_runs.run_limits import RunLimits
from dragoman.engine.tool_runs.tool_rounds import FinishedCall, RunTools, ToolRounds

P = TypeVar("P", bound=OpenExchange[Any])


class SplitAnswer(Generic[P]):
    """The answer to an exchange that has parts, as they write it."""

    def __init__(self, whole: P, count: int, redaction: Redaction | None) -> None:
        """`count`: how many answers the client is given as one."""
        self._whole = whole
        self._joined = JoinedAnswers(whole.ask.dialect, whole.context.id, count, whole.ask.stream)
        self._redaction = redaction

    def take_bytes(self) -> bytes:
        """What there is for the client, since it was last asked for."""
        return self._without_secrets(self._joined.take())

    def begin_answer(self) -> Answered | StreamingAll:
        """The whole answer, if all parts have ended; of a stream, what there is so far."""
        if self._whole.ask.stream:
            return StreamingAll(self.take_bytes())
        return Answered(self._without_secrets(self._joined.whole()))

    def cut(self, failure: Failure) -> bytes:
        """End a stream of which the client has seen something with this failure."""
        self._joined.fail(failure)
        return self.take_bytes()

    @property
    def has_ended(self) -> bool:
        """Whether all parts came to their proper end."""
        return self._joined.has_ended

    def _without_secrets(self, out: bytes) -> bytes:
        return out if self._redaction is None else self._redaction.data(out)


class SplitChoices(SplitAnswer[P]):
    """Several answers at once, one for each part."""

    def open_parts(self, count: int) -> tuple[P, ...]:
        """The parts. Ids that are made for one are its own. The first goes on with the attempts that were made for all
        of them."""
        whole, context = self._whole, self._whole.context
        contexts = [context, *[replace(context, id=f"{context.id}.{number}") for number in range(2, count + 1)]]
        parts = [
            whole.open_part(one, partial(self._joined.begin, index), answer=index) for index, one in enumerate(contexts)
        ]
        parts[0].attempts = whole.attempts
        return tuple(parts)


class SplitRounds(SplitAnswer[P]):
    """An answer for which the gateway runs tools, or in which the provider may pause: one part for each round."""

    def __init__(self, whole: P, limits: RunLimits, redaction: Redaction | None) -> None:
        super().__init__(whole, 1, redaction)
        self.rounds = ToolRounds(whole.ask, self._joined, limits)
        self._last = whole
        """The last round; before the first one, what has opened it."""

    def open_first(self, runs: Sequence[RunnableTool], approved: Sequence[tuple[Call, FinishedCall]]) -> P:
        """The first round. It shows the tools of servers and what came of approved calls, and goes on with the attempts
        that were made so far."""
        self.rounds.show_listed(runs)
        self.rounds.show_approved(approved)
        first = self._whole.open_part(self._whole.context, self.rounds.begin)
        first.attempts = self._whole.attempts
        self._last = first
        return first

    def round_ended(self) -> RunTools | None:
        """What the last round wants run; None: it was the last."""
        if len(self._whole.parts) == 1:  # what was run before the first round is written down with it
            self._note_runs()
        return self.rounds.to_run(self._last.visit.runs or ())

    def ran(self, results: Sequence[FinishedCall], seconds: float) -> P | None:
        """What came of the runs, in so many seconds; the next round, unless the answer ends here."""
        whole, context = self._whole, self._whole.context
        ask = self.rounds.ran(results, seconds)
        self._note_runs()
        if ask is None:
            return None
        context = replace(context, id=f"{context.id}.{len(whole.parts) + 1}", prefix="", opening=None)
        self._last = following = self._last.open_part(context, self.rounds.begin, ask)
        whole.parts = (*whole.parts, following)
        return following

    def stop(self, why: str) -> None:
        """End the answer without running what the last round has asked for."""
        self.rounds.stop(why)
        self._note_runs()

    def _note_runs(self) -> None:
        """Write down with the last round what was run."""
        last = self._last
        last.runs = (*last.runs, *self.rounds.finished)
        last.changes = (*last.changes, *self.rounds.changes())
