"""An inquiry: decides what to ask a server next, and what its answers mean. No I/O.

Questions are asked together where they fit together. If the server accepts, all of them are settled by one request. If
it refuses and its words name the question, that one is settled and the others are asked again; else the group is split.

A refusal counts only after the server has accepted something later: a server that refuses everything from some point
on has said nothing about the questions. When refusals pile up, a request without any question (the control) is sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

import msgspec

from dragoman.conversation.failures import Failure, FailureKind
from dragoman.engine.lessons import learn
from dragoman.probe.blame import NO_CONVERSATION, NOTHING_KNOWN, blame
from dragoman.probe.findings import FoundBy, ProbeFinding
from dragoman.probe.questions import Question, Verdict, fit_together, request_body

_MOST_PENDING = 6
"""Refusals in a row after which the control is sent."""
_MOST_WORDS = 600
"""Characters of a refusal that are kept."""

_STOPS: Mapping[FailureKind, str] = {
    FailureKind.AUTH: "the server does not take the key",
    FailureKind.QUOTA: "the quota of the key is spent",
    FailureKind.NOT_SERVED: "the server does not serve this",
}
_REFUSALS = frozenset({FailureKind.BAD_REQUEST, FailureKind.NOT_FOUND, FailureKind.SERVER, FailureKind.PERMISSION})
"""Failures that can be the answer to a question. All others are about something else."""

_OTHER_REASONS = frozenset({"forced-choice", "tools-with-effort"})
"""Lessons that a refusal can be about while the thing that was asked for is accepted: two things do not go together."""

LIMITS: tuple[Mapping[str, Any], ...] = (
    {"max_tokens": 1},
    {"max_completion_tokens": 1},
    {"max_tokens": 16},
    {"max_completion_tokens": 16},
)
"""Token limits for the requests, the best first. Some models take none below 16. None is sent without a limit: nobody
could say what it costs."""
LIMIT_NAMES = frozenset({"max_tokens", "max_completion_tokens"})


class Purpose(StrEnum):
    """Why a request is sent."""

    CONTROL = "control"
    ASK = "ask"
    RECHECK = "recheck"


class ProbeRequest(msgspec.Struct, frozen=True):
    """A request to send: the members of its body without the model, and the questions that it asks."""

    purpose: Purpose
    body: Mapping[str, Any]
    asks: tuple[str, ...] = ()
    streamed: bool = False


class _Part(msgspec.Struct, frozen=True):
    """A half of a group that was refused. `siblings`: the other half, if it is asked before."""

    questions: tuple[Question, ...]
    siblings: tuple[Question, ...]


class Inquiry:
    """One server's inquiry. Call `next_request`, send it, and pass the outcome to `receive`, until it returns None."""

    def __init__(self, questions: Sequence[Question], known: Iterable[ProbeFinding] = ()) -> None:
        self.stopped = ""
        self.skipped: dict[str, str] = {}
        self._questions = tuple(questions)
        self._by_id = {question.id: question for question in questions}
        self._findings: dict[str, ProbeFinding] = {finding.question: finding for finding in known}
        self._pending: dict[str, ProbeFinding] = {}
        self._parts: list[_Part] = []
        self._limit = 0
        self._control_passed = False
        self._control_due = True
        self._recheck: ProbeRequest | None = None
        self._rechecked = False
        self._settle_implied()

    @property
    def findings(self) -> tuple[ProbeFinding, ...]:
        """What is known for sure, in the order of the questions."""
        found = self._findings
        return tuple(found[question.id] for question in self._questions if question.id in found)

    @property
    def open(self) -> tuple[Question, ...]:
        """The questions that are not settled yet and that mean something, as far as is known."""
        return tuple(one for one in self._questions if not self._is_settled(one) and not self._is_moot(one))

    # what to ask

    def next_request(self) -> ProbeRequest | None:
        """The next request, or None at the end."""
        if self.stopped:
            return None
        if self._control_due or len(self._pending) >= _MOST_PENDING:
            return self._control()
        group = self._next_group()
        if group:
            return self._asking(group, Purpose.ASK)
        if self._pending:
            return self._control()
        return self._next_recheck()

    def _control(self) -> ProbeRequest:
        return ProbeRequest(Purpose.CONTROL, {**request_body(()), **LIMITS[self._limit]})

    def _asking(self, group: Sequence[Question], purpose: Purpose) -> ProbeRequest:
        body = request_body(group, self._on_calls(group))
        limit = {} if not LIMIT_NAMES.isdisjoint(body) else LIMITS[self._limit]
        return ProbeRequest(purpose, {**body, **limit}, tuple(one.id for one in group), group[0].streamed)

    def _on_calls(self, group: Sequence[Question]) -> dict[str, Any] | None:
        """What the server wants beside every call, found by the question that stands for `calls`."""
        for question in self._questions:
            if question.stands_for and question not in group and self._verdict(question.id) is Verdict.ACCEPTED:
                calling = next(message for message in question.turns if message.get("tool_calls"))
                return {key: value for key, value in calling.items() if key not in ("role", "tool_calls")}
        return None

    def _next_group(self) -> tuple[Question, ...]:
        """A part of a group that was refused, or the first open questions that fit together."""
        while self._parts:
            part = self._parts.pop()
            group = tuple(one for one in part.questions if not self._is_settled(one) and not self._is_moot(one))
            if (
                len(group) > 1
                and part.siblings
                and all(self._verdict(one.id) is Verdict.ACCEPTED for one in part.siblings)
            ):
                self._split(group)  # the refusal was about one of these, so they need not be asked together again
            elif group:
                return group
        return self._gathered()

    def _gathered(self) -> tuple[Question, ...]:
        """The first open question, and all of its topic that can be asked with it."""
        group: list[Question] = []
        for question in self.open:
            if question.id in self.skipped or not self._is_due(question, group):
                continue
            if not group or (question.topic is group[0].topic and all(fit_together(question, one) for one in group)):
                group.append(question)
        return tuple(group)

    def _is_due(self, question: Question, group: Sequence[Question]) -> bool:
        """Whether the questions that must come first are accepted, or asked in the same request."""
        if any(not self._is_answered(condition.question) for condition in question.unless):
            return False
        asked = {one.id for one in group}
        return all(self._is_accepted(name) or name in asked for name in question.after)

    def _next_recheck(self) -> ProbeRequest | None:
        """The first refusal is asked for once more at the end, alone: does the server mean what it says?"""
        return None if self._rechecked else self._recheck

    # what the answers mean

    def receive(self, request: ProbeRequest, failure: Failure | None) -> None:
        """Take the answer to a request: None if the server accepted it."""
        if failure is not None and failure.kind in _STOPS:
            self.stopped = f"{_STOPS[failure.kind]}: {_cut(failure.message)}"
        elif request.purpose is Purpose.CONTROL:
            self._receive_control(failure)
        elif request.purpose is Purpose.RECHECK:
            self._receive_recheck(request, failure)
        elif failure is None:
            self._accept(request.asks)
        else:
            self._refuse(request, failure)
        self._settle_implied()

    def _receive_control(self, failure: Failure | None) -> None:
        if failure is None:
            self._control_due = False
            if not self._control_passed:
                self._note_limit()
            self._control_passed = True
            self._confirm()
        elif self._control_passed:
            lost = len(self._pending)
            self._pending.clear()
            self.stopped = (
                f"the server now refuses what it took before ({lost} verdicts dropped): {_cut(failure.message)}"
            )
        elif failure.kind in _REFUSALS and self._limit + 1 < len(LIMITS) and failure.kind is not FailureKind.NOT_FOUND:
            self._limit += 1
        else:
            self.stopped = f"the server refuses a plain request: {_cut(failure.message)}"

    def _note_limit(self) -> None:
        """The control has shown which name of the token limit is taken."""
        for name in LIMITS[self._limit]:
            self._set(name.replace("_", "-"), Verdict.ACCEPTED, FoundBy.ASKED)

    def _receive_recheck(self, request: ProbeRequest, failure: Failure | None) -> None:
        self._rechecked = True
        if failure is None:
            self._findings.pop(request.asks[0], None)
            self.stopped = f"the server accepts what it refused before ({request.asks[0]}): do not trust these findings"

    def _accept(self, asked: Sequence[str]) -> None:
        for name in asked:
            self._set(name, Verdict.ACCEPTED, FoundBy.ASKED)
        self._confirm()

    def _confirm(self) -> None:
        """Something was accepted, so the refusals before were meant."""
        self._findings |= self._pending
        self._pending.clear()

    def _refuse(self, request: ProbeRequest, failure: Failure) -> None:
        group = tuple(self._by_id[name] for name in request.asks)
        if failure.kind not in _REFUSALS:
            self._skip(group, failure)
            return
        suspected = blame(failure, group)
        suspects = suspected.questions
        first = self._prerequisite(suspects, group)
        if first is not None and len(suspects) == 1:
            self._split((first,))
        elif len(suspects) > 1 or not suspected.sure:
            self._split(suspects)
        else:
            if self._recheck is None:
                self._recheck = self._asking(suspects, Purpose.RECHECK)
            self._note_refusal(suspects[0], failure)

    def _note_refusal(self, question: Question, failure: Failure) -> None:
        learnt = learn(failure, NOTHING_KNOWN, NO_CONVERSATION)
        other = learnt.facts if learnt is not None and learnt.lesson in _OTHER_REASONS else {}
        verdict = Verdict.OTHERWISE if other else Verdict.REFUSED
        says = _cut(failure.message)
        self._pending[question.id] = ProbeFinding(question.id, verdict, FoundBy.ASKED, says, failure.status, other)

    def _prerequisite(self, suspects: Sequence[Question], group: Sequence[Question]) -> Question | None:
        """A question of the group that must be settled before the suspect can be blamed."""
        wanted = {name for suspect in suspects for name in suspect.after if not self._is_accepted(name)}
        return next((one for one in group if one.id in wanted and one not in suspects), None)

    def _split(self, suspects: tuple[Question, ...]) -> None:
        """Ask the first half of the suspects next, then the second."""
        half = (len(suspects) + 1) // 2
        first, second = suspects[:half], suspects[half:]
        if second:
            self._parts.append(_Part(second, first))
        self._parts.append(_Part(first, ()))

    def _skip(self, group: Sequence[Question], failure: Failure) -> None:
        """A failure that says nothing about the questions. A group may be asked in parts; a single one is left open."""
        if len(group) > 1:
            self._split(tuple(group))
            return
        self.skipped[group[0].id] = _cut(failure.message)

    # what follows from what

    def _settle_implied(self) -> None:
        """Verdicts that other verdicts imply."""
        for question in self._questions:
            for condition in question.unless:
                if condition.then is None or self._is_settled(question):
                    continue
                if self._verdict(condition.question) is condition.verdict:
                    self._set(question.id, condition.then, FoundBy.INFERRED)

    def _set(self, name: str, verdict: Verdict, by: FoundBy) -> None:
        if name in self._by_id and name not in self._findings and name not in self._pending:
            self._findings[name] = ProbeFinding(name, verdict, by)

    def _verdict(self, name: str) -> Verdict | None:
        found = self._findings.get(name) or self._pending.get(name)
        return None if found is None else found.verdict

    def _is_settled(self, question: Question) -> bool:
        return self._verdict(question.id) is not None

    def _is_answered(self, name: str) -> bool:
        question = self._by_id.get(name)
        return question is None or self._is_settled(question) or self._is_moot(question) or name in self.skipped

    def _is_accepted(self, name: str) -> bool:
        if self._verdict(name) not in (None, Verdict.REFUSED):
            return True
        return any(one.stands_for == name and self._verdict(one.id) is Verdict.ACCEPTED for one in self._questions)

    def _is_moot(self, question: Question) -> bool:
        """Whether the question means nothing by now: it is ruled out, or what it builds upon is refused."""
        for condition in question.unless:
            if condition.then is None and self._verdict(condition.question) is condition.verdict:
                return True
        return any(self._is_out(name) for name in question.after)

    def _is_out(self, name: str) -> bool:
        """Whether a question is refused, or was never asked and never will be, and nothing stands for it."""
        question = self._by_id.get(name)
        if question is None or self._is_accepted(name):
            return False
        if any(one.stands_for == name and not self._is_answered(one.id) for one in self._questions):
            return False
        return self._verdict(name) is Verdict.REFUSED or name in self.skipped or self._is_moot(question)


def _cut(message: str) -> str:
    return message if len(message) <= _MOST_WORDS else f"{message[:_MOST_WORDS]}…"
