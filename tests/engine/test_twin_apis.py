"""Chat requests with tools go to Responses if the model thinks and Chat would refuse them; answers are Chat again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.gateway.running import gateway, provider
from tests.judges import judge

from dragoman import adapt
from dragoman.testing import emulator

TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}
CHAT, RESPONSES = "/chat/completions", "/responses"


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
