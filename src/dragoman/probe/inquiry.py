"""An inquiry: decides what to ask a server next, and what its answers mean. No I/O.

Questions are asked together if they fit together. If the server accepts, all of them are settled by one request. If
it refuses and its words name the question, that one is settled and the others are asked again; else the group is split.

A refusal counts only after the server has accepted something later: a server that refuses everything from some point
on has said nothing about the questions. When refusals pile up, a request without any question (the control) is sent.

Some failures are a refusal with one server and an outage with another (500, 404, 403). Such a question is asked twice,
with something accepted in between. Words that a server said about a request that it took another time say nothing
about any question: what rests on them is dropped.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

import msgspec

from dragoman.conversation.failures import Failure, FailureKind
from dragoman.engine.exchange.lessons import learn
from dragoman.probe.asked_dialects import AskedDialect
from dragoman.probe.findings import FoundBy, ProbeFinding
from dragoman.probe.question import Question, Topic, Verdict
from dragoman.probe.refusal_causes import NO_CONVERSATION, NOTHING_KNOWN, blame
from dragoman.probe.request_form import fit_together, member_paths
from dragoman.profiles.profile import merge

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

_DOUBTFUL = frozenset({FailureKind.SERVER, FailureKind.NOT_FOUND, FailureKind.PERMISSION})
"""Those of them that are as often an outage. They are believed when the question is asked again and fails again."""
_APART = frozenset({Topic.OPENING, Topic.TURNS, Topic.CALLS, Topic.TOOLS})
"""What these ask hangs on nothing else in the request. Settings may be refused together."""
_CARRYING = frozenset({Topic.OPENING, Topic.TURNS, Topic.TOOLS, Topic.CALLS})
_OFTEN, _SELDOM = 0.5, 0.96
"""How likely a server that has refused a group accepts one of its questions."""
_EVEN, _HARDLY = 0.5, 0.3
_NUMBER = re.compile(r"\d+")
_MOST_RELAPSES = 3
"""Times that the control may fail and then be accepted again."""
_RECHECKED_FROM = (1, 4, 12)
"""From so many refusals on, one is asked for again, or two, or three."""


class Purpose(StrEnum):
    """Why a request is sent."""

    CONTROL = "control"
    ASK = "ask"
    RECHECK = "recheck"


class ProbeRequest(msgspec.Struct, frozen=True):
    """A request to send."""

    purpose: Purpose
    """Why it is sent."""
    body: Mapping[str, Any]
    """The members of its body without the model."""
    asks: tuple[str, ...] = ()
    """The questions that it asks."""
    streamed: bool = False
    """Whether the answer is to come as a stream."""


class _Part(msgspec.Struct, frozen=True):
    """A half of a group that was refused."""

    questions: tuple[Question, ...]
    siblings: tuple[Question, ...]
    """The other half, if it is asked before."""


class _Suspicion(msgspec.Struct, frozen=True):
    """A question that a refusal seems to be about."""

    question: Question
    failure: Failure
    rest: tuple[Question, ...]
    """Those that were asked with it. If they are accepted without it, or refused in other words, it was about this
    one."""


class Inquiry:
    """One server's inquiry. Call `next_request`, send it, and pass the outcome to `receive`, until it returns None."""

    def __init__(self, asked: AskedDialect, known: Iterable[ProbeFinding] = ()) -> None:
        self.stopped = ""
        self.skipped: dict[str, str] = {}
        self._form = asked.form
        self._questions = asked.questions
        self._by_id = {question.id: question for question in asked.questions}
        self._findings: dict[str, ProbeFinding] = {finding.question: finding for finding in known}
        self._pending: dict[str, ProbeFinding] = {}
        self._parts: list[_Part] = []
        self._suspicion: _Suspicion | None = None
        self._limit = 0
        self._control_passed = False
        self._control_due = True
        self._relapses = 0
        self._in_relapse = False
        self._accepted = 0
        self._doubted: dict[str, int] = {}
        self._noise: set[str] = set()
        self._rechecks: dict[str, ProbeRequest] = {}
        self._rechecked: set[str] = set()
        self._cases: list[tuple[str, tuple[str, ...]]] = []
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
        if self._suspicion is not None:
            return self._asking(self._suspicion.rest, Purpose.ASK)
        recheck = self._due_recheck()
        if recheck is not None:
            return recheck
        group = self._ask_again() or self._next_group()
        if group:
            return self._asking(group, Purpose.ASK)
        if self._pending or self._doubted.keys() & {one.id for one in self.open}:
            return self._control()
        return self._last_recheck()

    def _control(self) -> ProbeRequest:
        return ProbeRequest(Purpose.CONTROL, merge(self._form.body(()), self._form.limits[self._limit]))

    def _asking(self, group: Sequence[Question], purpose: Purpose) -> ProbeRequest:
        body = self._form.body(group, self._on_calls(group))
        limited = not self._form.limit_paths.isdisjoint(member_paths(body))
        limit = {} if limited else self._form.limits[self._limit]
        return ProbeRequest(purpose, merge(body, limit), tuple(one.id for one in group), group[0].streamed)

    def _ask_again(self) -> tuple[Question, ...]:
        """A question that failed for a reason that may pass, once the server has accepted something since."""
        due = (one for one in self.open if self._doubted.get(one.id, self._accepted) < self._accepted)
        return tuple(due)[:1]

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
            group = tuple(one for one in part.questions if self._is_askable(one))
            if len(group) > 1 and (self._is_cleared(part.siblings) or _calm(group) < _HARDLY):
                self._split(group)  # one of these is refused, so they need not be asked together again
            elif group:
                return group
        return self._gather()

    def _is_cleared(self, siblings: Sequence[Question]) -> bool:
        return bool(siblings) and all(self._verdict(one.id) is Verdict.ACCEPTED for one in siblings)

    def _gather(self) -> tuple[Question, ...]:
        """The first open question, all of its topic that can be asked with it, and one more of those that each need a
        request of their own."""
        group: list[Question] = []
        for question in self.open:
            if not self._is_askable(question) or not self._is_due(question, group):
                continue
            if not group or (question.topic is group[0].topic and all(fit_together(question, one) for one in group)):
                group.append(question)
        return (*group, *self._rider(group))

    def _rider(self, group: Sequence[Question]) -> tuple[Question, ...]:
        """A tool choice, beside questions that have nothing to do with it."""
        if not group or group[0].alone or group[0].topic not in _CARRYING:
            return ()
        fitting = (
            one
            for one in self.open
            if one.topic is Topic.FORMS and one.tools and not one.closing and self._is_askable(one)
            if self._is_due(one, ()) and all(fit_together(one, other) for other in group)
        )
        return tuple(fitting)[:1]

    def _is_askable(self, question: Question) -> bool:
        """Whether it is neither settled nor moot, nor left alone for now or for good."""
        left = question.id in self.skipped or question.id in self._doubted
        return not left and not self._is_settled(question) and not self._is_moot(question)

    def _is_due(self, question: Question, group: Sequence[Question]) -> bool:
        """Whether the questions that must come first are accepted, or asked in the same request."""
        if any(not self._is_answered(condition.question) for condition in question.unless):
            return False
        asked = {one.id for one in group}
        return all(self._is_accepted(name) or name in asked for name in question.after)

    def _due_recheck(self) -> ProbeRequest | None:
        """Some refusals are asked for once more, alone: does the server mean what it says?"""
        refused = [one for one in self._rechecks if one in self._findings and self._verdict(one) is Verdict.REFUSED]
        wanted = sum(len(refused) >= least for least in _RECHECKED_FROM)
        if len(self._rechecked) >= wanted:
            return None
        return next((self._rechecks[one] for one in reversed(refused) if one not in self._rechecked), None)

    def _last_recheck(self) -> ProbeRequest | None:
        """A refusal in words that the server also said about questions that it accepted one by one."""
        idle = {gist for gist, asked in self._cases if not any(self._is_refused(name) for name in asked)}
        worded = (one for one in self._findings.values() if _is_refusal(one) and _NUMBER.sub("", one.says) in idle)
        due = (one.question for one in worded if one.question in self._rechecks and one.question not in self._rechecked)
        return next((self._rechecks[name] for name in due), None)

    def _is_refused(self, name: str) -> bool:
        return self._verdict(name) not in (None, Verdict.ACCEPTED)

    # what the answers mean

    def receive(self, request: ProbeRequest, failure: Failure | None) -> None:
        """Take the answer to a request: None if the server accepted it."""
        if failure is not None and failure.kind in _STOPS:
            self.stopped = f"{_STOPS[failure.kind]}: {_cut(failure.message)}"
        elif request.purpose is Purpose.CONTROL:
            self._receive_control(failure)
        elif request.purpose is Purpose.RECHECK:
            self._receive_recheck(request, failure)
        else:
            self._receive_answer(request, failure)
        self._settle_implied()

    def _receive_answer(self, request: ProbeRequest, failure: Failure | None) -> None:
        suspicion, self._suspicion = self._suspicion, None
        if suspicion is not None:
            self._resolve(suspicion, failure)
        if failure is None:
            self._accept(request.asks)
        else:
            self._refuse(request, failure)

    def _resolve(self, suspicion: _Suspicion, failure: Failure | None) -> None:
        """The rest was asked without the suspect."""
        answered = failure is None or (failure.kind in _REFUSALS and not _is_page(failure))
        if answered and (failure is None or _gist(failure) != _gist(suspicion.failure)):
            self._note_refusal(suspicion.question, suspicion.failure)
        else:
            self._split((suspicion.question,))

    def _receive_control(self, failure: Failure | None) -> None:
        if failure is None:
            self._control_due = False
            if not self._control_passed:
                self._note_limit()
            if self._in_relapse:
                self._in_relapse = False
                self._pending.clear()  # nobody can say which of them were meant
            self._control_passed = True
            self._confirm()
        elif self._control_passed:
            self._relapse(failure)
        elif failure.kind in _REFUSALS and failure.kind is not FailureKind.NOT_FOUND and self._has_other_limit():
            self._limit += 1
        else:
            self.stopped = f"the server refuses a plain request: {_cut(failure.message)}"

    def _has_other_limit(self) -> bool:
        return self._limit + 1 < len(self._form.limits)

    def _relapse(self, failure: Failure) -> None:
        """The control was refused after it had been accepted. Once more, then it is the server's last word."""
        self._relapses += 1
        if self._in_relapse or self._relapses > _MOST_RELAPSES:
            lost = len(self._pending)
            self._pending.clear()
            words = _cut(failure.message)
            self.stopped = f"the server now refuses what it took before ({lost} verdicts dropped): {words}"
        self._in_relapse = self._control_due = True
        self.discount(failure.message)

    def _note_limit(self) -> None:
        """The control has shown which name of the token limit is taken."""
        for name in self._form.limits[self._limit]:
            self._set(name.replace("_", "-"), Verdict.ACCEPTED, FoundBy.ASKED)

    def _receive_recheck(self, request: ProbeRequest, failure: Failure | None) -> None:
        asked = request.asks[0]
        self._rechecked.add(asked)
        if failure is None:
            self._drop([one.question for one in self._findings.values() if _is_refusal(one)])
            self.stopped = f"the server accepts what it refused before ({asked}): none of its refusals is believed"

    def discount(self, words: str) -> None:
        """The server said this about a request that it took another time. No refusal in these words is believed."""
        cut = _cut(words)
        self._noise.add(cut)
        known = (*self._findings.values(), *self._pending.values())
        doubted = [one.question for one in known if _is_refusal(one) and one.says == cut]
        self._drop(doubted)
        self.skipped |= dict.fromkeys(doubted, cut)

    def _drop(self, names: Sequence[str]) -> None:
        """Verdicts that are not believed any more, and all that followed from them."""
        if not names:
            return
        for name in names:
            self._findings.pop(name, None)
            self._pending.pop(name, None)
        for name, found in list(self._findings.items()):
            if found.by is FoundBy.INFERRED:
                del self._findings[name]
        self._settle_implied()

    def _accept(self, asked: Sequence[str]) -> None:
        for name in asked:
            self._doubted.pop(name, None)
            self._set(name, Verdict.ACCEPTED, FoundBy.ASKED)
        self._confirm()

    def _confirm(self) -> None:
        """Something was accepted, so the refusals before were meant."""
        self._accepted += 1
        self._findings |= self._pending
        self._pending.clear()

    def _refuse(self, request: ProbeRequest, failure: Failure) -> None:
        group = tuple(self._by_id[name] for name in request.asks)
        if failure.kind not in _REFUSALS or _is_page(failure) or _cut(failure.message) in self._noise:
            self._skip(group, failure)
            return
        suspected = blame(failure, group, self._form)
        suspects = suspected.questions
        if len(group) > 1:
            self._cases.append((_gist(failure), request.asks))
        if suspected.sure:
            self._believe(suspects, group, failure)
        elif len(suspects) == 1 and suspects[0].topic in _APART and not self._waits(suspects[0], group):
            rest = tuple(one for one in group if one not in suspects)
            self._suspicion = _Suspicion(suspects[0], failure, rest)
        else:
            self._split(suspects)

    def _believe(self, suspects: Sequence[Question], group: Sequence[Question], failure: Failure) -> None:
        """The refusal names these questions. One that builds on others of the group waits for them."""
        for suspect in suspects:
            first = self._waits(suspect, group)
            if first is not None:
                self._split((first,))
            elif _is_doubtful(failure) and suspect.id not in self._doubted:
                self._doubted[suspect.id] = self._accepted
            else:
                self._note_refusal(suspect, failure)

    def _note_refusal(self, question: Question, failure: Failure) -> None:
        self._rechecks[question.id] = self._asking((question,), Purpose.RECHECK)
        learnt = learn(failure, NOTHING_KNOWN, NO_CONVERSATION)
        other = learnt.facts if learnt is not None and learnt.lesson in _OTHER_REASONS else {}
        verdict = Verdict.OTHERWISE if other else Verdict.REFUSED
        says = _cut(failure.message)
        self._pending[question.id] = ProbeFinding(question.id, verdict, FoundBy.ASKED, says, failure.status, other)

    def _waits(self, suspect: Question, group: Sequence[Question]) -> Question | None:
        """A question of the group that must be settled before the suspect can be blamed."""
        wanted = {name for name in suspect.after if not self._is_accepted(name)}
        return next((one for one in group if one.id in wanted), None)

    def _split(self, suspects: Sequence[Question]) -> None:
        """Ask next those of the suspects that are as likely as not all accepted, then the others."""
        ordered = sorted(suspects, key=lambda one: one.often_refused)
        even = max(_EVEN, math.sqrt(_calm(suspects)))
        first = ordered[:1]
        for one in ordered[1:-1]:
            if _calm((*first, one)) < even:
                break
            first.append(one)
        first_part, second = tuple(first), tuple(one for one in suspects if one not in first)
        if second:
            self._parts.append(_Part(second, first_part))
        self._parts.append(_Part(first_part, ()))

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
        """Whether the question means nothing by now: it is ruled out, or what it builds on is refused."""
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


def _is_refusal(finding: ProbeFinding) -> bool:
    """Whether a verdict rests on the words of a refusal."""
    return finding.by is FoundBy.ASKED and finding.verdict is not Verdict.ACCEPTED


def _is_doubtful(failure: Failure) -> bool:
    """Whether a failure may be an outage: nothing in it is known to be about a request."""
    return failure.kind in _DOUBTFUL and learn(failure, NOTHING_KNOWN, NO_CONVERSATION) is None


def _calm(group: Sequence[Question]) -> float:
    """How likely it is that a strict server accepts them all."""
    calm = 1.0
    for question in group:
        calm *= _OFTEN if question.often_refused else _SELDOM
    return calm


def _gist(failure: Failure) -> str:
    """The words of a refusal without numbers: places move when a question is left out."""
    return _NUMBER.sub("", _cut(failure.message))


def _is_page(failure: Failure) -> bool:
    """Whether a page for people came back: it is from something in between, and says nothing about a question."""
    return failure.raw.lstrip()[:1] == b"<"


def _cut(message: str) -> str:
    return message if len(message) <= _MOST_WORDS else f"{message[:_MOST_WORDS]}…"
