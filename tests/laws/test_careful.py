"""Laws 1, 3 and 5 with `doubt="careful"`, in the target's own dialect: elsewhere care is taken anyway."""

from __future__ import annotations

import pytest
from tests.judges import judge
from tests.strategies import request
from tests.targets import SEEDS, TARGETS, signer, split

from dragoman.engine.library.adapt import adapt, choose
from dragoman.engine.library.policy import Policy


@pytest.mark.parametrize("target", TARGETS)
def test_careful_requests_are_accepted_and_stay_as_they_are(target: str) -> None:
    name, model = split(target)
    source = choose(target).dialect
    for seed in range(SEEDS):
        body = request(source, seed, signer(target)).body
        once = adapt(body, source=source, target=target, policy=Policy(doubt="careful"))
        assert judge(name, model, once.path, once.headers, once.body, True) is None, seed
        twice = adapt(once.body, source=once.dialect, target=target, policy=Policy(doubt="careful"))
        assert (twice.changes, twice.body) == ((), once.body), seed


@pytest.mark.parametrize("target", TARGETS)
def test_what_care_changes_is_reported(target: str) -> None:
    source = choose(target).dialect
    for seed in range(SEEDS):
        body = request(source, seed, signer(target)).body
        faithful = adapt(body, source=source, target=target)
        careful = adapt(body, source=source, target=target, policy=Policy(doubt="careful"))
        if careful.body != faithful.body:
            assert careful.changes != faithful.changes, seed
