"""Agent loops on models that think: whatever the client returns of the thinking, the model gets back what it needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import pytest
from tests.gateway.test_vault import AGENTS, MODELS, Agent, Chat, Gemini, Messages, Responses, Stage, stage

__all__ = ["stage"]

TURNS = 5
THINKERS = ("gemini", "anthropic", "openai-responses", "deepseek", "openrouter", "groq")
HOW = ("all", "visible", "nothing")
"""What the client returns of the thinking: everything, its words without proofs, or nothing at all."""
SCRAPS = "scraps"
"""OpenAI's stream helper for JavaScript keeps the last piece of a field that it does not know."""


class ReturningChat(Chat):
    more: ClassVar[dict[str, Any]] = {"reasoning_effort": "high"}


class ReturningGemini(Gemini):
    def body(self, model: str) -> Any:
        thinking = {"includeThoughts": True, "thinkingBudget": 2048}
        return {**super().body(model), "generationConfig": {"thinkingConfig": thinking, "maxOutputTokens": 8000}}


def chat_turn(answer: Any, how: str) -> Any:
    message = dict(answer["choices"][0]["message"])
    if how == "nothing":
        return {key: value for key, value in message.items() if "reasoning" not in key}
    if how == SCRAPS:
        return {key: _last_piece(key, value) for key, value in message.items()}
    return message if how == "all" else {key: value for key, value in message.items() if key != "reasoning_details"}


def _last_piece(key: str, value: Any) -> Any:
    if key == "reasoning_details":
        return [{name: given for name, given in entry.items() if name != "text"} for entry in value[-1:]]
    return value[-3:] if value and key in ("reasoning", "reasoning_content") else value


def anthropic_turn(answer: Any, how: str) -> Any:
    blocks = answer["content"]
    if how == "visible":
        blocks = [{**block, "signature": ""} if block["type"] == "thinking" else block for block in blocks]
        blocks = [block for block in blocks if block.get("thinking") != ""]
    elif how == "nothing":
        blocks = [block for block in blocks if "thinking" not in block["type"]]
    return {"role": "assistant", "content": blocks}


def responses_turn(answer: Any, how: str) -> Any:
    items = answer["output"]
    if how == "visible":
        items = [{key: value for key, value in item.items() if key != "encrypted_content"} for item in items]
        items = [item for item in items if item["type"] != "reasoning" or item["summary"]]
    elif how == "nothing":
        items = [item for item in items if item["type"] != "reasoning"]
    return items


def gemini_turn(answer: Any, how: str) -> Any:
    content = answer["candidates"][0]["content"]
    if how == "all":
        return content
    parts = [{key: value for key, value in part.items() if key != "thoughtSignature"} for part in content["parts"]]
    return {**content, "parts": [part for part in parts if how == "visible" or not part.get("thought")]}


RETURNED: dict[type[Agent], Callable[[Any, str], Any]] = {
    Chat: chat_turn,
    Messages: anthropic_turn,
    Responses: responses_turn,
    Gemini: gemini_turn,
}
ASKING: dict[type[Agent], type[Agent]] = {Chat: ReturningChat, Gemini: ReturningGemini}


def thinks_on_gemini(body: Any) -> Iterator[bool]:
    for turn in body["contents"]:
        calls = [part for part in turn["parts"] if "functionCall" in part]
        if calls:
            yield bool(calls[0].get("thoughtSignature")) and "skip" not in calls[0]["thoughtSignature"]


def thinks_on_anthropic(body: Any) -> Iterator[bool]:
    yield body["thinking"]["type"] in ("enabled", "adaptive")
    for turn in body["messages"]:
        kinds = [block["type"] for block in turn["content"]] if isinstance(turn["content"], list) else []
        if "tool_use" in kinds:
            yield kinds[0] == "thinking"


def thinks_on_responses(body: Any) -> Iterator[bool]:
    before: dict[str, Any] = {}
    for item in body["input"]:
        if item.get("type") == "function_call":
            yield before.get("type") == "reasoning" and bool(before.get("encrypted_content"))
        before = item


def thinks_on_deepseek(body: Any) -> Iterator[bool]:
    for message in body["messages"]:
        if message.get("tool_calls"):
            yield bool(message.get("reasoning_content"))


def thinks_on_openrouter(body: Any) -> Iterator[bool]:
    for message in body["messages"]:
        if message.get("tool_calls"):
            details = message.get("reasoning_details") or ()
            yield [bool(entry.get("signature")) and entry["text"].startswith("Thought ") for entry in details] == [True]


def thinks_on_groq(body: Any) -> Iterator[bool]:
    for message in body["messages"]:
        if message.get("tool_calls"):
            yield (message.get("reasoning") or "").startswith("Thought ")


THINKS = {
    "gemini": thinks_on_gemini,
    "anthropic": thinks_on_anthropic,
    "openai-responses": thinks_on_responses,
    "deepseek": thinks_on_deepseek,
    "openrouter": thinks_on_openrouter,
    "groq": thinks_on_groq,
}


OWN = {Messages: "anthropic", Responses: "openai-responses", Gemini: "gemini"}
CASES = [
    (client, model, how)
    for client in AGENTS
    for model in THINKERS
    for how in HOW
    if how == "all" or OWN.get(client) != model
] + [(Chat, model, SCRAPS) for model in THINKERS]
"""A client that throws away the state of its own dialect gets from its own provider what it would get without us."""


@pytest.mark.sampled(8)
@pytest.mark.parametrize(("client", "model", "how"), CASES)
def test_thinking_stays_on_and_proven_through_a_loop(stage: Stage, client: type[Agent], model: str, how: str) -> None:
    """K22."""
    agent = ASKING.get(client, client)(stage)
    turn = RETURNED[client]
    for number in range(TURNS):
        identity = f"call_{client.__name__}{model}{how}{number}"
        call = {"name": "weather", "arguments": {"city": f"City {number}"}, "id": identity}
        stage.emulators[model].script({"reasoning": f"Thought {number}.", "calls": [call]}, f"It rains {number}.")
        agent.turns.append(agent.said(f"Is it raining in city {number}?"))
        agent.turns.append(turn(agent.send(model), how))
        agent.turns += agent.results()
        agent.turns.append(turn(agent.send(model), how))
    body = stage.sent(model)
    found = list(THINKS[model](body))
    assert len(found) >= TURNS
    assert all(found), (MODELS[model], body)
