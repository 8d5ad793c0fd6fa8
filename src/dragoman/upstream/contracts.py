"""What a dispatch needs of the rest of the program: state that outlives it, and limits of what is sent."""

from __future__ import annotations

from typing import Protocol

import msgspec

from dragoman.conversation.conversation import Ask
from dragoman.conversation.failures import Failure
from dragoman.conversation.replies import Usage
from dragoman.engine.exchange.lessons import Learnt
from dragoman.engine.exchange.steps import Recall, Recalled, StateToKeep
from dragoman.profiles.profile import Target
from dragoman.upstream.destinations import HttpDestination


class KeptState(Protocol):
    """What outlives an exchange: lessons, and state that clients cannot carry."""

    def correct(self, destination: HttpDestination, caller: str) -> tuple[Target, tuple[str, ...]]:
        """The destination's target with what has been learnt about it, and the names of the lessons that hold for this
        caller. Never waits."""

    async def recall(self, caller: str, wanted: Recall) -> Recalled:
        """What was kept for this caller."""

    async def keep(self, caller: str, state: StateToKeep) -> None:
        """Keep it for this caller's next turn."""

    def wants_count(self, destination: HttpDestination) -> bool:
        """Whether it is of use to know how one more request to a destination was counted. Never waits."""

    async def learn(self, destination: HttpDestination, learnt: Learnt, caller: str, request_id: str) -> None:
        """Remember a lesson that an accepted request has proved."""


class SendBooking(msgspec.Struct, frozen=True, gc=False):
    """The tokens that count against a destination's limits for a send, until the real ones are known."""

    destination: HttpDestination
    input: int
    output: int


class SendLimits(Protocol):
    """What destinations with `rate_limits` are sent in a minute."""

    async def book(self, destination: HttpDestination, ask: Ask) -> SendBooking | Failure:
        """Book a send, after a wait if that is configured; or why there is no room for it."""

    def settle(self, booking: SendBooking, usage: Usage) -> None:
        """Count what was really used. Never waits, never fails."""
