"""A real model server with a strict chat template: it refuses what clients send, and takes it through the gateway."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from tests.e2e.installed import asked_for
from tests.e2e.model_server import LATE, UNEVEN, model_server
from tests.gateway.running import Running, gateway, provider
from tests.gateway.speakers import SPEAKERS, AskedFor

pytestmark = asked_for
HI = {"role": "user", "content": "Hi"}
HELLO = {"role": "assistant", "content": "Hello"}
RULE = {"role": "system", "content": "Answer in French."}
House = tuple[str, str, Running]
REFUSED: dict[str, tuple[list[Any], str]] = {
    "strict": ([HI, HELLO, RULE, HI], LATE),
    "alternating": ([HI, HI], UNEVEN),
}
PROFILES = ("llamacpp", "strict-template")


@pytest.fixture(scope="module", params=list(REFUSED))
def house(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """The template's name, the model server and a gateway before it."""
    folder = tmp_path_factory.mktemp(request.param)
    with model_server(folder, request.param) as url:
        patient = {"timeouts": {"connect": 5, "first_byte": 30, "idle": 30, "total": 60}}
        providers = {profile: provider(profile, f"{url}/v1", **patient) for profile in PROFILES}
        models = {profile: {"target": f"{profile}/noise"} for profile in PROFILES}
        with gateway({"providers": providers, "models": models}, folder) as running:
            yield request.param, url, running


def test_it_refuses_directly(house: House) -> None:
    template, url, _ = house
    messages, words = REFUSED[template]
    answer = httpx.post(f"{url}/v1/chat/completions", json={"messages": messages, "max_tokens": 4}, timeout=30)
    assert answer.status_code == 400
    assert words in answer.text


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_the_same_request_is_taken_through_the_gateway(house: House, profile: str, stream: bool) -> None:
    template, _, running = house
    messages, _ = REFUSED[template]
    body = {"model": profile, "messages": messages, "max_tokens": 4, "stream": stream}
    answer = running.post("/v1/chat/completions", body)
    assert answer.status_code == 200, answer.text
    assert answer.headers["x-dragoman-changes"]


@pytest.mark.parametrize("dialect", SPEAKERS)
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_every_client_holds_a_conversation(house: House, dialect: str, profile: str, stream: bool) -> None:
    """With instructions in the middle, and the user speaking twice."""
    _, _, running = house
    client = SPEAKERS[dialect](running.url, profile, AskedFor(stream=stream, limit=8))
    client.instruct("Be brief.")
    assert (await client.say("Hello")).tokens > 0
    client.instruct("Answer in French.")
    assert (await client.say("Hello again")).tokens > 0
    client.history.append(client._user("One more thing."))
    assert (await client.say("Are you there?")).tokens > 0
