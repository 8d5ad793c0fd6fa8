"""Rule `forced-tool`: a tool that must be called, while the model thinks."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.judges import judge
from tests.rules.runs import Run, facts, run, sent

from dragoman.conversation.settings import Thinking
from dragoman.conversation.tools import ChoiceMode, ToolChoice
from dragoman.profiles.facts import Facts
from dragoman.rules.shape.forced_tool import forced_tool

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOL = {"type": "function", "function": {"name": "look", "parameters": SCHEMA}}
NAMED = {"type": "function", "function": {"name": "look"}}
HI: dict[str, Any] = {"messages": [{"role": "user", "content": "Hi"}]}
REFUSING = {"forced_choice_thinking": "refuses", "thinking": "accepts", "thinking_form": "switch"}
OFF = Thinking(on=False)
SOME = {
    "type": "allowed_tools",
    "allowed_tools": {"mode": "required", "tools": [{"type": "function", "function": {"name": "look"}}]},
}


def through(choice: Any, known: Facts, **more: Any) -> Run:
    return run(forced_tool, {**HI, "tools": [TOOL], "tool_choice": choice, **more}, known)


@pytest.mark.parametrize("choice", ["required", NAMED, SOME])
def test_thinking_is_turned_off_if_that_is_possible(choice: Any) -> None:
    done = through(choice, facts(**REFUSING), reasoning_effort="high")
    assert done.conversation.settings.thinking == OFF
    assert done.conversation.settings.tool_choice == done.ask.conversation.settings.tool_choice
    assert done.changes == [("/reasoning_effort", "authority", False)]
    assert through(choice, facts(**REFUSING, reasoning_default=True)).conversation.settings.thinking == OFF


@pytest.mark.parametrize("unable", [{"thinking_off": "refuses"}, {"thinking_form": "none"}])
def test_the_choice_is_softened_if_it_is_not(unable: Any) -> None:
    known = facts(**{**REFUSING, **unable}, reasoning_default=True)
    done = through("required", known)
    assert done.conversation.settings.tool_choice == ToolChoice(ChoiceMode.AUTO)
    assert done.changes == [("/tool_choice", "authority", False)]
    softened = through(SOME, known).conversation.settings.tool_choice
    assert softened == ToolChoice(ChoiceMode.ALLOWED, ("look",), must=False)


NEAR: list[tuple[Any, dict[str, Any], dict[str, Any]]] = [
    ("auto", {}, {"reasoning_effort": "high"}),
    ("none", {}, {"reasoning_effort": "high"}),
    ("required", {}, {}),
    ("required", {}, {"reasoning_effort": "none"}),
    ("required", {}, {"reasoning_effort": "high", "tools": []}),
    ("required", {"forced_choice_thinking": "accepts"}, {"reasoning_effort": "high"}),
]


@pytest.mark.parametrize(("choice", "other", "more"), NEAR)
def test_near_cases_stay(choice: Any, other: Any, more: Any) -> None:
    assert through(choice, facts(**{**REFUSING, **other}), **more).untouched


def test_a_budget_alone_may_forbid_it() -> None:
    def told(form: str, **more: Any) -> bool:
        known = facts(forced_choice_budget="refuses", thinking="accepts", thinking_form=form)
        return not through("required", known, **more).untouched

    assert told("budget", reasoning_effort="high")
    assert told("any", reasoning={"max_tokens": 2000})
    assert not told("any", reasoning_effort="high")
    assert not told("adaptive", reasoning={"max_tokens": 2000})


CLAUDE_TOOL = {"name": "look", "input_schema": SCHEMA}
CHAT: dict[str, Any] = {**HI, "tools": [TOOL], "tool_choice": "required", "reasoning_effort": "high"}
CLAUDE: dict[str, Any] = {
    **HI,
    "max_tokens": 9000,
    "tools": [CLAUDE_TOOL],
    "tool_choice": {"type": "tool", "name": "look"},
    "thinking": {"type": "enabled", "budget_tokens": 2000},
}
GEMINI: dict[str, Any] = {
    "contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
    "tools": [{"functionDeclarations": [{"name": "look", "parameters": SCHEMA}]}],
    "toolConfig": {"functionCallingConfig": {"mode": "ANY"}},
    "generationConfig": {"thinkingConfig": {"thinkingBudget": 2000}},
}
RESPONSES: dict[str, Any] = {
    "input": "Hi",
    "tools": [{"type": "function", "name": "look", "parameters": SCHEMA, "strict": False}],
    "tool_choice": "required",
    "reasoning": {"effort": "high"},
}
ASKED = {"openai-chat": CHAT, "anthropic": CLAUDE, "gemini": GEMINI, "openai-responses": RESPONSES}
THINKING_PLACES = {
    "openai-chat": "/reasoning_effort",
    "anthropic": "/thinking",
    "gemini": "/generationConfig/thinkingConfig",
    "openai-responses": "/reasoning",
}
PATHS = {"anthropic": "/v1/messages", "deepseek": "/chat/completions"}


def refusal(profile: str, body: dict[str, Any]) -> str:
    """What the emulator says against a body; empty if it takes it."""
    refused = judge(
        profile, body["model"], PATHS[profile], {"anthropic-version": "2023-06-01"}, msgspec.json.encode(body)
    )
    return "" if refused is None else str(refused.body)


@pytest.mark.parametrize("source", ASKED)
@pytest.mark.parametrize(
    "target", ["anthropic/claude-sonnet-4-5", "anthropic/claude-sonnet-4-6", "anthropic/claude-opus-4-7"]
)
def test_claude_calls_the_tool(source: str, target: str) -> None:
    body = sent({"model": "m", **ASKED[source]} if source != "gemini" else GEMINI, target, source=source).json
    assert body["tool_choice"]["type"] in ("any", "tool")
    assert refusal("anthropic", body) == ""


@pytest.mark.parametrize("source", ASKED)
def test_deepseek_calls_the_tool(source: str) -> None:
    body = {"model": "m", **ASKED[source]} if source != "gemini" else GEMINI
    done = sent(body, "deepseek/deepseek-v4-flash", source=source)
    assert done.json["thinking"] == {"type": "disabled"}
    assert "reasoning_effort" not in done.json
    assert done.json["tool_choice"] != "auto"
    assert ("forced-tool", THINKING_PLACES[source], "authority", False) in done.changes
    assert refusal("deepseek", done.json) == ""


def test_the_emulators_refuse_both_together() -> None:
    both = {"model": "claude-sonnet-4-6", **CLAUDE}
    assert "Thinking may not be enabled" in refusal("anthropic", both)
    thinking = {**CHAT, "model": "deepseek-v4-flash"}
    assert "Thinking mode does not support this tool_choice" in refusal("deepseek", thinking)


def test_no_filler_is_put_if_thinking_is_off() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    history = [
        *HI["messages"],
        {"role": "assistant", "content": "One moment.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "12 degrees"},
    ]
    done = sent({**CHAT, "messages": history}, "deepseek/deepseek-v4-flash", source="openai-chat")
    assert [rule for rule, *_ in done.changes] == ["forced-tool"]
    assert "reasoning_content" not in done.json["messages"][1]


@pytest.mark.parametrize(("shown", "thinking"), [(True, {"type": "disabled"}), (False, None)])
def test_a_wish_to_see_thoughts_is_a_wish_to_think_if_thinking_is_a_switch(shown: bool, thinking: Any) -> None:
    asked = {**GEMINI, "generationConfig": {"thinkingConfig": {"includeThoughts": shown}}}
    done = sent(asked, "deepseek/deepseek-chat", source="gemini")
    assert done.json.get("thinking") == thinking
    assert done.json["tool_choice"] != "auto"
    assert refusal("deepseek", done.json) == ""


def test_a_schema_is_asked_for_without_a_tool_if_the_model_thinks() -> None:
    schema = {"responseMimeType": "application/json", "responseJsonSchema": SCHEMA}
    asked = {
        "contents": GEMINI["contents"],
        "generationConfig": {**schema, "thinkingConfig": {"includeThoughts": True}},
    }
    done = sent(asked, "deepseek/deepseek-chat", source="gemini")
    assert (done.json["thinking"], done.json["response_format"]) == ({"type": "enabled"}, {"type": "json_object"})
    assert refusal("deepseek", done.json) == ""
