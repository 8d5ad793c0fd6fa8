"""A server that repeats the ids of its answers: conversations that go on by ids do not mix."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.gateway.running import Running, gateway, provider, wait_for
from tests.gateway.upstream import Upstream, upstream

PATH = "/v1/responses"
OWN = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1,
    "status": "completed",
    "model": "m",
    "output": [
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "Good.", "annotations": []}],
        }
    ],
    "usage": {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5},
}
"""What a server says to everybody."""


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[tuple[Running, Upstream]]:
    with upstream(lambda seen: (200, OWN) if seen.path.endswith("/responses") else None) as behind:
        providers = {"chat": provider("openai-compatible", behind.url)}
        providers["own"] = provider("openai-responses", behind.url)
        with gateway({"providers": providers}, tmp_path) as running:
            yield running, behind


def ask(running: Running, model: str, words: str, **more: Any) -> Any:
    answer = running.post(PATH, {"model": model, "input": words, **more})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_each_translated_answer_has_an_id_of_its_own(stage: tuple[Running, Upstream]) -> None:
    """Ollama has a thousand ids in all."""
    running, behind = stage
    anna, bert = (ask(running, "chat/m", f"I am {name}.") for name in ("Anna", "Bert"))
    assert anna["id"] != bert["id"]
    assert anna["output"][0]["id"] != bert["output"][0]["id"]
    again = ask(running, "chat/m", "Who am I?", previous_response_id=anna["id"])
    sent = str(behind.bodies()[-1])
    assert "I am Anna." in sent
    assert "Bert" not in sent
    ask(running, "chat/m", "Sure?", previous_response_id=again["id"])
    sent = str(behind.bodies()[-1])
    assert [sent.count(words) for words in ("I am Anna.", "Who am I?", "Sure?")] == [1, 1, 1]


def test_an_answer_does_not_take_the_place_of_another_with_its_id(stage: tuple[Running, Upstream]) -> None:
    running, _ = stage
    anna, bert = (ask(running, "own/m", f"I am {name}.") for name in ("Anna", "Bert"))
    assert (anna["store"], bert["store"]) == (True, False), "the second says that it is not stored"
    listed = running.get(f"{PATH}/resp_1/input_items").json()["data"]
    assert listed[0]["content"][0]["text"] == "I am Anna."
    wait_for(lambda: "given its id to another one" in running.log.getvalue())
