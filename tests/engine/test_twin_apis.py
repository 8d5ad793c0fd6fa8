"""Chat requests with tools go to Responses if the model thinks and Chat would refuse them; answers are Chat again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.gateway.running import gateway, provider
from tests.gateway.upstream import Seen, refusal, upstream
from tests.judges import judge

from dragoman import adapt
from dragoman.profiles.profile import Layer, Profiles
from dragoman.testing import emulator

TOOL: dict[str, Any] = {
    "type": "function",
    "function": {"name": "look", "parameters": {"type": "object", "properties": {}}},
}
CHAT, RESPONSES = "/chat/completions", "/responses"
ANSWER = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1,
    "status": "completed",
    "model": "x",
    "output": [
        {
            "type": "message",
            "id": "msg_1",
            "status": "completed",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "Good.", "annotations": []}],
        }
    ],
    "usage": {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5},
}


def asked(**more: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": "Look."}], **more}


@pytest.mark.parametrize(
    ("model", "more", "path"),
    [
        ("gpt-5.6", {"tools": [TOOL]}, RESPONSES),
        ("gpt-5.6", {"tools": [TOOL], "reasoning_effort": "low"}, RESPONSES),
        ("gpt-5.6", {"tools": [TOOL], "reasoning_effort": "none"}, CHAT),
        ("gpt-5.6", {"reasoning_effort": "low"}, CHAT),
        ("gpt-6-sol", {"tools": [TOOL]}, RESPONSES),
        ("gpt-6-luna", {"tools": [TOOL], "reasoning_effort": "none"}, CHAT),
        ("gpt-6-astra", {"tools": [TOOL], "reasoning_effort": "none"}, RESPONSES),
        ("gpt-6.1-sol", {"tools": [TOOL]}, RESPONSES),
        ("gpt-5.4", {"tools": [TOOL]}, CHAT),
        ("gpt-5.4", {"tools": [TOOL], "reasoning_effort": "low"}, RESPONSES),
        ("gpt-5.1", {"tools": [TOOL], "reasoning_effort": "low"}, CHAT),
        ("gpt-4o", {"tools": [TOOL]}, CHAT),
        ("gpt-5-codex", {}, RESPONSES),
        ("gpt-5.1-codex-mini", {"reasoning_effort": "low"}, RESPONSES),
        ("o3-pro", {}, RESPONSES),
        ("gpt-5.2-pro", {"tools": [TOOL]}, RESPONSES),
        ("gpt-5.2", {}, CHAT),
    ],
)
def test_where_a_request_goes(model: str, more: dict[str, Any], path: str) -> None:
    made = adapt(asked(**more), source="openai-chat", target=f"openai/{model}")
    assert made.path == path
    assert judge("openai", model, made.path, made.headers, made.body) is None
    effort = made.json.get("reasoning_effort") or (made.json.get("reasoning") or {}).get("effort")
    assert effort == (more.get("reasoning_effort") if model != "gpt-6-astra" else effort)
    assert effort != "none" or more.get("reasoning_effort") == "none"
    if path == RESPONSES and model != "gpt-6-astra":
        assert [change.rule for change in made.changes if change.kind == "repair"] == []


@pytest.mark.parametrize("model", ["gpt-5.4", "gpt-5.6", "gpt-6-astra"])
@pytest.mark.parametrize("asked_for", [{"thinkingBudget": 128}, {"thinkingBudget": 2048}, {"includeThoughts": True}])
def test_what_was_sent_goes_where_it_went(model: str, asked_for: dict[str, Any]) -> None:
    tools = [{"functionDeclarations": [{"name": "look"}]}]
    body = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}], "tools": tools}
    config = {"generationConfig": {"thinkingConfig": asked_for}}
    once = adapt({**body, **config}, source="gemini", target=f"openai/{model}")
    twice = adapt(once.body, source=once.dialect, target=f"openai/{model}")
    assert (twice.path, twice.body, twice.changes) == (once.path, once.body, ())
    little = asked_for == {"thinkingBudget": 128} and model != "gpt-6-astra"
    assert once.path == (CHAT if little else RESPONSES if "thinkingBudget" in asked_for else once.path)


def test_tools_that_are_declared_late_are_tools() -> None:
    late = {"type": "additional_tools", "role": "developer", "tools": [{"type": "function", **TOOL["function"]}]}
    body = {"model": "m", "input": [{"role": "user", "content": "Look."}, late]}
    made = adapt(body, source="openai-responses", target="openai/gpt-5.6")
    assert made.path == RESPONSES
    assert judge("openai", "gpt-5.6", made.path, made.headers, made.body) is None
    bare = adapt({**body, "input": body["input"][:1]}, source="openai-responses", target="openai/gpt-5.6")
    assert bare.path == CHAT


def test_a_chat_client_gets_a_chat_answer(tmp_path: Path) -> None:
    with (
        emulator("openai") as openai,
        gateway({"providers": {"openai": provider("openai", openai.base_url)}}, tmp_path) as it,
    ):
        openai.script(*[{"calls": [{"name": "look", "arguments": {}}]}] * 2)
        body = asked(tools=[TOOL], reasoning_effort="low") | {"model": "gpt-5.6"}
        whole = it.post("/v1/chat/completions", body)
        assert whole.json()["choices"][0]["message"]["tool_calls"][0]["function"]["name"] == "look", whole.text
        streamed = it.post("/v1/chat/completions", {**body, "stream": True}).text
        assert '"name":"look"' in streamed
        assert streamed.rstrip().endswith("data: [DONE]")
        assert {one.path for one in openai.requests} == {"/v1/responses"}
        assert openai.requests[0].body["reasoning"]["effort"] == "low"


def test_the_configuration_may_say_that_chat_takes_it_and_a_refusal_corrects_that(tmp_path: Path) -> None:
    with emulator("openai") as openai:
        providers = {"openai": provider("openai", openai.base_url, facts={"tools_with_effort": "accepts"})}
        with gateway({"providers": providers}, tmp_path) as it:
            told = it.post("/v1/chat/completions", asked(tools=[TOOL]) | {"model": "gpt-6.1-sol"})
        assert told.status_code == 200
        assert [one.path for one in openai.requests] == ["/v1/chat/completions", "/v1/responses"]


@pytest.mark.parametrize(
    ("model", "more", "path"),
    [
        ("gpt-5.6", {"tools": [TOOL]}, RESPONSES),
        ("gpt-5.6", {"tools": [TOOL], "reasoning_effort": "none"}, CHAT),
        ("gpt-5.4", {"tools": [TOOL], "reasoning_effort": "low"}, RESPONSES),
        ("gpt-4o", {"tools": [TOOL]}, CHAT),
        ("our-deployment", {"tools": [TOOL]}, CHAT),
    ],
)
def test_azure_has_both_apis_too(model: str, more: dict[str, Any], path: str) -> None:
    made = adapt(asked(**more), source="openai-chat", target=f"azure-openai/{model}")
    assert made.path == f"/openai/v1{path}"
    assert judge("azure-openai", model, made.path, made.headers, made.body) is None


@pytest.mark.parametrize("version", [None, "2024-10-21", "2025-04-01-preview"])
def test_azure_is_asked_where_its_other_api_is(tmp_path: Path, version: str | None) -> None:
    with emulator("azure-openai") as azure:
        azure.script({"calls": [{"name": "look", "arguments": {}}]})
        cloud = {"api_version": version} if version else {}
        address = azure.base_url.removesuffix("/openai/v1")
        providers = {"azure": provider("azure-openai", address, cloud=cloud)}
        with gateway({"providers": providers}, tmp_path) as it:
            told = it.post("/v1/chat/completions", asked(tools=[TOOL]) | {"model": "azure/gpt-5.6"})
        assert told.json()["choices"][0]["message"]["tool_calls"][0]["function"]["name"] == "look", told.text
        assert [one.path for one in azure.requests] == ["/openai/v1/responses"], (
            "versions before 2025-03 do not have it"
        )


@pytest.mark.parametrize("more", [{}, {"reasoning_effort": "low"}])
def test_a_deployment_of_any_name_is_asked_there_once_it_has_refused(tmp_path: Path, more: dict[str, Any]) -> None:
    """Its name does not tell the model. The refusal does, and what the client wants of thinking stays as it is."""
    refused = refusal("Function tools with reasoning_effort are not supported for x in /v1/chat/completions.")

    def answer(seen: Seen) -> tuple[int, Any]:
        return (400, refused) if seen.path.endswith("/chat/completions") else (200, ANSWER)

    with upstream(answer) as azure:
        providers = {"azure": provider("azure-openai", azure.url.removesuffix("/v1"))}
        with gateway({"providers": providers}, tmp_path) as it:
            for _ in range(2):
                body = asked(tools=[TOOL], **more) | {"model": "azure/our-deployment"}
                assert it.post("/v1/chat/completions", body).status_code == 200
        assert [one.path.rpartition("/v1")[2] for one in azure.seen] == [CHAT, RESPONSES, RESPONSES]
        assert (azure.seen[1].body.get("reasoning") or {}).get("effort") == more.get("reasoning_effort")


def test_no_thinking_is_never_set_by_us() -> None:
    """A target without another API is asked without the effort, or refuses in its own words."""
    facts = {"tools_with_effort": "refuses", "efforts": ["none", "low", "high"]}
    profiles = Profiles(layers=[Layer("lesson", facts)])
    for effort, sent in (("high", None), ("none", "none")):
        body = asked(tools=[TOOL], reasoning_effort=effort)
        made = adapt(body, source="openai-chat", target="openai-compatible/gpt-5.6", profiles=profiles)
        assert made.json.get("reasoning_effort") == sent


def test_an_effort_beside_thinking_that_is_off_does_not_count() -> None:
    turn = {"role": "user", "content": "Look."}
    tool = {"name": "look", "input_schema": {"type": "object", "properties": {}}}
    off = {"thinking": {"type": "disabled"}, "output_config": {"effort": "low"}}
    body = {"model": "m", "max_tokens": 9, "messages": [turn], "tools": [tool], **off}
    made = adapt(body, source="anthropic", target="openai/gpt-5.6")
    assert (made.path, made.json["reasoning_effort"]) == (CHAT, "none")
    assert adapt(made.body, source=made.dialect, target="openai/gpt-5.6").body == made.body
