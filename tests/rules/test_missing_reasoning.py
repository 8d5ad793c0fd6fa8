"""`missing-reasoning`: thinking that the target demands back."""

from __future__ import annotations

from typing import Any

import pytest
from tests.rules.runs import facts, leaves_alone, run, sent

from dragoman.engine.library.adapt import adapt
from dragoman.profiles.facts import Facts
from dragoman.rules.shape.missing_reasoning import missing_reasoning

TOOL_TURNS = facts(reasoning_required="tool-turns", reasoning_default=True, reasoning_field="reasoning_content")
LAST_TURN = facts("anthropic", reasoning_required="last-tool-turn", thinking_form="budget")
CALLED = "user: Hi\nassistant: One\ncall f(a) {}\nresult a: 1"


def test_a_filler_stands_in_on_every_tool_turn() -> None:
    done = run(
        missing_reasoning, f"{CALLED}\nassistant: Two\ncall f(b) {{}}\nresult b: 2\nassistant: Three", TOOL_TURNS
    )
    assert done.script == (
        "user: Hi\n~ \\u0020\nassistant: One\ncall f(a) {}\nresult a: 1\n"
        "~ \\u0020\nassistant: Two\ncall f(b) {}\nresult b: 2\nassistant: Three"
    )
    assert done.changes == [("/messages/1", "nothing", True), ("/messages/3", "nothing", True)]
    assert done.conversation.messages[1].parts[0].field == "reasoning_content"  # type: ignore[attr-defined]
    assert done.conversation.messages[0] is done.ask.conversation.messages[0]


def test_a_thought_without_words_gives_way_to_the_filler() -> None:
    empty = '[part {"is":"Reasoning"}]'
    done = run(missing_reasoning, f"user: Hi\nassistant: {empty}\ncall f(a) {{}}", TOOL_TURNS)
    assert done.script == "user: Hi\n~ \\u0020\ncall f(a) {}"


def test_words_after_a_result_need_it_too_if_a_whole_exchange_does() -> None:
    known = facts(reasoning_required="tool-exchanges", reasoning_default=True, reasoning_field="reasoning_content")
    done = run(
        missing_reasoning, f"user: Yo\nassistant: Ha\n{CALLED}\nassistant: Two\nuser: More\nassistant: End", known
    )
    assert done.script == (
        "user: Yo\nassistant: Ha\nuser: Hi\n~ \\u0020\nassistant: One\ncall f(a) {}\nresult a: 1\n"
        "~ \\u0020\nassistant: Two\nuser: More\nassistant: End"
    )
    continued = run(missing_reasoning, f"{CALLED}\nassistant: Two", known)
    assert continued.changes == [("/messages/1", "nothing", True)]


LOOP = "@max_tokens 9\n@thinking high\nuser: Hi\nassistant: One\ncall f(a) {}\nresult a: 1"


@pytest.mark.parametrize(
    "said",
    [
        LOOP,
        f"{LOOP}\nuser: Hm",
        LOOP.replace("assistant: One", "assistant: Zero\n\n~ Hm\nassistant: One"),
    ],
)
def test_thinking_is_turned_off_if_the_last_tool_turn_has_none(said: str) -> None:
    done = run(missing_reasoning, said, LAST_TURN, source="anthropic")
    assert done.conversation.settings.thinking is not None
    assert done.conversation.settings.thinking.on is False
    assert done.conversation.settings.max_tokens == 9
    assert done.conversation.messages is done.ask.conversation.messages
    assert done.changes == [("/thinking", "authority", False)]


THINKS: dict[str, tuple[str, Facts]] = {
    "a turn that has its thinking": (f"{CALLED}".replace("assistant", "~ Hm\nassistant"), TOOL_TURNS),
    "a turn without calls": ("user: Hi\nassistant: One", TOOL_TURNS),
    "a model that does not think on this request": (
        CALLED,
        facts(reasoning_required="tool-turns", reasoning_default=False),
    ),
    "a client that turns it off": (f"@thinking none\n{CALLED}", TOOL_TURNS),
    "a loop that begins with thinking": (LOOP.replace("assistant", "~ Hm\nassistant"), LAST_TURN),
    "a loop that is over": (f"{LOOP}\nassistant: Two\nuser: More", LAST_TURN),
    "a model that is not asked to think": (LOOP.replace("@thinking high\n", ""), LAST_TURN),
    "a target that demands none": (LOOP, facts(reasoning_required="never", reasoning_default=True)),
    "a target that cannot be told to think, and does not": (
        LOOP,
        facts(reasoning_required="tool-turns", thinking_form="none", reasoning_default=False),
    ),
}


test_untouched = leaves_alone(missing_reasoning, THINKS)


CALL = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
MESSAGES: list[dict[str, Any]] = [
    {"role": "user", "content": "Hi"},
    {"role": "assistant", "content": "One", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "a", "content": "1"},
]


def test_adapt_for_real_providers() -> None:
    filled = sent({"messages": MESSAGES}, "moonshot/kimi-k2-thinking")
    assert filled.json["messages"] == [MESSAGES[0], {**MESSAGES[1], "reasoning_content": " "}, MESSAGES[2]]
    assert filled.changes == [("missing-reasoning", "/messages/1", "nothing", True)]
    use = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
    claude = {
        "max_tokens": 4000,
        "thinking": {"type": "enabled", "budget_tokens": 1024},
        "messages": [
            MESSAGES[0],
            {"role": "assistant", "content": [use]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "1"}]},
        ],
    }
    off = sent(claude, "anthropic/claude-sonnet-4-5")
    assert off.json["thinking"] == {"type": "disabled"}
    assert off.json["messages"] == claude["messages"]
    assert off.changes == [("missing-reasoning", "/thinking", "authority", False)]


def test_an_empty_reasoning_item_is_no_thinking() -> None:
    items = [
        MESSAGES[0],
        {"type": "reasoning", "summary": []},
        {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": "ok"},
    ]
    done = sent({"input": items}, "moonshot/kimi-k2-thinking", source="openai-responses")
    assert done.json["messages"][1]["reasoning_content"] == " "


@pytest.mark.parametrize("forced", [False, True])
def test_thoughts_that_are_to_be_shown_are_thinking_behind_a_router_too(forced: bool) -> None:
    """OpenRouter is told to think, and Claude takes neither the calls of another model then, nor a forced tool."""
    turns: list[Any] = [{"role": "user", "parts": [{"text": "Hi"}]}]
    choice = {"toolConfig": {"functionCallingConfig": {"mode": "ANY"}}}
    if not forced:
        turns += [{"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]}]
        turns += [{"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"output": "1"}}}]}]
    config = {"generationConfig": {"thinkingConfig": {"includeThoughts": True}}}
    asked = {"contents": turns, "tools": [{"functionDeclarations": [{"name": "f"}]}], **config}
    done = adapt(asked | (choice if forced else {}), source="gemini", target="openrouter/anthropic/claude-sonnet-4.5")
    assert done.json["reasoning"] == {"enabled": False}
    free = adapt({"contents": turns[:1], **config}, source="gemini", target="openrouter/anthropic/claude-sonnet-4.5")
    assert free.json["reasoning"]["enabled"] is True


@pytest.mark.parametrize(
    ("target", "kind", "then"),
    [("anthropic/claude-sonnet-4-5", "enabled", "disabled"), ("anthropic/claude-sonnet-4-6", "adaptive", "adaptive")],
)
def test_thinking_that_is_only_asked_to_be_shown_is_left_off_too(target: str, kind: str, then: str) -> None:
    """A Gemini client asks for thoughts; Claude thinks for it, but not by a budget over a turn whose thinking is
    gone."""
    call = {"functionCall": {"name": "f", "args": {}}}
    answer = {"functionResponse": {"name": "f", "response": {"output": "1"}}}
    turns = [{"role": "user", "parts": [{"text": "Hi"}]}]
    config = {"generationConfig": {"thinkingConfig": {"includeThoughts": True}}}
    asked = adapt({"contents": turns, **config}, source="gemini", target=target)
    assert asked.json["thinking"]["type"] == kind
    turns += [{"role": "model", "parts": [call]}, {"role": "user", "parts": [answer]}]
    tools = [{"functionDeclarations": [{"name": "f"}]}]
    later = adapt({"contents": turns, "tools": tools, **config}, source="gemini", target=target)
    assert later.json["thinking"]["type"] == then


def test_a_model_that_decides_itself_when_to_think_need_not_have_thought_on_the_last_tool_turn() -> None:
    """Claude Code on Sonnet 4.6: the second step of a loop often has no thinking. It was recorded as accepted."""
    call = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}
    request = {
        "max_tokens": 32000,
        "thinking": {"type": "adaptive"},
        "output_config": {"effort": "medium"},
        "messages": [
            MESSAGES[0],
            {"role": "assistant", "content": [{"type": "text", "text": "One"}, call]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "1"}]},
        ],
        "tools": [{"name": "f", "input_schema": {"type": "object"}}],
    }
    assert sent(request, "anthropic/claude-sonnet-4-6", source="anthropic").changes == []
    request["thinking"] = {"type": "enabled", "budget_tokens": 2048}
    by_budget = sent(request, "anthropic/claude-sonnet-4-6", source="anthropic")
    assert by_budget.json["thinking"] == {"type": "disabled"}
    assert [change[0] for change in by_budget.changes] == ["missing-reasoning"]
