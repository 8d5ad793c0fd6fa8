"""Generated requests: every dialect, every shape, with the defects that real histories have.

`request(seed)` is fast and for sweeps; `conversations()` is the hypothesis strategy, whose findings shrink.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from hypothesis import strategies as st
from tests.by_dialect import ByDialect
from tests.shapes.bedrock import bedrock
from tests.shapes.chat import chat
from tests.shapes.chooser import Chooser, seeded
from tests.shapes.claude import claude
from tests.shapes.cohere import cohere
from tests.shapes.gemini import gemini
from tests.shapes.ollama import ollama
from tests.shapes.responses import responses
from tests.shapes.words import Signer

SHAPES: dict[str, Callable[[Chooser, Signer], dict[str, Any]]] = ByDialect(
    "tests/strategies.py, what generates its requests",
    {
        "openai-chat": chat,
        "anthropic": claude,
        "openai-responses": responses,
        "gemini": gemini,
        "ollama": ollama,
        "cohere": cohere,
        "bedrock": bedrock,
    },
)


class Asked(msgspec.Struct, frozen=True):
    """A client's request and the dialect it is written in."""

    dialect: str
    body: bytes


def request(dialect: str, seed: int, signer: Signer | None = None) -> Asked:
    """The request of this number: the same in every run."""
    return _asked(dialect, seeded(seed), signer)


@st.composite
def conversations(draw: st.DrawFn, dialect: str | None = None, signer: Signer | None = None) -> Asked:
    """A request of one dialect, or of any."""
    spoken = dialect or draw(st.sampled_from(sorted(SHAPES)))
    return _asked(spoken, Chooser(lambda count: draw(st.integers(0, count - 1))), signer)


def _asked(dialect: str, pick: Chooser, signer: Signer | None) -> Asked:
    return Asked(dialect, msgspec.json.encode(SHAPES[dialect](pick, signer or Signer())))
