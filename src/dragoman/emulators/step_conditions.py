"""When a step of a script answers: conditions on the request, in the names of all four dialects.

    when: {tool: bash}          # the request declares a tool of this name
    when: {results: 2}          # the conversation holds so many tool results
    when: {turn: 1}             # the model is asked for its first turn
    when: {matches: title}      # the system text or the last user text matches this pattern
    when: {model: "*haiku*"}    # the request names such a model

All that are given must hold.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from dragoman.emulators.plausible.request_view import Speaker, view_request
from dragoman.emulators.provider import ReceivedRequest
from dragoman.emulators.request_members import list_functions, request_turns
from dragoman.emulators.schema_sample import REPEATED_REPEAT

CONDITIONS = ("tool", "results", "turn", "matches", "model")
LONGEST_PATTERN = 500
SEARCHED = 20_000
"""Characters of a text that a pattern is searched in."""
_ASSISTANTS = ("assistant", "model")


class BadConditionError(ValueError):
    """A condition that cannot be used. `key` is the one that is wrong."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(message)
        self.key = key


@dataclass(frozen=True, slots=True)
class StepCondition:
    """What a request must be like. None asks for nothing."""

    tool: str | None = None
    results: int | None = None
    turn: int | None = None
    matches: re.Pattern[str] | None = None
    model: str | None = None

    def holds(self, request: ReceivedRequest) -> bool:
        body = request.body if isinstance(request.body, dict) else {}
        return (
            (self.tool is None or any(name == self.tool for name, _, _ in list_functions(body)))
            and (self.results is None or _count_results(body) == self.results)
            and (self.turn is None or next_turn(_items(body)) == self.turn)
            and (self.matches is None or _is_found(self.matches, body))
            and (self.model is None or fnmatchcase(request.model, self.model))
        )


def parse_condition(source: Mapping[str, Any]) -> StepCondition:
    """A condition from its plain form. Raises BadConditionError. Unknown keys are the caller's business."""
    for key in ("tool", "matches", "model"):
        if source.get(key) is not None and not isinstance(source[key], str):
            raise BadConditionError(key, f"{key} must be a text")
    for key, least in (("results", 0), ("turn", 1)):
        if source.get(key) is not None and not _is_number(source[key], least):
            raise BadConditionError(key, f"{key} must be a whole number from {least} on")
    pattern = source.get("matches")
    return StepCondition(
        source.get("tool"),
        source.get("results"),
        source.get("turn"),
        None if pattern is None else _compile(pattern),
        source.get("model"),
    )


def _is_number(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _compile(pattern: str) -> re.Pattern[str]:
    """The pattern. It searches text of strangers, so it must be short and must not repeat a repetition."""
    if len(pattern) > LONGEST_PATTERN:
        raise BadConditionError("matches", f"matches has more than {LONGEST_PATTERN} characters")
    if REPEATED_REPEAT.search(pattern):
        raise BadConditionError("matches", f'matches is "{pattern}"; it repeats a repetition, which may never end')
    try:
        return re.compile(pattern, re.IGNORECASE)
    except re.error as error:
        raise BadConditionError("matches", f'matches is "{pattern}", which is no pattern: {error}') from None


def _is_found(pattern: re.Pattern[str], body: dict[str, Any]) -> bool:
    turns = request_turns(body)
    systems = [text for role, text in turns if role in ("system", "developer")]
    users = [text for role, text in turns if role == "user" and text]
    return any(pattern.search(text[:SEARCHED]) for text in [*systems, *users[-1:]])


def _items(body: dict[str, Any]) -> list[dict[str, Any]]:
    """The messages of a conversation, or its items."""
    found = body.get("messages") or body.get("contents") or body.get("input")
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def _count_results(body: dict[str, Any]) -> int:
    return sum(one.speaker is Speaker.RESULT for one in view_request(body).sayings)


def next_turn(items: list[dict[str, Any]]) -> int:
    """The number of the turn that the model is asked for. Items side by side that it made are one turn."""
    made = [_is_made_by_the_model(item) for item in items]
    return 1 + sum(now and not before for before, now in zip([False, *made], made, strict=False))


def _is_made_by_the_model(item: dict[str, Any]) -> bool:
    kind = str(item.get("type") or "")
    return item.get("role") in _ASSISTANTS or kind == "reasoning" or kind.endswith("_call")
