"""What `log.content` and the level `debug` add to the log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.gateway.running import gateway, provider

from dragoman.testing import emulator

SECRET = "sk-proj-0123456789abcdefghij0123456789"


def logged(folder: Path, stream: bool, **log: Any) -> list[dict[str, Any]]:
    with emulator("openai") as provided:
        provided.script("Good day.")
        config = {
            "providers": {"openai": provider("openai", provided.base_url)},
            "models": {"m": {"target": "openai/gpt-4o"}},
            "log": log,
        }
        said = {"role": "user", "content": f"Hello, my key is {SECRET}"}
        with gateway(config, folder) as running:
            answered = running.post("/v1/chat/completions", {"model": "m", "messages": [said], "stream": stream})
            assert answered.status_code == 200
    return [json.loads(line) for line in running.log.getvalue().splitlines()]


@pytest.mark.parametrize("stream", [False, True])
def test_content_is_logged_without_secrets(tmp_path: Path, stream: bool) -> None:
    [line] = [line for line in logged(tmp_path, stream, content=True) if line["event"] == "content"]
    assert "Hello, my key is" in line["request"]
    assert "Hello, my key is" in line["sent"]
    assert "Good day." in line["answer"] or stream
    assert line["answer"]
    assert SECRET not in json.dumps(line)


def test_content_is_not_logged_unless_asked_for(tmp_path: Path) -> None:
    lines = logged(tmp_path, False)
    assert "Hello" not in json.dumps(lines)
    assert not [line for line in lines if line["event"] in ("content", "report")]


def test_debug_adds_the_whole_report(tmp_path: Path) -> None:
    [line] = [line for line in logged(tmp_path, False, level="debug") if line["event"] == "report"]
    assert (line["level"], line["tried"], line["changes"]) == ("debug", [], [])
