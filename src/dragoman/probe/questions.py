"""Questions to a server: a small request each, and the fact that its acceptance or refusal settles.

A question adds one odd thing to a request that any server accepts. It says where the odd thing goes: to the opening, to
a stretch of turns, to the end, to the tools or to the top level. So one request can ask several questions at once.
"""

from __future__ import annotations

from collections.abc import Mapping
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
    `words`: words that a refusal uses for what is asked.
    `unless`: earlier verdicts that settle it. `after`: questions that must be accepted first; if one is refused,
    the question means nothing. `stands_for`: a question that counts as accepted for others if this one is accepted.
    `often_refused`: many servers refuse it, so it is the first suspect.
    `alone`: it is not asked together with others. `streamed`: the answer comes as a stream. `declares`:
    the tools that are called in its turns are declared. `toolless`: it means something only where no tool is declared.
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
    unless: tuple[Condition, ...] = ()
    after: tuple[str, ...] = ()
    stands_for: str = ""
    often_refused: bool = False
    alone: bool = False
    streamed: bool = False
    declares: bool = True
    toolless: bool = False

    def outcome(self, verdict: Verdict) -> Outcome:
        """What a verdict settles. Who drops something accepts it, as far as the request goes."""
        if self.settles:
            return Outcome({self.settles: "refuses" if verdict is Verdict.REFUSED else "accepts"})
        return self.refused if verdict is Verdict.REFUSED else self.accepted

    @property
    def names(self) -> frozenset[str]:
        """The facts that it can settle."""
        return self.outcome(Verdict.ACCEPTED).names | self.outcome(Verdict.REFUSED).names
