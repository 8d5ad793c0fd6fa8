"""What becomes of an answer that its request limits: cut at a stop text, and at the number of tokens."""

from __future__ import annotations

from dataclasses import replace

from dragoman.emulators.plausible.request_view import RequestView
from dragoman.emulators.provider import ModelTurn
from dragoman.emulators.usage import TOKEN_BYTES, count_text_tokens, count_tokens


def limit_turn(turn: ModelTurn, view: RequestView) -> ModelTurn:
    """The turn as far as the request lets it go."""
    return _cut_at_tokens(_cut_at_stop(turn, view.stops), view.limit)


def _cut_at_stop(turn: ModelTurn, stops: tuple[str, ...]) -> ModelTurn:
    text = turn.visible_text
    found = [(at, stop) for stop in stops if (at := text.find(stop)) >= 0]
    if not found:
        return turn
    at, stop = min(found)
    return replace(turn, text=text[:at], json=None, calls=(), stop="end", stopped_by=stop)


def _cut_at_tokens(turn: ModelTurn, limit: int | None) -> ModelTurn:
    """Thoughts use up to a quarter of the tokens, the text comes next, then the calls as long as they fit."""
    if limit is None:
        return turn
    thought = _cut_text(turn.reasoning or "", limit // 4)
    left = limit - count_text_tokens(thought)
    text = _cut_text(turn.visible_text, left)
    left -= count_text_tokens(text)
    is_cut = len(text) < len(turn.visible_text)
    calls = []
    for call in turn.calls if not is_cut else ():
        left -= count_text_tokens(call.name) + count_tokens(call.arguments)
        if left >= 0:
            calls.append(call)
    reasoning = thought or None
    if is_cut:
        return replace(turn, reasoning=reasoning, text=text, json=None, calls=(), stop="length", stopped_by=None)
    if len(calls) < len(turn.calls):
        return replace(turn, reasoning=reasoning, calls=tuple(calls), stop="length", stopped_by=None)
    return replace(turn, reasoning=reasoning)


def _cut_text(text: str, tokens: int) -> str:
    """The beginning of a text that has at most so many tokens."""
    data = text.encode("utf-8", "replace")
    return text if len(data) <= tokens * TOKEN_BYTES else data[: tokens * TOKEN_BYTES].decode("utf-8", "ignore")
