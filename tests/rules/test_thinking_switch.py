"""Rule `thinking-switch`: thinking that you want on, or off, whatever the client asks for (A19)."""

from __future__ import annotations

from typing import Any

import pytest
from tests.judges import judge
from tests.rules.runs import facts, run

from dragoman.conversation.settings import Effort, Thinking
from dragoman.engine.library.adapt import adapt
from dragoman.engine.library.policy import Policy
from dragoman.rules.shape.thinking_switch import thinking_switch

ANY = facts(thinking="accepts", thinking_form="any")
ASKED = [{"role": "user", "content": "Hi"}]


def asked(**more: Any) -> dict[str, Any]:
    return {"messages": ASKED, **more}


@pytest.mark.parametrize("given", [{}, {"reasoning": {"enabled": False}}, {"reasoning_effort": "none"}])
def test_thinking_is_switched_on(given: dict[str, Any]) -> None:
    done = run(thinking_switch, asked(**given), ANY, choice="enable")
    assert done.conversation.settings.thinking == Thinking(on=True, adaptive=True, effort=Effort.MEDIUM)
    assert done.did == ["asked for thinking, as configured"]


@pytest.mark.parametrize("given", [{}, {"reasoning": {"enabled": True}}, {"reasoning_effort": "high"}])
def test_thinking_is_switched_off(given: dict[str, Any]) -> None:
    done = run(thinking_switch, asked(**given), ANY, choice="disable")
    assert done.conversation.settings.thinking == Thinking(on=False)
    assert [loses for _, loses, _ in done.changes] == ["authority"]


def test_a_second_field_that_asks_for_thinking_goes_too() -> None:
    done = run(thinking_switch, asked(reasoning_effort="high", reasoning={"enabled": True}), ANY, choice="disable")
    assert done.conversation.settings.thinking == Thinking(on=False)
    assert done.conversation.extras is None


UNTOUCHED: dict[str, tuple[dict[str, Any], str | None]] = {
    "off unless asked for": (asked(), None),
    "off": (asked(reasoning_effort="high"), "off"),
    "keep": (asked(), "keep"),
    "it is on already": (asked(reasoning_effort="low"), "enable"),
    "it is off already": (asked(reasoning_effort="none"), "disable"),
}


@pytest.mark.parametrize("name", UNTOUCHED)
def test_untouched(name: str) -> None:
    said, choice = UNTOUCHED[name]
    assert run(thinking_switch, said, ANY, choice=choice).untouched


def test_what_the_client_asks_for_stays() -> None:
    done = run(thinking_switch, asked(reasoning_effort="high"), ANY, choice="enable")
    assert done.conversation.settings.thinking is not None
    assert done.conversation.settings.thinking.effort is Effort.HIGH


TOLD: dict[str, tuple[Any, Any]] = {
    "anthropic/claude-sonnet-4-5": ({"type": "enabled", "budget_tokens": 8192}, {"type": "disabled"}),
    "gemini/gemini-2.5-flash": ({"thinkingBudget": 8192}, {"thinkingBudget": 0}),
    "openai/gpt-5": ("medium", "minimal"),
    "zai/glm-4.6": ({"type": "enabled"}, {"type": "disabled"}),
    "openrouter/qwen/qwen3-32b": ({"enabled": True}, {"enabled": False}),
    "ollama/qwen3": (True, False),
    "openai/gpt-4o": (None, None),
}


@pytest.mark.parametrize("target", TOLD)
def test_A19_every_target_is_told_in_its_own_form(target: str) -> None:
    on, off = (
        adapt(asked(), target=target, policy=Policy(rules={"thinking-switch": wanted}))
        for wanted in ("enable", "disable")
    )
    assert (told(on.json), told(off.json)) == TOLD[target]
    profile, _, model = target.partition("/")
    for done in (on, off):
        assert judge(profile, model, done.path, done.headers, done.body) is None


def told(body: dict[str, Any]) -> Any:
    body = body | body.get("generationConfig", {})
    names = ("thinking", "thinkingConfig", "reasoning_effort", "reasoning", "think")
    return next((body[name] for name in names if name in body), None)
