"""How models count the tokens of their answers, where they must be estimated."""

from __future__ import annotations

import datetime
import tomllib
from functools import lru_cache
from importlib import resources

import msgspec

from dragoman.profiles.model_patterns import LONGEST_NAME, ModelPattern, model_pattern


class TokenWeights(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a model's own count of an answer differs from the pieces of its text (`engine/tokens/token_estimate.py`).

    `scale`: tokens for each piece. `single_digits`: every digit is a token. `answer`: tokens of every answer beside its
    text. `call` and `parallel`: tokens of a lone call, and of each of several, beside name and arguments; `key`: of
    each name in the arguments. `state`: bytes of opaque state for each token of hidden reasoning, after the first
    `state_start` bytes; 0 where its length says nothing.
    """

    match: str | tuple[str, ...] = ()
    scale: float = 1.0
    single_digits: bool = False
    answer: int = 1
    call: int = 9
    parallel: int = 9
    key: int = 0
    state: float = 0.0
    state_start: int = 0

    @property
    def globs(self) -> tuple[str, ...]:
        return (self.match,) if isinstance(self.match, str) else self.match


USUAL_WEIGHTS = TokenWeights()
"""Of a model that nobody knows."""


class _Tokenizers(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    seen: datetime.date
    sources: tuple[str, ...]
    tokenizers: tuple[TokenWeights, ...]


@lru_cache(maxsize=1)
def _patterns() -> tuple[ModelPattern[TokenWeights], ...]:
    text = resources.files("dragoman.profiles").joinpath("data", "tokenizers", "weights.toml").read_text("utf-8")
    weights = msgspec.convert(tomllib.loads(text), _Tokenizers).tokenizers
    found = [model_pattern(glob, one) for one in weights for glob in one.globs]
    return tuple(sorted(found, key=lambda pattern: -pattern.letters))


@lru_cache(maxsize=4096)
def token_weights(model: str) -> TokenWeights:
    """How a model counts."""
    lowered = model[:LONGEST_NAME].lower()
    return next((one.value for one in _patterns() if one.expression.match(lowered)), USUAL_WEIGHTS)
