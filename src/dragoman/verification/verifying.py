"""Verifies one target: every trial both ways, then the facts of its profile, within a budget of dollars."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from dragoman.conversation.conversation import Conversation
from dragoman.conversation.dialect_names import DEFAULT_DIALECT
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.conversation.literals import quote
from dragoman.conversation.messages import Message, Role
from dragoman.conversation.notation.script import parse as parse_script
from dragoman.conversation.parts import Call, Result, Text
from dragoman.conversation.replies import Reply, Usage
from dragoman.dialects.dialect import Dialect, RenderOptions
from dragoman.dialects.registry import dialect
from dragoman.engine.compile.compiler import Options, compile_ask
from dragoman.engine.library.adapt import read
from dragoman.errors import TargetError, Unrepresentable
from dragoman.gateway.app import Gateway
from dragoman.probe.asked_dialects import find_asked_dialect, list_asked
from dragoman.probe.inquiry import Inquiry, ProbeRequest
from dragoman.probe.live.asking import ProbeRun
from dragoman.probe.live.budget import ProbeBudget
from dragoman.probe.live.probed_server import ProbedServer
from dragoman.profiles.facts import Stance
from dragoman.profiles.prices import TokenPrice
from dragoman.upstream.destinations import HttpDestination
from dragoman.verification import sending
from dragoman.verification.fact_check import check_facts, with_tally
from dragoman.verification.run_state import FactCheck, TargetRun, TrialRun
from dragoman.verification.trials import RESULT, TRIALS, FixedConversation

_DEAR = TokenPrice(10.0, 40.0)
"""What a model is taken to cost whose price is not known: rather too much than too little."""
_FREE = TokenPrice(0.0, 0.0)
_BYTES_PER_TOKEN = 3
_PROBE_TOKENS = 16
_FINAL = frozenset({FailureKind.AUTH, FailureKind.QUOTA})
"""Refusals after which nothing else is worth asking."""
SPENT = "its share of the budget does not pay for the next request"

Progress = Callable[[TargetRun, str], None]


def find_destination(gateway: Gateway, target: str) -> HttpDestination:
    """Where a target is. Raises TargetError."""
    route = gateway.services.live.routes.find(target)
    if route is None:
        raise TargetError("no provider of the configuration or the environment serves it", at=target)
    return route.destinations[0]


def find_price(destination: HttpDestination) -> TokenPrice:
    """What tokens cost there. A server that takes no key is one's own."""
    if destination.price is None and not destination.keys and destination.scheme is None:
        return _FREE
    return destination.price or _DEAR


class Verifier:
    """Verifies targets. `redact` takes secrets out of what is kept; `with_bodies` keeps requests and answers too.
    `rate`: questions of the probe in a second at most."""

    def __init__(self, gateway: Gateway, redact: Callable[[str], str], *, rate: float, with_bodies: bool) -> None:
        self._gateway = gateway
        self._redact = redact
        self._budget = ProbeBudget(rate=rate)
        self._with_bodies = with_bodies

    async def verify(self, known: TargetRun, budget: float, note: Progress) -> TargetRun:
        """Go on with what is known of a target. `note` is called after each step with what is known then."""
        destination = find_destination(self._gateway, known.target)
        run = replace(known, ended="", priced=find_price(destination) is not _DEAR)
        done = {one.trial for one in run.runs}
        for trial in TRIALS:
            if trial.id in done:
                continue
            tried = _TriedConversation(self, destination, trial, budget - run.cost)
            sent = await tried.run()
            if tried.ended:
                lost = run.unfinished + sum(one.cost for one in sent)
                run = replace(run, ended=tried.ended, unfinished=lost)
                note(run, trial.title)
                return run
            run = replace(run, runs=(*run.runs, TrialRun(trial.id, sent)))
            note(run, trial.title)
        if not run.facts.findings or run.facts.ended:
            checked = await self._check_facts(destination, run.facts, budget - run.cost + run.facts.cost)
            run = replace(run, facts=checked)
            note(run, "the facts of its profile")
        return run

    async def send(
        self, way: sending.Way, destination: HttpDestination, turn: int, request: sending.WireRequest, limit: int
    ) -> tuple[sending.SentRequest, Reply | Failure]:
        """Send one request one way. What it cost is part of what is known of it. `limit`: of its output."""
        answer: sending.RawAnswer | Failure
        if way is sending.Way.DIRECTLY:
            answer = await sending.send_directly(self._gateway, destination, request)
        else:
            answer = await sending.send_through(self._gateway, request)
        reply = answer if isinstance(answer, Failure) else sending.parse_reply(request, answer)
        sent = sending.describe(way, turn, answer, reply)
        usage = sent.usage or (_estimate(request, limit) if sent.answered else Usage())
        sent = replace(sent, cost=find_price(destination).cost(usage), says=self._redact(sent.says))
        if self._with_bodies and isinstance(answer, sending.RawAnswer):
            shown = [self._redact(body.decode("utf-8", "replace")) for body in (request.body, answer.body)]
            sent = replace(sent, request=shown[0], answer=shown[1])
        return sent, reply

    async def _check_facts(self, destination: HttpDestination, known: FactCheck, budget: float) -> FactCheck:
        """Put the questions of the probe to the provider itself, and compare."""
        target = destination.target
        if target.dialect not in list_asked() or destination.scheme is not None:
            return FactCheck()
        asked = find_asked_dialect(target.dialect)
        path = asked.dialect.request_path(RenderOptions(target.model, False), "")
        server = ProbedServer(destination.url(path), target.model, destination.signed(0), asked)
        inquiry, price, cost = Inquiry(asked, known.findings), find_price(destination), known.cost

        def count(request: ProbeRequest, failure: Failure | None) -> None:
            nonlocal cost
            if failure is None:
                tokens = len(msgspec.json.encode(request.body)) // _BYTES_PER_TOKEN
                cost += price.cost(Usage(tokens, _PROBE_TOKENS))
            if cost > budget:
                asker.tally.ended = SPENT

        transport = self._gateway.services.dispatcher.transports.of(destination)
        asker = ProbeRun(server, transport, self._budget, count, self._redact)
        tally = await asker.run(inquiry)
        checked = check_facts(target.facts, inquiry.findings, asked.questions)
        return with_tally(checked, known.requests + tally.requests, cost, tally.ended)


class _TriedConversation:
    """One trial on one target: its requests in order, one way and then the other."""

    def __init__(
        self, verifier: Verifier, destination: HttpDestination, trial: FixedConversation, budget: float
    ) -> None:
        self.ended = ""
        self._verifier = verifier
        self._destination = destination
        self._trial = trial
        self._left = budget
        self._own = dialect(destination.target.dialect)

    async def run(self) -> tuple[sending.SentRequest, ...]:
        sent: list[sending.SentRequest] = []
        for way in sending.Way:
            sent += await self._run_turns(way)
            if self.ended:
                break
        return tuple(sent)

    async def _run_turns(self, way: sending.Way) -> list[sending.SentRequest]:
        trial = self._trial
        sent: list[sending.SentRequest] = []
        client, conversation = self._opening(way)
        usage = way is sending.Way.GATEWAY or self._destination.target.facts.stream_usage is Stance.ACCEPTS
        for turn in range(1, trial.turns + 1):
            try:
                request = sending.render(client, conversation, self._model(way), trial.stream, usage)
            except Unrepresentable as fault:
                return [
                    sending.SentRequest(way=way, turn=turn, says=f"{client.title} has no form for it: {fault.message}")
                ]
            if find_price(self._destination).cost(_estimate(request, trial.limit)) > self._left:
                self.ended = SPENT
                return sent
            answer, reply = await self._verifier.send(way, self._destination, turn, request, trial.limit)
            sent.append(answer)
            self._left -= answer.cost
            if isinstance(reply, Failure):
                if way is sending.Way.DIRECTLY and reply.kind in _FINAL:
                    self.ended = f"the provider refused: {answer.says}"
                return sent
            if not trial.repeats:
                conversation = _continue(conversation, reply)
        return sent

    def _model(self, way: sending.Way) -> str:
        """The model to ask for. The gateway is given the provider too."""
        asked = self._destination.target.model
        named = asked[0] + asked if self._trial.misspells else asked
        return named if way is sending.Way.DIRECTLY else f"{self._destination.provider}/{named}"

    def _opening(self, way: sending.Way) -> tuple[Dialect, Conversation]:
        """The client's dialect, and the first request in it."""
        trial = self._trial
        if trial.script:
            conversation = parse_script(trial.script)
            return self._choose_dialect(way, conversation), conversation
        body = trial.chat
        if trial.repeats:  # what one way has put into the cache would show in the other
            body = msgspec.json.decode(msgspec.json.encode(body).replace(b"Item 1 ", f"({way}) Item 1 ".encode(), 1))
        ask = read(msgspec.json.encode({"model": self._destination.target.model, **body}), source=DEFAULT_DIALECT)
        if way is sending.Way.GATEWAY:
            return dialect(DEFAULT_DIALECT), ask.conversation
        compiled = compile_ask(ask, self._destination.target, Options(stream=trial.stream))
        return self._own, self._own.requests.parse(compiled.body).conversation

    def _choose_dialect(self, way: sending.Way, conversation: Conversation) -> Dialect:
        """The provider's dialect; for the gateway Chat, if the other has no form for the conversation."""
        try:
            sending.render(self._own, conversation, self._destination.target.model, False)
        except Unrepresentable:
            return self._own if way is sending.Way.DIRECTLY else dialect(DEFAULT_DIALECT)
        return self._own


def _continue(conversation: Conversation, reply: Reply) -> Conversation:
    """The conversation with the model's turn, and results of its calls."""
    parts = reply.choices[0].parts if reply.choices else ()
    results = tuple(Result(one.id, (Text(quote(RESULT)),), name=one.name) for one in parts if isinstance(one, Call))
    turns = [Message(Role.ASSISTANT, parts)]
    turns += [Message(Role.TOOL, (result,)) for result in results]
    return replace(conversation, messages=(*conversation.messages, *turns))


def _estimate(request: sending.WireRequest, limit: int) -> Usage:
    """What a request uses at most: by its size, and by the limit of its output."""
    return Usage(len(request.body) // _BYTES_PER_TOKEN, limit)
