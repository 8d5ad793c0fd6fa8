"""Questions to a server: a small Chat request each, and the fact that its acceptance or refusal settles.

A question adds one odd thing to a request that any server accepts. It says where the odd thing goes: to the opening, to
a stretch of turns, to the end, to the tools or to the top level. So one request can ask several questions at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

import msgspec

JsonObject = Mapping[str, Any]


class Verdict(StrEnum):
    """What became of a question.

    `accepted`: the server takes it. `refused`: it does not. `dropped`: it takes it and leaves it out of the prompt.
    """

    ACCEPTED = "accepted"
    REFUSED = "refused"
    DROPPED = "dropped"


class Topic(StrEnum):
    """What a question is about. Questions of one topic are asked together."""

    LIMITS = "limits"
    OPENING = "opening"
    TURNS = "turns"
    CALLS = "calls"
    TOOLS = "tools"
    SETTINGS = "settings"
    FORMS = "forms"


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
    `unless`: earlier verdicts that settle it. `after`: questions that must have been accepted before it is asked;
    while one of them is refused, the question means nothing. `alone`: it cannot be asked together with others.
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
    alone: bool = False
    streamed: bool = False

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
        return any("tool_calls" in message or message.get("role") == "tool" for message in (*self.turns, *self.closing))


def request_body(questions: Iterable[Question], declare: bool = True) -> dict[str, Any]:
    """The members of a Chat request that asks these questions at once, without its model and its token limit.

    `declare`: tools are declared where the turns have calls, as most servers want it.
    """
    asked = tuple(questions)
    messages = [message for question in asked for message in question.opening]
    messages += [message for question in asked for message in question.turns]
    closing = [message for question in asked for message in question.closing]
    messages += closing or [user()]
    body: dict[str, Any] = {"messages": messages}
    tools = [tool for question in asked for tool in question.tools]
    if declare and any(question.uses_calls for question in asked):
        tools.insert(0, LOOKUP)
    if tools:
        body["tools"] = tools
    for question in asked:
        body |= question.members
    return body


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
