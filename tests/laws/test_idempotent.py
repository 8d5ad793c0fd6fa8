"""Laws 3 and 4: adapting the result again changes and reports nothing, and the same request gives the same bytes."""

from __future__ import annotations

import pytest
from tests.strategies import SHAPES, request
from tests.targets import SWEEPS, signer

from dragoman.engine.library.adapt import AdaptedRequest, adapt


@pytest.mark.parametrize(("target", "seeds"), SWEEPS)
def test_the_result_is_adapted_to_itself(target: str, seeds: range) -> None:
    for source in SHAPES:
        for seed in seeds:
            once = adapt(request(source, seed, signer(target)).body, source=source, target=target)
            twice = adapt(once.body, source=once.dialect, target=target)
            assert told(twice) == [], (source, seed)
            assert twice.body == once.body, (source, seed)


def told(adapted: AdaptedRequest) -> list[tuple[str, str]]:
    return [(change.rule, change.did) for change in adapted.changes]
