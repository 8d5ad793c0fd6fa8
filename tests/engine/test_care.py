"""Doubt: what is taken as a refusal if nobody knows, and what an accepted careful request proves (K19, K20)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner

import dragoman
from dragoman.cli import cli
from dragoman.engine.compile.compiler import Options, compile_ask
from dragoman.engine.exchange.care import find_proven_by_care
from dragoman.engine.library.adapt import choose, read
from dragoman.profiles.doubts import Doubt
from dragoman.profiles.profile import Layer, patch_target

HI = {"role": "user", "content": "Hi"}
MOODY = {**HI, "mood": "good"}
DOUBTED = "together/gpt-4o"
"""Nobody knows whether it refuses keys that it does not know."""
UNKNOWN: dict[str, Any] = {"model": "gpt-4o", "messages": [MOODY], "frobnicate": 1}


def test_faithful_leaves_what_nobody_knows_to_be_refused() -> None:
    adapted = dragoman.adapt(UNKNOWN, target=DOUBTED)
    assert adapted.json == UNKNOWN
    assert adapted.changes == ()


def test_careful_repairs_and_reports_it() -> None:
    adapted = dragoman.adapt(UNKNOWN, target=DOUBTED, policy=dragoman.Policy(doubt="careful"))
    assert adapted.json == {"model": "gpt-4o", "messages": [HI]}
    assert {change.rule for change in adapted.changes} == {"stray-field", "refused-setting"}
    again = dragoman.adapt(adapted.body, target=DOUBTED, policy=dragoman.Policy(doubt="careful"))
    assert (again.body, again.changes) == (adapted.body, ())


def test_a_lint_with_care_warns_of_what_may_be_refused() -> None:
    assert dragoman.lint(UNKNOWN, targets=DOUBTED) == []
    found = dragoman.lint(UNKNOWN, targets=DOUBTED, policy=dragoman.Policy(doubt="careful"))
    assert {(finding.rule, str(finding.severity)) for finding in found} == {
        ("stray-field", "warning"),
        ("refused-setting", "warning"),
    }


def test_an_unknown_word_for_it_is_named() -> None:
    with pytest.raises(dragoman.errors.OptionError, match='Did you mean "careful"'):
        dragoman.adapt(UNKNOWN, target=DOUBTED, policy=dragoman.Policy(doubt="carefull"))


def test_the_command_line_takes_it() -> None:
    request = json.dumps(UNKNOWN)
    options = ["--from", "openai-chat", "--to", DOUBTED]
    done = CliRunner().invoke(cli, ["adapt", "-", *options, "--doubt", "careful", "--json"], input=request)
    assert json.loads(done.stdout)["body"] == {"model": "gpt-4o", "messages": [HI]}
    assert CliRunner().invoke(cli, ["lint", "-", *options], input=request).exit_code == 0
    assert CliRunner().invoke(cli, ["lint", "-", *options, "--doubt", "careful"], input=request).exit_code == 1


LATE_SYSTEM = {"model": "x", "messages": [HI, {"role": "system", "content": "Be brief."}, HI]}
ROUTED_CLAUDE = "openrouter/anthropic/claude-haiku-4.5"
"""Nobody knows whether it refuses a late system message, and it is tried in a translation, too (K40)."""


@pytest.mark.parametrize("source", ["openai-chat", "anthropic"])
def test_what_is_tried_stays_until_it_is_refused_and_then_changes_in_place(source: str) -> None:
    request = {**LATE_SYSTEM, "max_tokens": 9}
    tried = dragoman.adapt(request, target=ROUTED_CLAUDE, source=source)
    assert [message["role"] for message in tried.json["messages"]] == ["user", "system", "user"]
    careful = dragoman.adapt(request, target=ROUTED_CLAUDE, source=source, policy=dragoman.Policy(doubt="careful"))
    assert careful.json["messages"][1] == {"role": "user", "content": "[System] Be brief."}
    assert [change.rule for change in careful.changes] == ["late-system"]


def test_a_doubt_about_form_alone_is_none() -> None:
    """K41: ids and spellings are written with care at once, since nothing is lost; fields and turns are not."""
    call = {"id": "x" * 60, "type": "function", "function": {"name": "look", "arguments": "{}"}}
    result = {"role": "tool", "tool_call_id": "x" * 60, "content": ""}
    turns = [HI, {"role": "assistant", "tool_calls": [call]}, result, MOODY]
    adapted = dragoman.adapt({"model": "m", "messages": turns, "tools": []}, target="together/m")
    assert {change.rule for change in adapted.changes} == {"call-id-form", "empty-tools"}
    assert len(adapted.json["messages"][2]["tool_call_id"]) <= 40
    assert adapted.json["messages"][3] == MOODY


EMPTY_USER = {"model": "x", "messages": [{"role": "user", "content": ""}]}

PROVEN: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    (DOUBTED, {"model": "m", "messages": [MOODY]}, {"unknown_fields": "refuses"}),
    (DOUBTED, {"model": "m", "messages": [HI], "frobnicate": 1}, {"unknown_settings": "refuses"}),
    (DOUBTED, UNKNOWN, {"unknown_fields": "refuses", "unknown_settings": "refuses"}),
    ("together/x", EMPTY_USER, {"empty_user": "refuses"}),
    (ROUTED_CLAUDE, LATE_SYSTEM, {"late_system": "refuses"}),
]


@pytest.mark.parametrize(("target", "request_", "facts"), PROVEN)
def test_the_fewest_facts_that_explain_the_careful_body(
    target: str, request_: dict[str, Any], facts: dict[str, Any]
) -> None:
    ask, chosen = read(request_, source="openai-chat"), choose(target)
    learnt = find_proven_by_care(ask, chosen, Options())
    assert learnt is not None
    assert (learnt.facts, learnt.tentative) == (facts, True)
    careful = compile_ask(ask, chosen, Options(doubt=Doubt.CAREFUL))
    assert compile_ask(ask, patch_target(chosen, Layer("lessons", learnt.facts))).body == careful.body


def test_where_nothing_is_doubted_nothing_is_proved() -> None:
    ask = read({"model": "m", "messages": [HI]}, source="openai-chat")
    assert find_proven_by_care(ask, choose(DOUBTED), Options()) is None
