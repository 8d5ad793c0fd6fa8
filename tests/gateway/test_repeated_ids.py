"""A server that repeats the ids of its answers: conversations that go on by ids do not mix."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.gateway.running import Running, gateway, provider, wait_for
from tests.gateway.upstream import GOOD, Seen, Upstream, upstream

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


def _thinks(seen: Seen) -> Any:
    """A server that counts the calls of each turn: the first one is always `go_0`."""
    said = str(seen.body["messages"])
    who, turn = ("Anna" if "I am Anna" in said else "Bert"), said.count("'tool_call_id'")
    thought = {"role": "assistant", "reasoning_content": f"{who} {turn}"}
    call = {"id": "go_0", "type": "function", "function": {"name": "go", "arguments": f'{{"to": "{who}{turn}"}}'}}
    message = {**thought, "content": None, "tool_calls": [call]} if turn < 2 else {**thought, "content": "Done."}
    return 200, {**GOOD, "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}


TOOL = {"name": "go", "input_schema": {"type": "object", "properties": {"to": {"type": "string"}}}}


def test_thinking_is_put_back_where_it_was_though_ids_repeat(tmp_path: Path) -> None:
    """Kimi's calls have such ids, and Kimi wants its thinking back. Two conversations of one caller go on in turns."""
    with upstream(_thinks) as behind:
        providers = {"own": provider("deepseek", behind.url)}
        with gateway({"providers": providers}, tmp_path) as running:
            talks: list[list[Any]] = [[{"role": "user", "content": f"I am {name}."}] for name in ("Anna", "Bert")]
            for _ in range(3):
                for messages in talks:
                    asked = {"model": "own/m", "max_tokens": 4096, "tools": [TOOL], "messages": messages}
                    told = running.post("/v1/messages", asked).json()["content"]
                    calls = [block for block in told if block["type"] == "tool_use"]
                    messages.append({"role": "assistant", "content": [b for b in told if b["type"] != "thinking"]})
                    results = [{"type": "tool_result", "tool_use_id": call["id"], "content": "ok"} for call in calls]
                    messages.append({"role": "user", "content": results})
    for who, body in zip(("Anna", "Bert"), behind.bodies()[-2:], strict=True):
        thoughts = [one.get("reasoning_content") for one in body["messages"] if one["role"] == "assistant"]
        assert thoughts == [f"{who} 0", f"{who} 1"]
