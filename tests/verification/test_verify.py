"""`dragoman verify` against emulators in the providers' place, some of them with facts changed behind its back."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator
from contextlib import ExitStack
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from dragoman.cli import cli
from dragoman.emulators.serving.background_server import RunningEmulator
from dragoman.profiles.profile import Profiles, read_profiles_file
from dragoman.testing import emulator
from dragoman.verification.trials import TRIALS
from dragoman.verification.verifying import Verifier

CLAUDE = "anthropic/claude-sonnet-4-6"
MISTRAL = "mistral/mistral-large-latest"
KEY = "sk-test-0123456789abcdefghij"


class World:
    """Emulators with a configuration that puts them in the providers' place."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder = folder
        self.page = folder / "page.md"
        self._stack = stack
        self._providers: dict[str, str] = {}

    def start(self, name: str, **options: Any) -> RunningEmulator:
        running = self._stack.enter_context(emulator(name, **options))
        self._providers[name] = running.base_url
        return running

    def verify(self, *args: str) -> Result:
        config = self.folder / "dragoman.yaml"
        lines = [f'  {name}: {{base_url: "{url}", api_key: "{KEY}"}}' for name, url in self._providers.items()]
        config.write_text("\n".join(["providers:", *lines]) + "\n")
        command = ["verify", *args, "--config", str(config), "--out", str(self.page), "--rate", "1000"]
        return CliRunner().invoke(cli, command, prog_name="dragoman", standalone_mode=True)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with ExitStack() as stack:
        yield World(tmp_path, stack)


def row(page: str, title: str) -> list[str]:
    [line] = [line for line in page.splitlines() if line.startswith(f"| {title} |")]
    return [cell.strip() for cell in line.strip("|").split(" | ")]


def test_a_page_tells_what_was_answered_both_ways(world: World) -> None:
    world.start("anthropic", models=["claude-sonnet-4-6"])
    ran = world.verify(CLAUDE)
    assert ran.exit_code == 0, ran.output
    page = world.page.read_text()
    assert row(page, f"`{CLAUDE}`")[1:4] == ["6 of 11 answered", "11 of 11 answered", "0 wrong"]
    late = row(page, "a system message in the middle")
    assert late[1] == "400: role 'system' is not supported on this model"
    assert late[2].startswith("200: ")
    assert "late-system" in late[3]
    loop = row(page, "a call, its result and the answer, with thinking")
    assert [one.startswith("200: calls weather, thinks (calls); 200: ") for one in loop[1:3]] == [True, True]
    error = row(page, "a model that does not exist")
    assert error[1:3] == ["404: model: cclaude-sonnet-4-6"] * 2
    used = row(page, "stream | through the gateway")
    assert int(used[2]) > 0 < int(used[5])
    assert f"{CLAUDE}: {len(TRIALS)} of {len(TRIALS)}" in ran.stderr
    assert KEY not in page + ran.output
    assert "Say hello" not in page
    assert not world.page.with_suffix(".verify.json").exists()


def test_a_refusal_that_the_profile_does_not_expect_becomes_a_patch(world: World) -> None:
    world.start("anthropic", models=["claude-sonnet-4-6"], refuses=['"is_error"'])
    ran = world.verify(CLAUDE)
    assert ran.exit_code == 1
    assert "1 facts are wrong" in ran.stderr
    assert row(world.page.read_text(), "`result_error`")[1:] == ["accepts", "refuses"]
    assert ran.stdout in world.page.read_text()
    patched = world.folder / "anthropic.toml"
    patched.write_text(apply(ran.stdout))
    target = Profiles(read_profiles_file(patched)).target(CLAUDE)
    assert target.facts.result_error == "refuses"
    [evidence] = [one for one in target.profile.evidence if one.fact == "result_error" and one.kind == "MEAS"]
    assert evidence.says
    assert Profiles(read_profiles_file(patched)).target("anthropic/claude-opus-5").facts.result_error == "accepts"


def apply(diff: str) -> str:
    """The profile after its patch, which only adds lines at its end."""
    assert diff.splitlines()[1] == "+++ b/src/dragoman/profiles/data/anthropic.toml"
    body = diff.splitlines()[3:]
    old = resources.files("dragoman.profiles").joinpath("data", "anthropic.toml").read_text("utf-8")
    kept = [line[1:] for line in body if line.startswith(" ")]
    assert old.splitlines()[-len(kept) :] == kept
    added = [line[1:] for line in body if line.startswith("+")]
    text = old + "".join(f"{line}\n" for line in added)
    tomllib.loads(text)
    return text


def test_what_a_provider_takes_is_no_proof_that_a_profile_is_wrong(world: World) -> None:
    """It may have ignored it: such a fact is a comment in the patch, and no failure."""
    world.start("mistral", models=["mistral-large-latest"], strict=False)
    ran = world.verify(MISTRAL)
    assert "0 facts are wrong" in ran.stderr
    assert "may have ignored it: {" in ran.stdout
    assert 'developer_role = "accepts"' in ran.stdout
    assert "[[models]]" not in [line[1:] for line in ran.stdout.splitlines() if line.startswith("+")]


def test_it_ends_within_its_budget_and_goes_on_later(world: World) -> None:
    running = world.start("anthropic", models=["claude-sonnet-4-6"])
    first = world.verify(CLAUDE, "--budget", "0.03", "--bodies")
    assert "Say hello" in world.page.read_text()  # bodies were asked for
    assert KEY not in world.page.read_text()
    assert "ended early: its share of the budget does not pay for the next request" in first.stderr
    assert "--resume goes on from here" in first.stderr
    spent = float(first.stderr.rpartition("$")[2].split()[0])
    assert 0 < spent <= 0.03
    done = len(running.requests)
    second = world.verify(CLAUDE, "--resume")
    assert second.exit_code == 0, second.output
    bodies = [str(one.body) for one in running.requests]
    assert sum("Say hello" in body for body in bodies) == 2  # once directly, once through the gateway
    assert len(bodies) > done > 2
    assert row(world.page.read_text(), f"`{CLAUDE}`")[2] == "11 of 11 answered"


def test_a_well_formed_stream_is_answered_directly(world: World) -> None:
    """A provider that takes no `stream_options` gets none."""
    world.start("mistral", models=["mistral-large-latest"])
    world.verify(MISTRAL, "--budget", "0.05")
    assert row(world.page.read_text(), "one question, streamed")[1].startswith("200: ")


def test_an_interrupted_run_says_how_to_go_on(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.start("mistral", models=["mistral-large-latest"])
    verify_target = Verifier.verify

    async def interrupt(self: Verifier, run: Any, share: float, note: Any) -> Any:
        def note_once(run: Any, step: str) -> None:
            note(run, step)
            raise KeyboardInterrupt

        return await verify_target(self, run, share, note_once)

    monkeypatch.setattr(Verifier, "verify", interrupt)
    ran = world.verify(MISTRAL)
    assert "page.verify.json holds what is known; --resume goes on from here" in ran.stderr
    assert world.page.with_suffix(".verify.json").exists()


def test_a_page_that_cannot_be_written_costs_nothing(world: World) -> None:
    running = world.start("mistral", models=["mistral-large-latest"])
    world.page = world.folder / "missing" / "page.md"
    ran = world.verify(MISTRAL)
    assert ran.exit_code == 2
    assert "missing is no directory" in ran.stderr
    assert running.requests == []


def test_a_refused_key_ends_it(world: World) -> None:
    world.start("mistral", models=["mistral-large-latest"], fault="401")
    ran = world.verify(MISTRAL)
    assert "ended early: the provider refused: " in ran.stderr
    assert "0 of 0 answered" in world.page.read_text()


def test_without_a_provider_it_says_what_to_do(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.endswith(("_KEY", "_TOKEN", "_URL"))]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(world.folder)
    ran = CliRunner().invoke(cli, ["verify"], prog_name="dragoman", standalone_mode=True)
    assert ran.exit_code == 2
    assert "no provider: the environment has no key" in ran.stderr


def test_a_provider_without_its_key_is_not_asked(world: World) -> None:
    file = world.folder / "dragoman.yaml"
    file.write_text("providers: {mistral: {api_key: '${NOWHERE}'}}\n")
    ran = CliRunner().invoke(cli, ["verify", "--config", str(file)], prog_name="dragoman", standalone_mode=True)
    assert ran.exit_code == 2
    assert "providers.mistral: has no key (set MISTRAL_API_KEY" in ran.stderr
