"""Rule `forced-loop`: a tool that must be called, on a turn that answers calls (D6)."""

from __future__ import annotations

from typing import Any

import pytest
from tests.judges import judge
from tests.rules.runs import facts, run, sent
from tests.rules.tool_turns import USER, looking, tool_turns

from dragoman.conversation.tools import ChoiceMode, ToolChoice
from dragoman.engine.library.adapt import adapt
from dragoman.engine.library.policy import Policy
from dragoman.rules.shape.forced_loop import forced_loop

ANY = facts()
NAMED = {"type": "function", "function": {"name": "look"}}
SOME = {
    "type": "allowed_tools",
    "allowed_tools": {"mode": "required", "tools": [{"type": "function", "function": {"name": "look"}}]},
}


@pytest.mark.parametrize(
    ("choice", "free"),
    [
        ("required", ToolChoice(ChoiceMode.AUTO)),
        (NAMED, ToolChoice(ChoiceMode.AUTO)),
        (SOME, ToolChoice(ChoiceMode.ALLOWED, ("look",), must=False)),
    ],
)
def test_D6_a_forced_choice_is_released_where_calls_are_answered(choice: Any, free: ToolChoice) -> None:
    done = run(forced_loop, looking(tool_turns(1), tool_choice=choice), ANY, choice="release")
    assert done.conversation.settings.tool_choice == free
    assert done.changes == [("/tool_choice", "authority", False)]
    assert done.did == ["let the model choose: its calls are answered"]
    assert done.conversation.messages is done.ask.conversation.messages


UNTOUCHED: dict[str, tuple[dict[str, Any], str | None]] = {
    "off unless asked for": (looking(tool_turns(1), tool_choice="required"), None),
    "off": (looking(tool_turns(1), tool_choice="required"), "off"),
    "keep": (looking(tool_turns(1), tool_choice="required"), "keep"),
    "the first turn": (looking(tool_turns(0), tool_choice="required"), "release"),
    "the user has spoken since": (looking([*tool_turns(1), USER], tool_choice="required"), "release"),
    "no choice": (looking(tool_turns(1)), "release"),
    "auto": (looking(tool_turns(1), tool_choice="auto"), "release"),
    "none": (looking(tool_turns(1), tool_choice="none"), "release"),
}


@pytest.mark.parametrize("name", UNTOUCHED)
def test_untouched(name: str) -> None:
    said, choice = UNTOUCHED[name]
    assert run(forced_loop, said, ANY, choice=choice).untouched


TARGETS = ["openai/gpt-4o", "anthropic/claude-sonnet-4-5", "gemini/gemini-2.5-flash", "openai-responses/gpt-5"]


@pytest.mark.parametrize("target", TARGETS)
def test_D6_every_dialect_is_told(target: str) -> None:
    request = looking(tool_turns(2), tool_choice="required")
    done = adapt(request, source="openai-chat", target=target, policy=Policy(rules={"forced-loop": "release"}))
    assert [(change.at, change.loses) for change in done.changes if change.rule == "forced-loop"] == [
        ("/tool_choice", "authority")
    ]
    profile, _, model = target.partition("/")
    assert judge(profile, model, done.path, done.headers, done.body) is None
    plain = adapt(request, source="openai-chat", target=target)
    assert "forced-loop" not in [change.rule for change in plain.changes]


def test_it_can_fail() -> None:
    with pytest.raises(Exception, match="forced-loop"):
        sent(looking(tool_turns(1), tool_choice="required"), "openai/gpt-4o", rules={"forced-loop": "fail"})
