"""`null-setting`: top-level fields that are null."""

from __future__ import annotations

from typing import Any

from tests.rules.runs import facts, leaves_alone, run, sent

from dragoman.rules.settings.null_setting import null_setting

CLAUDE = "anthropic"
REFUSES = facts(CLAUDE, null_settings="refuses")
BODY: dict[str, Any] = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 9}


def test_they_are_left_out() -> None:
    done = run(null_setting, {**BODY, "temperature": None, "tools": None, "top_k": 5}, REFUSES, source=CLAUDE)
    assert {name: value for name, value in done.json.items() if name != "model"} == {**BODY, "top_k": 5}
    assert done.changes == [("/temperature", "nothing", False), ("/tools", "nothing", False)]
    assert done.conversation.messages is done.ask.conversation.messages


UNTOUCHED = {
    "no nulls": ({**BODY, "temperature": 1}, REFUSES),
    "a target that takes them": ({**BODY, "temperature": None}, facts(CLAUDE, null_settings="accepts")),
}


test_untouched = leaves_alone(null_setting, UNTOUCHED, source=CLAUDE)


def test_adapt_for_real_providers() -> None:
    done = sent({**BODY, "temperature": None}, "anthropic/claude-sonnet-4-5")
    assert "temperature" not in done.json
    assert done.changes == [("null-setting", "/temperature", "nothing", False)]
    kept = sent({**BODY, "temperature": None}, "openai/gpt-4o")
    assert kept.json["temperature"] is None
    assert kept.changes == []


def test_null_for_a_field_that_the_target_does_not_know_is_left_out() -> None:
    hello = {"messages": BODY["messages"]}
    for target, name in (("mistral/mistral-large-latest", "user"), ("mistral/mistral-large-latest", "seed")):
        done = sent({**hello, name: None, "temperature": None}, target)
        assert done.changes == [("null-setting", f"/{name}", "nothing", False)]
        assert done.json["temperature"] is None
    done = sent({**hello, "store": None, "max_tokens": None}, "groq/llama-3.3-70b-versatile")
    assert done.changes == [("null-setting", "/store", "nothing", False)]


def test_null_for_a_single_field_that_is_never_null() -> None:
    done = sent({"input": "Hi", "text": None, "temperature": None}, "openai-responses/gpt-4o")
    assert done.changes == [("null-setting", "/text", "nothing", False)]
    assert done.json["temperature"] is None


def test_a_required_setting_that_was_null_is_given() -> None:
    done = sent({**BODY, "max_tokens": None}, "anthropic/claude-sonnet-4-5")
    assert done.json["max_tokens"] > 0


def test_null_for_the_old_choice_is_left_out_if_it_is_refused() -> None:
    body = {"messages": [{"role": "user", "content": "Hi"}], "function_call": None}
    assert sent(body, "mistral/mistral-large-latest").json.keys() == {"model", "messages"}
    assert sent(body, "openai/gpt-4o").changes == []


def test_no_functions_are_no_functions() -> None:
    asked = {"messages": [{"role": "user", "content": "Hi"}], "functions": None, "function_call": None}
    done = sent(asked, "mistral/mistral-large-latest")
    assert done.json.keys() == {"model", "messages"}
    assert [entry[:3] for entry in done.changes] == [
        ("null-setting", "/function_call", "nothing"),
        ("null-setting", "/functions", "nothing"),
    ]
    assert sent(asked, "openai/gpt-4o").json.keys() == {"model", *asked}


def test_a_server_whose_class_has_a_choice_that_is_never_null() -> None:
    done = sent(
        {"messages": [{"role": "user", "content": "Hi"}], "tool_choice": None, "stop": None}, "sglang/some-model"
    )
    assert "tool_choice" not in done.json
    assert done.json["stop"] is None
    assert done.changes == [("null-setting", "/tool_choice", "nothing", False)]
