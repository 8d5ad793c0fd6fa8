"""Token counts that add up.

No tokenizer: four bytes of UTF-8 are one token, everywhere the same, so that a test can compute them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dragoman.emulators.provider import Received, Turn
from dragoman.emulators.wire import compact


@dataclass(frozen=True, slots=True)
class Usage:
    """`input` includes `cached`; `output` includes `reasoning`."""

    input: int
    output: int
    cached: int = 0
    reasoning: int = 0

    @property
    def total(self) -> int:
        return self.input + self.output


def tokens(text: str) -> int:
    """The tokens of a text."""
    return -(-len(text.encode("utf-8", "replace")) // 4)


def weight(value: Any) -> int:
    """The tokens of any JSON value: of its strings and numbers, not of its punctuation."""
    match value:
        case str():
            return tokens(value)
        case dict():
            return sum(weight(member) for member in value.values())
        case list():
            return sum(map(weight, value))
        case None | bool():
            return 0
        case _:
            return 1


def used(prompt: Any, turn: Turn) -> Usage:
    """The usage of an answer. `prompt` is the part of the body that the model reads."""
    reasoning = tokens(turn.reasoning or "")
    calls = sum(tokens(call.name) + weight(call.arguments) for call in turn.calls)
    said = tokens(turn.says) + tokens(turn.refusal or "")
    given = max(1, weight(prompt))
    return Usage(given, reasoning + calls + said, min(turn.cached, given), reasoning)


def digest(call: Received) -> str:
    """What the ids of an answer are drawn from."""
    return compact([call.path, call.body]).decode("utf-8", "replace")
