"""How models count the tokens of their answers, if they must be estimated."""

from __future__ import annotations

import datetime
import tomllib
from functools import lru_cache

import msgspec

from dragoman.profiles.data_files import DATA
from dragoman.profiles.model_patterns import ModelPatterns


class TokenWeights(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a model's own count of an answer differs from the pieces of its text (`engine/tokens/token_estimate.py`)."""

    match: str | tuple[str, ...] = ()
    scale: float = 1.0
    """Tokens for each piece."""
    single_digits: bool = False
    """Every digit is a token."""
    answer: int = 1
    """Tokens of every answer beside its text."""
    call: int = 9
    """Tokens of a lone call beside its name and arguments."""
    parallel: int = 9
    """The same of each of several calls."""
    key: int = 0
    """Tokens of each name in the arguments."""
    state: float = 0.0
    """Bytes of opaque state for each token of hidden reasoning. 0: its length says nothing."""
    state_start: int = 0
    """Bytes of opaque state before the first such token."""

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
def _patterns() -> ModelPatterns[TokenWeights]:
    text = (DATA / "tokenizers" / "weights.toml").read_text("utf-8")
    weights = msgspec.convert(tomllib.loads(text), _Tokenizers).tokenizers
    return ModelPatterns((glob, one) for one in weights for glob in one.globs)


@lru_cache(maxsize=4096)
def find_token_weights(model: str) -> TokenWeights:
    """How a model counts."""
    return _patterns().find(model) or USUAL_WEIGHTS
