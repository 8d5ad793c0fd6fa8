"""Rule `endless-loop`: more turns of tool calls in a row than you allow (D6)."""

from __future__ import annotations

from typing import Any

import pytest
from tests.judges import judge
from tests.rules.runs import facts, run, sent
from tests.rules.tool_turns import USER, looking, tool_turns

from dragoman.conversation.tools import ChoiceMode, ToolChoice
from dragoman.engine.library.adapt import adapt
from dragoman.engine.library.policy import Policy
from dragoman.errors import OptionError
from dragoman.rules.shape.endless_loop import endless_loop, parse_choice

ANY = facts()
NONE = ToolChoice(ChoiceMode.NONE)


@pytest.mark.parametrize(("choice", "turns"), [("stop", 10), ("stop", 30), ({"stop": "3"}, 3), ("stop:25", 25)])
@pytest.mark.parametrize("asked", [{}, {"tool_choice": "required"}])
def test_D6_after_so_many_turns_the_model_has_to_answer(choice: Any, turns: int, asked: dict[str, Any]) -> None:
    done = run(endless_loop, looking(tool_turns(turns), **asked), ANY, choice=choice)
    assert done.conversation.settings.tool_choice == NONE
    assert done.changes == [("/tool_choice", "authority", False)]
    assert "turns since the user spoke" in done.did[0]
    assert done.conversation.tools is done.ask.conversation.tools


UNTOUCHED: dict[str, tuple[dict[str, Any], Any]] = {
    "off unless asked for": (looking(tool_turns(40)), None),
    "off": (looking(tool_turns(40)), "off"),
    "false": (looking(tool_turns(40)), False),
    "keep": (looking(tool_turns(40)), "keep"),
    "one turn less": (looking(tool_turns(9)), "stop"),
    "one turn less than the number": (looking(tool_turns(2)), {"stop": "3"}),
    "the user has spoken since": (looking([*tool_turns(12), USER]), "stop"),
    "the user spoke in between": (looking([*tool_turns(6), *tool_turns(6)]), "stop"),
    "no calls any more": (looking([*tool_turns(12), {"role": "assistant", "content": "Done."}]), "stop"),
    "none already": (looking(tool_turns(12), tool_choice="none"), "stop"),
    "no tools": ({"messages": tool_turns(12)}, "stop"),
}


@pytest.mark.parametrize("name", UNTOUCHED)
def test_untouched(name: str) -> None:
    said, choice = UNTOUCHED[name]
    assert run(endless_loop, said, ANY, choice=choice).untouched


TARGETS = ["openai/gpt-4o", "anthropic/claude-sonnet-4-5", "gemini/gemini-2.5-flash", "openai-responses/gpt-5"]


@pytest.mark.parametrize("target", TARGETS)
def test_D6_every_dialect_is_told(target: str) -> None:
    request = looking(tool_turns(4))
    done = adapt(request, source="openai-chat", target=target, policy=Policy(rules={"endless-loop": {"stop": "4"}}))
    assert [(change.at, change.loses) for change in done.changes if change.rule == "endless-loop"] == [
        ("/tool_choice", "authority")
    ]
    profile, _, model = target.partition("/")
    assert judge(profile, model, done.path, done.headers, done.body) is None
    plain = adapt(request, source="openai-chat", target=target)
    assert "endless-loop" not in [change.rule for change in plain.changes]


@pytest.mark.parametrize(
    "wrong", ["stopp", "stop:0", "stop:-1", "stop:x", {"stop": "0"}, {"halt": "3"}, {}, 7, "9" * 20]
)
def test_a_wrong_choice_is_an_error(wrong: Any) -> None:
    with pytest.raises(OptionError, match="endless-loop cannot be"):
        parse_choice(wrong)


def test_it_can_fail() -> None:
    with pytest.raises(Exception, match="endless-loop"):
        sent(looking(tool_turns(10)), "openai/gpt-4o", rules={"endless-loop": "fail"})
    assert sent(looking(tool_turns(9)), "openai/gpt-4o", rules={"endless-loop": "fail"}).changes == []
