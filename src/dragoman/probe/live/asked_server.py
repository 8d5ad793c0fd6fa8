"""One server asked from beginning to end: its facts, and the refusals behind them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from dragoman.probe.chat_questions import QUESTIONS
from dragoman.probe.findings import ProbeFinding, facts_found
from dragoman.probe.inquiry import Inquiry
from dragoman.probe.live.asking import Asker
from dragoman.probe.live.budget import ProbeBudget
from dragoman.probe.live.probed_server import ProbedServer
from dragoman.probe.questions import Verdict
from dragoman.upstream.transport import Transport


class QuotedRefusal(msgspec.Struct, frozen=True):
    """What was asked, the server's words, and the facts that they settle."""

    asks: str
    says: str
    facts: Mapping[str, Any]


class AskedServer(msgspec.Struct, frozen=True):
    """What was found. `ended`: why it ended early, or nothing."""

    facts: dict[str, Any]
    refusals: tuple[QuotedRefusal, ...]
    requests: int = 0
    ended: str = ""


async def ask_server(
    server: ProbedServer, transport: Transport, budget: ProbeBudget, redact: Callable[[str], str]
) -> AskedServer:
    """Ask all questions that the budget allows."""
    inquiry = Inquiry(QUESTIONS)
    tally = await Asker(server, transport, budget, redact=redact).run(inquiry)
    findings = inquiry.findings
    return AskedServer(facts_found(findings, QUESTIONS), _quoted(findings), tally.requests, tally.ended)


def _quoted(findings: tuple[ProbeFinding, ...]) -> tuple[QuotedRefusal, ...]:
    asked = {question.id: question for question in QUESTIONS}
    refused = [finding for finding in findings if finding.verdict is Verdict.REFUSED and finding.says]
    return tuple(
        QuotedRefusal(asked[one.question].asks, one.says, asked[one.question].outcome(one.verdict).facts)
        for one in refused
    )
