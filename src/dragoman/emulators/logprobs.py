"""Probabilities of an answer's tokens, in the forms of the services that report them.

A token is as long as `usage.py` counts it. Its probability comes from its text, so that the same answer has the same
ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

from dragoman.emulators.usage import TOKEN_BYTES

_MOST_ALTERNATIVES = 20


def split_tokens(text: str) -> Iterator[str]:
    """The text in pieces of one token. A character is never cut."""
    piece, size = "", 0
    for character in text:
        length = len(character.encode("utf-8", "replace"))
        if size + length > TOKEN_BYTES and piece:
            yield piece
            piece, size = "", 0
        piece += character
        size += length
    if piece:
        yield piece


def openai_logprobs(text: str, alternatives: Any) -> list[dict[str, Any]]:
    """The entries of OpenAI's format, each with so many alternatives."""
    return [
        {**_entry(token, 0), "top_logprobs": [_entry(token, rank) for rank in range(_count(alternatives))]}
        for token in split_tokens(text)
    ]


def gemini_logprobs(text: str, alternatives: Any) -> dict[str, Any]:
    """A candidate's `logprobsResult`."""
    tokens = list(split_tokens(text))
    top = [{"candidates": [_candidate(one, rank) for rank in range(_count(alternatives))]} for one in tokens]
    return {"chosenCandidates": [_candidate(one, 0) for one in tokens], "topCandidates": top}


def cohere_logprobs(token: str) -> dict[str, Any]:
    """The entry of a piece of text that is one token."""
    return {"text": token, "token_ids": [1], "logprobs": [_logprob(token, 0)]}


def _entry(token: str, rank: int) -> dict[str, Any]:
    shown = _alternative(token, rank)
    return {"token": shown, "logprob": _logprob(token, rank), "bytes": list(shown.encode("utf-8", "replace"))}


def _candidate(token: str, rank: int) -> dict[str, Any]:
    return {"token": _alternative(token, rank), "tokenId": 1 + rank, "logProbability": _logprob(token, rank)}


def _alternative(token: str, rank: int) -> str:
    return token if rank == 0 else f"{token[:1]}{rank}"


def _logprob(token: str, rank: int) -> float:
    """Between -0.5 and 0 for the token itself; each alternative is less likely than the one before."""
    return -blake2b(token.encode("utf-8", "replace"), digest_size=1).digest()[0] / 512 - rank


def _count(alternatives: Any) -> int:
    is_number = isinstance(alternatives, int) and not isinstance(alternatives, bool)
    return max(0, min(alternatives, _MOST_ALTERNATIVES)) if is_number else 0
