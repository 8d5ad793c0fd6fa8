"""Law 4, deterministic: same request, target and options, same bytes and same report, in every process."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from tests.strategies import SHAPES, request
from tests.targets import ONE_OF_EACH, signer

from dragoman.engine.library.adapt import adapt

SCRIPT = """
import sys
from dragoman.engine.library.adapt import adapt
adapted = adapt(sys.stdin.buffer.read(), source=sys.argv[1], target=sys.argv[2])
sys.stdout.buffer.write(adapted.body + repr(adapted.changes).encode())
"""


@pytest.mark.parametrize("target", ONE_OF_EACH)
def test_twice_the_same(target: str) -> None:
    for source in SHAPES:
        for seed in range(10):
            body = request(source, seed, signer(target)).body
            first, second = (adapt(body, source=source, target=target) for _ in range(2))
            assert (first.body, first.changes, first.undo) == (second.body, second.changes, second.undo)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("target", ONE_OF_EACH)
def test_another_process_with_other_hashes_says_the_same(target: str) -> None:
    body = request("openai-chat", 14, signer(target)).body
    environment = {**os.environ, "PYTHONHASHSEED": "12345"}
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT, "openai-chat", target], input=body, capture_output=True, env=environment
    )
    adapted = adapt(body, source="openai-chat", target=target)
    assert run.stdout == adapted.body + repr(adapted.changes).encode(), run.stderr
