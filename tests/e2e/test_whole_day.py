"""An agent's whole day without a key: a task of ten tool turns, on the plausible model of every emulated provider.

Nothing is scripted. The agent asks, the model calls the agent's own shell for one step after another, and the files
that are there in the end show that each step was done in its turn.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.e2e.agents import AGENTS
from tests.e2e.installed import asked_for
from tests.gateway.serving import clean_environment, serving

from dragoman.emulation.emulator_fallback import MODELS
from dragoman.profiles.facts import Stance
from dragoman.profiles.profile import Profiles

pytestmark = asked_for
COMMANDS = (
    "mkdir notes",
    "echo alpha > notes/a.txt",
    "echo beta > notes/b.txt",
    "cat notes/a.txt notes/b.txt > notes/all.txt",
    "wc -l notes/all.txt",
    "cp notes/all.txt notes/copy.txt",
    "sort -r notes/copy.txt > notes/sorted.txt",
    "mv notes/a.txt notes/z.txt",
    "ls notes > listed.txt",
    "cat notes/sorted.txt",
)
LEFT = {"all.txt": "alpha\nbeta\n", "b.txt": "beta\n", "copy.txt": "alpha\nbeta\n", "sorted.txt": "beta\nalpha\n"}
LEFT |= {"z.txt": "alpha\n"}


@dataclass(frozen=True)
class DayUpstream:
    """A model as the gateway names it, and its profile."""

    profile: str
    model: str


@dataclass(frozen=True)
class DayTask:
    """What an agent is asked to do."""

    upstream: DayUpstream

    @property
    def question(self) -> str:
        steps = [f"{at}. Run the command `{command}` in the shell." for at, command in enumerate(COMMANDS, 1)]
        return "Do these steps one by one.\n" + "\n".join(steps)


UPSTREAMS = [
    DayUpstream(profile, name)
    for profile, models in MODELS.items()
    if Profiles().target(name := f"{profile}/{models[0]}").facts.tools is not Stance.REFUSES
]
"""One model of each emulated provider, but for those that have no tools."""


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("gateway"), env=clean_environment()) as served:
        yield served.url


@pytest.mark.parametrize("asked", UPSTREAMS, ids=lambda one: one.profile)
@pytest.mark.parametrize("name", AGENTS)
def test_ten_tool_turns(name: str, asked: DayUpstream, gateway: str, npm: Path, tmp_path: Path) -> None:
    room = tmp_path / "room"
    room.mkdir()
    agent = AGENTS[name]
    said = agent.start(DayTask(asked), tmp_path, gateway, npm / "node_modules" / ".bin")
    text, _, usage = agent.read([json.loads(line) for line in said.splitlines() if line.startswith("{")])
    assert {one.name: one.read_text() for one in (room / "notes").iterdir()} == LEFT
    assert (room / "listed.txt").read_text().split() == sorted(LEFT)  # made after the ninth step and before the tenth
    assert "2 notes/all.txt" in text  # the fifth step's result
    assert text.count("beta") >= 1  # the tenth step's result
    assert usage is None or min(usage) > 0
