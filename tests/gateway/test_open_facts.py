"""Open facts through the gateway: an emulator that refuses in unknown words is met twice, then never again (K19)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.gateway.running import gateway, provider
from tests.shapes.asked_doubts import doubt_case
from tests.shapes.doubts import DoubtCase

from dragoman.emulators.emulated_api import FURTHER_WORDS as WORDS
from dragoman.testing import emulator

PATHS = {
    "openai-chat": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
    "anthropic": "/v1/messages",
    "gemini": "/v1beta/models/m:generateContent",
}
OPEN_FACTS = [
    ("openai", "openai-chat", "gpt-4o", "unknown_settings"),
    ("openai-responses", "openai-responses", "gpt-5", "empty_system"),
    ("anthropic", "anthropic", "claude-sonnet-4-5", "result_order"),
    ("gemini", "gemini", "gemini-2.5-flash", "blank_text"),
]


def asked(case: DoubtCase, dialect: str, stream: bool) -> tuple[str, dict[str, Any]]:
    path, body = PATHS[dialect], case.body
    if not stream:
        return path, body
    return (
        (f"{path.replace('generate', 'streamGenerate')}?alt=sse", body)
        if dialect == "gemini"
        else (
            path,
            {**body, "stream": True},
        )
    )


@pytest.mark.sampled(4)
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("profile", "dialect", "model", "fact"), OPEN_FACTS)
def test_the_second_attempt_succeeds_and_from_then_on_the_first(
    profile: str, dialect: str, model: str, fact: str, stream: bool, tmp_path: Path
) -> None:
    case = doubt_case(f"{profile}/{model}", dialect, fact)
    assert case is not None
    with emulator(profile, strict=False, refuses=[case.pattern]) as behind:
        settings = {
            "providers": {"p": provider(profile, behind.base_url)},
            "models": {"m": {"target": f"p/{model}"}},
            "store": {"kind": "memory"},
        }
        path, body = asked(case, dialect, stream)
        with gateway(settings, tmp_path) as running:
            answers = [running.post(path, {**body, "model": "m"} if "model" in body else body) for _ in range(2)]
            assert [answered.status_code for answered in answers] == [200, 200], answers[0].text
            assert [one.verdict for one in behind.requests] == ["refused", "accepted", "accepted"]


@pytest.mark.parametrize("stream", [False, True])
def test_what_care_does_not_cure_keeps_the_first_words(stream: bool, tmp_path: Path) -> None:
    case = doubt_case("openai/gpt-4o", "openai-chat", "unknown_settings")
    assert case is not None
    with emulator("openai", strict=False, refuses=[r"^\{"]) as behind:
        settings = {
            "providers": {"p": provider("openai", behind.base_url)},
            "models": {"m": {"target": "p/gpt-4o"}},
            "store": {"kind": "memory"},
        }
        path, body = asked(case, "openai-chat", stream)
        with gateway(settings, tmp_path) as running:
            refused = running.post(path, body)
            assert (refused.status_code, refused.json()["error"]["message"]) == (400, WORDS)
            assert [one.verdict for one in behind.requests] == ["refused", "refused"]
