"""`dragoman profiles diff` and `test`: two profiles compared, and the laws for one in a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dragoman.cli import cli

GOOD = """
dialect = "openai-chat"
title = "Ours"

[facts]
system_place = "opening"
system_count = "one"
first_turn = "user"
repeated_roles = "refuses"
user_after_tool = "refuses"
empty_assistant = "refuses"
unknown_settings = "refuses"
known_settings = ["max_tokens", "max_completion_tokens"]
legacy_calls = "refuses"
call_id_pattern = "[a-zA-Z0-9]{9}"
call_id_length = 9

[facts.settings]
top_k = { support = "refuses" }
"""


def run(*args: str) -> Result:
    return CliRunner().invoke(cli, ["profiles", *args], prog_name="dragoman")


def written(folder: Path, text: str, name: str = "ours.toml") -> str:
    (folder / name).write_text(text)
    return str(folder / name)


def test_two_profiles_are_compared_fact_by_fact() -> None:
    ran = run("diff", "openai-compatible-strict", "openai-compatible-lenient", "--json")
    found = {one["fact"]: (one["first"], one["second"]) for one in json.loads(ran.stdout)}
    assert ran.exit_code == 1
    assert found["unknown_fields"] == ("refuses", "tried")
    assert found["settings.min_p.support"] == ("refuses", "unknown")
    assert "provider" not in found


def test_a_profile_does_not_differ_from_itself() -> None:
    ran = run("diff", "groq/llama-3.3-70b-versatile", "groq/llama-3.3-70b-versatile")
    assert (ran.exit_code, ran.stdout) == (0, "no fact differs\n")


def test_a_file_is_compared_with_a_name(tmp_path: Path) -> None:
    ran = run("diff", written(tmp_path, GOOD), "openai-compatible-lenient")
    rows = {line.split()[0]: line.split()[1:] for line in ran.stdout.splitlines()}
    assert rows["system_place"] == ["opening", "anywhere"]


@pytest.mark.parametrize(
    "name", ["openai-compatible-strict", "mistral/mistral-large-latest", "vllm/some-model", "openrouter", "zai"]
)
def test_the_laws_hold_for_profiles_of_ours(name: str) -> None:
    ran = run("test", name)
    assert ran.exit_code == 0, ran.stdout
    assert "what is sent is accepted" in ran.stdout


def test_the_laws_hold_for_a_good_file(tmp_path: Path) -> None:
    ran = run("test", written(tmp_path, GOOD), "--json")
    result = json.loads(ran.stdout)
    assert (ran.exit_code, result["failures"]) == (0, [])
    assert result["checked"]["what is sent is accepted"] > 90


def test_a_file_that_contradicts_itself_fails(tmp_path: Path) -> None:
    """The ids that we make have 24 letters, and its server takes 5."""
    ran = run("test", written(tmp_path, GOOD.replace("{9}", "{5}").replace("call_id_length = 9", "")))
    assert ran.exit_code == 1
    assert "what is sent is accepted: a call and its result in the history" in ran.stdout


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("diff", "groq"), "diff takes A and B"),
        (("test", "anthropic"), "only Chat profiles have a judge of their facts"),
        (("groq", "openai"), "one word too many"),
        (("test", "nowhere.toml"), "cannot be read"),
    ],
)
def test_what_is_wrong_is_said(args: tuple[str, ...], message: str) -> None:
    ran = run(*args)
    assert ran.exit_code in (1, 2)
    assert message in ran.stderr


def test_a_file_of_several_profiles_wants_a_name(tmp_path: Path) -> None:
    both = '[one]\nlike = "groq"\n[two]\nlike = "groq"\nfacts = { first_turn = "user" }\n'
    file = written(tmp_path, both, "both.toml")
    assert "holds 2 profiles" in run("test", file).stderr
    ran = run("diff", f"{file}:one", f"{file}:two", "--json")
    assert [one["fact"] for one in json.loads(ran.stdout)] == ["first_turn"]
