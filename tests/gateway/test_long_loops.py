"""Ten turns of an agent on every model that thinks: whatever the client returns, the model gets back what it needs.

Every client dialect, every reasoning upstream, three kinds of clients (one that returns all, one that returns the words
alone, one that returns nothing), through the gateway and through the SDK transport. The emulators refuse foreign,
altered and missing signatures. At every turn thinking is on, and at the last one all turns have their proofs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import httpx
import pytest
from tests.gateway.running import gateway, provider
from tests.gateway.test_reasoning_loops import (
    ASKING,
    HOW,
    RETURNED,
    thinks_on_anthropic,
    thinks_on_deepseek,
    thinks_on_gemini,
    thinks_on_responses,
)
from tests.gateway.test_vault import AGENTS, Agent, Gemini, Messages, Responses

from dragoman.integrations.sdk_transport import DragomanTransport
from dragoman.testing import emulator

TURNS = 10


def thinks_on_openrouter(body: Any) -> Iterator[bool]:
    yield "reasoning" in body or "reasoning_effort" in body
    for message in body["messages"]:
        if message.get("tool_calls"):
            details = message.get("reasoning_details") or ()
            yield any(item.get("signature") or item.get("data") for item in details)


def answers_alone(body: Any) -> Iterator[bool]:
    """Nothing has to come back: that the emulator accepts all is the proof."""
    yield from [True] * TURNS


UPSTREAMS: dict[str, tuple[str, str, Callable[[Any], Iterator[bool]]]] = {
    "claude": ("anthropic", "claude-sonnet-4-5", thinks_on_anthropic),
    "claude-adaptive": ("anthropic", "claude-opus-4-7", thinks_on_anthropic),
    "gemini-2.5": ("gemini", "gemini-2.5-flash", thinks_on_gemini),
    "gemini-3": ("gemini", "gemini-3-pro-preview", thinks_on_gemini),
    "gpt": ("openai-responses", "gpt-5.6", thinks_on_responses),
    "deepseek": ("deepseek", "deepseek-v4-flash", thinks_on_deepseek),
    "kimi": ("moonshot", "kimi-k2-thinking", thinks_on_deepseek),
    "router-claude": ("openrouter", "anthropic/claude-sonnet-4.5", thinks_on_openrouter),
    "router-gemini": ("openrouter", "google/gemini-3-pro-preview", thinks_on_openrouter),
}
NOT_NEEDED = {(Messages, "claude-adaptive"), (Responses, "gpt"), (Gemini, "gemini-2.5")}
"""Own dialect, and nothing has to come back: a client that drops its state gets what it would get without us."""


class Entrance:
    """One way in, with an emulator behind every name."""

    def __init__(self, emulators: dict[str, Any], post: Callable[[str, str, Any], httpx.Response]) -> None:
        self.emulators = emulators
        self.running = self
        self._post = post
        self.model = ""

    def post(self, path: str, body: Any, key: str = "") -> httpx.Response:
        return self._post(self.model, path, body)


@pytest.fixture(scope="module", params=["gateway", "sdk"])
def entrance(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Entrance]:
    with ExitStack() as stack:
        emulators = {
            name: stack.enter_context(emulator(profile, signatures="strict"))
            for name, (profile, _, _) in UPSTREAMS.items()
        }
        if request.param == "gateway":
            yield _gateway(emulators, stack, tmp_path_factory)
            return
        clients = {name: stack.enter_context(_sdk(name, emulators)) for name in UPSTREAMS}
        yield Entrance(emulators, lambda model, path, body: clients[model].post(path, json=body))


def _gateway(emulators: dict[str, Any], stack: ExitStack, folders: pytest.TempPathFactory) -> Entrance:
    providers = {name: provider(UPSTREAMS[name][0], one.base_url) for name, one in emulators.items()}
    models = {name: {"target": f"{name}/{model}"} for name, (_, model, _) in UPSTREAMS.items()}
    running = stack.enter_context(gateway({"providers": providers, "models": models}, folders.mktemp("loops")))
    return Entrance(emulators, lambda model, path, body: running.post(path, body))


def _sdk(name: str, emulators: dict[str, Any]) -> httpx.Client:
    profile, model, _ = UPSTREAMS[name]
    transport = DragomanTransport(f"{profile}/{model}", api_key="any", base_url=emulators[name].base_url)
    return httpx.Client(transport=transport, base_url="http://any", timeout=30)


CASES = [
    (client, name, how)
    for client in AGENTS
    for name in UPSTREAMS
    for how in HOW
    if how == "all" or (client, name) not in NOT_NEEDED
]


@pytest.mark.sampled(25)
@pytest.mark.parametrize(("client", "name", "how"), CASES)
def test_ten_turns_with_thinking_on_and_proven(entrance: Entrance, client: type[Agent], name: str, how: str) -> None:
    """K22."""
    agent: Any = ASKING.get(client, client)(entrance)
    entrance.model = name
    upstream = entrance.emulators[name]
    before = len(upstream.requests)
    for number in range(TURNS):
        identity = f"call_{client.__name__[:4]}{how}{number}"
        call = {"name": "weather", "arguments": {"city": f"City {number}"}, "id": identity}
        upstream.script({"reasoning": f"Thought {number}.", "calls": [call]}, f"It rains {number}.")
        agent.turns.append(agent.said(f"Is it raining in city {number}?"))
        agent.turns.append(RETURNED[client](agent.send(name), how))
        agent.turns += agent.results()
        agent.turns.append(RETURNED[client](agent.send(name), how))
    requests = upstream.requests[before:]
    assert [one.verdict for one in requests] == ["accepted"] * (2 * TURNS)
    for one in requests:
        assert all(UPSTREAMS[name][2](one.body)), one.body
    assert len(list(UPSTREAMS[name][2](requests[-1].body))) >= TURNS
