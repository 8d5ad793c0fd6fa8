"""MCP servers on models of providers that have no MCP: real servers of tools, official SDKs, emulated models.

The servers are those of the protocol's own project, over streamable HTTP and as a program. Their own output shows that
the gateway asked them, and only they know what the model ends with.

At the end the model is a real one, too: llama.cpp's server with weights of noise. It cannot want to call anything, so
the client demands a call, which the server's grammar writes; and once there is a result it is told not to call again,
because its parser refuses noise where a call may stand. Its template and parser see all turns.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anthropic
import httpx
import openai
import pytest
from tests.child_processes import dies_with_us
from tests.e2e.installed import asked_for
from tests.e2e.model_server import model_server
from tests.free_ports import free_port
from tests.gateway.running import Running, gateway, provider, wait_for
from tests.gateway.upstream import Answer, Seen, upstream

from dragoman.emulators.provider import ModelCall, ModelTurn, ReceivedRequest
from dragoman.testing import emulator

pytestmark = asked_for
MODELS = {
    "openai": "gpt-4o",
    "bedrock": "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "gemini": "gemini-2.5-flash",
    "mistral": "mistral-large-latest",
    "deepseek": "deepseek-v4-flash",
}
FACT = "the lamp is in the cellar"
_FUNCTION = re.compile(r'"name": ?"([A-Za-z0-9_.:-]*(?:get-sum|get_sum|read_text_file))"')
_SUM = re.compile(r"The sum of 1300 and 12 is 1312")


@dataclass
class Everything:
    """The server with everything, and what it writes."""

    url: str
    lines: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def everything(npm: Path) -> Iterator[Everything]:
    port = free_port()
    program = npm / "node_modules/@modelcontextprotocol/server-everything/dist/index.js"
    process = subprocess.Popen(
        ["node", str(program), "streamableHttp"],
        env={"PATH": os.environ["PATH"], "PORT": str(port)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=dies_with_us(),
    )
    made = Everything(f"http://127.0.0.1:{port}/mcp")
    assert process.stdout is not None
    threading.Thread(target=lambda: made.lines.extend(process.stdout or ()), daemon=True).start()
    wait_for(lambda: any("listening" in line for line in made.lines))
    yield made
    process.terminate()
    process.wait()


def answer(request: ReceivedRequest) -> ModelTurn:
    """A model that calls the tool that the question is about, and ends with what it was given."""
    body = json.dumps(request.body, ensure_ascii=False)
    if found := _SUM.search(body):
        return ModelTurn(f"I was told: {found[0]}.")
    if FACT in body:
        return ModelTurn(f"It is written that {FACT}.")
    name = _FUNCTION.search(body)
    if name is None:
        return ModelTurn("I have no tool.")
    if "sum" in name[1]:
        return ModelTurn(None, None, (ModelCall(name[1], {"a": 1300, "b": 12}),))
    path = re.search(r"read (/[^ \"\\]+/fact.txt)", body)
    assert path is not None
    return ModelTurn(None, None, (ModelCall(name[1], {"path": path[1]}),))


@pytest.fixture(scope="module")
def running(everything: Everything, npm: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("rounds")
    (folder / "fact.txt").write_text(FACT)
    files = npm / "node_modules/@modelcontextprotocol/server-filesystem/dist/index.js"
    with ExitStack() as stack:
        emulated = {name: stack.enter_context(emulator(name)) for name in MODELS}
        for one in emulated.values():
            one.script(*[answer] * 100)
        models: dict[str, Any] = {name: {"target": f"{name}/{model}"} for name, model in MODELS.items()}
        models |= {f"{name}-files": {**entry, "tool_servers": ["files"]} for name, entry in models.items()}
        config = {
            "providers": {name: provider(name, one.base_url) for name, one in emulated.items()},
            "models": models,
            "tool_servers": {"files": {"command": ["node", str(files), str(folder)], "read_only": True}},
            "tools": {"allow": [everything.url]},
        }
        yield stack.enter_context(gateway(config, folder))


def asked(everything: Everything) -> int:
    """How often the server says that it was sent a message."""
    return len([line for line in everything.lines if "POST" in line])


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("model", MODELS)
def test_openai_s_sdk_names_a_server(running: Running, everything: Everything, model: str, stream: bool) -> None:
    client = openai.OpenAI(base_url=f"{running.url}/v1", api_key="unused", max_retries=0)
    before = asked(everything)
    tool: Any = {"type": "mcp", "server_label": "every", "server_url": everything.url, "require_approval": "never"}
    request: dict[str, Any] = {"model": model, "input": "What is 1300 + 12?", "tools": [tool]}
    if stream:
        with client.responses.stream(**request) as events:
            answered = events.get_final_response()
    else:
        answered = client.responses.create(**request)
    assert answered.output_text == "I was told: The sum of 1300 and 12 is 1312."
    calls = [item for item in answered.output if item.type == "mcp_call"]
    assert [(call.server_label, call.name, json.loads(call.arguments)) for call in calls] == [
        ("every", "get-sum", {"a": 1300, "b": 12})
    ]
    assert "1312" in (calls[0].output or "")
    wait_for(lambda: asked(everything) > before)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("model", MODELS)
def test_anthropic_s_sdk_names_a_server(running: Running, everything: Everything, model: str, stream: bool) -> None:
    client = anthropic.Anthropic(base_url=running.url, api_key="unused", max_retries=0)
    before = asked(everything)
    request: dict[str, Any] = {
        "model": model,
        "max_tokens": 500,
        "messages": [{"role": "user", "content": "What is 1300 + 12?"}],
        "mcp_servers": [{"type": "url", "name": "every", "url": everything.url}],
        "tools": [{"type": "mcp_toolset", "mcp_server_name": "every"}],
        "betas": ["mcp-client-2025-11-20"],
    }
    if stream:
        with client.beta.messages.stream(**request) as events:
            answered = events.get_final_message()
    else:
        answered = client.beta.messages.create(**request)
    kinds = [block.type for block in answered.content]
    assert kinds[-1] == "text"
    assert answered.content[-1].text == "I was told: The sum of 1300 and 12 is 1312."  # type: ignore[union-attr]
    used = [block for block in answered.content if block.type == "mcp_tool_use"]
    assert [(block.server_name, block.name, block.input) for block in used] == [
        ("every", "get-sum", {"a": 1300, "b": 12})
    ]
    assert "mcp_tool_result" in kinds
    wait_for(lambda: asked(everything) > before)


@pytest.mark.parametrize("model", MODELS)
def test_a_configured_program_is_offered_to_every_request(running: Running, model: str) -> None:
    """The client names no tool, and speaks a dialect that has no form for what the gateway runs."""
    client = openai.OpenAI(base_url=f"{running.url}/v1", api_key="unused", max_retries=0)
    question = f"read {running.file.parent}/fact.txt and tell me"
    answered = client.chat.completions.create(model=f"{model}-files", messages=[{"role": "user", "content": question}])
    assert answered.choices[0].message.content == f"It is written that {FACT}."
    assert answered.choices[0].finish_reason == "stop"


ENDING = {"tool_choice": "none", "max_tokens": 40, "temperature": 1, "seed": 1}


@dataclass
class NoisyHouse:
    """A gateway before llama.cpp's server, and what it sent there."""

    running: Running
    seen: list[Seen]


@pytest.fixture(scope="module")
def noisy(everything: Everything, tmp_path_factory: pytest.TempPathFactory) -> Iterator[NoisyHouse]:
    folder = tmp_path_factory.mktemp("noisy")
    with model_server(folder, "kimi") as url:

        def forward(seen: Seen) -> Answer:
            has_result = seen.body["messages"][-1]["role"] == "tool"
            body = {**seen.body, **ENDING} if has_result else seen.body
            answered = httpx.post(f"{url}/v1/chat/completions", json=body, timeout=60)
            streams = answered.headers["content-type"].startswith("text/event-stream")
            return answered.status_code, (answered.content,) if streams else answered.json()

        with upstream(forward) as relay:
            patient = {"timeouts": {"connect": 5, "first_byte": 60, "idle": 60, "total": 120}}
            config = {
                "providers": {"local": provider("llamacpp", relay.url, **patient)},
                "models": {"noise": {"target": "local/noise"}},
                "tools": {"allow": [everything.url]},
            }
            with gateway(config, folder) as running:
                yield NoisyHouse(running, relay.seen)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_a_real_model_server_calls_a_real_server_of_tools(
    noisy: NoisyHouse, everything: Everything, stream: bool
) -> None:
    client = openai.OpenAI(base_url=f"{noisy.running.url}/v1", api_key="unused", max_retries=0)
    tool: Any = {"type": "mcp", "server_label": "every", "server_url": everything.url, "require_approval": "never"}
    tool |= {"allowed_tools": ["get-annotated-message"]}
    request: dict[str, Any] = {"model": "noise", "input": "Look.", "tools": [tool], "tool_choice": "required"}
    request |= {"temperature": 0, "max_output_tokens": 400, "store": False}
    before, first = asked(everything), len(noisy.seen)
    if stream:
        with client.responses.stream(**request) as events:
            ends = [event for event in events if event.type in ("response.completed", "response.incomplete")]
        answered = ends[0].response
    else:
        answered = client.responses.create(**request)
    (call,) = [item for item in answered.output if item.type == "mcp_call"]
    assert call.name == "get-annotated-message"
    assert json.loads(call.arguments)["messageType"] in ("error", "success", "debug")
    assert call.output
    wait_for(lambda: asked(everything) > before)
    asking, telling = [one.body for one in noisy.seen[first:]]
    assert asking["tool_choice"] == "required"
    assert telling["messages"][-1]["role"] == "tool"
    assert call.output in json.dumps(telling["messages"][-1]["content"], ensure_ascii=False)
    assert answered.output[-1].type == "message"
    assert answered.usage is not None
    assert answered.usage.output_tokens > 40, "of both rounds"


def test_the_next_turn_shows_the_real_model_server_its_call(noisy: NoisyHouse, everything: Everything) -> None:
    client = anthropic.Anthropic(base_url=noisy.running.url, api_key="unused", max_retries=0)
    tools: Any = [{"type": "mcp_toolset", "mcp_server_name": "every", "default_config": {"enabled": False}}]
    tools[0]["configs"] = {"get-annotated-message": {"enabled": True}}
    shared: dict[str, Any] = {
        "model": "noise",
        "max_tokens": 400,
        "extra_body": {"temperature": 0},
        "mcp_servers": [{"type": "url", "name": "every", "url": everything.url}],
        "tools": tools,
        "tool_choice": {"type": "any"},
        "betas": ["mcp-client-2025-11-20"],
    }
    turns: list[Any] = [{"role": "user", "content": "Look."}]
    answered = client.beta.messages.create(messages=turns, **shared)
    assert {"mcp_tool_use", "mcp_tool_result"} <= {block.type for block in answered.content}
    turns += [{"role": "assistant", "content": answered.to_dict()["content"]}, {"role": "user", "content": "Again."}]
    before = len(noisy.seen)
    client.beta.messages.create(messages=turns, **shared)
    asking = noisy.seen[before].body  # the model is noise: it may call again, or not
    roles = [one["role"] for one in asking["messages"]]
    assert roles[:3] == ["user", "assistant", "tool"]
    assert asking["messages"][1]["tool_calls"][0]["function"]["name"].endswith("get-annotated-message")
    assert roles[-1] == "user"
