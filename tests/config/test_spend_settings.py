"""Mistakes in limits, budgets and prices: each is told with its line, its key and what would be right."""

from __future__ import annotations

import pytest
import yaml

from dragoman.config.errors import InvalidConfig
from dragoman.config.load import parse
from dragoman.config.variables import Environment
from dragoman.gateway.config_names import collect_names
from dragoman.profiles.profile import Profiles

SHA = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"


def model(lines: str) -> str:
    return f"providers: {{openai: {{api_key: k}}}}\nmodels:\n  a:\n    target: openai/x\n    {lines}\n"


def key(lines: str) -> str:
    return f"keys:\n  a:\n    sha256: {SHA}\n    {lines}\n"


WRONG = {
    model(
        "rate_limit: {requests_per_minute: 3}"
    ): ':5: models.a.rate_limit is not a known key. Did you mean "rate_limits"',
    model("rate_limits: {request_per_minute: 3}"): ':5: models.a.rate_limits.request_.*mean "requests_per_minute"',
    model("rate_limits: {requests_per_minute: 0}"): ":5: .*requests_per_minute is 0; it must be a whole number of 1",
    model("rate_limits: {requests_per_minute: -5}"): ":5: .*requests_per_minute is -5; it must be a whole number of 1",
    model("rate_limits: {requests_per_minute: 1.5}"): ":5: .*requests_per_minute is 1.5; it must be a whole number",
    model(
        "rate_limits: {requests_per_minute: 1, max_wait: .inf}"
    ): ":5: .*max_wait is inf; it must be a number above 0",
    model("rate_limits: {requests_per_minute: 1, when_full: wait}"): ':5: .*when_full is "wait". Known: queue, refuse',
    model("rate_limits: {max_wait: 5}"): ":5: models.a.rate_limits limits nothing; add requests_per_minute",
    model("price: {input: -1, output: 2}"): ":5: models.a.price.input is -1; it must be a number of 0 or more",
    model("price: {input: .nan, output: 2}"): ":5: models.a.price.input is nan; it must be a number of 0 or more",
    model("price: {input: 1}"): ":5: models.a.price.output is missing",
    model("rules: {endless-loop: stopp}"): ':5: .*endless-loop cannot be "stopp". Did you mean "stop"',
    model('rules: {endless-loop: {stop: "0"}}'): ":5: .*endless-loop is not valid",
    model("rules: {forced-loop: releas}"): ':5: .*forced-loop is "releas". Did you mean "release"',
    key("budget: {day: -1}"): ":4: keys.a.budget.day is -1; it must be a number of 0 or more",
    key("budget: {day: .nan}"): ":4: keys.a.budget.day is nan; it must be a number of 0 or more",
    key("budget: {month: .inf}"): ":4: keys.a.budget.month is inf; it must be a number of 0 or more",
    key("budget: {daily: 1}"): ':4: keys.a.budget.daily is not a known key. Did you mean "day"',
    key("budgets: {day: 1}"): ':4: keys.a.budgets is not a known key. Did you mean "budget"',
    key('budget: {day: "5 dollars"}'): ':4: keys.a.budget.day is "5 dollars"; it must be a number',
    key("unpriced: sure"): ':4: keys.a.unpriced is "sure". Known: allow, refuse',
    "caches: {minutes_per_message: 0}": ":1: caches.minutes_per_message is 0; it must be a number above 0",
    "chaches: {hit_multiplier: 2}": ':1: chaches is not a known key. Did you mean "caches"',
}


@pytest.mark.parametrize("text", WRONG)
def test_a_mistake_is_told_with_its_place(text: str) -> None:
    yaml.safe_load(text)  # the mistake is not one of YAML
    with pytest.raises(InvalidConfig, match=WRONG[text]):
        parse(text, file="dragoman.yaml", known=collect_names(Profiles()), variables=Environment({}))


def test_a_number_may_have_an_exponent() -> None:
    """YAML 1.1 takes `1e-6` for a text, and prices are often written so."""
    text = model("price: {input: 1e-6, output: 2e+00}\n    description: '1e-6'")
    made = parse(text, file="dragoman.yaml", known=collect_names(Profiles()), variables=Environment({})).config.models[
        "a"
    ]
    assert made.price is not None
    assert (made.price.input, made.price.output, made.description) == (0.000001, 2.0, "1e-6")
