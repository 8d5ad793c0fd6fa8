"""Decisions about what the sources disagree on."""

from __future__ import annotations

from pathlib import Path

import msgspec
from tests.acceptance.asking import (
    CLAUDE,
    GEMINI,
    NATIVE,
    NEW_CLAUDE,
    OPENAI,
    PROXY,
    answered,
    ask,
    called,
    roles,
    rules,
    says,
    sent,
)

from dragoman.engine.library.adapt import BUILTIN, adapt
from dragoman.rules import BY_NAME

TWO = ask(says("system", "1"), says("system", "2"), says("user", "a"))
SCHEMA = {"type": "object", "properties": {"x": {"type": "string"}}, "additionalProperties": False}
TOOL = {"type": "function", "function": {"name": "look", "parameters": SCHEMA}}


def test_auto_joins_only_if_it_must() -> None:
    """X1."""
    assert roles(sent(TWO, OPENAI)) == ["system", "system", "user"]
    assert sent(TWO, CLAUDE).json["system"] == "1\n\n2"


def test_late_system_by_target() -> None:
    """X3."""
    late = ask(says("user", "a"), says("system", "b"), says("assistant", "c"), says("user", "d"))
    assert roles(sent(late, OPENAI))[1] == "system"
    assert roles(sent(late, GEMINI))[1] == "user"
    assert sent(late, CLAUDE).json["system"] == "b"
    assert roles(sent(late, NEW_CLAUDE))[1] == "system"


def test_the_profile_gates_not_the_id() -> None:
    """X5."""
    late = ask(says("user", "a"), says("system", "b"))
    assert rules(sent(late, "openrouter/google/gemma-3-27b-it")) == ["late-system"]
    assert rules(sent(late, "openai/gpt-4o")) == []


def test_tool_calls_are_legal_with_empty_content() -> None:
    """X6."""
    request = {**ask(says("user", "a"), called(), answered()), "model": "gpt-4o"}
    assert sent(request, OPENAI).changes == ()


def test_contamination_is_normal_input() -> None:
    """X7."""
    assert rules(sent(ask(says("assistant", "да", done=True), says("user", "a")), OPENAI)) == ["stray-field"]


def test_unknown_top_level_fields_stay_in_their_dialect() -> None:
    """X8."""
    request = {**ask(says("user", "a")), "model": "gpt-4o", "setting_of_tomorrow": 1}
    assert sent(request, OPENAI).body == msgspec.json.encode(request)
    abroad = sent(request, CLAUDE)
    assert "setting_of_tomorrow" not in abroad.json
    assert "/setting_of_tomorrow" in [change.at for change in abroad.changes]


def test_flattening_takes_the_call_with_its_result() -> None:
    """X9."""
    adapted = sent(ask(says("user", "a"), called(), answered()), PROXY)
    assert "tool_calls" not in adapted.body.decode()
    assert "[tool_call name=look id=call_1]" in adapted.body.decode()


def test_tools_are_never_taken_away_unasked() -> None:
    """X10."""
    assert "tools" in sent(ask(says("user", "a"), called(), answered(), tools=[TOOL]), NATIVE).json


def test_additional_properties_stay_for_claude() -> None:
    """X12."""
    schema = sent(ask(says("user", "a"), tools=[TOOL]), CLAUDE).json["tools"][0]["input_schema"]
    assert schema["additionalProperties"] is False


def test_the_skip_value_is_the_last_resort() -> None:
    """X13."""
    adapted = sent(ask(says("user", "a"), called(), answered()), "gemini/gemini-3-pro-preview")
    assert "missing-signature" in rules(adapted)


def test_peers_are_cited_with_dates() -> None:
    """X15."""
    cited = [(name, entry) for name in BUILTIN.names() for entry in BUILTIN.profile(name).evidence]
    assert cited
    for name, entry in cited:
        assert entry.seen.year >= 2023, (name, entry.fact, "older than the dialects are")
        assert entry.kind != "PEER" or entry.source or entry.says, (name, entry.fact)


def test_what_each_provider_accepts_is_a_page_that_is_written_from_the_facts() -> None:
    """X15."""
    reference = Path(__file__).resolve().parents[2] / "docs" / "reference"
    profiles, matrix = ((reference / f"{name}.md").read_text("utf-8") for name in ("profiles", "compatibility"))
    assert all(page.startswith("<!-- Written by docs/generate.py from the code") for page in (profiles, matrix))
    assert all(f"| `{name}` |" in profiles for name in BUILTIN.names()), "run: make docs"
    assert all(f"| [{rule}](rules.md#{rule}) |" in matrix for rule in BY_NAME), "run: make docs"


def test_text_beside_results_is_kept() -> None:
    """X16."""
    blocks = [{"type": "tool_result", "tool_use_id": "t", "content": "r"}, {"type": "text", "text": "and now?"}]
    use = {"type": "tool_use", "id": "t", "name": "look", "input": {}}
    request = {
        "model": "m",
        "max_tokens": 9,
        "messages": [says("user", "a"), says("assistant", [use]), says("user", blocks)],
    }
    adapted = adapt(request, source="anthropic", target=OPENAI)
    assert roles(adapted) == ["user", "assistant", "tool", "user"]
    assert "and now?" in str(adapted.json["messages"][-1])


def test_synthetic_texts_have_defaults() -> None:
    """X17."""
    assert "[autonomous processing]" in sent(ask(says("assistant", "a"), says("user", "b")), NATIVE).body.decode()
    assert "Please continue." in sent(ask(says("user", "a"), says("assistant", "b")), NEW_CLAUDE).body.decode()
