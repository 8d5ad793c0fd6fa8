"""`refused-prefill`: the mark on a last assistant turn that is to be continued."""

from __future__ import annotations

from typing import Any

import pytest
from tests.rules.runs import CHAT, facts, leaves_alone, run, sent

from dragoman.rules.clean.refused_prefill import refused_prefill

HI: dict[str, Any] = {"role": "user", "content": "Hi"}
BEGUN: dict[str, Any] = {"role": "assistant", "content": "Once"}
MARKED: dict[str, Any] = {**BEGUN, "prefix": True}
REFUSES = facts(prefill_mark="refuses")


def test_the_mark_goes_and_the_words_stay() -> None:
    done = run(refused_prefill, {"messages": [HI, MARKED]}, REFUSES)
    assert done.json["messages"] == [HI, BEGUN]
    assert done.changes == [("/messages/1", "metadata", False)]
    assert done.conversation.messages[0] is done.ask.conversation.messages[0]


UNTOUCHED = {
    "no mark": ({"messages": [HI, BEGUN]}, REFUSES),
    "a turn of the user at the end": ({"messages": [HI, MARKED, HI]}, REFUSES),
    "a target that knows the mark": ({"messages": [HI, MARKED]}, facts(prefill_mark="accepts")),
}


test_untouched = leaves_alone(refused_prefill, UNTOUCHED)


def test_adapt_for_real_providers() -> None:
    strict = sent({"messages": [HI, MARKED]}, "groq/llama-3.3-70b-versatile")
    assert strict.json["messages"] == [HI, BEGUN]
    assert strict.changes == [("refused-prefill", "/messages/1", "metadata", False)]
    assert sent({"messages": [HI, MARKED]}, "mistral/mistral-large-latest").json["messages"] == [HI, MARKED]


def test_a_target_that_continues_nothing_gets_a_turn_of_the_user() -> None:
    done = sent({"messages": [HI, MARKED]}, "perplexity/sonar")
    assert done.json["messages"] == [HI, BEGUN, {"role": "user", "content": "Please continue."}]
    assert [change[0] for change in done.changes] == ["refused-prefill", "trailing-assistant"]


def test_mistral_takes_the_mark_on_the_last_turn_alone() -> None:
    early = sent({"messages": [HI, MARKED, HI, MARKED]}, "mistral/mistral-large-latest")
    assert early.json["messages"] == [HI, BEGUN, HI, MARKED]
    assert early.changes == [("stray-field", "/messages/1", "metadata", False)]
    unset = [HI, {**BEGUN, "prefix": False}, HI]
    assert sent({"messages": unset}, "mistral/mistral-large-latest").json["messages"] == unset


FORMS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "mistral/mistral-large-latest": (MARKED, {}),
    "moonshot/kimi-k2.6": ({**BEGUN, "partial": True}, {}),
    "qwen/qwen3-max": ({**BEGUN, "partial": True}, {}),
    "vllm/some-model": (BEGUN, {"continue_final_message": True, "add_generation_prompt": False}),
    "sglang/some-model": (BEGUN, {"continue_final_message": True}),
}


@pytest.mark.parametrize("mark", ["prefix", "partial"])
@pytest.mark.parametrize("target", FORMS)
def test_a_target_is_asked_to_continue_in_its_own_words(target: str, mark: str) -> None:
    turn, settings = FORMS[target]
    asked: dict[str, Any] = {**BEGUN, mark: True}
    done = sent({"messages": [HI, asked]}, target)
    assert done.json["messages"] == [HI, turn]
    assert {name: done.json[name] for name in settings} == settings
    reported = [("refused-prefill", "/messages/1", "nothing", False)]
    assert done.changes == ([] if turn == asked else reported)


@pytest.mark.parametrize("target", ["anthropic/claude-sonnet-4-5", "gemini/gemini-2.5-flash", "ollama/qwen3:8b"])
def test_a_dialect_that_continues_a_last_turn_needs_no_mark(target: str) -> None:
    assert sent({"messages": [HI, MARKED], "max_tokens": 9}, target, source=CHAT).changes == []


def test_a_dialect_without_the_mark_is_reported() -> None:
    done = sent({"messages": [HI, MARKED]}, "openai-responses/gpt-4o", source=CHAT)
    assert done.changes == [("refused-prefill", "/messages/1", "metadata", False)]


def test_a_mark_that_says_no_is_a_field_like_any_other() -> None:
    done = sent({"messages": [HI, {**BEGUN, "prefix": False}]}, "groq/llama-3.3-70b-versatile")
    assert done.json["messages"] == [HI, BEGUN]
    assert done.changes == [("stray-field", "/messages/1", "metadata", False)]


def test_a_target_that_cannot_continue_gets_a_user_turn_too() -> None:
    done = sent({"messages": [HI, MARKED], "max_tokens": 9}, "anthropic/claude-opus-4-8", source=CHAT)
    assert [turn["role"] for turn in done.json["messages"]] == ["user", "assistant", "user"]
    assert done.changes == [("trailing-assistant", "/messages/1", "nothing", True)]
