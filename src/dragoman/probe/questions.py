"""Questions to a server: a small Chat request each, and the fact that its acceptance or refusal settles.

A question adds one odd thing to a request that any server accepts. It says where the odd thing goes: to the opening, to
a stretch of turns, to the end, to the tools or to the top level. So one request can ask several questions at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

import msgspec

JsonObject = Mapping[str, Any]


class Verdict(StrEnum):
    """What became of a question.

    `accepted`: the server takes it. `refused`: it does not. `dropped`: it takes it and leaves it out of the prompt.
    `otherwise`: it was refused for another reason, which is a fact of its own; the thing itself may be accepted.
    """

    ACCEPTED = "accepted"
    REFUSED = "refused"
    DROPPED = "dropped"
    OTHERWISE = "otherwise"


class Topic(StrEnum):
    """What a question is about. Questions of one topic are asked together."""

    LIMITS = "limits"
    OPENING = "opening"
    TURNS = "turns"
    ENDINGS = "endings"
    CALLS = "calls"
    TOOLS = "tools"
    SETTINGS = "settings"
    FORMS = "forms"
    EFFORTS = "efforts"


class Outcome(msgspec.Struct, frozen=True):
    """The facts that a verdict settles. `adds` and `removes` change facts that are lists."""

    facts: Mapping[str, Any] = {}
    adds: Mapping[str, tuple[str, ...]] = {}
    removes: Mapping[str, tuple[str, ...]] = {}

    @property
    def names(self) -> frozenset[str]:
        """The facts that it settles. A setting or a medium counts as one."""
        names = {*self.adds, *self.removes}
        for name, value in self.facts.items():
            names |= {f"{name}.{key}" for key in value} if isinstance(value, Mapping) else {name}
        return frozenset(names)


NO_OUTCOME = Outcome()


class Condition(msgspec.Struct, frozen=True):
    """If `question` has this verdict, another one need not be asked. `then` is the verdict that it has thereby; None:
    it has none, since it means nothing then."""

    question: str
    verdict: Verdict
    then: Verdict | None = None


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """One question.

    `settles`: a fact that then says `accepts` or `refuses`. `accepted`, `refused`: outcomes for facts of other kinds.
    `opening`: messages before the first turn. `turns`: turns that begin with the user's and end with the assistant's.
    `closing`: the last messages, in place of the user's. `tools`: further tools. `members`: members of the body.
    `words`: words that a refusal uses for what is asked. `carries`: texts that must reach the model.
    `unless`: earlier verdicts that settle it. `after`: questions that must be accepted first; if one is refused,
    the question means nothing. `stands_for`: a question that counts as accepted for others if this one is accepted.
    `alone`: it is not asked together with others. `streamed`: the answer comes as a stream. `declares`:
    the tools that are called in its turns are declared.
    """

    id: str
    asks: str
    topic: Topic
    opening: tuple[JsonObject, ...] = ()
    turns: tuple[JsonObject, ...] = ()
    closing: tuple[JsonObject, ...] = ()
    tools: tuple[JsonObject, ...] = ()
    members: JsonObject = {}
    settles: str = ""
    accepted: Outcome = NO_OUTCOME
    refused: Outcome = NO_OUTCOME
    words: tuple[str, ...] = ()
    carries: tuple[str, ...] = ()
    unless: tuple[Condition, ...] = ()
    after: tuple[str, ...] = ()
    stands_for: str = ""
    alone: bool = False
    streamed: bool = False
    declares: bool = True

    def outcome(self, verdict: Verdict) -> Outcome:
        """What a verdict settles. Who drops something accepts it, as far as the request goes."""
        if self.settles:
            return Outcome({self.settles: "refuses" if verdict is Verdict.REFUSED else "accepts"})
        return self.refused if verdict is Verdict.REFUSED else self.accepted

    @property
    def names(self) -> frozenset[str]:
        """The facts that it can settle."""
        return self.outcome(Verdict.ACCEPTED).names | self.outcome(Verdict.REFUSED).names

    @property
    def uses_calls(self) -> bool:
        return any(
            message.get("tool_calls") or message.get("role") == "tool" for message in (*self.turns, *self.closing)
        )


def request_body(questions: Iterable[Question], on_calls: JsonObject | None = None) -> dict[str, Any]:
    """The members of a Chat request that asks these questions at once, without its model and its token limit.

    Tools are declared where the turns have calls, as most servers want it. `on_calls`: members of every message with
    calls, for a server that does not take calls without them.
    """
    asked = tuple(questions)
    body: dict[str, Any] = {"messages": [_completed(message, on_calls) for _, message in placed_messages(asked)]}
    tools = [tool for _, tool in placed_tools(asked)]
    if tools:
        body["tools"] = tools
    for question in asked:
        body |= question.members
    return body


def placed_messages(questions: Sequence[Question]) -> list[tuple[Question | None, JsonObject]]:
    """The messages of a request, each with the question that it belongs to. The last one may belong to none."""
    placed: list[tuple[Question | None, JsonObject]] = []
    for field in ("opening", "turns", "closing"):
        placed += [(question, message) for question in questions for message in getattr(question, field)]
    if not any(question.closing for question in questions):
        placed.append((None, user()))
    return placed


def placed_tools(questions: Sequence[Question]) -> list[tuple[Question | None, JsonObject]]:
    """The tools of a request, each with the question that it belongs to. One of a name is enough."""
    placed: list[tuple[Question | None, JsonObject]] = []
    if any(question.uses_calls and question.declares for question in questions):
        placed.append((None, LOOKUP))
    for question in questions:
        new = question.tools if question.tools != (LOOKUP,) or not any(tool == LOOKUP for _, tool in placed) else ()
        placed += [(question, tool) for tool in new]
    return placed


def _completed(message: JsonObject, on_calls: JsonObject | None) -> JsonObject:
    return {**message, **on_calls} if on_calls and message.get("tool_calls") else message


def fit_together(one: Question, other: Question) -> bool:
    """Whether one request can ask both: nothing of one stands in the other's place."""
    if one.alone or other.alone or one.streamed != other.streamed:
        return False
    return not (one.closing and other.closing) and one.members.keys().isdisjoint(other.members)


def user(content: Any = "Hi", **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": content, **more}


def assistant(content: Any = "Hello.", **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **more}


def system(content: Any = "Be brief.", **more: Any) -> dict[str, Any]:
    return {"role": "system", "content": content, **more}


def call(id: str, arguments: Any = '{"word":"sun"}', name: str = "lookup") -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def calls(*made: Mapping[str, Any], content: Any = None) -> dict[str, Any]:
    return {"role": "assistant", "content": content, "tool_calls": list(made)}


def result(id: str, content: Any = "A star.") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": content}


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def function(name: str, **more: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}
    return {"type": "function", "function": {"name": name, "description": "Look up.", "parameters": schema, **more}}


LOOKUP: JsonObject = function("lookup")
