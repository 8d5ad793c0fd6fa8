"""C23: results of tools go back to the model that made the calls: many agents at once, three models, one that flaps."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.gateway.running import QUICK, Running, gateway, provider

from dragoman.emulators.answer_script import Script, ScriptStep
from dragoman.emulators.provider import ErrorResponse, FaultKind, ModelCall, ModelTurn, ReceivedRequest
from dragoman.emulators.serving.background_server import RunningEmulator
from dragoman.testing import emulator

HOMES = {"gpt": "openai", "claude": "anthropic", "gem": "gemini"}
TARGETS = {"gpt": "gpt/gpt-4o", "claude": "claude/claude-sonnet-4-5", "gem": "gem/gemini-2.5-flash"}
TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}
AGENTS, TURNS = 18, 6
_AGENT = re.compile(r"agent number (\d+)")


class Flapping:
    """An emulated provider that refuses every second request. It knows whom it refused."""

    def __init__(self, own: Any) -> None:
        self._own = own
        self._count = 0
        self.refused: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own, name)

    def judge(self, request: ReceivedRequest) -> ErrorResponse | None:
        self._count += 1
        if self._count % 2:
            self.refused[_agent(str(request.body))] += 1
            error: ErrorResponse = self._own.render_fault(FaultKind.OVERLOADED, request)
            return error
        refusal: ErrorResponse | None = self._own.judge(request)
        return refusal


def _agent(text: str) -> str:
    found = _AGENT.search(text)
    assert found is not None
    return found[1]


def _looks(request: ReceivedRequest) -> ModelTurn:
    return ModelTurn(text="Let me look.", calls=(ModelCall("look", {}),))


@contextmanager
def three_models(folder: Path, **settings: Any) -> Iterator[tuple[Running, dict[str, RunningEmulator]]]:
    """A route of three models that draws one at random for each turn that is not pinned."""
    with ExitStack() as stack:
        emulators = {name: stack.enter_context(emulator(home)) for name, home in HOMES.items()}
        for one in emulators.values():
            one._core.script = Script.of([ScriptStep(_looks, repeat=True)])
        retries = {**QUICK, "attempts": 1}
        config = {
            "providers": {
                name: provider(HOMES[name], one.base_url, retries=retries, **settings)
                for name, one in emulators.items()
            },
            "models": {name: {"target": target} for name, target in TARGETS.items()},
            "routes": {"any": {"strategy": "weighted"}},
        }
        yield stack.enter_context(gateway(config, folder)), emulators


class Step:
    """One request of an agent: who had made the calls that it answers, who answered, and the header that says why."""

    def __init__(self, agent: str, maker: str, answered: str, why: str) -> None:
        self.agent, self.maker, self.answered, self.why = agent, maker, answered, why


async def agent(client: httpx.AsyncClient, number: int) -> list[Step]:
    """An agent that returns what each call asks for."""
    messages: list[Any] = [{"role": "user", "content": f"I am agent number {number}."}]
    steps: list[Step] = []
    for _ in range(TURNS):
        body = {"model": "any", "messages": messages, "tools": [TOOL]}
        answer = await client.post("/v1/chat/completions", json=body)
        assert answer.status_code == 200, answer.text
        maker = steps[-1].answered if steps else ""
        answered = answer.headers["x-dragoman-model"].partition("/")[0]
        steps.append(Step(str(number), maker, answered, answer.headers["x-dragoman-route"]))
        said = answer.json()["choices"][0]["message"]
        results = [{"role": "tool", "tool_call_id": call["id"], "content": "trees"} for call in said["tool_calls"]]
        messages = [*messages, said, *results]
    return steps


async def _all_agents(url: str) -> list[Step]:
    async with httpx.AsyncClient(base_url=url, timeout=60) as client:
        found = await asyncio.gather(*(agent(client, number) for number in range(AGENTS)))
    return [step for steps in found for step in steps]


def _refused(emulators: dict[str, RunningEmulator]) -> list[Any]:
    return [one.error_body for each in emulators.values() for one in each.requests if one.verdict == "refused"]


def test_C23_every_result_goes_back_to_the_model_that_made_the_call(tmp_path: Path) -> None:
    with three_models(tmp_path) as (running, emulators):
        steps = asyncio.run(_all_agents(running.url))
        assert len({step.answered for step in steps if not step.maker}) > 1, "each draws for itself"
        followed = [step for step in steps if step.maker]
        assert len(followed) == AGENTS * (TURNS - 1)
        assert [step for step in followed if step.answered != step.maker or "pinned" not in step.why] == []
        assert _refused(emulators) == []


@pytest.mark.slow
def test_C23_a_model_that_flaps_is_left_only_by_those_whom_it_refused(tmp_path: Path) -> None:
    with three_models(tmp_path, cooldown={"failures": 1_000_000, "seconds": 1}) as (running, emulators):
        flapping = Flapping(emulators["claude"].provider)
        emulators["claude"]._core.provider = flapping
        steps = asyncio.run(_all_agents(running.url))
        followed = [step for step in steps if step.maker]
        assert all("pinned" in step.why for step in followed)
        left = Counter(step.agent for step in followed if step.answered != step.maker)
        assert left, "nobody met a refusal"
        assert all(step.maker == "claude" for step in followed if step.answered != step.maker)
        assert all(flapping.refused[agent] >= times for agent, times in left.items())


@pytest.mark.slow
def test_C23_a_model_that_rests_is_left_and_the_next_results_stay_with_its_successor(tmp_path: Path) -> None:
    """After one failure it is left alone for the rest of the test: nobody asks it in vain."""
    with three_models(tmp_path, cooldown={"failures": 1, "seconds": 600}) as (running, emulators):
        flapping = Flapping(emulators["claude"].provider)
        emulators["claude"]._core.provider = flapping
        steps = asyncio.run(_all_agents(running.url))
        assert sum(flapping.refused.values()) <= AGENTS  # those that were under way at the first failure
        for step in steps:
            if step.maker and step.answered != step.maker:
                assert step.maker == "claude"
        settled = [step for step in steps if step.maker and step.maker != "claude"]
        assert settled
        assert all(step.answered == step.maker for step in settled)


def test_C23_generic_ids_of_calls_do_not_mix_two_agents(tmp_path: Path) -> None:
    """Both have a call `call_0` open, made by different models."""
    with three_models(tmp_path) as (running, emulators):
        call = {"id": "call_0", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        said = {"role": "assistant", "content": None, "tool_calls": [call]}
        result = {"role": "tool", "tool_call_id": "call_0", "content": "trees"}
        for one in emulators.values():
            one._core.script = Script.of([ScriptStep(_generic, repeat=True)])
        with httpx.Client(base_url=running.url, timeout=60) as client:
            makers: dict[int, str] = {}
            for number in range(12):
                first = client.post("/v1/chat/completions", json=_asked(number)).headers["x-dragoman-model"]
                makers[number] = first
            assert len(set(makers.values())) > 1
            for number, maker in makers.items():
                followed = client.post("/v1/chat/completions", json=_asked(number, said, result))
                assert followed.headers["x-dragoman-model"] == maker


def test_C23_sessions_that_say_the_same_do_not_mix(tmp_path: Path) -> None:
    """The same question in twelve sessions, each answered by a model of its own choice."""
    with three_models(tmp_path) as (running, emulators):
        call = {"id": "call_0", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        turns = ({"role": "assistant", "content": None, "tool_calls": [call]}, RESULT_0)
        for one in emulators.values():
            one._core.script = Script.of([ScriptStep(_generic, repeat=True)])
        with httpx.Client(base_url=running.url, timeout=60) as client:

            def answered_by(session: int, *more: Any) -> str:
                body = {**_asked(0, *more), "metadata": {"session_id": f"s{session}"}}
                return client.post("/v1/chat/completions", json=body).headers["x-dragoman-model"]

            makers = [answered_by(session) for session in range(12)]
            assert len(set(makers)) > 1
            assert [answered_by(session, *turns) for session in range(12)] == makers


CALL_0 = {"id": "call_0", "type": "function", "function": {"name": "look", "arguments": "{}"}}
USE_0 = {"role": "assistant", "content": [{"type": "tool_use", "id": "call_0", "name": "look", "input": {}}]}
REMINDED = [
    {"type": "tool_result", "tool_use_id": "call_0", "content": "trees"},
    {"type": "text", "text": "<system-reminder>Be brief.</system-reminder>"},
]
NOTE = {"role": "system", "content": "Be brief."}


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages"])
def test_C23_results_with_a_note_behind_them_go_back_to_the_model_that_made_the_call(tmp_path: Path, path: str) -> None:
    """A system message after the results, and the reminder that an agent writes into the item of its results."""
    with three_models(tmp_path) as (running, emulators):
        for one in emulators.values():
            one._core.script = Script.of([ScriptStep(_generic, repeat=True)])
        turns: tuple[Any, ...] = ({"role": "assistant", "content": None, "tool_calls": [CALL_0]}, RESULT_0, NOTE)
        more: dict[str, Any] = {}
        if path == "/v1/messages":
            turns, more = (USE_0, {"role": "user", "content": REMINDED}), {"tools": [ANTHROPIC_TOOL], "max_tokens": 99}
        with httpx.Client(base_url=running.url, timeout=60) as client:
            makers = [client.post(path, json=_asked(number) | more) for number in range(12)]
            assert len({one.headers["x-dragoman-model"] for one in makers}) > 1
            followed = [client.post(path, json=_asked(number, *turns) | more) for number in range(12)]
            assert all("pinned" in one.headers["x-dragoman-route"] for one in followed)
            assert [one.headers["x-dragoman-model"] for one in followed] == [
                one.headers["x-dragoman-model"] for one in makers
            ]


ANTHROPIC_TOOL = {"name": "look", "input_schema": {"type": "object", "properties": {}}}
RESULT_0 = {"role": "tool", "tool_call_id": "call_0", "content": "trees"}


def _generic(request: ReceivedRequest) -> ModelTurn:
    return ModelTurn(calls=(ModelCall("look", {}, "call_0"),))


def _asked(number: int, *more: Any) -> dict[str, Any]:
    question = {"role": "user", "content": f"I am agent number {number}."}
    return {"model": "any", "messages": [question, *more], "tools": [TOOL]}
