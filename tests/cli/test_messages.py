"""What users are told: all mistakes at once, the near word first, what to install, which values a shell completes."""

from __future__ import annotations

import errno
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner, Result

import dragoman
from dragoman.cli import cli, main
from dragoman.cli.output import console
from dragoman.conversation.changes import Loss
from dragoman.conversation.dialect_names import DIALECT_NAMES
from dragoman.profiles.doubts import Doubt, DoubtName


def run(*args: str) -> Result:
    return CliRunner().invoke(cli, args, prog_name="dragoman", input='{"messages":[{"role":"user","content":"Hi"}]}')


# config check


def check(tmp_path: Path, text: str) -> Result:
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    return run("config", "check", str(file))


def test_config_check_takes_a_file(tmp_path: Path) -> None:
    done = check(tmp_path, "server: {port: 1}\n")
    assert (done.exit_code, done.stdout) == (0, "mine.yaml: valid (0 providers, 0 models, 0 keys)\n")
    assert run("config", "check", "a.yaml", "--config", "b.yaml").exit_code == 2


def test_a_check_of_the_store_warns_once(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("providers: {groq: {api_key: '${NOWHERE}'}}\n")
    assert run("store", "check", "--config", str(file)).stderr.count("NOWHERE") == 1


def test_a_port_that_no_machine_has_is_named() -> None:
    done = run("emulate", "gemini", "--port", "99999")
    assert done.exit_code == 1
    assert "cannot listen on 127.0.0.1:99999 and the next ports: " in done.stderr


@pytest.mark.parametrize("text", ["", "# nothing\n", "providers:\nmodels: {}\n"])
def test_an_empty_file_is_not_valid(text: str, tmp_path: Path) -> None:
    done = check(tmp_path, text)
    assert done.exit_code == 1
    assert "mine.yaml: says nothing" in done.stderr


MANY = """\
server: {port: many}
providers:
  groq: {connections: lots}
  fast: {profile: gemni}
models:
  a: {target: groq/x, hidden: maybe}
  b: {fallbacks: [groq/y]}
  c: {target: nowhere/x}
default_model: b
rules: {late-sytem: user}
"""


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    done = check(tmp_path, MANY)
    assert done.exit_code == 1
    lines = [line.split(": ")[0] for line in done.stderr.splitlines()]
    assert lines == [f"mine.yaml:{number}" for number in (1, 3, 4, 6, 7, 8, 10)]
    assert "default_model" not in done.stderr, "its model is there, and has a mistake of its own"


def test_a_section_that_is_lost_takes_no_blame_for_others(tmp_path: Path) -> None:
    done = check(tmp_path, "providrs: {fast: {profile: groq}}\nmodels: {a: {target: fast/x}}\n")
    [line] = done.stderr.splitlines()
    assert line.startswith("mine.yaml:1: providrs is not a known key")


# Profiles

PROFILE = """\
[mine]
dialect = "openai-chat"
titel = "x"
[mine.facts]
system_plce = "opening"
system_place = "openin"
first_turn = 5
[mine.rules]
late-sytem = "user"
[[mine.models]]
match = "a*"
[[mine.models]]
match = "x*"
facts = { last_trn = "user" }
[mine.models.rules]
many-systems = "nothing"
"""


def test_all_mistakes_of_a_profile_with_their_lines(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text(PROFILE)
    done = run("adapt", "--to", "mine/x", "--profiles", str(file))
    assert done.exit_code == 1
    told = done.stderr.splitlines()
    starts = [
        (3, '"titel" is no key of a profile here. Did you mean "title"?'),
        (5, '"system_plce" is no fact. Did you mean "system_place"?'),
        (6, 'system_place cannot be "openin". Did you mean "opening"?'),
        (7, "first_turn: Expected `str`, got `int`"),
        (9, 'no rule is called "late-sytem". Did you mean "late-system"?'),
        (14, '"last_trn" is no fact. Did you mean "last_turn"?'),
    ]
    assert len(told) >= len(starts)
    for line, (number, words) in zip(told, starts, strict=False):
        assert line.startswith(f"dragoman: {file}:{number}: {words}")


def test_a_configuration_names_them_too(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text('[mine]\ndialect = "openai-chat"\n[mine.rules]\nlate-sytem = "user"\n')
    done = check(tmp_path, "server: {port: 1}\nprofiles: [own.toml]\n")
    assert done.exit_code == 1
    assert "mine.yaml:2: profiles: " in done.stderr
    assert 'own.toml:4: no rule is called "late-sytem"' in done.stderr


@pytest.mark.parametrize(
    "args",
    [
        ("rules", "late-sytem"),
        ("adapt", "--to", "openai/x", "--rule", "late-sytem=user"),
        ("adapt", "--to", "openai/x", "--stop-after", "late-sytem"),
    ],
)
def test_the_near_rule_comes_first(args: tuple[str, ...]) -> None:
    done = run(*args)
    assert done.exit_code == 2
    assert 'no rule is called "late-sytem". Did you mean "late-system"? Known: ' in done.stderr


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("adapt", "--to", "gpt-4o"), '"gpt-4o" is not a target (write openai-responses/gpt-4o; for a'),
        (("adapt", "--to", "smart"), "for a model of your configuration, add --config FILE)"),
        (("explain", "claude-sonnet-4-5"), "(write anthropic/claude-sonnet-4-5)"),
        (("explain", "nothing"), "(write PROFILE/MODEL, as in"),
        (("explain", "anthropc/x"), 'no profile is called "anthropc". Did you mean "anthropic"? Known: '),
        (("serv",), 'no command is called "serv". Did you mean "serve"? Known: '),
        (("help",), 'no command is called "help". Did you mean "--help"? Known: '),
        (("version",), 'no command is called "version". Did you mean "--version"? Known: '),
        (("completion",), "Choose from: bash, zsh, fish (see"),
    ],
)
def test_what_was_meant(args: tuple[str, ...], words: str) -> None:
    done = run(*args)
    assert done.exit_code == 2
    assert words in done.stderr


def test_nothing_is_said_of_requests_that_were_not_there() -> None:
    done = run("lint", "none.json", "--to", "openai/gpt-4o")
    assert (done.exit_code, done.stderr) == (
        1,
        "dragoman: none.json: cannot be read: No such file or directory\n",
    )


# What a machine refuses


def test_a_full_disk_is_no_error_of_the_program(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def fill(path: Path, *_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr("dragoman.cli.commands.records.store.open_kept_store", fill)
    monkeypatch.setattr(sys, "argv", ["dragoman", "store", "check"])
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
    assert capsys.readouterr().err.endswith(": No space left on device\n")


def test_a_store_that_cannot_be_used_is_not_said_to_be_in_memory(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("store: {path: mine.yaml}\n")
    done = run("store", "check", "--config", str(file))
    assert done.exit_code == 2
    assert done.stderr.startswith(f"dragoman: {file} cannot be used as a store: ")


# Extras


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delitem(sys.modules, "dragoman.cli.commands.providers.emulate", raising=False)
    monkeypatch.setitem(sys.modules, "orjson", None)
    monkeypatch.setattr(sys, "argv", ["dragoman", "emulate", "vllm", "--port", "0"])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 1
    [line] = capsys.readouterr().err.splitlines()
    assert line == "dragoman: this needs orjson, which is not installed (pip install 'dragoman[emulators]')"


# Completion


@pytest.mark.parametrize(
    ("args", "incomplete", "wanted"),
    [
        (["lint", "a.json", "--to"], "anthr", "anthropic/"),
        (["lint", "a.json", "--to"], "openai/gpt-4o,anthropic/claude-opus", "openai/gpt-4o,anthropic/claude-opus-4-6"),
        (["adapt", "--rule"], "late-s", "late-system="),
        (["adapt", "--rule"], "late-system=o", "late-system=opening"),
        (["adapt", "--from"], "claude", "claude-code"),
        (["route", "--from"], "anth", "anthropic"),
        (["adapt", "--max-loss"], "auth", "authority"),
        (["adapt", "--stop-after"], "late-s", "late-system"),
        (["rules"], "late-s", "late-system"),
        (["profiles"], "mistr", "mistral"),
        (["explain"], "groq/llama-3.3", "groq/llama-3.3-70b-versatile"),
        (["chat"], "claude-son", "claude-sonnet-4-6"),
        (["emulate"], "vll", "vllm"),
    ],
)
def test_values_are_completed(args: list[str], incomplete: str, wanted: str) -> None:
    found = ShellComplete(cli, {}, "dragoman", "_DRAGOMAN_COMPLETE").get_completions(args, incomplete)
    assert wanted in [item.value for item in found]
    assert all(item.value.startswith(incomplete) for item in found)


# Types


def test_names_are_types_in_the_library() -> None:
    hints = get_type_hints(dragoman.adapt)
    assert {name for part in get_args(hints["source"]) for name in get_args(part)} == {"auto", *DIALECT_NAMES}
    assert get_args(dragoman.LossName) == tuple(str(loss) for loss in Loss)
    assert get_args(DoubtName) == tuple(Doubt)
    assert get_type_hints(dragoman.Policy)["doubt"] == DoubtName
    assert get_type_hints(dragoman.lint)["source"] == hints["source"]


_COUNTS = ("anthropic/claude-sonnet-4-5-20250929", "1234567", "8901234", "123.456789", "images, documents", "5 $")


@pytest.mark.parametrize("width", [40, 60, 80, 87, 88, 89, 90, 100, 140])
def test_a_table_breaks_no_number_and_no_name(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr(console, "is_terminal", lambda stream: True)
    console.print_table(("model", "requests", "input tokens", "cost", "what", "last"), [_COUNTS])
    shown = capsys.readouterr().out
    assert all(word in shown for cell in _COUNTS for word in cell.split())
    assert all(len(line.rstrip()) <= width for line in shown.splitlines())


PAGES = (
    (console.print_beside, ("  warn  providers  ", "no provider: `serve` and `chat` use emulators " * 3)),
    (console.print_prose, ("Some models take instructions\nonly before the conversation.\n\n    user: Hi\n" * 2,)),
    (console.print_table, (("rule", "defect"), [("late-system", "A system message after the first turn. " * 3)])),
)


@pytest.mark.parametrize("width", [60, 70, 120, 200])
@pytest.mark.parametrize(("show", "given"), PAGES)
def test_a_narrow_terminal_gets_whole_words(
    show: Callable[..., None],
    given: tuple[Any, ...],
    width: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr(console, "is_terminal", lambda stream: False)
    show(*given)
    plain = capsys.readouterr().out
    monkeypatch.setattr(console, "is_terminal", lambda stream: True)
    show(*given)
    shown = capsys.readouterr().out
    assert set(plain.split()) <= set(shown.split())
    assert all(len(line.rstrip()) <= width for line in shown.splitlines())
    assert "\n    user: Hi\n" in shown or show is not console.print_prose


@pytest.mark.parametrize("command", [["usage", "-c", "{file}"], ["models"]])
def test_json_is_asked_for_in_one_way(command: list[str], tmp_path: Path) -> None:
    file = tmp_path / "dragoman.yaml"
    file.write_text("providers: {openai: {api_key: k}}")
    words = [word.format(file=file) for word in command]
    asked = [CliRunner().invoke(cli, [*words, *more]).stdout for more in (["--json"], ["--format", "json"])]
    assert json.loads(asked[0]) == json.loads(asked[1])
