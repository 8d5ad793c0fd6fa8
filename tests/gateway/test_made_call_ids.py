"""Ids that a provider did not give its calls, in the official SDKs: each reads one in the form of its own vendor.

Gemini 2.5 gives its calls no ids. Ten turns with two calls each, whole and streamed: the ids are in form and never
repeated, and with them the state of every turn goes back to the model. An id that a provider gave stays as it is.
(K22)
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import anthropic
import httpx2
import openai
import pytest
from tests.gateway.running import Running, gateway, provider
from tests.gateway.speakers import SPEAKERS, AskedFor, Speaker

from dragoman.integrations.sdk_transport import DragomanTransport
from dragoman.testing import emulator

TURNS = 10
MODELS = {"gemini": "gemini-2.5-flash", "mistral": "mistral-large-latest"}
FORMS = {
    "anthropic": r"toolu_[0-9A-Za-z]{24}",
    "bedrock": r"tooluse_[0-9A-Za-z]{22}",
    "cohere": r"call_[0-9A-Za-z]{24}",
    "openai-chat": r"call_[0-9A-Za-z]{24}",
    "openai-responses": r"call_[0-9A-Za-z]{24}",
}
"""The other two dialects can do without ids: the answer goes through as it is, and their SDKs show none."""


@pytest.fixture(scope="module")
def emulators() -> Iterator[dict[str, Any]]:
    with ExitStack() as stack:
        yield {name: stack.enter_context(emulator(name, signatures="strict")) for name in MODELS}


@pytest.fixture(scope="module")
def running(emulators: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    config = {
        "providers": {name: provider(name, one.base_url) for name, one in emulators.items()},
        "models": {name: {"target": f"{name}/{model}"} for name, model in MODELS.items()},
    }
    with gateway(config, tmp_path_factory.mktemp("ids")) as started:
        yield started


async def hold(speaker: Speaker, upstream: Any) -> list[str]:
    """Ten turns of two calls. The ids that the SDK read, in their order."""
    read: list[str] = []
    for number in range(TURNS):
        speaker.wishes.stream = bool(number % 2)
        calls = [{"name": "weather", "arguments": {"city": f"{city} {number // 2}"}} for city in ("Rome", "Oslo")]
        upstream.script({"reasoning": f"Thought {number}.", "calls": calls}, f"It rains {number}.")
        heard = await speaker.say(f"Rain {number}?")
        assert [call.arguments["city"] for call in heard.calls] == [f"Rome {number // 2}", f"Oslo {number // 2}"]
        read += [call.id for call in heard.calls]
        assert (await speaker.answer({call.id: "rain" for call in heard.calls}, heard.calls)).text.startswith("It")
    return read


def check(ids: list[str], form: str, requests: list[Any]) -> None:
    assert [one for one in ids if not re.fullmatch(form, one)] == []
    assert len(set(ids)) == 2 * TURNS
    assert [one.verdict for one in requests] == ["accepted"] * (2 * TURNS)
    turns = [[part for part in turn["parts"] if "functionCall" in part] for turn in requests[-1].body["contents"]]
    calls = [parts for parts in turns if parts]
    assert [len(parts) for parts in calls] == [2] * TURNS
    assert all(parts[0].get("thoughtSignature") for parts in calls)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dialect", FORMS)
async def test_ten_turns_with_ids_in_the_form_of_the_clients_vendor(
    running: Running, emulators: dict[str, Any], dialect: str
) -> None:
    upstream = emulators["gemini"]
    before = len(upstream.requests)
    ids = await hold(SPEAKERS[dialect](running.url, "gemini", AskedFor(tools=True, thinking=True)), upstream)
    check(ids, FORMS[dialect], upstream.requests[before:])


SDKS = {"anthropic": anthropic.Anthropic, "openai-responses": openai.OpenAI}


@pytest.mark.slow
@pytest.mark.parametrize("dialect", SDKS)
async def test_ten_turns_through_the_transport_inside_the_sdk(emulators: dict[str, Any], dialect: str) -> None:
    upstream = emulators["gemini"]
    before = len(upstream.requests)
    made: Any = SDKS[dialect]
    transport = DragomanTransport("gemini/gemini-2.5-flash", api_key="any", base_url=upstream.base_url)
    speaker = SPEAKERS[dialect]("http://any", "any", AskedFor(tools=True, thinking=True))
    with httpx2.Client(transport=transport) as sender:
        speaker.client = made(api_key="any", http_client=sender, max_retries=0)
        ids = await hold(speaker, upstream)
    check(ids, FORMS[dialect], upstream.requests[before:])


@pytest.mark.parametrize("dialect", FORMS)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_an_id_of_the_providers_own_stays_as_it_is(
    running: Running, emulators: dict[str, Any], dialect: str, stream: bool
) -> None:
    call = {"name": "weather", "arguments": {"city": "Rome"}, "id": "D681PevKs"}
    emulators["mistral"].script({"calls": [call]}, "Rain.")
    speaker = SPEAKERS[dialect](running.url, "mistral", AskedFor(stream=stream, tools=True))
    heard = await speaker.say("Rain?")
    assert [one.id for one in heard.calls] == ["D681PevKs"]
    assert (await speaker.answer({"D681PevKs": "rain"}, heard.calls)).text == "Rain."
    assert "D681PevKs" in str(emulators["mistral"].requests[-1].body["messages"][-1])
