"""Clients of dialects that show thinking on request are shown none unasked, and lose nothing by that."""

from __future__ import annotations

from typing import Any

import pytest
from tests.gateway.test_vault import CALL, SCHEMA, Stage, stage

__all__ = ["stage"]

QUESTION = {"role": "user", "content": "Two and two?"}
ANSWER = {"reasoning": "Easy.", "text": "Four."}
THINKERS = ("deepseek", "openai-responses", "gemini")


def ask(stage: Stage, model: str, headers: dict[str, str], **more: Any) -> list[dict[str, Any]]:
    stage.emulators[model].script(ANSWER)
    body = {"model": model, "max_tokens": 4000, "messages": [QUESTION], **more}
    answered = stage.running.post("/v1/messages", body, key="ann", **headers)
    assert answered.status_code == 200, answered.text
    blocks: list[dict[str, Any]] = answered.json()["content"]
    return blocks


@pytest.mark.parametrize("model", THINKERS)
def test_an_anthropic_client_that_did_not_ask_finds_the_text_first(stage: Stage, model: str) -> None:
    assert [(block["type"], block.get("text")) for block in ask(stage, model, {})] == [("text", "Four.")]


def test_one_that_asked_is_shown_the_thinking(stage: Stage) -> None:
    blocks = ask(stage, "deepseek", {}, thinking={"type": "enabled", "budget_tokens": 1024})
    assert [block["type"] for block in blocks] == ["thinking", "text"]
    assert blocks[0]["thinking"] == "Easy."


def test_the_header_shows_it_to_one_that_did_not_ask(stage: Stage) -> None:
    blocks = ask(stage, "deepseek", {"x-dragoman-reasoning": "show"})
    assert [block["type"] for block in blocks] == ["thinking", "text"]


def test_an_unknown_word_in_the_header_is_named(stage: Stage) -> None:
    body = {"model": "deepseek", "max_tokens": 400, "messages": [QUESTION]}
    answered = stage.running.post("/v1/messages", body, key="ann", x_dragoman_reasoning="maybe")
    assert answered.status_code == 400
    assert "asked or show" in answered.text


def test_a_gemini_client_that_did_not_ask_is_shown_no_thoughts(stage: Stage) -> None:
    stage.emulators["deepseek"].script(ANSWER, ANSWER)
    path = "/v1beta/models/deepseek:generateContent"
    contents = [{"role": "user", "parts": [{"text": "Two and two?"}]}]
    plain = stage.running.post(path, {"contents": contents}, key="ann").json()
    config = {"thinkingConfig": {"includeThoughts": True}}
    asked = stage.running.post(path, {"contents": contents, "generationConfig": config}, key="ann").json()
    assert [part.get("thought", False) for part in plain["candidates"][0]["content"]["parts"]] == [False]
    assert [part.get("thought", False) for part in asked["candidates"][0]["content"]["parts"]] == [True, False]


@pytest.mark.parametrize("model", THINKERS)
def test_what_was_not_shown_comes_back_on_the_next_turn(stage: Stage, model: str) -> None:
    tools = [{"name": "weather", "input_schema": SCHEMA}]
    stage.emulators[model].script(CALL, "It rains.")
    body = {"model": model, "max_tokens": 4000, "messages": [QUESTION], "tools": tools}
    blocks = stage.running.post("/v1/messages", body, key="ann").json()["content"]
    assert [block["type"] for block in blocks] == ["tool_use"]
    result = {"type": "tool_result", "tool_use_id": blocks[0]["id"], "content": "rain"}
    turns = [QUESTION, {"role": "assistant", "content": blocks}, {"role": "user", "content": [result]}]
    answered = stage.running.post("/v1/messages", {**body, "messages": turns}, key="ann")
    assert answered.status_code == 200
    assert "missing" not in answered.headers["x-dragoman-added"]
    stage.sent(model)
