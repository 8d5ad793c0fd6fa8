"""Retries through a running gateway (A22, B13), and near misses as a client's request meets them there (K29)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.through_gateway import ask, served

NO_WAIT = {"base": 0}
BUSY = (503, b'{"error": {"message": "busy"}}')


@pytest.mark.parametrize(("retries", "sends"), [(NO_WAIT, 3), ({**NO_WAIT, "attempts": 4}, 4)])
def test_A22_B13_a_service_that_fails_is_asked_as_often_as_configured(
    tmp_path: Path, retries: dict[str, Any], sends: int
) -> None:
    with served(tmp_path, lambda seen: BUSY, retries=retries, cooldown={"failures": 20}) as (running, behind):
        answer = ask(running)
        assert answer.status_code == 503
        assert "busy" in answer.text
        assert len(behind.seen) == sends


PICTURE = "iVBORw0KGgoAAAANSUhEUg=="


def test_near_misses_reach_a_provider_that_checks_as_its_schema_has_them(tmp_path: Path) -> None:
    """K29."""
    asked = {
        "messages": [["system", "Be brief."], {"role": "user", "content": "What is this?", "images": [PICTURE]}],
        "stream": "false",
        "tools": {"look": {"description": "Look.", "parameters": {"type": "object", "properties": {}}}},
    }
    with served(tmp_path, profile="openai") as (running, behind):
        answer = ask(running, **asked)
        assert answer.status_code == 200, answer.text
        sent = behind.seen[-1].body
        assert sent["messages"][0] == {"role": "system", "content": "Be brief."}
        assert [part["type"] for part in sent["messages"][1]["content"]] == ["text", "image_url"]
        assert PICTURE in sent["messages"][1]["content"][1]["image_url"]["url"]
        assert sent["tools"][0]["function"]["name"] == "look"
        assert sent.get("stream") in (None, False)
        assert "off-schema" in answer.headers["x-dragoman-changes"]
