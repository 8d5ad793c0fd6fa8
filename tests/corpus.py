"""The corpus of recorded traffic, where it lies; never copied.

`DRAGOMAN_CORPUS` names its folder, else it is looked for beside the project. The default run takes a sample by the hash
of an exchange's id; `DRAGOMAN_FULL=1` takes all.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

_BESIDE = Path(__file__).resolve().parents[2] / "shared" / "corpus"

FULL = os.environ.get("DRAGOMAN_FULL") == "1"


def corpus() -> Path:
    """The folder of the corpus; skips the test that asks where there is none."""
    found = Path(os.environ.get("DRAGOMAN_CORPUS", _BESIDE))
    if not found.is_dir():
        pytest.skip("no recorded traffic: set DRAGOMAN_CORPUS to its folder")
    return found


def exchanges(*patterns: str) -> Iterator[dict[str, Any]]:
    """Every exchange of the files that match."""
    for pattern in patterns:
        for path in sorted(corpus().glob(pattern)):
            with path.open("rb") as lines:
                yield from map(orjson.loads, lines)


RECORDED_AS = {"cohere": "cohere.cohere-chat", "ollama": "ollama.ollama-chat", "bedrock": "*.bedrock-converse"}
"""Dialects that the corpus calls otherwise, with who answered where others use the same name."""
_PATHS = {"cohere": "/v2/chat"}
"""The path of a dialect, where the same file holds traffic of an older one."""


def spoken_in(dialect: str) -> Iterator[dict[str, Any]]:
    """Every exchange in a dialect, under our name of it."""
    for exchange in exchanges(f"{RECORDED_AS.get(dialect, f'*.{dialect}')}.jsonl"):
        request = exchange["request"]
        if request is None or request["path"].startswith(_PATHS.get(dialect, "")):
            yield {**exchange, "dialect": dialect}


_NAMES = {recorded.rpartition(".")[2]: name for name, recorded in RECORDED_AS.items()}


def under_our_name(exchange: dict[str, Any]) -> dict[str, Any]:
    """The exchange under our name of its dialect."""
    return {**exchange, "dialect": _NAMES.get(exchange["dialect"], exchange["dialect"])}


def sampled(identity: str, one_in: int) -> bool:
    """Whether an exchange is in the sample of the default run."""
    return FULL or int(identity[:8], 16) % one_in == 0
