"""A conversation that changes its model again and again, with tools and thinking, never fails.

The emulators take only signatures of their own making: a thought that goes to the wrong house is refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from tests.gateway.speakers import SPEAKERS, AskedFor
from tests.gateway.stage import Stage, stage

THERE = ("claude", "gemini", "gpt", "deepseek")
JOURNEYS = {
    "there and back": (*THERE, *THERE[::-1]),
    "by way of Responses": ("claude", "thinker", "gemini", "thinker", "claude"),
    "with Mistral": ("gemini", "mistral", "deepseek", "mistral", "claude", "gemini"),
}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with stage(tmp_path_factory.mktemp("stage"), signatures="strict") as raised:
        yield raised


@pytest.mark.sampled(8)
@pytest.mark.parametrize("dialect", SPEAKERS)
@pytest.mark.parametrize("journey", JOURNEYS.values(), ids=list(JOURNEYS))
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_a_conversation_moves_and_comes_back(
    world: Stage, dialect: str, journey: tuple[str, ...], stream: bool
) -> None:
    client = SPEAKERS[dialect](world.url, journey[0], AskedFor(stream=stream, tools=True, thinking=True))
    client.instruct("You are a weather guide.")
    for number, model in enumerate(journey):
        client.model = model
        look = {"calls": [{"name": "weather", "arguments": {"city": f"City {number}"}}]}
        thinks = {"reasoning": f"Thought {number}."} if model not in ("gpt", "mistral") else {}
        world.script(model, {**thinks, "text": "Let me look.", **look}, {**thinks, "text": f"Stop {number}: rain."})
        heard = await client.converse(f"Question {number}?", f"Result {number}")
        assert heard.text == f"Stop {number}: rain."
        asked = json.dumps(world.check(model, at_least=2)[-1].body)
        told = [f"{what} {each}" for each in range(number + 1) for what in ("Question", "City", "Result")]
        assert [one for one in told if one not in asked] == [], "something was lost on the way"


@pytest.mark.sampled(5)
@pytest.mark.parametrize("dialect", SPEAKERS)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_a_model_is_changed_between_a_call_and_its_result(world: Stage, dialect: str, stream: bool) -> None:
    client = SPEAKERS[dialect](world.url, THERE[0], AskedFor(stream=stream, tools=True, thinking=True))
    heard = None
    for number, model in enumerate((*THERE, *THERE[::-1], THERE[0])):
        client.model = model
        thinks = {"reasoning": f"Thought {number}."} if model != "gpt" else {}
        world.script(model, {**thinks, "calls": [{"name": "weather", "arguments": {"city": f"City {number}"}}]})
        if heard is None:
            heard = await client.say("Where does it rain?")
        else:
            heard = await client.answer({call.id: f"Result {number}" for call in heard.calls}, heard.calls)
        assert [call.arguments for call in heard.calls] == [{"city": f"City {number}"}]
        world.check(model)
