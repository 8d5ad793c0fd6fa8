"""Questions to a server: a small request each, and the fact that its acceptance or refusal settles.

A question adds one odd thing to a request that any server accepts. It says where the odd thing goes: to the opening, to
a stretch of turns, to the end, to the tools or to the top level. So one request can ask several questions at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import msgspec
from msgspec.structs import replace

from dragoman.profiles.fact_names import entry_names, nest_fact
from dragoman.profiles.profile import merge

JsonObject = Mapping[str, Any]


class Verdict(StrEnum):
    """What became of a question."""

    ACCEPTED = "accepted"
    """The server takes it."""
    REFUSED = "refused"
    """It does not."""
    DROPPED = "dropped"
    """It takes it and leaves it out of the prompt."""
    OTHERWISE = "otherwise"
    """It was refused for another reason, which is a fact of its own; the thing itself may be accepted."""


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
    """The facts that a verdict settles."""

    facts: Mapping[str, Any] = {}
    adds: Mapping[str, tuple[str, ...]] = {}
    """Entries of facts that are lists."""
    removes: Mapping[str, tuple[str, ...]] = {}
    """Entries that such facts lose."""

    @property
    def names(self) -> frozenset[str]:
        """The facts that it settles. A setting or a medium counts as one."""
        return frozenset((*entry_names(self.facts), *self.adds, *self.removes))


NO_OUTCOME = Outcome()


class Condition(msgspec.Struct, frozen=True):
    """An answer that makes another question needless."""

    question: str
    """The one that is asked."""
    verdict: Verdict
    """What it must have been answered with."""
    then: Verdict | None = None
    """The verdict that it gets by that; None: it gets none, since it means nothing then."""


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """One question."""

    id: str
    asks: str
    """The question in words."""
    topic: Topic
    opening: tuple[JsonObject, ...] = ()
    """Messages before the first turn."""
    turns: tuple[JsonObject, ...] = ()
    """Turns that begin with the user's and end with the assistant's."""
    closing: tuple[JsonObject, ...] = ()
    """The last messages, in place of the user's."""
    tools: tuple[JsonObject, ...] = ()
    """Further tools."""
    members: JsonObject = {}
    """Members of the body."""
    settles: str = ""
    """The name, dotted in a table, of a fact that then says `accepts` or `refuses`."""
    accepted: Outcome = NO_OUTCOME
    """What an acceptance says about other facts."""
    refused: Outcome = NO_OUTCOME
    """What a refusal says about them."""
    words: tuple[str, ...] = ()
    """Words that a refusal uses for what is asked, if those are not the names of the members."""
    unless: tuple[Condition, ...] = ()
    """Earlier verdicts that settle the question."""
    after: tuple[str, ...] = ()
    """Questions that must be accepted first. If one is refused, this question means nothing."""
    stands_for: str = ""
    """A question that counts as accepted for others if this one is accepted."""
    often_refused: bool = False
    """Many servers refuse it, so it is the first suspect."""
    alone: bool = False
    """It is not asked together with others."""
    streamed: bool = False
    """The answer comes as a stream."""
    declares: bool = True
    """The tools that are called in its turns are declared."""
    toolless: bool = False
    """It means something only if no tool is declared."""

    @property
    def telling_words(self) -> tuple[str, ...]:
        """Words by which a refusal names what is asked."""
        return self.words or tuple(self.members)

    def outcome(self, verdict: Verdict) -> Outcome:
        """What a verdict settles. Who drops something accepts it, as far as the request goes."""
        stance, more = ("refuses", self.refused) if verdict is Verdict.REFUSED else ("accepts", self.accepted)
        if not self.settles:
            return more
        return replace(more, facts=merge(nest_fact(self.settles, stance), more.facts))

    @property
    def names(self) -> frozenset[str]:
        """The facts that it can settle."""
        return self.outcome(Verdict.ACCEPTED).names | self.outcome(Verdict.REFUSED).names
