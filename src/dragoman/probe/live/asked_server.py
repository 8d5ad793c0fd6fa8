"""One server asked from beginning to end, or its template run: its facts, and the refusals behind them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from dragoman.probe.findings import FoundBy, ProbeFinding, facts_found
from dragoman.probe.inquiry import Inquiry
from dragoman.probe.live.asking import ProbeRun
from dragoman.probe.live.budget import ProbeBudget
from dragoman.probe.live.probed_server import ProbedServer
from dragoman.probe.question import Question, Verdict
from dragoman.probe.template.prober import probe_template
from dragoman.probe.template.sources import TemplateSource
from dragoman.profiles.profile import builtin, merge
from dragoman.upstream.transport.transport import Transport


class QuotedRefusal(msgspec.Struct, frozen=True):
    """A refusal in the words of the server."""

    asks: str
    """What was asked."""
    says: str
    """The words."""
    facts: Mapping[str, Any]
    """What they settle."""


class AskedServer(msgspec.Struct, frozen=True):
    """What was found."""

    facts: dict[str, Any]
    refusals: tuple[QuotedRefusal, ...]
    by: FoundBy
    """How."""
    requests: int = 0
    ended: str = ""
    """Why it ended early, or nothing."""


async def ask_server(
    server: ProbedServer, transport: Transport, budget: ProbeBudget, redact: Callable[[str], str]
) -> AskedServer:
    """Ask all questions that the budget allows."""
    asked = server.asked
    inquiry = Inquiry(asked)
    tally = await ProbeRun(server, transport, budget, redact=redact).run(inquiry)
    findings = inquiry.findings
    facts = facts_found(findings, asked.questions)
    return AskedServer(facts, _quote(findings, asked.questions), FoundBy.ASKED, tally.requests, tally.ended)


def run_template(source: TemplateSource) -> AskedServer:
    """What a chat template says. It takes seconds of a processor; raises TemplateError."""
    found = probe_template(source)
    facts = merge(builtin(found.like).facts, found.facts)
    return AskedServer(facts, _quote(found.findings, found.questions), FoundBy.TEMPLATE)


def _quote(findings: tuple[ProbeFinding, ...], questions: tuple[Question, ...]) -> tuple[QuotedRefusal, ...]:
    asked = {question.id: question for question in questions}
    refused = [one for one in findings if one.verdict is Verdict.REFUSED and one.says and one.question in asked]
    return tuple(
        QuotedRefusal(asked[one.question].asks, one.says, asked[one.question].outcome(one.verdict).facts)
        for one in refused
    )
