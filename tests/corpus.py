"""The corpus of recorded traffic, where it lies; never copied.

`DRAGOMAN_CORPUS` names its folder, else it is looked for beside the project. The default run takes a sample by the hash
of an exchange's id; `DRAGOMAN_FULL=1` takes all.
"""

from __future__ import annotations

import os
import re
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import orjson
import pytest

_BESIDE = Path(__file__).resolve().parents[2] / "shared" / "corpus"

FULL = os.environ.get("DRAGOMAN_FULL") == "1"


def corpus() -> Path:
    """The folder of the corpus; skips the test that asks if there is none."""
    found = Path(os.environ.get("DRAGOMAN_CORPUS", _BESIDE))
    if not found.is_dir():
        pytest.skip("no recorded traffic: set DRAGOMAN_CORPUS to its folder")
    return found


def exchanges(*patterns: str) -> Iterator[dict[str, Any]]:
    """Every exchange of the files that match."""
    for pattern in patterns:
        for path in sorted(corpus().glob(pattern)):
            yield from map(orjson.loads, _unmasked_lines(path))


@cache
def _unmasked_lines(path: Path) -> list[bytes]:
    """They are few megabytes, and dozens of tests read them."""
    with path.open("rb") as lines:
        return list(map(unmasked, lines))


_MASK = rb"(?:signature|redacted_thinking)_REDACTED_\d+"
_CUT = rb'(?<=ignature": ")[A-Za-z0-9+/_-]{600}(?=")|(?<=ignature":")[A-Za-z0-9+/_-]{600}(?=")'
_CUT_TOKEN = rb"gAAAA[A-Za-z0-9+/_-]{595}(?![A-Za-z0-9+/_=-])"
_MASKED = re.compile(b"|".join((_MASK, _CUT, _CUT_TOKEN)))


def unmasked(line: bytes) -> bytes:
    """A recording hides signatures, and keeps 600 characters of a long one. Each is replaced by one of its own that has
    the form of a real one."""
    if b"_REDACTED_" not in line and b'ignature":' not in line and b"gAAAA" not in line:
        return line
    return _MASKED.sub(lambda found: _stand_in(found[0]), line)


def _stand_in(masked: bytes) -> bytes:
    if masked.startswith(b"gAAAA"):
        return urlsafe_b64encode(b"\x80" + bytes(8) + blake2b(masked, digest_size=64).digest())
    return urlsafe_b64encode(b"\x12\x19" + blake2b(masked, digest_size=25).digest())


RECORDED_AS = {"cohere": "cohere.cohere-chat", "ollama": "ollama.ollama-chat", "bedrock": "*.bedrock-converse"}
"""Dialects that the corpus calls otherwise, with who answered if others use the same name."""
_PATHS = {"cohere": "/v2/chat"}
"""The path of a dialect, if the same file holds traffic of an older one."""


def recorded_in(dialect: str) -> Iterator[dict[str, Any]]:
    """Every exchange in a dialect, under our name of it."""
    for exchange in exchanges(f"{RECORDED_AS.get(dialect, f'*.{dialect}')}.jsonl"):
        request = exchange["request"]
        if request is None or request["path"].startswith(_PATHS.get(dialect, "")):
            yield {**exchange, "dialect": dialect}


_NAMES = {recorded.rpartition(".")[2]: name for name, recorded in RECORDED_AS.items()}


def under_our_name(exchange: dict[str, Any]) -> dict[str, Any]:
    """The exchange under our name of its dialect."""
    return {**exchange, "dialect": _NAMES.get(exchange["dialect"], exchange["dialect"])}


def sample_of(dialect: str, about: int) -> Iterator[dict[str, Any]]:
    """About so many exchanges in a dialect; all of them in the full run, and if there are few."""
    found = list(recorded_in(dialect))
    return (one for one in found if sampled(one["id"], max(1, len(found) // about)))


def sampled(identity: str, one_in: int) -> bool:
    """Whether an exchange is in the sample of the default run."""
    return FULL or int(identity[:8], 16) % one_in == 0
