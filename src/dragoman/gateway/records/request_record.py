"""A request and what becomes of it, until it is written down (`recording.py`)."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from dragoman.conversation.conversation import Ask
from dragoman.conversation.failures import Failure
from dragoman.conversation.parts import Opaque
from dragoman.dialects.dialect import AnswerContext
from dragoman.engine.exchange.exchange import Exchange
from dragoman.engine.history.compaction import UsedSummary
from dragoman.engine.library.report_summary import ReportHeaders
from dragoman.engine.tokens.answer_tally import Cost, Spent
from dragoman.gateway.callers.budgets import Hold
from dragoman.gateway.callers.caller import Caller, Slot
from dragoman.gateway.models.routed_request import RoutedRequest
from dragoman.upstream.destinations import HttpDestination
from dragoman.upstream.dispatch import Dispatch

COPIED = 1 << 20
"""Bytes of a streamed answer that the ledger keeps if it keeps bodies."""
GONE = 499
"""The status that is noted if the client did not wait for its answer."""


class CarriedBlock(msgspec.Struct, frozen=True):
    """A summary that an answer begins with, and what it stands for in the request; None: the request stays whole."""

    block: Opaque
    summary: UsedSummary | None


class RequestRecord(msgspec.Struct):
    """One request, and what is written down of it in the end."""

    id: str
    dialect: str
    caller: Caller
    started: float
    context: AnswerContext
    model: str = ""
    """The name that was asked for."""
    ask: Ask | None = None
    exchange: Exchange[HttpDestination] | None = None
    dispatch: Dispatch | None = None
    status: int = 200
    first_byte: float = 0.0
    failure: Failure | None = None
    answer: bytes | None = None
    """The body of a whole answer."""
    copy: list[bytes] | None = None
    """The beginning of a streamed answer, if bodies are kept."""
    spent: Spent | None = None
    """What is booked, if it is known before the end; so is `cost`."""
    cost: Cost | None = None
    estimate: int = 0
    """The tokens that a caller with a limit or a budget has to reserve."""
    reserved: int | None = None
    """The tokens that already count against the caller's limit."""
    routed: RoutedRequest | None = None
    """What a route chose, and why."""
    report: ReportHeaders | None = None
    """What was changed, as the client was told it."""
    hold: Hold | None = None
    """What is booked against the caller's budget."""
    notices: tuple[tuple[bytes, bytes], ...] = ()
    """Headers for the client, whatever becomes of the request."""
    carried: CarriedBlock | None = None
    """A summary that was made for the client to carry."""
    socket: str = ""
    """What kind of turn it is, if it came over a WebSocket."""
    slot: Slot | None = None
    """Its place among the requests under way."""
    is_written: bool = False
    """It is in the ledger already."""

    def answers(self) -> list[RequestRecord]:
        """A record for each answer, if they were asked for one by one, or for each round; the first has the id of the
        request. A round that follows another counts its time from there."""
        parts = self.dispatch.parts if self.dispatch is not None else ()
        return [
            replace(
                self,
                id=part.exchange.context.id,
                exchange=part.exchange,
                dispatch=part,
                spent=None,
                cost=None,
                started=part.follows_at or self.started,
                first_byte=0.0 if part.follows_at else self.first_byte,
            )
            for part in parts
        ]
