"""`refused-reasoning`: thinking that the target does not take back, or not in that field."""

from __future__ import annotations

from typing import Any

import pytest
from tests.rules.runs import facts, leaves_alone, run, sent

from dragoman.rules.reason.refused_reasoning import refused_reasoning

REFUSES = facts(reasoning_text="refuses")
SAID = "user: Hi\n~ Hm\nassistant: Hello\nuser: More"


def test_it_is_left_out() -> None:
    done = run(refused_reasoning, SAID, REFUSES)
    assert done.script == "user: Hi\nassistant: Hello\nuser: More"
    assert done.conversation.messages[0] is done.ask.conversation.messages[0]
    assert run(refused_reasoning, SAID, REFUSES, choice="drop").script == done.script


def test_the_report_points_at_the_field_that_held_it() -> None:
    done = run(refused_reasoning, chat("reasoning"), REFUSES)
    assert done.json["messages"] == [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    assert done.changes == [("/messages/1/reasoning", "metadata", False)]


def test_a_turn_of_nothing_else_goes_with_it() -> None:
    assert run(refused_reasoning, "user: Hi\n~ Hm\nuser: More", REFUSES).script == "user: Hi\nuser: More"


def test_the_choice_text_keeps_it_as_tagged_words() -> None:
    done = run(refused_reasoning, SAID, REFUSES, choice="text")
    assert done.script == "user: Hi\nassistant: <thinking>Hm</thinking>\n+ Hello\nuser: More"
    assert [(loses, adds) for _, loses, adds in done.changes] == [("metadata", False)]
    assert run(refused_reasoning, "~ \\u0020\nassistant: Hello", REFUSES, choice="text").script == "assistant: Hello"


CALLS = {"tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}


def chat(field: str, **more: Any) -> dict[str, Any]:
    said = {"role": "assistant", "content": "Hello", **more, field: "Hm"}
    return {"messages": [{"role": "user", "content": "Hi"}, said]}


@pytest.mark.parametrize(
    ("why", "more"), [({"odd_reasoning_field": "refuses"}, {}), ({"reasoning_required": "tool-turns"}, CALLS)]
)
def test_it_moves_to_the_field_that_the_target_reads(why: dict[str, str], more: dict[str, Any]) -> None:
    known = facts(reasoning_text="accepts", reasoning_field="reasoning_content", odd_reasoning_field="accepts")
    moving = facts(
        **{"reasoning_text": "accepts", "reasoning_field": "reasoning_content", "odd_reasoning_field": "accepts", **why}
    )
    done = run(refused_reasoning, chat("reasoning", **more), moving)
    assert done.json["messages"] == chat("reasoning_content", **more)["messages"]
    assert done.changes == [("/messages/1/reasoning", "nothing", False)]
    assert done.did == ["moved thinking to `reasoning_content`"]
    assert run(refused_reasoning, chat("reasoning"), known).untouched


def test_a_summary_of_thinking_reaches_the_field_that_the_target_reads() -> None:
    thought = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm"}]}
    items = [{"role": "user", "content": "Hi"}, thought, {"role": "assistant", "content": "Hello"}]
    done = sent({"input": items}, "deepseek/deepseek-reasoner", source="openai-responses")
    assert done.json["messages"][1] == {"role": "assistant", "content": "Hello", "reasoning_content": "Hm"}
    assert done.changes == []


def test_thinking_of_another_dialect_gets_a_field_without_a_word() -> None:
    done = run(refused_reasoning, SAID, facts(reasoning_text="accepts", reasoning_field="reasoning_content"))
    assert done.conversation.messages[1].parts[0].field == "reasoning_content"  # type: ignore[attr-defined]
    assert done.changes == []


PROOF = '{"is":"Opaque","kind":"k","json":1,"origin":{"is":"Origin","dialect":"openai-chat"}}'
STATE = f'[part {{"is":"Reasoning","text":{{"is":"Text","literal":"Hm"}},"state":{PROOF}}}]'
UNTOUCHED = {
    "no thinking": ("user: Hi\nassistant: Hello", REFUSES),
    "thinking with a proof": (f"assistant: {STATE}\n+ Hello", REFUSES),
    "a target that takes it anywhere": (SAID, facts(reasoning_text="accepts")),
}


test_untouched = leaves_alone(refused_reasoning, UNTOUCHED)


def test_the_right_field_is_left_alone() -> None:
    known = facts(reasoning_text="accepts", reasoning_field="reasoning", odd_reasoning_field="refuses")
    assert run(refused_reasoning, chat("reasoning"), known).untouched


def test_adapt_for_real_providers() -> None:
    dropped = sent({**chat("reasoning_content"), "max_tokens": 9}, "anthropic/claude-sonnet-4-5", source="openai-chat")
    assert dropped.json["messages"][1] == {"role": "assistant", "content": "Hello"}
    assert dropped.changes == [("refused-reasoning", "/messages/1/reasoning_content", "metadata", False)]
    moved = sent(chat("reasoning_content"), "groq/qwen/qwen3-32b")
    assert moved.json["messages"] == chat("reasoning")["messages"]
    assert moved.changes == [("refused-reasoning", "/messages/1/reasoning_content", "nothing", False)]
    assert sent(chat("reasoning"), "deepseek/deepseek-reasoner").changes == []


@pytest.mark.parametrize("target", ["ollama/qwen3:8b", "deepseek/deepseek-reasoner"])
def test_a_thought_without_words_or_proof_is_left_out_of_a_translation(target: str) -> None:
    thought = {"type": "reasoning", "id": "rs_1", "summary": []}
    items = [{"role": "user", "content": "Hi"}, thought, {"role": "assistant", "content": "Hello"}]
    done = sent({"input": [*items, {"role": "user", "content": "More"}]}, target, source="openai-responses")
    said = [(message["role"], message["content"]) for message in done.json["messages"]]
    assert said == [("user", "Hi"), ("assistant", "Hello"), ("user", "More")]
    assert ("refused-reasoning", "/input/1", "metadata", False) in done.changes


WORDS = [{"type": "reasoning_text", "text": "Hm"}, {"type": "reasoning_text", "text": "So."}]
SUMMED = [{"type": "summary_text", "text": "Short."}]
SEALED = "gAAAAAB" + "a" * 91


@pytest.mark.parametrize(
    ("given", "made", "loses"),
    [
        ({"status": "completed"}, {"summary": []}, "metadata"),
        ({"content": WORDS[:1]}, {"summary": [{"type": "summary_text", "text": "Hm"}]}, "nothing"),
        ({"content": WORDS}, {"summary": [{"type": "summary_text", "text": "Hm\n\nSo."}]}, "nothing"),
        ({"content": WORDS, "summary": SUMMED}, {"summary": SUMMED}, "metadata"),
    ],
)
@pytest.mark.parametrize("target", ["openai-responses/gpt-5.6", "azure-openai-responses/gpt-5"])
def test_fields_of_thoughts_that_openai_refuses(
    given: dict[str, Any], made: dict[str, Any], loses: str, target: str
) -> None:
    thought = {"type": "reasoning", "summary": [], "encrypted_content": SEALED}
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hello"}]}
    done = sent({"input": [{"role": "user", "content": "Hi"}, {**thought, **given}, said]}, target)
    assert done.json["input"][1] == {**thought, **made}
    assert done.changes == [("refused-reasoning", "/input/1", loses, False)]
    untouched = sent({"input": [{"role": "user", "content": "Hi"}, thought, said]}, target)
    assert (untouched.changes, untouched.json["input"][1]) == ([], thought)
