"""`required-setting`: the token limit, if the target demands one."""

from __future__ import annotations

import pytest
from tests.rules.runs import CHAT, facts, leaves_alone, run, sent

from dragoman.rules.settings.required_setting import required_setting

DEMANDED = facts(limit_required=True, limit_default=100)


def test_the_default_is_set() -> None:
    done = run(required_setting, "@temperature 1\nuser: Hi", DEMANDED)
    assert done.script == "@max_tokens 100\n@temperature 1\nuser: Hi"
    assert done.changes == [("/max_tokens", "nothing", True)]
    assert done.did == ["set the token limit to 100"]


@pytest.mark.parametrize(("budget", "limit"), [(99, 100), (100, 200), (500, 600)])
def test_a_larger_thinking_budget_comes_on_top(budget: int, limit: int) -> None:
    script = f'@thinking {{"is":"Thinking","budget":{budget}}}\nuser: Hi'
    assert run(required_setting, script, DEMANDED).conversation.settings.max_tokens == limit


UNTOUCHED = {
    "a limit is given": ("@max_tokens 5\nuser: Hi", DEMANDED),
    "a target that demands none": ("user: Hi", facts(limit_required=False)),
}


test_untouched = leaves_alone(required_setting, UNTOUCHED)


def test_adapt_for_real_providers() -> None:
    body = {"messages": [{"role": "user", "content": "Hi"}]}
    done = sent(body, "anthropic/claude-opus-4-8", source=CHAT)
    assert done.json["max_tokens"] == 8192
    assert done.changes == [("required-setting", "/max_tokens", "nothing", True)]
    assert sent(body, "openai/gpt-4o").changes == []


def test_the_limit_is_one_that_the_model_can_reach() -> None:
    known = facts(limit_required=True, limit_default=8192, output_limit=4096)
    assert run(required_setting, "user: Hi", known).conversation.settings.max_tokens == 4096
