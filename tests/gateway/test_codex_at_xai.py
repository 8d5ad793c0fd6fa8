"""Codex's tools at xAI, which has none of them: what comes back is what Codex declared, whole and streamed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.gateway.running import gateway, provider

from dragoman.testing import emulator

LOOK = {"type": "function", "name": "look", "parameters": {"type": "object", "properties": {}}}
TOOLS: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "a namespace": (
        {"type": "namespace", "name": "maps", "description": "Maps.", "tools": [LOOK]},
        {"name": "maps__look", "arguments": {}},
        {"type": "function_call", "name": "look", "namespace": "maps"},
    ),
    "text": (
        {"type": "custom", "name": "run"},
        {"name": "run", "arguments": {"input": "ls"}},
        {"type": "custom_tool_call", "name": "run", "input": "ls"},
    ),
    "a patch": (
        {"type": "apply_patch"},
        {"name": "apply_patch", "arguments": {"type": "delete_file", "path": "a.py"}},
        {"type": "apply_patch_call", "operation": {"type": "delete_file", "path": "a.py"}},
    ),
}


@pytest.mark.parametrize("name", TOOLS)
def test_the_call_is_the_clients(name: str, tmp_path: Path) -> None:
    tool, call, item = TOOLS[name]
    with (
        emulator("xai-responses") as xai,
        gateway({"providers": {"xai": provider("xai-responses", xai.base_url)}}, tmp_path) as it,
    ):
        xai.script(*[{"calls": [call]}] * 2)
        body = {"model": "grok-4.3", "input": "Look.", "tools": [tool]}
        whole = it.post("/v1/responses", body)
        assert whole.status_code == 200, whole.text
        (made,) = [one for one in whole.json()["output"] if one["type"].endswith("_call")]
        assert item.items() <= made.items()
        lines = it.post("/v1/responses", {**body, "stream": True}).text.splitlines()
        events = [json.loads(line[6:]) for line in lines if line.startswith("data: {")]
        done = [one["item"] for one in events if one["type"] == "response.output_item.done"]
        assert any(item.items() <= one.items() for one in done), done
        ended = next(one for one in events if one["type"] == "response.completed")
        assert any(item.items() <= one.items() for one in ended["response"]["output"])
