"""MCP servers on models of providers that have no MCP: real servers of tools, official SDKs, emulated models.

The servers are those of the protocol's own project, over streamable HTTP and as a program. Their own output shows that
the gateway asked them, and only they know what the model ends with.
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
import openai
import pytest
from tests.child_processes import dies_with_us
from tests.e2e.installed import asked_for
from tests.free_ports import free_port
from tests.gateway.running import Running, gateway, provider, wait_for

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
