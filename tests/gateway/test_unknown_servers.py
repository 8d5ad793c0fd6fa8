"""Servers of which nobody has said what they take: the awkward conversations still arrive, by what refusals teach."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from tests.gateway.running import gateway, provider

from dragoman.cli.demo_conversations import DEMO_CONVERSATIONS
from dragoman.testing import emulator

STRICT = {
    "openai": "gpt-4o",
    "mistral": "mistral-large-latest",
    "deepseek": "deepseek-v4-flash",
    "groq": "llama-3.3-70b-versatile",
}


@pytest.mark.parametrize("name", STRICT)
def test_every_demonstration_arrives_at_a_strict_server_that_nobody_knows(name: str, tmp_path: Path) -> None:
    with emulator(name) as server:
        config = {
            "providers": {"stranger": provider("openai-compatible", server.base_url)},
            "models": {"odd": {"target": f"stranger/{STRICT[name]}"}},
        }
        with gateway(config, tmp_path) as running:
            for one in DEMO_CONVERSATIONS:
                path, body = one.request("odd")
                answer = httpx.post(
                    running.url + path, content=body, headers={"content-type": "application/json"}, timeout=60
                )
                assert answer.status_code == 200, (one.reason, answer.text)
