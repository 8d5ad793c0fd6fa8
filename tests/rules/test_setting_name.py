"""`setting-name`: settings under a name that the target does not know."""

from __future__ import annotations

from typing import Any

import pytest
from tests.rules.runs import CHAT, Run, facts, run, sent

from dragoman.errors import MalformedRequest
from dragoman.profiles.facts import Facts
from dragoman.rules.settings.setting_name import setting_name

HI: dict[str, Any] = {"role": "user", "content": "Hi"}
LIMIT = facts(limit_name="max_completion_tokens")
SEED = facts(seed_name="random_seed")
EFFORT = facts(thinking_as="reasoning_effort", odd_thinking_field="refuses")


def through(known: Facts, **top: Any) -> Run:
    return run(setting_name, {"messages": [HI], **top}, known)


def settings(done: Run) -> dict[str, Any]:
    return {name: value for name, value in done.json.items() if name not in ("messages", "model")}


NAMES: list[tuple[Facts, dict[str, Any], dict[str, Any], str, str]] = [
    (
        LIMIT,
        {"max_tokens": 9},
        {"max_completion_tokens": 9},
        "/max_tokens",
        "renamed `max_tokens` to `max_completion_tokens`",
    ),
    (SEED, {"seed": 7}, {"random_seed": 7}, "/seed", "renamed `seed` to `random_seed`"),
    (
        EFFORT,
        {"reasoning": {"effort": "low"}},
        {"reasoning_effort": "low"},
        "/reasoning",
        "renamed `reasoning` to `reasoning_effort`",
    ),
]


@pytest.mark.parametrize(("known", "given", "named", "at", "did"), NAMES)
def test_it_gets_the_name_that_the_target_reads(
    known: Facts, given: dict[str, Any], named: dict[str, Any], at: str, did: str
) -> None:
    done = through(known, **given, temperature=1)
    assert settings(done) == {**named, "temperature": 1}
    assert done.changes == [(at, "nothing", False)]
    assert done.did == [did]
    assert through(known, **named, temperature=1).untouched
    assert through(facts(), **given, temperature=1).untouched


DOUBLES: list[tuple[Facts, dict[str, Any], dict[str, Any], str]] = [
    (LIMIT, {"max_completion_tokens": 9, "max_tokens": 9}, {"max_completion_tokens": 9}, "/max_tokens"),
    (
        facts(thinking_as="reasoning_effort"),
        {"reasoning_effort": "high", "reasoning": {"effort": "high"}},
        {"reasoning_effort": "high"},
        "/reasoning",
    ),
]


@pytest.mark.parametrize(("known", "given", "kept", "at"), DOUBLES)
def test_a_setting_given_under_two_names_keeps_one(
    known: Facts, given: dict[str, Any], kept: dict[str, Any], at: str
) -> None:
    done = through(known, **given, frob=1)
    assert settings(done).keys() == {*kept, "frob"}
    assert at in [change[0] for change in done.changes]


def test_another_field_for_thinking_stays_if_the_target_takes_it() -> None:
    known = facts(thinking_as="reasoning_effort", odd_thinking_field="accepts")
    assert through(known, reasoning={"effort": "low"}).untouched


def test_a_name_of_another_dialect_is_translated_and_no_news() -> None:
    done = run(
        setting_name,
        "@max_tokens 9\n@seed 7\n@thinking low\nuser: Hi",
        facts(limit_name="a", seed_name="b", thinking_as="reasoning_effort"),
    )
    after = done.conversation.settings
    assert (after.limit_as, after.seed_as, after.thinking.wire_form) == ("a", "b", "reasoning_effort")  # type: ignore[union-attr]
    assert done.changes == []


def test_nothing_to_name() -> None:
    assert through(LIMIT, temperature=1).untouched
    assert through(SEED, frob=1).untouched


def test_adapt_for_real_providers() -> None:
    done = sent({"messages": [HI], "max_tokens": 9}, "openai/gpt-5")
    assert settings_of(done.json) == {"max_completion_tokens": 9}
    assert done.changes == [("setting-name", "/max_tokens", "nothing", False)]
    seed = sent({"messages": [HI], "seed": 7}, "mistral/mistral-large-latest")
    assert settings_of(seed.json) == {"random_seed": 7}
    assert seed.changes == [("setting-name", "/seed", "nothing", False)]
    claude = sent({"messages": [HI], "max_tokens": 9}, "openai/gpt-5", source="anthropic")
    assert settings_of(claude.json) == {"max_completion_tokens": 9}
    assert claude.changes == []


def settings_of(body: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name not in ("messages", "model")}


def test_a_wish_to_think_under_two_names_settles_in_one_run() -> None:
    body = {"messages": [HI], "reasoning": {"effort": "high"}, "reasoning_effort": "high"}
    once = sent(body, "moonshot/kimi-k2-0905-preview")
    assert sent(once.json, "moonshot/kimi-k2-0905-preview", source=CHAT).changes == []


def test_an_effort_of_another_dialect_goes_if_the_target_has_a_mere_switch() -> None:
    asked = {"messages": [HI], "max_tokens": 9000, "thinking": {"type": "enabled", "budget_tokens": 1024}}
    done = sent(asked, "moonshot/kimi-k2-thinking", source="anthropic")
    assert settings_of(done.json) == {"max_tokens": 9000, "thinking": {"type": "enabled"}}
    assert ("setting-name", "/thinking", "metadata", False) in done.changes


@pytest.mark.parametrize(
    "target", ["openai/gpt-4o", "azure-openai/gpt-4o", "fireworks/m", "openai-compatible-strict/m"]
)
def test_C22_a_limit_under_both_names_is_one_value(target: str) -> None:
    body = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 7, "max_completion_tokens": 7}
    done = sent(body, target)
    assert [value for key, value in done.json.items() if key.startswith("max_")] == [7]
    assert [change[2] for change in done.changes] == ["nothing"]
    with pytest.raises(MalformedRequest, match="both may be max_tokens"):
        sent({**body, "max_completion_tokens": 9}, target)


def test_C22_if_it_is_not_known_both_names_stay_unless_care_is_asked_for() -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 7, "max_completion_tokens": 7}
    assert sent(body, "qwen/m").json == body
    careful = sent(body, "qwen/m", doubt="careful").json
    assert len([key for key in careful if key.startswith("max_")]) == 1


@pytest.mark.parametrize("target", ["together/m", "ollama-openai/m"])
def test_some_read_one_name_alone(target: str) -> None:
    body = {"messages": [{"role": "user", "content": "Hi"}], "max_completion_tokens": 7}
    assert sent(body, target).json["max_tokens"] == 7
