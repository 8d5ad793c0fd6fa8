"""Histories as SDKs write them, with empty fields, signatures and thinking: their next turn takes as many steps as a
shorter one's. Steps are counted."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.counted_work import count_lines

from dragoman.engine.library.adapt import adapt
from dragoman.engine.library.policy import State
from dragoman.engine.memory.conversation_memory import ConversationMemory

WORDS = "So it goes on and on. " * 20


def chat(turns: int) -> dict[str, Any]:
    """Answers as OpenAI's SDK dumps them."""
    messages: list[dict[str, Any]] = []
    empty = {"refusal": None, "annotations": [], "audio": None, "function_call": None}
    for turn in range(turns):
        messages.append({"role": "user", "content": f"{turn}: {WORDS}"})
        messages.append({"role": "assistant", "content": f"Yes, {turn}.", **empty})
    return {"model": "m", "messages": messages[:-1]}


def gemini(turns: int) -> dict[str, Any]:
    """Calls with signatures."""
    contents: list[dict[str, Any]] = [{"role": "user", "parts": [{"text": WORDS}]}]
    for turn in range(turns):
        call = {"functionCall": {"name": "f", "args": {"turn": turn}}, "thoughtSignature": "CiQB" + "A" * 200}
        result = {"functionResponse": {"name": "f", "response": {"output": f"{turn}: {WORDS}"}}}
        contents += [{"role": "model", "parts": [call]}, {"role": "user", "parts": [result]}]
    declared = [{"functionDeclarations": [{"name": "f", "description": "Looks."}]}]
    return {"contents": contents, "tools": declared}


def responses(turns: int) -> dict[str, Any]:
    """Items with their ids, which a rule compares with all before."""
    items: list[dict[str, Any]] = []
    for turn in range(turns):
        items.append({"role": "user", "content": f"{turn}: {WORDS}"})
        words = [{"type": "output_text", "text": f"Yes, {turn}.", "annotations": []}]
        made = {"id": f"msg_{turn}", "type": "message", "role": "assistant", "status": "completed", "content": words}
        items.append(made)
    return {"model": "m", "input": items[:-1]}


CASES = {
    "chat to chat": ("openai-chat", chat, "openai/gpt-4o"),
    "chat to anthropic": ("openai-chat", chat, "anthropic/claude-sonnet-4-5"),
    "gemini to gemini": ("gemini", gemini, "gemini/gemini-2.5-flash"),
}


COMPARED = {"responses to responses": ("openai-responses", responses, "openai-responses/gpt-5.1")}


def test_ids_that_are_compared_take_a_few_steps_each() -> None:
    short, long = (_count_last("responses to responses", turns) for turns in (60, 180))
    assert long - short < 40 * 120


@pytest.mark.parametrize("name", CASES)
def test_the_next_turn_of_a_long_history_takes_no_more_steps(name: str) -> None:
    short, long = (_count_last(name, turns) for turns in (60, 180))
    assert long < short + 60, "not one step for each message"


@pytest.mark.parametrize("name", CASES)
def test_another_spelling_is_read_once(name: str) -> None:
    """A client that writes other spaces, or its keys in another order, is known again on its next turn."""
    client, write, target = CASES[name]
    state = State(memory=ConversationMemory())
    steps = []
    for turns in range(60, 66):
        spelling = {"separators": (",", ":")} if turns < 63 else {"sort_keys": True}
        body = json.dumps(write(turns), **spelling).encode()  # type: ignore[arg-type]
        steps.append(count_lines(lambda body=body: adapt(body, source=client, target=target, state=state)))  # type: ignore[misc]
    assert steps[3] > 5 * steps[2]
    assert steps[4] < steps[3] / 4
    assert steps[5] < steps[2] + 60


def _count_last(name: str, turns: int) -> int:
    """Lines that the last of four turns runs."""
    client, write, target = (CASES | COMPARED)[name]
    state = State(memory=ConversationMemory())
    bodies = [json.dumps(write(count)).encode() for count in range(turns, turns + 4)]
    for body in bodies[:-1]:
        adapt(body, source=client, target=target, state=state)  # type: ignore[arg-type]
    return count_lines(lambda: adapt(bodies[-1], source=client, target=target, state=state))  # type: ignore[arg-type]
