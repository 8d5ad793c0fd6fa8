"""The laws, run for one profile: its judge is a server that does what the profile's own facts say.

The requests are those that servers disagree about: every question of a probe, and conversations of other dialects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Any

import click
import msgspec

from dragoman.cli.demo_conversations import DEMO_CONVERSATIONS
from dragoman.cli.output.console import echo_json, print_table, printable
from dragoman.conversation.dialect_names import DEFAULT_DIALECT, DialectName
from dragoman.emulators.chat.service import ChatService
from dragoman.emulators.chat.stated_facts import serve_facts
from dragoman.emulators.provider import ErrorResponse
from dragoman.engine.compile.compiled_request import CompiledRequest
from dragoman.engine.library.adapt import adapt
from dragoman.errors import OptionError, RequestError
from dragoman.probe.asked_dialects import find_asked_dialect
from dragoman.profiles.doubts import Care, settle_doubts
from dragoman.profiles.profile import Profiles, Target
from dragoman.wire.error_bodies import parse_failure


class Law(StrEnum):
    """What must hold, whatever is asked."""

    VALID = "what is sent is accepted"
    IDENTITY = "what is accepted is sent as it is"
    IDEMPOTENT = "what was compiled is not changed again"
    DETERMINISTIC = "the same request gives the same bytes"
    REPORTED = "what is changed is reported"


class LawRequest(msgspec.Struct, frozen=True):
    """A request, and what it is about."""

    about: str
    dialect: DialectName
    body: dict[str, Any]


class LawFailure(msgspec.Struct, frozen=True):
    """A law that does not hold for a request, and how that shows."""

    law: Law
    about: str
    shows: str


class LawResult(msgspec.Struct, frozen=True):
    """How a profile did under the laws."""

    checked: dict[Law, int]
    """How many requests each law was tried with."""
    failures: tuple[LawFailure, ...]
    refused: tuple[str, ...]
    """Requests that nothing could be made of."""


def law_requests() -> Iterator[LawRequest]:
    asked = find_asked_dialect()
    for question in asked.questions:
        yield LawRequest(question.asks, asked.name, asked.form.body([question]))
    for one in DEMO_CONVERSATIONS:
        yield LawRequest(f"{one.client}: {one.reason}", one.dialect, one.body)


def run_laws(target: Target, profiles: Profiles) -> LawResult:
    """Try all laws with all requests. Raises OptionError for a profile of another dialect than Chat."""
    if target.dialect != DEFAULT_DIALECT:
        raise OptionError(
            f"{target.profile.name} speaks {target.dialect}; only Chat profiles have a judge of their facts"
        )
    facts: dict[str, Any] = msgspec.to_builtins(settle_doubts(target.facts, Care.FORM))
    trial = _Trial(target, profiles, serve_facts(facts, target.model))
    for request in law_requests():
        trial.run(request)
    return LawResult(trial.checked, tuple(trial.failures), tuple(trial.refused))


class _Trial:
    """All requests, one after another."""

    def __init__(self, target: Target, profiles: Profiles, judge: ChatService) -> None:
        self.checked = dict.fromkeys(Law, 0)
        self.failures: list[LawFailure] = []
        self.refused: list[str] = []
        self._target = target
        self._profiles = profiles
        self._judge = judge

    def run(self, request: LawRequest) -> None:
        own = request.dialect == DEFAULT_DIALECT
        body = msgspec.json.encode({"model": self._target.model, **request.body})
        try:
            first = self._compile(body, request.dialect)
        except RequestError as fault:
            self.refused.append(f"{request.about}: {fault.message}")
            return
        words = self._refusal(first.body)
        self._try(Law.VALID, request, words == "", lambda: words)
        self._try(
            Law.DETERMINISTIC, request, self._compile(body, request.dialect).body == first.body, lambda: "it differs"
        )
        again = self._compile(first.body, DEFAULT_DIALECT)
        self._try(Law.IDEMPOTENT, request, not again.changes, lambda: _rules(again))
        if own and self._refusal(body) == "":
            self._try(Law.IDENTITY, request, first.body == body, lambda: _rules(first))
        if own:
            self._try(Law.REPORTED, request, bool(first.changes) == (first.body != body), lambda: _rules(first))

    def _compile(self, body: bytes, dialect: DialectName) -> CompiledRequest:
        return adapt(body, source=dialect, target=self._target.name, profiles=self._profiles)

    def _refusal(self, body: bytes) -> str:
        path, _ = self._judge.example
        request = self._judge.parse_request("POST", path, {}, {}, body)
        error = request if isinstance(request, ErrorResponse) else self._judge.judge(request)
        return "" if error is None else parse_failure(error.status, {}, msgspec.json.encode(error.body)).message

    def _try(self, law: Law, request: LawRequest, holds: bool, shows: Callable[[], str]) -> None:
        self.checked[law] += 1
        if not holds:
            self.failures.append(LawFailure(law, request.about, shows()))


def _rules(adapted: CompiledRequest) -> str:
    return ", ".join(dict.fromkeys(change.rule for change in adapted.changes)) or "no change is reported"


def show_laws(target: Target, profiles: Profiles, *, as_json: bool) -> int:
    """Run the laws and print what holds. 1 if one does not."""
    result = run_laws(target, profiles)
    if as_json:
        echo_json(result)
        return 1 if result.failures else 0
    failed = {law: [one for one in result.failures if one.law is law] for law in Law}
    print_table(
        ("law", "requests", "failures"),
        [(law.value, str(result.checked[law]), str(len(failed[law]))) for law in Law],
    )
    for one in result.failures:
        click.echo(f"{one.law.value}: {printable(one.about)}: {printable(one.shows)}")
    for about in result.refused:
        click.echo(f"nothing can be made of it: {printable(about)}")
    return 1 if result.failures else 0
