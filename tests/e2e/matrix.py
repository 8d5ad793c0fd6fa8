"""The gateway before ten emulated providers, and the proof that one loop of one client was whole."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.e2e.plot import Case, calls_of, is_agent, is_main, tag_of, thought, trace, turn_for
from tests.e2e.upstreams import UPSTREAMS, Upstream
from tests.gateway.running import gateway, provider

from dragoman.emulators.emulator_core import RecordedRequest
from dragoman.emulators.provider import ModelTurn, ReceivedRequest
from dragoman.emulators.serving.background_server import RunningEmulator
from dragoman.testing import emulator

MOST = 2000
"""Requests that one emulator answers: more than all loops make."""


FORGOTTEN = {
    (
        "langchain-responses",
        "responses",
    ): "LangChain leaves out the reasoning of a turn that has text. Its own provider "
    "hears what it would hear without the gateway.",
}
"""What a client drops of the state of its own dialect. Nothing is put back there."""


OTHER_API = {
    ("codex", "chat"): "Codex declares a web search, which OpenAI has in Responses alone: its requests go there."
}
"""Whose requests the provider is sent on its other API, and why."""


LEARNT: dict[tuple[str, str], str] = {}
"""By client and upstream: a field of the client's that the emulator of its own provider does not know.

The gateway sends it as it is, hears that it is unknown, and sends the request and all later ones without it."""


@dataclass(frozen=True)
class ClientReport:
    """What a client ended up with. None: the client does not tell."""

    text: str
    calls: list[Any]
    thoughts: list[str] | None
    usage: tuple[int, int] | None


class Matrix:
    """The gateway's address, the emulators, and the tokens that the models named in each loop."""

    def __init__(self) -> None:
        self.url = ""
        self.emulators: dict[str, RunningEmulator] = {}
        self.spent: dict[str, list[tuple[int, int]]] = {}

    def start_model(self, upstream: Upstream, running: RunningEmulator) -> None:
        self.emulators[upstream.name] = running

        def answer(request: ReceivedRequest) -> ModelTurn:
            said = turn_for(upstream, request.body)
            tag = tag_of(request.body)
            if tag is not None and is_main(upstream, request.body, tag):
                told = running.provider.render_answer(request, said)
                self.spent.setdefault(tag, []).append(upstream.reader_of(request.body).usage(told))
            return said

        running.script(*[answer] * MOST)

    def asked(self, case: Case) -> list[RecordedRequest]:
        """The requests of a loop, wherever they went."""
        return [one for running in self.emulators.values() for one in running.requests if tag_of(one.body) == case.tag]

    def main(self, case: Case) -> list[Any]:
        """The bodies of the loop itself, without an agent's side questions."""
        bodies = [one.body for one in self.asked(case) if one.verdict == "accepted"]
        return [body for body in bodies if is_main(case.upstream, body, case.tag)]

    def problems(self, case: Case, heard: ClientReport) -> list[str]:
        """What the client or the provider should have got and did not."""
        found = refusal_problems(case, [one.error_body for one in self.asked(case) if one.verdict != "accepted"])
        found += client_problems(case, heard)
        bodies = self.main(case)
        if len(bodies) != 3:
            return [*found, f"the model was asked {len(bodies)} times"]
        named = self.spent[case.tag]
        spent = (sum(read for read, _ in named), sum(written for _, written in named))
        if heard.usage not in (None, spent):
            found.append(f"usage is {heard.usage}, the model said {spent}")
        return found + upstream_problems(case, bodies[2])


def refusal_problems(case: Case, refusals: list[Any]) -> list[str]:
    """No request is refused, but for the first one with a field that is on nobody's list."""
    learnt = LEARNT.get((case.client, case.upstream.name))
    known = [one for one in refusals if learnt is not None and f"Unknown parameter: '{learnt}'" in json.dumps(one)]
    return [f"refused: {one}" for one in refusals if one not in known] + [
        f"the gateway did not learn about {learnt}" for _ in known[1:]
    ]


def client_problems(case: Case, heard: ClientReport) -> list[str]:
    found = [] if heard.text == case.answer else [f"the text is {heard.text!r}"]
    if sorted(heard.calls, key=repr) != sorted(wanted_calls(case), key=repr):
        found.append(f"the tools were given {heard.calls}")
    shown = [thought(case.tag, number) for number in (1, 2, 3)] if case.upstream.thinks and not is_hidden(case) else []
    if heard.thoughts not in (None, shown):
        found.append(f"the thoughts are {heard.thoughts}")
    return found


def is_hidden(case: Case) -> bool:
    """Claude 4.7 and later tell no thoughts unless `display` asks for them, and none of these clients asks."""
    return case.upstream.silent and (case.client == "claude-code" or case.client.endswith("-anthropic"))


def wanted_calls(case: Case) -> list[Any]:
    """What the tools must be given: an agent's commands leave a trace, the others write their arguments down."""
    if is_agent(case.tag):
        return [trace(case.tag, number) for number in (1, 2, 3, 4)]
    return [[call.name, call.arguments] for call in calls_of(case.tag, 1, 2, 3, 4)]


def upstream_problems(case: Case, body: Any) -> list[str]:
    """The third request: every result with its own call, the reasoning of both turns, and thinking still on."""
    reader = case.upstream.reader_of(body)
    there = reader is not case.upstream.reader
    found = ["the request went to another API"] if there is not ((case.client, case.upstream.name) in OTHER_API) else []
    ran = reader.ran(body)
    wanted = calls_of(case.tag, 1, 2, 3, 4)
    if [(name, given) for name, given, _ in ran] != [(call.name, call.arguments) for call in wanted]:
        found.append(f"the model got back other calls than its own: {ran}")
    if not all(result_mark(case, number) in result for number, (_, _, result) in enumerate(ran, 1)):
        found.append(f"a result stands with another call: {ran}")
    if case.upstream.thinks_on is None or case.upstream.proofs is None:
        return found
    if not case.upstream.thinks_on(body):
        found.append("thinking is off on the third turn")
    proofs = case.upstream.proofs(body)
    if (case.client, case.upstream.name) in FORGOTTEN:
        return found
    if proofs not in ([thought(case.tag, 1), thought(case.tag, 2)], ["sealed", "sealed"]):
        found.append(f"the reasoning that came back is {proofs}")
    return found


def result_mark(case: Case, number: int) -> str:
    """What only the result of this call holds."""
    return trace(case.tag, number) if is_agent(case.tag) else f"Report on Ort {number} "


@contextmanager
def matrix(folder: Path) -> Iterator[Matrix]:
    """All emulators take only signatures of their own making."""
    made = Matrix()
    with ExitStack() as stack:
        for one in UPSTREAMS:
            made.start_model(one, stack.enter_context(emulator(one.profile, signatures="strict")))
        made.url = stack.enter_context(gateway(_config(made.emulators), folder)).url
        yield made


def _config(emulators: Mapping[str, RunningEmulator]) -> dict[str, Any]:
    """Clients call each model by its own name, as people do."""
    return {
        "providers": {one.name: provider(one.profile, emulators[one.name].base_url) for one in UPSTREAMS},
        "models": {one.model: {"target": f"{one.name}/{one.model}"} for one in UPSTREAMS},
    }
