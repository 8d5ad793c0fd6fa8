"""The guides are followed to the letter: their commands are run, their Python is executed."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.free_ports import free_port
from tests.gateway.serving import CLIENT, TIMEOUT, clean_environment, serving

from dragoman.testing import emulator

GUIDES = Path(__file__).resolve().parents[2] / "docs" / "guide"
PORT = "8642"


def blocks(name: str, kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", (GUIDES / name).read_text(), re.DOTALL)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("curl") is None, reason="the guide's commands use curl")
def test_the_quick_start(tmp_path: Path) -> None:
    """Word for word, but on a port that is free here."""
    start, *rest = blocks("gateway.md", "sh")
    rest.insert(2, blocks("../start/curl.md", "sh")[-1])  # the page that it names for the other dialects
    port = str(free_port())
    assert start.strip() == f"dragoman serve --port {PORT}"
    script = tmp_path / "dragoman"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -c "from dragoman.cli import main; main()" "$@"\n')
    script.chmod(0o755)
    env = clean_environment()
    env["PATH"] = f"{tmp_path}:{env['PATH']}"
    said = []
    with serving(tmp_path, "--port", port, env=env):
        for block in rest:
            text = block.replace(PORT, port)
            done = subprocess.run(
                ["bash", "-euc", text], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=TIMEOUT
            )
            assert done.returncode == 0, (text, done.stdout, done.stderr)
            said.append(done.stdout)
    chat, adapted, others, config = said
    assert chat.startswith("HTTP/1.1 200")
    for header in ("x-dragoman-request-id: req_", "x-dragoman-model: anthropic/claude-sonnet-4-6"):
        assert header in chat
    assert "x-dragoman-changes:" in chat
    assert json.loads(adapted)["changes"][0]["rule"] == "leading-assistant"
    assert '"object":"response"' in others
    assert '"type":"message"' in others
    assert '"candidates"' in others
    assert '"done":true' in others
    assert "dragoman.yaml: valid (2 providers, 2 models, 0 keys)" in config


@pytest.mark.slow
def test_the_file_of_the_guide_starts(tmp_path: Path) -> None:
    [text] = re.findall(r"<<'YAML'\n(.*?)YAML\n", (GUIDES / "gateway.md").read_text(), re.DOTALL)
    (tmp_path / "dragoman.yaml").write_text(text)
    env = clean_environment(ANTHROPIC_API_KEY="k", OPENROUTER_API_KEY="k")
    with serving(tmp_path, env=env) as served:
        listed = CLIENT.get(f"{served.url}/v1/models").json()["data"]
    assert [entry["id"] for entry in listed] == ["smart", "cheap", "auto"]


@pytest.mark.parametrize(
    ("name", "source"),
    [(name, text) for name in ("gateway.md", "sdk.md") for text in blocks(name, "python") if "8642" not in text],
)
def test_the_python_of_the_guides(name: str, source: str) -> None:
    """Blocks that ask a gateway are run beside one, in `tests/docs`."""
    space: dict[str, Any] = {}
    exec(compile(source, name, "exec"), space)
    if "changed_rules" in space:
        with emulator("anthropic") as one:
            assert "refused-setting" in space["changed_rules"](one.base_url)
