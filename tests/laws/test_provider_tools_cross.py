"""A conversation with tools that a provider ran in its history goes to every dialect, and nothing found is lost.

Its own vendor gets every block as it was. Every other target reads what was asked, what was found and where. What only
the vendor can read goes nowhere else.
"""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from dragoman.engine.library.adapt import adapt

TARGETS = {
    "anthropic": "anthropic/claude-opus-4-8",
    "openai-responses": "openai-responses/gpt-5.6",
    "openai-chat": "openai/gpt-4o",
    "gemini": "gemini/gemini-3-pro",
    "bedrock": "bedrock/amazon.nova-2-lite-v1:0",
    "cohere": "cohere/command-a-03-2025",
    "ollama": "ollama/llama3.1",
}
SECRET = "EqgfCioIARgBIiQwMTM3YjE1Yy0xNmJmLTQ5MGQ"
URL, TITLE, SENTENCE = "https://sky.example/blue", "Sky and light", "It scatters blue light"
USER: dict[str, Any] = {"role": "user", "content": "Why is the sky blue?"}
_PAGE = {"type": "web_search_result", "title": TITLE, "url": URL, "encrypted_content": SECRET}
_CITED = {
    "type": "web_search_result_location",
    "url": URL,
    "title": TITLE,
    "cited_text": SENTENCE,
    "encrypted_index": SECRET,
}
_CLAUDE: list[dict[str, Any]] = [
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "sky colour"}},
    {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [_PAGE]},
    {"type": "server_tool_use", "id": "srvtoolu_2", "name": "bash_code_execution", "input": {"command": "echo 17"}},
    {
        "type": "bash_code_execution_tool_result",
        "tool_use_id": "srvtoolu_2",
        "content": {
            "type": "bash_code_execution_result",
            "stdout": "seventeen",
            "stderr": "",
            "return_code": 0,
            "content": [],
        },
    },
    {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "ask", "server_name": "wiki", "input": {"about": "dusk"}},
    {
        "type": "mcp_tool_result",
        "tool_use_id": "mcptoolu_1",
        "is_error": False,
        "content": [{"type": "text", "text": "It is red then."}],
    },
    {"type": "text", "text": "Because of scattering.", "citations": [_CITED]},
]
_GPT: list[dict[str, Any]] = [
    {
        "type": "web_search_call",
        "id": "ws_1",
        "status": "completed",
        "action": {"type": "search", "query": "sky colour", "sources": [{"type": "url", "url": URL}]},
    },
    {
        "type": "code_interpreter_call",
        "id": "ci_1",
        "status": "completed",
        "code": "print(17)",
        "container_id": "cntr_1",
        "outputs": [{"type": "logs", "logs": "seventeen"}],
    },
    {
        "type": "mcp_call",
        "id": "mcp_1",
        "status": "completed",
        "server_label": "wiki",
        "name": "ask",
        "arguments": '{"about": "dusk"}',
        "output": "It is red then.",
    },
    {
        "type": "file_search_call",
        "id": "fs_1",
        "status": "completed",
        "queries": ["colours"],
        "results": [{"file_id": "file-1", "filename": "sky.txt", "text": "Blue at noon."}],
    },
]
_SEARCH = {"id": "a1", "toolType": "GOOGLE_SEARCH_WEB"}
_GEMINI: list[dict[str, Any]] = [
    {"toolCall": {**_SEARCH, "args": {"queries": ["sky colour"]}}, "thoughtSignature": SECRET},
    {"toolResponse": {**_SEARCH, "response": {"result": [{"url": URL, "title": TITLE}]}}, "thoughtSignature": SECRET},
    {"executableCode": {"language": "PYTHON", "code": "print(17)"}},
    {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "seventeen"}},
    {"text": "Because of scattering."},
]
_RUN = {"toolUseId": "tooluse_1", "name": "nova_code_interpreter", "type": "server_tool_use"}
_PRINTED = {"stdOut": "seventeen", "stdErr": "", "exitCode": 0, "isError": False}
_NOVA: list[dict[str, Any]] = [
    {"toolUse": {**_RUN, "input": {"snippet": "print(17)"}}},
    {
        "toolResult": {
            "toolUseId": "tooluse_1",
            "content": [{"json": _PRINTED}],
            "status": "success",
            "type": "nova_code_interpreter_result",
        }
    },
    {"text": "Because of scattering."},
]
REQUESTS: dict[str, tuple[dict[str, Any], list[dict[str, Any]], tuple[str, ...]]] = {
    "anthropic": (
        {"max_tokens": 100, "messages": [USER, {"role": "assistant", "content": _CLAUDE}, USER]},
        _CLAUDE,
        ("sky colour", URL, TITLE, SENTENCE, "echo 17", "seventeen", "wiki", "dusk", "It is red then."),
    ),
    "openai-responses": (
        {"input": [USER, *_GPT, {"role": "assistant", "content": "Because of scattering."}, USER]},
        _GPT,
        ("sky colour", URL, "print(17)", "seventeen", "wiki", "dusk", "It is red then.", "colours", "Blue at noon."),
    ),
    "gemini": (
        {
            "contents": [
                {"role": "user", "parts": [{"text": "Why?"}]},
                {"role": "model", "parts": _GEMINI},
                {"role": "user", "parts": [{"text": "So?"}]},
            ]
        },
        _GEMINI,
        ("sky colour", URL, TITLE, "print(17)", "seventeen"),
    ),
    "bedrock": (
        {
            "messages": [
                {"role": "user", "content": [{"text": "Why?"}]},
                {"role": "assistant", "content": _NOVA},
                {"role": "user", "content": [{"text": "So?"}]},
            ]
        },
        _NOVA,
        ("print(17)", "seventeen"),
    ),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("source", REQUESTS)
def test_what_was_found_crosses(source: Any, target: str) -> None:
    body, blocks, found = REQUESTS[source]
    done = adapt(body, source=source, target=TARGETS[target])
    sent = orjson.dumps(done.json).decode()
    if source == target:
        assert all(orjson.dumps(block).decode() in sent for block in blocks)
        assert [change for change in done.changes if change.rule == "provider-run"] == []
        return
    plain = sent.replace('\\"', '"')
    assert [word for word in found if word not in plain] == []
    assert SECRET not in sent
    assert "srvtoolu_" not in sent
    assert [change for change in done.changes if change.rule == "provider-run"] != []
