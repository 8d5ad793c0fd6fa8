"""Models in Google's and Azure's clouds, asked by clients of every dialect: the right address, body and token."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import anthropic
import httpx
import openai
import pytest
from tests.gateway.running import Running, gateway
from tests.gateway.speakers import SPEAKERS, AskedFor
from tests.gateway.upstream import upstream
from tests.upstream.test_cloud_tokens import server, service_account

from dragoman.emulators.serving.background_server import RunningEmulator as Emulator
from dragoman.testing import emulator

PLACES: dict[str, tuple[str, dict[str, Any], str]] = {
    "vertex-claude": ("vertex-anthropic", {"project": "p", "region": "europe-west1"}, "claude-sonnet-4-5@20250929"),
    "vertex-gemini": ("vertex", {"project": "p", "region": "us-central1"}, "gemini-2.5-flash"),
    "azure": ("azure-openai", {}, "gpt-4o"),
    "azure-deployment": ("azure-openai", {"api_version": "2024-10-21"}, "gpt-4o"),
    "azure-responses": ("azure-openai-responses", {}, "gpt-5"),
    "azure-responses-versioned": ("azure-openai-responses", {"api_version": "2025-03-01-preview"}, "gpt-5"),
    "foundry-claude": ("azure-anthropic", {}, "claude-sonnet-4-5"),
    "foundry-models": ("azure-foundry", {}, "grok-3-mini"),
}
PATHS = {
    "vertex-claude": "/v1/projects/p/locations/europe-west1/publishers/anthropic/models/claude-sonnet-4-5@20250929:"
    "rawPredict",
    "vertex-gemini": (
        "/v1beta1/projects/p/locations/us-central1/publishers/google/models/gemini-2.5-flash:generateContent"
    ),
    "azure": "/openai/v1/chat/completions",
    "azure-deployment": "/openai/deployments/gpt-4o/chat/completions",
    "azure-responses": "/openai/v1/responses",
    "azure-responses-versioned": "/openai/responses",
    "foundry-claude": "/anthropic/v1/messages",
    "foundry-models": "/models/chat/completions",
}
STREAMED = {"rawPredict": "streamRawPredict", ":generateContent": ":streamGenerateContent"}
CALL = {"calls": [{"name": "weather", "arguments": {"city": "Köln"}}]}


class Clouds:
    def __init__(self, running: Running, emulators: dict[str, Emulator]) -> None:
        self.url = running.url
        self.emulators = emulators


@contextmanager
def raised(folder: Path) -> Iterator[Clouds]:
    with ExitStack() as stack:
        emulators = {name: stack.enter_context(emulator(PLACES[name][0])) for name in PLACES}
        providers = {
            name: {"profile": profile, "base_url": emulators[name].url, "api_key": "some-key", "cloud": cloud}
            for name, (profile, cloud, _) in PLACES.items()
        }
        models = {name: {"target": f"{name}/{model}"} for name, (_, _, model) in PLACES.items()}
        yield Clouds(stack.enter_context(gateway({"providers": providers, "models": models}, folder)), emulators)


@pytest.fixture(scope="module")
def clouds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clouds]:
    with raised(tmp_path_factory.mktemp("clouds")) as found:
        yield found


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("dialect", ["openai-chat", "openai-responses", "anthropic", "gemini"])
@pytest.mark.parametrize("place", PLACES)
async def test_a_tool_loop(clouds: Clouds, place: str, dialect: str, stream: bool) -> None:
    upstream = clouds.emulators[place]
    upstream.script(CALL, "Take an umbrella.")
    before = len(upstream.requests)
    client = SPEAKERS[dialect](clouds.url, place, AskedFor(stream=stream, tools=True), is_async=False)
    called = await client.say("Does it rain in Köln?")
    assert [(call.name, call.arguments) for call in called.calls] == [("weather", {"city": "Köln"})]
    told = await client.answer({called.calls[0].id: "It pours."}, called.calls)
    assert told.text == "Take an umbrella."
    assert told.tokens > 0
    asked = upstream.requests[before:]
    assert [one.verdict for one in asked] == ["accepted", "accepted"]
    path = PATHS[place]
    for whole, streamed in STREAMED.items():
        path = path.replace(whole, streamed) if stream else path
    assert asked[1].path.partition("?")[0] == path


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("place", ["azure", "azure-deployment"])
def test_marks_of_the_content_filter_are_kept_from_clients(clouds: Clouds, place: str, stream: bool) -> None:
    """Strict clients refuse the nearly empty first chunk of Azure's streams and fields that OpenAI does not have."""
    clouds.emulators[place].script("Bonjour.")
    client = openai.OpenAI(base_url=f"{clouds.url}/v1", api_key="any")
    asked: dict[str, Any] = {"model": place, "messages": [{"role": "user", "content": "Hello"}]}
    if not stream:
        answer = client.chat.completions.create(**asked)
        assert answer.choices[0].message.content == "Bonjour."
        assert "filter" not in answer.model_dump_json().replace('"finish_reason"', "")
        return
    with client.chat.completions.create(**asked, stream=True) as chunks:
        received = list(chunks)
    assert all(chunk.id and chunk.object == "chat.completion.chunk" and chunk.model for chunk in received)
    assert not any("filter" in chunk.model_dump_json() for chunk in received)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in received if chunk.choices) == "Bonjour."


@pytest.mark.parametrize("deployment", [None, "gpt-4o"])
def test_requests_of_azures_own_client_are_accepted_there(clouds: Clouds, deployment: str | None) -> None:
    upstream = clouds.emulators["azure"]
    upstream.script("Bonjour.")
    client = openai.AzureOpenAI(
        azure_endpoint=upstream.url, api_key="any", api_version="2024-10-21", azure_deployment=deployment
    )
    answer = client.chat.completions.create(model="gpt-4o", messages=[{"role": "user", "content": "Hello"}])
    assert answer.choices[0].message.content == "Bonjour."


def test_requests_of_anthropics_client_for_foundry_are_accepted_there(clouds: Clouds) -> None:
    upstream = clouds.emulators["foundry-claude"]
    upstream.script("Bonjour.", "Encore.")
    for url, model in ((upstream.url, "claude-sonnet-4-5"), (clouds.url, "foundry-claude")):
        client = anthropic.AnthropicFoundry(base_url=f"{url}/anthropic/", api_key="any", max_retries=0)
        answer = client.messages.create(model=model, max_tokens=50, messages=[{"role": "user", "content": "Hello"}])
        assert answer.content[0].text in ("Bonjour.", "Encore.")
    assert {"x-api-key", "anthropic-version"} <= upstream.requests[-1].headers.keys()


def test_a_provider_without_a_list_has_the_models_that_it_is_known_to_run(tmp_path: Path) -> None:
    """Bedrock has no list; nobody answers for Claude here."""
    providers = {"bedrock": {"api_key": "k"}, "anthropic": {"api_key": "k", "base_url": "http://127.0.0.1:9"}}
    with gateway({"providers": providers}, tmp_path) as running:
        listed = {one["id"] for one in running.get("/v1/models").json()["data"]}
        tags = {one["name"] for one in running.get("/api/tags").json()["models"]}
        assert {"us.amazon.nova-lite-v1:0", "claude-sonnet-4-6"} <= listed & tags


def test_an_address_without_a_version_is_not_found_as_on_azure(clouds: Clouds) -> None:
    client = openai.AzureOpenAI(azure_endpoint=clouds.emulators["azure"].url, api_key="any", api_version="soon")
    with pytest.raises(openai.NotFoundError, match="Resource not found"):
        client.chat.completions.create(model="gpt-4o", messages=[{"role": "user", "content": "Hello"}])


COUNTING = {
    "vertex-claude": "/v1/projects/p/locations/europe-west1/publishers/anthropic/models/count-tokens:rawPredict",
    "vertex-gemini": "/v1beta1/projects/p/locations/us-central1/publishers/google/models/gemini-2.5-flash:countTokens",
}


@pytest.mark.parametrize("place", COUNTING)
def test_tokens_are_counted_by_vertex(clouds: Clouds, place: str) -> None:
    upstream = clouds.emulators[place]
    if place == "vertex-claude":
        asked: Any = {"model": place, "system": "Be brief.", "messages": [{"role": "user", "content": "Hello"}]}
        answer = httpx.post(f"{clouds.url}/v1/messages/count_tokens", json=asked)
        assert answer.json()["input_tokens"] > 0
        assert upstream.requests[-1].body["model"] == "claude-sonnet-4-5@20250929"
    else:
        asked = {
            "contents": [{"role": "user", "parts": [{"text": "Hello"}]}],
            "systemInstruction": {"parts": [{"text": "Be brief."}]},
        }
        answer = httpx.post(f"{clouds.url}/v1beta/models/{place}:countTokens", json={"generateContentRequest": asked})
        assert answer.json()["totalTokens"] > 0
        assert upstream.requests[-1].body == asked
    assert "x-dragoman-estimate" not in answer.headers
    assert (upstream.requests[-1].path, upstream.requests[-1].verdict) == (COUNTING[place], "accepted")


def test_a_token_that_expired_under_way_costs_one_retry(tmp_path: Path) -> None:
    given: list[int] = []

    def give(method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, Any]:
        given.append(1)
        return 200, {"access_token": f"token{len(given)}", "expires_in": 3600}

    with server(give) as tokens, emulator("vertex-anthropic") as upstream, ExitStack() as stack:
        file, _ = service_account(tmp_path, tokens)
        cloud = {"project": "p", "account": str(file)}
        claude = {"profile": "vertex-anthropic", "base_url": upstream.url, "cloud": cloud}
        running = stack.enter_context(gateway({"providers": {"claude": claude}}, tmp_path))
        upstream.script({"fault": "401"}, "Bonjour.", "Encore.")
        client = openai.OpenAI(base_url=f"{running.url}/v1", api_key="any", max_retries=0)
        asked: Any = [{"role": "user", "content": "Hello"}]
        for expected in ("Bonjour.", "Encore."):
            answer = client.chat.completions.create(model="claude/claude-sonnet-4-6", messages=asked)
            assert answer.choices[0].message.content == expected
        assert [one.status for one in upstream.requests] == [401, 200, 200]
    assert len(given) == 2


def test_bad_credentials_are_told_in_the_clients_dialect(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("{}")
    claude = {"profile": "vertex-anthropic", "cloud": {"project": "p", "account": str(tmp_path / "bad.json")}}
    with gateway({"providers": {"claude": claude}}, tmp_path) as running:
        client = openai.OpenAI(base_url=f"{running.url}/v1", api_key="any", max_retries=0)
        with pytest.raises(openai.AuthenticationError, match="Google credentials cannot be fetched"):
            client.chat.completions.create(
                model="claude/claude-sonnet-4-6", messages=[{"role": "user", "content": "Hello"}]
            )


@pytest.mark.parametrize("place", ["a/b", "..", "x?y", "p q", "é"])
def test_a_place_that_leads_elsewhere_is_refused(place: str, tmp_path: Path) -> None:
    claude = {"profile": "vertex-anthropic", "cloud": {"project": place}, "api_key": "k"}
    with gateway({"providers": {"claude": claude}}, tmp_path) as running:
        client = openai.OpenAI(base_url=f"{running.url}/v1", api_key="any", max_retries=0)
        with pytest.raises(openai.APIStatusError, match="cannot stand in an address"):
            client.chat.completions.create(
                model="claude/claude-sonnet-4-6", messages=[{"role": "user", "content": "Hello"}]
            )


def test_a_beta_that_a_cloud_does_not_know_is_left_out_at_the_second_attempt(clouds: Clouds) -> None:
    """Its refusal names the header's word: the body stays the same, and the next request needs one attempt."""
    upstream = clouds.emulators["vertex-claude"]
    betas = "context-1m-2025-08-07,mcp-servers-2025-12-04"
    body = {"model": "vertex-claude", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
    for sends in (2, 1):
        before = len(upstream.requests)
        got = httpx.post(f"{clouds.url}/v1/messages", json=body, headers={"anthropic-beta": betas})
        assert got.status_code == 200, got.text
        named = [one.headers["anthropic-beta"] for one in upstream.requests[before:]]
        assert named == [betas, "context-1m-2025-08-07"][-sends:]
        assert "refused-setting" in got.headers["x-dragoman-changes"]


@pytest.mark.parametrize(("base_model", "limit"), [("gpt-4o", "max_tokens"), ("gpt-5", "max_completion_tokens")])
@pytest.mark.parametrize("version", [{}, {"api_version": "2024-10-21"}])
def test_a_deployment_is_treated_and_billed_as_the_model_that_it_runs(
    tmp_path: Path, base_model: str, limit: str, version: dict[str, str]
) -> None:
    with upstream() as behind:
        azure = {
            "profile": "azure-openai",
            "base_url": behind.url.removesuffix("/v1"),
            "api_key": "k",
            "cloud": version,
        }
        models = {"team": {"target": "azure/prod-eu", "base_model": base_model}}
        with gateway({"providers": {"azure": azure}, "models": models}, tmp_path) as running:
            asked = {"model": "team", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 9}
            answer = running.post("/v1/chat/completions", asked)
    assert answer.status_code == 200
    assert (behind.seen[0].body["model"], behind.seen[0].body[limit]) == ("prod-eu", 9)
    assert ("/deployments/prod-eu/" in behind.seen[0].path) is bool(version)
    assert answer.headers["x-dragoman-model"] == "azure/prod-eu"
    assert float(answer.headers["x-dragoman-cost"]) > 0
