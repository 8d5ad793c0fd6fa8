"""NNP: contaminated histories."""

from __future__ import annotations

import msgspec
import pytest
from tests.acceptance.asking import OPENAI, Wire, answered, ask, called, roles, rules, says, sent

from dragoman import adapt

DONE = ask(says("user", "привет"), says("assistant", "да", done=True), says("user", "ещё"))


def test_E2_tool_calls_survive_the_allow_list() -> None:
    adapted = sent(ask(says("user", "a"), called(done=True), answered()), OPENAI)
    assert roles(adapted) == ["user", "assistant", "tool"]
    assert adapted.json["messages"][1]["tool_calls"]


MARKS: Wire = {"done": True, "__stream_end__": True, "__internal__": {"a": 1}, "stream_end": False}


@pytest.mark.parametrize(
    "target", [OPENAI, "openai-compatible/x", "openrouter/openai/gpt-4o", "anthropic/claude-sonnet-4-5"]
)
def test_E1_E3_marks_of_streams_beside_the_messages_stay_here(target: str) -> None:
    """X8. A client stored them with the request itself, or with a tool."""
    tool = {
        "type": "function",
        "function": {"name": "look", "parameters": {"type": "object", "properties": {}}, **MARKS},
    }
    adapted = sent(ask(says("user", "a"), tools=[{**tool, **MARKS}], **MARKS), target)
    assert not [name for name in MARKS if f'"{name}"' in adapted.body.decode()]
    assert {change.at for change in adapted.changes} >= {"/tools/0", *[f"/{name}" for name in MARKS]}


def test_E1_a_property_of_that_name_is_no_mark() -> None:
    schema = {"type": "object", "properties": {"done": {"type": "boolean"}}}
    tool = {"type": "function", "function": {"name": "finish", "parameters": schema}}
    asked = ask(says("user", "a"), called(name="finish", arguments='{"done": true}'), answered(), tools=[tool])
    assert rules(sent(asked, "openai-compatible/x")) == []


INCOMPLETE: list[tuple[Wire, str]] = [
    ({"content": "a"}, "off-schema"),
    ({"role": "user"}, "null-content"),
    ({"role": "user", "content": None}, "null-content"),
    ({"role": "narrator", "content": "a"}, "unknown-role"),
    ({"role": "assistant", "content": ""}, "empty-content"),
    ({"role": "assistant", "content": " "}, "empty-content"),
    ({"role": "assistant", "content": None}, "null-content"),
]


@pytest.mark.parametrize("target", ["openai-compatible-strict/x", "anthropic/claude-sonnet-4-5"])
@pytest.mark.parametrize(("message", "rule"), INCOMPLETE)
def test_E6_a_message_has_a_known_role_and_content(target: str, message: Wire, rule: str) -> None:
    """X6."""
    adapted = sent(ask(message, says("user", "b")), target)
    assert rule in rules(adapted)
    assert set(roles(adapted)) <= {"user", "assistant"}
    assert all(one["content"] not in ("", " ", None) for one in adapted.json["messages"])


def test_E6_an_empty_answer_beside_calls_is_legal() -> None:
    """X6."""
    request = ask(says("user", "a"), called(content=""), answered())
    assert sent(request, "openai-compatible-strict/x").json["messages"] == request["messages"]


def test_E7_cyrillic_is_no_error_and_empty_answers_are_repaired_if_refused() -> None:
    assert "да" in sent(DONE, OPENAI).body.decode()
    empty = ask(says("user", "a"), says("assistant", ""), says("user", "b"))
    assert "empty-content" in rules(sent(empty, "anthropic/claude-sonnet-4-5"))


@pytest.mark.parametrize("target", ["deepseek/deepseek-chat", "zai/glm-4.6", "ollama-openai/llama", "vllm/llama"])
def test_E10_what_works_today_is_untouched(target: str) -> None:
    clean = {**ask(says("user", "a"), says("assistant", "b"), says("user", "c")), "model": target.partition("/")[2]}
    assert sent(clean, target).body == msgspec.json.encode(clean)


def test_E16_num_predict_is_the_token_limit() -> None:
    asked = ask(says("user", "Hi"), num_predict=44)
    assert sent(asked, "ollama-openai/m").json["max_tokens"] == 44
    assert sent(asked, "ollama/m").json["options"] == {"num_predict": 44}
    assert sent(asked, "openai/gpt-5").json["max_completion_tokens"] == 44


@pytest.mark.parametrize("mark", ["done", "__stream_end__", "__internal__", "stream_end", "delta", "finish_reason"])
@pytest.mark.parametrize("target", ["gemini/gemini-2.5-flash", "gemini-native-compatible/m"])
def test_E1_a_turn_of_gemini_loses_the_marks_of_streams_too(target: str, mark: str) -> None:
    turns = [{"role": "user", "parts": [{"text": "a"}]}, {"role": "model", "parts": [{"text": "b"}]}]
    marked = [turns[0], {**turns[1], mark: True}, turns[0]]
    adapted = adapt({"contents": marked}, source="gemini", target=target)
    assert adapted.json["contents"] == [*turns, turns[0]]
    assert [(change.rule, change.did) for change in adapted.changes] == [("stray-field", f"took out `{mark}`")]


@pytest.mark.parametrize("target", ["gemini/gemini-2.5-flash", "gemini-native-compatible/gemini-2.5-flash"])
def test_E1_calls_and_results_of_gemini_lose_the_marks_of_streams_too(target: str) -> None:
    call, result = {"name": "f", "args": {}}, {"name": "f", "response": {"a": 1}}
    parts = [{"text": "a"}, {"functionCall": {**call, "done": True}}, {"functionResponse": {**result, "done": True}}]
    turns = [{"role": role, "parts": [part]} for role, part in zip(("user", "model", "user"), parts, strict=True)]
    adapted = adapt({"contents": turns}, source="gemini", target=target)
    assert [turn["parts"][0] for turn in adapted.json["contents"][1:]] == [
        {"functionCall": call},
        {"functionResponse": result},
    ]
    assert [change.rule for change in adapted.changes] == ["stray-field"] * 2
