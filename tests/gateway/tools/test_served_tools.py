"""Servers of tools behind a whole gateway: what requests are given, and where no secret may ever stand."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest
from msgspec.structs import replace
from tests.gateway.running import Running, gateway, provider
from tests.gateway.test_tool_rounds import chat
from tests.gateway.tools.scripted_mcp import ScriptedMcp, scripted_mcp, text
from tests.gateway.upstream import Answer, Seen, Upstream, upstream

from dragoman.config.schema.tools import ToolApproval
from dragoman.engine.tool_runs.run_functions import server_function_name
from dragoman.store.journals.redaction import Redactor
from dragoman.testing import emulator

CONFIGURED, CLIENTS = "configured-secret-01234", "secret-of-the-client-56789"
FACT = "The bridge is 1312 metres long. {{secret}} ${HOME}"


def model(seen: Seen) -> Answer:
    """Calls its last function, and then answers with what it was told."""
    body = seen.body
    results = [one["content"] for one in body["messages"] if one["role"] == "tool"]
    if results:
        made = chat(f"I read: {results[-1]}")
    elif body.get("tools"):
        made = chat(None, (body["tools"][-1]["function"]["name"], {"what": "bridge"}))
    else:
        made = chat("I have no tools.")
    return 200, {**made, "id": f"chatcmpl-{len(seen.raw)}"}


@pytest.fixture
def mcp() -> Iterator[ScriptedMcp]:
    with scripted_mcp(on_call=lambda params: text(FACT)) as one:
        yield one


@pytest.fixture
def behind() -> Iterator[Upstream]:
    with upstream(model) as one:
        yield one


@pytest.fixture
def running(mcp: ScriptedMcp, behind: Upstream, tmp_path: Path) -> Iterator[Running]:
    target = {"target": "p/gpt-4o"}
    config = {
        "providers": {"p": provider("openai", behind.url)},
        "models": {"plain": target, "offered": {**target, "tool_servers": ["tracker"]}},
        "tool_servers": {"tracker": {"url": mcp.url, "token": CONFIGURED}},
        "tools": {"allow": [mcp.url]},
    }
    with gateway(config, tmp_path) as one:
        yield one


def declared(mcp: ScriptedMcp, **more: Any) -> dict[str, Any]:
    named = {"type": "mcp", "server_label": "tracker", "server_url": mcp.url, "require_approval": "never"}
    return {**named, "authorization": CLIENTS, "headers": {"X-Team": f"{CLIENTS}-too"}, **more}


def test_a_configured_server_is_offered_and_said_so(running: Running, mcp: ScriptedMcp, behind: Upstream) -> None:
    asked = {"model": "offered", "messages": [{"role": "user", "content": "How long?"}]}
    answer = running.post("/v1/chat/completions", asked)
    assert answer.json()["choices"][0]["message"]["content"] == f"I read: {FACT}"
    assert "client-tool" in answer.headers["x-dragoman-added"]
    names = [one["function"]["name"] for one in behind.bodies()[0]["tools"]]
    assert names == ["tracker__change", "tracker__find"]
    assert mcp.http.seen[-1].headers["authorization"] == f"Bearer {CONFIGURED}"
    running.post("/v1/chat/completions", {**asked, "model": "plain"})
    assert "tools" not in behind.bodies()[-1]


def test_a_client_s_server_goes_before_one_of_the_same_name(
    running: Running, mcp: ScriptedMcp, behind: Upstream
) -> None:
    asked = {"model": "offered", "input": "How long?", "tools": [declared(mcp)]}
    answer = running.post("/v1/responses", asked).json()
    assert [item["type"] for item in answer["output"]][-1] == "message"
    assert [one["function"]["name"] for one in behind.bodies()[0]["tools"]] == ["tracker__change", "tracker__find"]
    used = {seen.headers["authorization"] for seen in mcp.http.seen if seen.raw}
    assert used == {f"Bearer {CLIENTS}"}


@pytest.mark.parametrize("fault", ["none", "refused", "repeated"])
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_no_secret_of_a_server_is_in_an_answer_a_prompt_or_the_log(
    running: Running, mcp: ScriptedMcp, behind: Upstream, fault: str, stream: bool
) -> None:
    if fault == "refused":
        mcp.before = lambda seen: (401, {"error": f"bad token {CLIENTS}"})
    if fault == "repeated":
        mcp.on_call = lambda params: text(f"You sent {CLIENTS} and {CLIENTS}-too.")
    asked = {"model": "plain", "input": "How long?", "tools": [declared(mcp)], "stream": stream}
    answer = running.post("/v1/responses", asked)
    assert answer.status_code == (424 if fault == "refused" else 200)
    assert CLIENTS in json.dumps([seen.headers for seen in mcp.http.seen])
    running.services.records.lines.flush()
    told = [answer.text, str(answer.headers), running.log.getvalue(), *[seen.raw.decode() for seen in behind.seen]]
    told += [path.read_text(errors="replace") for path in running.file.parent.glob("*.jsonl")]
    assert not [one for one in told if CLIENTS in one]


def test_bodies_are_kept_without_the_secrets_of_servers() -> None:
    anthropic = {"type": "url", "name": "tracker", "url": "https://x", "authorization_token": CLIENTS}
    call = {"type": "function", "arguments": {"headers": {"accept": "text/html"}}}
    kept = Redactor().value({"tools": [{**declared(ScriptedMcp())}, call], "mcp_servers": [anthropic]})
    assert CLIENTS not in json.dumps(kept)
    assert kept["tools"][0]["headers"] == {"X-Team": "[REDACTED]"}
    assert kept["tools"][1] == call


def test_a_server_that_is_not_allowed_is_refused(running: Running, mcp: ScriptedMcp, behind: Upstream) -> None:
    elsewhere = mcp.url.replace("/mcp", "/other")
    asked = {"model": "plain", "input": "How long?", "tools": [declared(mcp, server_url=elsewhere)]}
    answer = running.post("/v1/responses", asked)
    assert answer.status_code == 400
    assert "add its address to tools.allow" in answer.json()["error"]["message"]
    assert mcp.http.seen == behind.seen == []


FAILURES: dict[str, tuple[Any, dict[str, Any]]] = {
    "tool": (
        text("It fell down.", isError=True),
        {"type": "mcp_tool_execution_error", "content": [{"type": "text", "text": "It fell down."}]},
    ),
    "protocol": (
        {"error": {"code": -32602, "message": "no such thing"}},
        {"type": "mcp_protocol_error", "code": -32602, "message": "The server of the tool failed: no such thing."},
    ),
    "http": (
        (503, {"error": "down"}),
        {"type": "http_error", "code": 503, "message": "The server of the tool failed: it answered 503."},
    ),
}


@pytest.mark.parametrize("kind", FAILURES)
def test_a_call_that_failed_tells_whose_error_it_is(running: Running, mcp: ScriptedMcp, kind: str) -> None:
    came, shown = FAILURES[kind]
    mcp.on_call = lambda params: came
    client = openai.OpenAI(base_url=f"{running.url}/v1", api_key="unused", max_retries=0)
    tools: Any = [declared(mcp)]
    answer = client.responses.create(model="plain", input="How long?", tools=tools)
    (called,) = [item.to_dict() for item in answer.output if item.type == "mcp_call"]
    assert (called["status"], called["output"], called["error"]) == ("failed", None, shown)


def approval_of(answer: Any) -> dict[str, Any]:
    return next(item for item in answer["output"] if item["type"] == "mcp_approval_request")


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("by_id", [False, True], ids=["whole history", "by id"])
def test_a_call_is_made_once_the_client_approves_it(
    running: Running, mcp: ScriptedMcp, behind: Upstream, by_id: bool, stream: bool
) -> None:
    client = openai.OpenAI(base_url=f"{running.url}/v1", api_key="unused", max_retries=0)
    tools: Any = [declared(mcp, require_approval="always")]
    asked = client.responses.create(model="plain", input="How long?", tools=tools)
    assert [item.type for item in asked.output] == ["mcp_list_tools", "mcp_approval_request"]
    listing, question = [item.to_dict() for item in asked.output]
    assert listing["server_label"] == "tracker"
    assert "find" in [tool["name"] for tool in listing["tools"]]
    assert (question["server_label"], question["name"]) == ("tracker", "find")
    assert "tools/call" not in mcp.methods()
    yes: Any = {"type": "mcp_approval_response", "approval_request_id": question["id"], "approve": True}
    history: Any = [{"role": "user", "content": "How long?"}, listing, question, yes]
    more: Any = {"input": [yes], "previous_response_id": asked.id} if by_id else {"input": history}
    if stream:
        with client.responses.stream(model="plain", tools=tools, **more) as events:
            answered = events.get_final_response()
    else:
        answered = client.responses.create(model="plain", tools=tools, **more)
    assert [item.type for item in answered.output] == ["mcp_call", "message"]
    called = answered.output[0].to_dict()
    assert (called["approval_request_id"], called["output"]) == (question["id"], FACT)
    assert answered.output_text == f"I read: {FACT}"
    assert mcp.methods().count("tools/call") == 1
    last: Any = {"input": "Thanks.", "previous_response_id": answered.id}
    again = client.responses.create(model="plain", tools=tools, **last)
    assert again.output_text == f"I read: {FACT}"
    assert mcp.methods().count("tools/call") == 1


def test_a_call_that_the_client_denies_is_not_made(running: Running, mcp: ScriptedMcp, behind: Upstream) -> None:
    asked = {"model": "plain", "input": "How long?", "tools": [declared(mcp, require_approval="always")]}
    first = running.post("/v1/responses", asked).json()
    no = {"type": "mcp_approval_response", "approval_request_id": approval_of(first)["id"], "approve": False}
    denied = {**asked, "input": [{**no, "reason": "Too dear."}], "previous_response_id": first["id"]}
    answer = running.post("/v1/responses", denied).json()
    assert [item["type"] for item in answer["output"]] == ["message"]
    said = "I read: [error] The user did not approve this call. Too dear."
    assert answer["output"][0]["content"][0]["text"] == said
    assert "tools/call" not in mcp.methods()


def test_only_what_needs_approval_is_asked_about(running: Running, mcp: ScriptedMcp, behind: Upstream) -> None:
    named = {"never": {"tool_names": ["find"]}}
    asked = {"model": "plain", "input": "How long?", "tools": [declared(mcp, require_approval=named)]}
    assert running.post("/v1/responses", asked).json()["output"][-1]["type"] == "message"


def test_a_client_that_cannot_be_asked_is_refused(running: Running, mcp: ScriptedMcp, behind: Upstream) -> None:
    running.services.tools.config = with_approval(running)
    asked = {"model": "offered", "messages": [{"role": "user", "content": "How long?"}]}
    answer = running.post("/v1/chat/completions", asked)
    assert answer.status_code == 400
    assert "approval" in answer.json()["error"]["message"]
    assert behind.seen == []


def with_approval(running: Running) -> Any:
    config = running.services.live.config
    tracker = replace(config.tool_servers["tracker"], approval=ToolApproval.ALWAYS)
    return replace(config, tool_servers={"tracker": tracker})


@pytest.mark.parametrize("kind", ["openai-responses", "anthropic"])
def test_a_target_of_the_clients_own_dialect_is_asked_again(mcp: ScriptedMcp, tmp_path: Path, kind: str) -> None:
    """The model calls without a word, so that its turn is nothing but the run."""
    call = {"calls": [{"name": server_function_name("tracker", "find"), "arguments": {"what": "bridge"}}]}
    with emulator(kind, script=[call, "1312 metres."]) as one:
        target = {
            "target": f"p/{'gpt-5.6' if kind != 'anthropic' else 'claude-sonnet-4-6'}",
            "tool_servers": ["tracker"],
        }
        config = {
            "providers": {"p": provider(kind, one.base_url)},
            "models": {"m": target},
            "tool_servers": {"tracker": {"url": mcp.url}},
        }
        with gateway(config, tmp_path) as running:
            if kind == "anthropic":
                turn: Any = {"role": "user", "content": "How long is it?"}
                answer: Any = running.anthropic().messages.create(model="m", max_tokens=100, messages=[turn])
                assert answer.content[-1].text == "1312 metres."
            else:
                assert running.openai().responses.create(model="m", input="How long?").output_text == "1312 metres."
        assert "The bridge is 1312 metres long." in json.dumps(one.requests[1].body)
