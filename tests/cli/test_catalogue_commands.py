"""`dragoman rules`, `profiles` and `explain`, and the group that holds all commands."""

from __future__ import annotations

import json
import re
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from dragoman import __version__
from dragoman.cli import COMMANDS, cli
from dragoman.cli.commands.providers.emulate import greet
from dragoman.emulators.catalogue import provider as emulated
from dragoman.profiles.profile import Profiles
from dragoman.rules import ORDER


def run(*args: str) -> Result:
    return CliRunner().invoke(cli, args, prog_name="dragoman")


def test_all_rules_are_listed_in_their_order() -> None:
    lines = run("rules").stdout.splitlines()
    assert [line.split()[0] for line in lines] == [rule.name for rule in ORDER]
    found = json.loads(run("rules", "--json").stdout)
    assert [rule["name"] for rule in found] == [rule.name for rule in ORDER]


def test_the_page_of_a_rule() -> None:
    text = run("rules", "late-system").stdout
    assert "A system message after the first turn." in text
    assert "    user: [System] Answer in French." in text
    assert "Options: user (default), opening, keep, fail" in text


def test_all_profiles_are_listed() -> None:
    lines = run("profiles").stdout.splitlines()
    assert [line.split()[0] for line in lines] == Profiles().names()


def test_each_fact_with_its_layer_and_its_evidence() -> None:
    facts = {line.split()[0]: line for line in run("profiles", "gemini/gemini-2.5-flash").stdout.splitlines()}
    assert "dialect gemini" in facts["system_place"]
    assert "Please use a valid role" in facts["system_place"]
    found = json.loads(run("profiles", "gemini", "--json", "--all").stdout)
    assert {"first_turn", "context_window", "media.image"} <= {one["fact"] for one in found}


def test_a_pattern_that_two_entries_share_is_listed_once() -> None:
    entries = Profiles().profile("mistral").models
    assert sum("*open-mixtral-*" in entry.globs for entry in entries) == 2
    assert run("profiles", "mistral").stdout.count("*open-mixtral-*,") == 1


def test_a_user_overrides_a_fact(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text('[gemini]\n[gemini.facts]\nfirst_turn = "any"\n')
    found = json.loads(run("profiles", "gemini", "--json", "--profiles", str(file)).stdout)
    assert ("first_turn", "any") in {(one["fact"], str(one["value"])) for one in found}


def test_explain_speaks_in_sentences() -> None:
    text = run("explain", "gemini/gemini-2.5-flash").stdout
    assert text.startswith("gemini/gemini-2.5-flash uses the gemini dialect.")
    assert "late-system: A system message after the first turn. The option is `user`." in text
    assert "because of where a system message may stand: top-level" in text
    assert "because it refuses parallel_tool_calls [settings.parallel_tool_calls]" in text
    assert "support, min, max" not in text
    assert "“Please use a valid role: user, model.”" in text


def test_help_names_every_command_that_is_there() -> None:
    text = run("--help").stdout
    for name in ("adapt", "lint", "rules", "profiles", "explain", "emulate", "config", "keys", "init", "import"):
        assert f"\n  {name} " in text
        assert run(name, "--help").exit_code == 0


@pytest.mark.parametrize("name", COMMANDS)
def test_help_names_no_option_that_is_not_there(name: str) -> None:
    found = cli.get_command(click.Context(cli), name)
    assert found is not None
    options = {word for one in found.params for word in (*one.opts, *one.secondary_opts)}
    named = {word for one in found.params for word in re.findall(r"--[a-z]+[a-z-]*", getattr(one, "help", None) or "")}
    assert named <= options


def test_an_emulator_tells_the_address_for_its_sdk() -> None:
    lines = greet(emulated("openai"), "http://127.0.0.1:8100").splitlines()
    assert lines[:2] == ["openai", "  http://127.0.0.1:8100/v1"]
    assert "  curl http://127.0.0.1:8100/v1/chat/completions " in lines[2]
    assert greet(emulated("anthropic"), "http://127.0.0.1:8101").splitlines()[1] == "  http://127.0.0.1:8101"


def test_version() -> None:
    assert run("--version").stdout.strip() == f"dragoman, version {__version__}"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_a_module_of_its_name_in_one_room(name: str) -> None:
    found = cli.get_command(click.Context(cli), name)
    assert found is not None
    assert found.name == name
    assert run("fly").exit_code == 2


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("adpt",), 'no command is called "adpt"'),
        (("rules", "late-sistem"), 'Did you mean "late-system"?'),
        (("profiles", "gemni"), 'Did you mean "gemini"?'),
        (("explain", "gemini"), '"gemini" is not a target'),
        (("explain", "gemni/x"), 'Did you mean "gemini"?'),
        (("explain",), "explain: Missing argument 'TARGET'"),
        (("adapt",), "adapt: Missing option '--to'"),
        (("adapt", "--to", "openai/x", "--form", "x"), "adapt: No such option"),
        (("adapt", "--to", "openai/x", "--json", "--diff"), "give one"),
        (("adapt", "--to", "openai/x", "--rule", "late-system"), "--rule"),
        (("adapt", "--to", "openai/x", "--rule", "late-system=sideways"), 'late-system cannot be "sideways"'),
        (("adapt", "--to", "openai/x", "--rule", "x=y"), 'no rule is called "x"'),
        (("adapt", "--to", "openai/x", "--max-loss", "everything"), 'max_loss cannot be "everything"'),
        (("adapt", "--to", "openai/x", "--stop-after", "x"), 'no rule is called "x"'),
        (("lint", "--to", "openai/x"), "lint: Missing argument 'FILES...'"),
        (("lint", "x.json", "--to", ","), "--to names no target"),
        (("lint", "x.json", "--to", "openai/x", "--format", "xml"), "lint: Invalid value for '--format'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_wrong_usage_is_status_2_and_one_line(args: tuple[str, ...], said: str) -> None:
    done = run(*args)
    assert done.exit_code == 2
    assert done.stdout == ""
    [line] = done.stderr.splitlines()
    assert line.startswith("dragoman: ")
    assert said in line
