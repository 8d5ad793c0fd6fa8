"""Ids, calls and words that are those of others too: conversations do not mix, nor the thinking in one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.gateway.running import Running, gateway, provider, wait_for
from tests.gateway.upstream import GOOD, Seen, Upstream, upstream

from dragoman.conversation.literals import quote
from dragoman.conversation.messages import Message, Role
from dragoman.conversation.parts import CacheHint, Result, Text
from dragoman.engine.answer.reasoning_capture import turn_key

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
    """A server that counts the calls of each turn: the first one is always `go_0`. Everybody is told to go there."""
    said = str(seen.body["messages"])
    who, turn = ("Anna" if "I am Anna" in said else "Bert"), said.count("'tool_call_id'")
    thought = {"role": "assistant", "reasoning_content": f"{who} {turn}"}
    call = {"id": "go_0", "type": "function", "function": {"name": "go", "arguments": '{"to": "there"}'}}
    message = {**thought, "content": None, "tool_calls": [call]} if turn < 2 else {**thought, "content": "Done."}
    return 200, {**GOOD, "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}


TOOL = {"name": "go", "input_schema": {"type": "object", "properties": {"to": {"type": "string"}}}}
CLAUDE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "stop_sequence": None,
    "usage": {"input_tokens": 3, "output_tokens": 2},
}
MARK = {"cache_control": {"type": "ephemeral"}}


def test_thinking_is_put_back_where_it_was_though_ids_repeat(tmp_path: Path) -> None:
    """Kimi's calls have such ids, and Kimi wants its thinking back. Two conversations of one caller go on in turns, and
    the client marks its last turn for the cache."""
    with upstream(_thinks) as behind:
        providers = {"own": provider("deepseek", behind.url)}
        with gateway({"providers": providers}, tmp_path) as running:
            talks: list[list[Any]] = [[{"role": "user", "content": f"I am {name}."}] for name in ("Anna", "Bert")]
            for turn in range(3):
                for messages in talks:
                    *before, last = messages
                    marked = (
                        last if turn == 0 else {**last, "content": [*last["content"][:-1], last["content"][-1] | MARK]}
                    )
                    asked = {"model": "own/m", "max_tokens": 4096, "tools": [TOOL], "messages": [*before, marked]}
                    told = running.post("/v1/messages", asked).json()["content"]
                    calls = [block for block in told if block["type"] == "tool_use"]
                    messages.append({"role": "assistant", "content": [b for b in told if b["type"] != "thinking"]})
                    results = [
                        {"type": "tool_result", "tool_use_id": call["id"], "content": f"{turn}"} for call in calls
                    ]
                    messages.append({"role": "user", "content": results or [{"type": "text", "text": "Sure?"}]})
    for who, body in zip(("Anna", "Bert"), behind.bodies()[-2:], strict=True):
        thoughts = [one.get("reasoning_content") for one in body["messages"] if one["role"] == "assistant"]
        assert thoughts == [f"{who} 0", f"{who} 1"]


LONG = "word " * 1000


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (LONG, LONG, True),
        (LONG, "W" + LONG[1:], False),
        (LONG, LONG[:-1] + "!", False),
        (LONG, LONG + LONG, False),
        ("Hi", "Ho", False),
        ("Hi", "Hi", True),
    ],
)
@pytest.mark.parametrize("inside", [False, True])
def test_turns_are_told_apart_whatever_is_marked_for_the_cache(one: str, other: str, same: bool, inside: bool) -> None:
    def key(words: str, marked: bool) -> str:
        text = Text(literal=quote(words), hint=CacheHint() if marked else None)
        return turn_key(Message(Role.TOOL, (Result("a", (text,)) if inside else text,)))

    assert (key(one, True) == key(other, False)) is same


def _says_done(seen: Seen) -> Any:
    """Claude, which thinks about what Anna says alone."""
    thought = {"type": "thinking", "thinking": "Anna.", "signature": "c2lnbmF0dXJlAAAAAAAAAAA="}
    blocks = [*([thought] if "Anna" in str(seen.body) else []), {"type": "text", "text": "Done."}]
    return 200, {**CLAUDE, "content": blocks, "stop_reason": "end_turn"}


def test_few_words_get_no_thinking_of_another_conversation(tmp_path: Path) -> None:
    """Claude refuses thinking that is bound to another conversation."""
    with upstream(_says_done) as behind:
        providers = {"claude": provider("anthropic", behind.url)}
        with gateway({"providers": providers}, tmp_path) as running:
            for name in ("Anna", "Bert"):
                messages = [{"role": "user", "content": f"I am {name}."}]
                for _ in range(2):
                    asked = {"model": "claude/claude-opus-4-6", "messages": messages, "reasoning_effort": "high"}
                    told = running.post("/v1/chat/completions", asked).json()["choices"][0]["message"]
                    messages += [
                        {"role": "assistant", "content": told["content"]},
                        {"role": "user", "content": "Sure?"},
                    ]
    anna, bert = (behind.bodies()[at]["messages"][1]["content"] for at in (1, 3))
    assert [block["type"] for block in anna] == ["thinking", "text"]
    assert bert == "Done." or [block["type"] for block in bert] == ["text"]


def _repeats(seen: Seen) -> Any:
    """Claude, which makes the same call twice, and thinks before each."""
    blocks: list[Any] = []
    for at in range(2):
        blocks.append({"type": "thinking", "thinking": f"Again {at}?", "signature": f"c2lnbmF0dXJl{at}AAAAAAAAAAA="})
        blocks.append({"type": "tool_use", "id": f"toolu_01{at}", "name": "go", "input": {"to": "there"}})
    return 200, {**CLAUDE, "content": blocks, "stop_reason": "tool_use"}


def test_thinking_is_put_back_once_before_calls_that_nothing_tells_apart(tmp_path: Path) -> None:
    """Ollama's calls have no ids. Claude refuses thinking that it did not think in that turn."""
    tool = {"type": "function", "function": {"name": "go", "parameters": TOOL["input_schema"]}}
    with upstream(_repeats) as behind:
        providers = {"claude": provider("anthropic", behind.url)}
        with gateway({"providers": providers}, tmp_path) as running:
            messages: list[Any] = [{"role": "user", "content": "Go there, twice."}]
            for _ in range(2):
                asked = {"model": "claude/claude-opus-4-6", "messages": messages, "tools": [tool], "think": True}
                told = running.post("/api/chat", {**asked, "stream": False}).json()["message"]
                assert [call["function"]["arguments"] for call in told["tool_calls"]] == [{"to": "there"}] * 2
                told["tool_calls"] = [{"function": call["function"]} for call in told["tool_calls"]]
                messages += [told, *[{"role": "tool", "tool_name": "go", "content": "ok"}] * 2]
    sent = behind.bodies()[-1]["messages"][1]["content"]
    assert [block["thinking"] for block in sent if block["type"] == "thinking"] == ["Again 0?", "Again 1?"]
