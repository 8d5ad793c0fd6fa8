"""Answers that are stored here, so that clients can continue them by their ids on any model."""

from __future__ import annotations

from dragoman.conversation.failures import Failure, FailureKind
from dragoman.dialects.dialect import AnswerKeeper, StoredAnswers, StoredTurn, StoreQuestion
from dragoman.dialects.registry import dialect
from dragoman.gateway.callers.callers import Refused
from dragoman.gateway.http.outbound import Outbound
from dragoman.gateway.records.request_record import RequestRecord
from dragoman.gateway.services import Services
from dragoman.store import StoredResponse

MOST_TURNS = 1000
"""Of a conversation that is continued by ids."""


async def with_stored_turns(services: Services, outbound: Outbound, record: RequestRecord, body: bytes) -> bytes:
    """The request with all stored turns that it continues; and its answer will be stored, if it wants that.

    A provider that made the previous answer, and speaks the client's dialect, has it itself: the request stays as it
    is. Raises Refused where the previous answer is not known.
    """
    stored = dialect(record.dialect).stored_answers
    question = stored.parse_question(body) if stored is not None else None
    if stored is None or question is None:
        return body
    outbound.rewriter = _Keeping(services, record, question, stored.keeper(question))
    model = question.model or services.config.default_model
    route = services.routes.find(model, record.dialect) if model else None
    same = route is not None and route.first.target.dialect == record.dialect
    provider = route.first.provider if route is not None else ""
    return await _continued(services, record, (stored, question), body, provider if same else "")


async def _continued(
    services: Services, record: RequestRecord, about: tuple[StoredAnswers, StoreQuestion], body: bytes, own: str
) -> bytes:
    """`own`: the provider, where it speaks the client's dialect and stores answers itself."""
    stored, question = about
    if not question.previous:
        return body if own else stored.render_whole(body, (), False)
    turns = await _turns(services, record.caller.name, question.previous, services.config.server.max_body)
    if turns is None:
        if own:
            return body
        raise Refused(_unknown(question.previous))
    if own and turns[-1].provider == own:
        return body
    parts = [StoredTurn(turn.items, turn.response) for turn in turns]
    return stored.render_whole(body, parts, bool(own))


async def _turns(services: Services, caller: str, last: str, most: int) -> list[StoredResponse] | None:
    """A stored conversation from its beginning; None where a turn of it is not there."""
    found: list[StoredResponse] = []
    while last:
        turn = await services.store.responses.find(caller, last)
        if turn is None:
            return None
        found.append(turn)
        most -= turn.size
        if most < 0 or len(found) > MOST_TURNS:
            what = "the stored conversation is longer than one request may be; begin a new one"
            raise Refused(Failure(FailureKind.TOO_LARGE, what, 413, param="previous_response_id"))
        last = turn.previous
    return found[::-1]


def _unknown(id: str) -> Failure:
    what = f"Previous response with id '{id[:200]}' not found."
    return Failure(FailureKind.BAD_REQUEST, what, 400, "previous_response_not_found", param="previous_response_id")


class _Keeping:
    """Keeps an answer while it is sent. It is stored before its last byte leaves, so that the next turn finds it."""

    def __init__(
        self, services: Services, record: RequestRecord, question: StoreQuestion, keeper: AnswerKeeper
    ) -> None:
        self._services = services
        self._record = record
        self._question = question
        self._keeper = keeper
        self._stored = False

    def whole(self, body: bytes) -> bytes:
        return self._keeper.whole(body)

    def piece(self, data: bytes) -> bytes:
        return self._keeper.piece(data)

    def close(self) -> bytes:
        return self._keeper.close()

    async def settle(self) -> None:
        kept = self._keeper.kept
        if kept is None or self._stored:
            return
        self._stored = True
        exchange = self._record.exchange
        provider = exchange.destination.provider if exchange is not None and exchange.destination is not None else ""
        answer = StoredResponse(self._question.items, kept[1], self._question.previous, provider)
        await self._services.store.responses.put(self._record.caller.name, kept[0], answer)
