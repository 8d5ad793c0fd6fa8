"""Real clients in loops of three turns, with reasoning and parallel calls, on every provider.

The judge looks at what the client ends up with: its last text, what its tools were given, the thoughts that it shows,
the tokens that it counts; and at what the provider got on the third turn.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.agents import AGENTS, hear
from tests.e2e.installed import asked_for
from tests.e2e.matrix import Matrix, matrix
from tests.e2e.plot import Case
from tests.e2e.sdk_clients import CLIENTS, ClientRuns
from tests.e2e.upstreams import UPSTREAMS, Upstream

pytestmark = asked_for


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Matrix]:
    with matrix(tmp_path_factory.mktemp("matrix")) as made:
        yield made


@pytest.fixture(scope="module")
def runs(world: Matrix, npm: Path, frameworks: Path, tmp_path_factory: pytest.TempPathFactory) -> ClientRuns:
    return ClientRuns(world.url, npm, frameworks, tmp_path_factory.mktemp("homes"))


upstreams = pytest.mark.parametrize("upstream", UPSTREAMS, ids=[one.name for one in UPSTREAMS])


@upstreams
@pytest.mark.parametrize("client", AGENTS)
def test_agents(world: Matrix, npm: Path, tmp_path: Path, client: str, upstream: Upstream) -> None:
    case = Case(client, upstream)
    problems = world.problems(case, hear(AGENTS[client], case, tmp_path, world.url, npm))
    assert not problems, "; ".join(problems)


@upstreams
@pytest.mark.parametrize("way", ["whole", "streamed"])
@pytest.mark.parametrize("client", CLIENTS)
def test_sdks_and_frameworks(world: Matrix, runs: ClientRuns, client: str, way: str, upstream: Upstream) -> None:
    case = Case(client, upstream, way)
    problems = world.problems(case, runs.heard(case))
    assert not problems, "; ".join(problems)
