"""The form of a dialect's requests: where that which questions add goes, and a request that asks several at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from dragoman.probe.question import JsonObject, Question
from dragoman.profiles.profile import merge

MemberPath = tuple[str, ...]
_NESTED = ("content", "parts")
"""Members of a turn that may hold a list of parts."""
_KINDS = ("role", "type")


class RequestForm(msgspec.Struct, frozen=True, kw_only=True):
    """Where a request has what questions add."""

    turns_at: str = "messages"
    """The member with the turns."""
    last_turn: JsonObject
    """The user's turn that ends a request."""
    tool: JsonObject
    """A plain tool."""
    limits: tuple[JsonObject, ...]
    """Token limits, the best first. No request is sent without one, since nobody could say what it costs."""
    answer: str
    """A member that every answer has."""
    call_marks: frozenset[str] = frozenset({"tool_calls", "tool"})
    """Members, roles and types of parts that show a call or a result."""
    tools_in: str = ""
    """The member of the one entry of `tools` that lists them all, if the dialect has one."""
    tool_lists: tuple[str, ...] = ("tools",)
    """How refusals name that list."""
    always: JsonObject = {}
    """Members of every request."""

    @property
    def limit_paths(self) -> frozenset[MemberPath]:
        return frozenset(path for limit in self.limits for path in member_paths(limit))

    def has_calls(self, turn: JsonObject) -> bool:
        """Whether a turn calls a tool or answers a call."""
        return not self.call_marks.isdisjoint(_marks(turn))

    def body(self, questions: Iterable[Question], on_calls: JsonObject | None = None) -> dict[str, Any]:
        """The members of a request that asks these questions at once, without its model and its token limit.

        Tools are declared if the turns have calls, as most servers want it. `on_calls`: members of every turn with
        calls, for a server that does not take calls without them.
        """
        asked = tuple(questions)
        turns = [self._complete(turn, on_calls) for _, turn in self.place_turns(asked)]
        body: dict[str, Any] = {**self.always, self.turns_at: turns}
        tools = [tool for _, tool in self.place_tools(asked)]
        if tools:
            body["tools"] = [{self.tools_in: tools}] if self.tools_in else tools
        for question in asked:
            body = merge(body, question.members)
        return body

    def place_turns(self, questions: Sequence[Question]) -> list[tuple[Question | None, JsonObject]]:
        """The turns of a request, each with the question that it belongs to. The last one may belong to none."""
        placed: list[tuple[Question | None, JsonObject]] = []
        for field in ("opening", "turns", "closing"):
            placed += [(question, turn) for question in questions for turn in getattr(question, field)]
        if not any(question.closing for question in questions):
            placed.append((None, self.last_turn))
        return placed

    def place_tools(self, questions: Sequence[Question]) -> list[tuple[Question | None, JsonObject]]:
        """The tools of a request, each with the question that it belongs to. One of a name is enough."""
        placed: list[tuple[Question | None, JsonObject]] = []
        if any(question.declares and self._uses_calls(question) for question in questions):
            placed.append((None, self.tool))
        for question in questions:
            plain = question.tools == (self.tool,)
            new = () if plain and any(tool == self.tool for _, tool in placed) else question.tools
            placed += [(question, tool) for tool in new]
        return placed

    def _uses_calls(self, question: Question) -> bool:
        return any(self.has_calls(turn) for turn in (*question.opening, *question.turns, *question.closing))

    def _complete(self, turn: JsonObject, on_calls: JsonObject | None) -> JsonObject:
        return {**turn, **on_calls} if on_calls and turn.get("tool_calls") else turn


def fit_together(one: Question, other: Question) -> bool:
    """Whether one request can ask both: nothing of one stands in the other's place."""
    if one.alone or other.alone or one.streamed != other.streamed:
        return False
    if (one.closing and other.closing) or _collide(one.members, other.members):
        return False
    return not ((one.toolless and other.tools) or (other.toolless and one.tools))


def member_paths(members: Mapping[str, Any], before: MemberPath = ()) -> Iterator[MemberPath]:
    """The paths of all values. An object with members is none; its members are."""
    for name, value in members.items():
        if isinstance(value, Mapping) and value:
            yield from member_paths(value, (*before, name))
        else:
            yield (*before, name)


def _collide(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    if one.keys().isdisjoint(other):
        return False
    others = tuple(member_paths(other))
    return any(_overlap(path, second) for path in member_paths(one) for second in others)


def _overlap(one: MemberPath, other: MemberPath) -> bool:
    shared = min(len(one), len(other))
    return one[:shared] == other[:shared]


def _marks(turn: JsonObject) -> Iterator[str]:
    """Members that say something, roles and types, of the turn and its parts."""
    for name, value in turn.items():
        if name in _KINDS:
            yield str(value)
        elif value:
            yield name
        if name in _NESTED and isinstance(value, list):
            for part in value:
                yield from _marks(part) if isinstance(part, Mapping) else ()
