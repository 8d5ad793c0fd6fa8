"""Conversations that are kept here, so that clients can continue them by ids on any model.

An id goes to a provider only if this gateway gave it to the same caller, and it is from that provider and account. If
it was made elsewhere, what it stands for is put into the request. An id that is not known is refused, because the
account at the provider may be that of several callers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from hashlib import blake2b

import msgspec
from msgspec.structs import replace

from dragoman.config.schema.config_file import Config
from dragoman.config.schema.log import LogLevel
from dragoman.config.schema.state import ForeignIds
from dragoman.conversation.parts import Json
from dragoman.dialects.contracts.stored_answers import AnswerKeeper, StoredAnswers, StoredTurn, StoreQuestion
from dragoman.dialects.registry import dialect
from dragoman.engine.memory.continued_requests import KnownBody
from dragoman.gateway.callers.caller import Refused, begin_work
from dragoman.gateway.records.request_record import RequestRecord
from dragoman.gateway.served_request import ServedRequest
from dragoman.gateway.services import Services
from dragoman.gateway.state.stored_chains import find_turns, shorten
from dragoman.profiles.facts import Facts, Stance
from dragoman.store.contracts.stored_responses import StoredResponse
from dragoman.upstream.heavy_work import RequestWork
from dragoman.wire.json_size import LARGE, is_heavy

_MOST_REFERENCES = 1000
Account = tuple[str, str]
"""A provider, and a digest of the key that is used there. Without a digest nobody knows which account it will be."""
_NOBODY: Account = ("", "")
_NONE: frozenset[str] = frozenset()


async def with_stored_turns(
    request: ServedRequest, record: RequestRecord, known: KnownBody, stored: StoredAnswers
) -> bytes:
    """The request with all stored turns and items that it refers to; and its answer will be stored, if it wants that.

    A provider that made what it refers to has it itself: the request stays as it is. Raises Refused if something is
    not known.
    """
    services, body, work = request.services, known.body, request.work(known.new)
    question = await work.run(lambda: stored.parse_question(*known.open(stored.find_references)))
    if question is None:
        return body
    if not services.live.config.state.enabled and stored.unsupported is not None:
        raise Refused(stored.unsupported)
    kept = services.live.config.state.enabled
    if kept and question.conversation:
        kept = await services.store.responses.find(record.caller.name, question.conversation) is not None
    if kept:
        request.outbound.rewriter = _Keeping(services, record, question, stored.keeper(question))
    return await replace_ids(services, record.caller.name, record.dialect, body, question)


async def with_counted_turns(services: Services, caller: str, client: str, body: bytes) -> bytes:
    """A request that is to be counted, with all stored turns that it refers to: their tokens count too. Raises
    Refused."""
    stored = dialect(client).stored_answers
    if stored is None or stored.mark not in body:
        return body
    question = await begin_work(services.dispatcher.heavy, caller, body).run(partial(stored.parse_question, body, None))
    if question is None or not (question.previous or question.references or question.conversation):
        return body
    return await replace_ids(services, caller, client, body, question, all_of_them=True)


async def replace_ids(
    services: Services,
    caller: str,
    client: str,
    body: bytes,
    question: StoreQuestion,
    *,
    all_of_them: bool = False,
) -> bytes:
    """The request with what its ids stand for, unless its provider made them for this caller. `all_of_them`: those too.
    Raises Refused."""
    stored = dialect(client).stored_answers
    assert stored is not None
    model = question.model or services.live.config.default_model
    route = services.live.routes.find(model, client) if model else None
    same = route is not None and stored.is_kept_by_vendor and route.first.target.dialect == client
    own = find_account(services.live.config, route.first.provider) if route is not None and same else _NOBODY
    if all_of_them or (question.instructs and route is not None and _takes_one_of_them(route.first.target.facts)):
        own = (own[0], "")
    removed = _NONE
    if question.conversation:
        found = await services.store.responses.find(caller, question.conversation)
        if found is None:
            if _passes(services.live.config, own):
                return body
            raise Refused(stored.unknown_conversation(question.conversation))
        if not found.previous:
            return await begin_work(services.dispatcher.heavy, caller, body).run(
                partial(stored.render_whole, body, (), bool(own[0]))
            )
        question, own = replace(question, previous=found.previous), (own[0], "")  # no provider knows it
        removed = find_removed(found)
    referring = _ReferringRequest(services, caller, stored, question, own)
    if question.references:
        body = await referring.put_items(body)
    return await referring.put_turns(body, partial(_without, client, removed))


def _takes_one_of_them(facts: Facts) -> bool:
    """Whether the provider takes instructions or an id, and not both."""
    return facts.instructions_with_previous is Stance.REFUSES


def find_removed(conversation: StoredResponse) -> frozenset[str]:
    """The ids of the items that were removed from a conversation."""
    return frozenset(msgspec.json.decode(conversation.items, type=list[str])) if conversation.items else _NONE


def _without(client: str, removed: frozenset[str], turns: list[StoredTurn]) -> Sequence[StoredTurn]:
    form = dialect(client).conversations
    return form.without(turns, removed) if removed and form is not None else turns


def find_account(config: Config, provider: str) -> Account:
    """Which account a provider is asked with. Of several keys nobody knows beforehand which one it will be."""
    configured = config.providers.get(provider)
    keys = configured.key_pool() if configured is not None else ()
    return provider, blake2b(keys[0].reveal().encode(), digest_size=8).hexdigest() if len(keys) == 1 else ""


def _passes(config: Config, own: Account) -> bool:
    """Whether an id that is not known goes to the provider."""
    return bool(own[0]) and config.state.foreign_ids is ForeignIds.PASS


def _is_own(turn: StoredResponse, own: Account) -> bool:
    return bool(own[1]) and (turn.provider, turn.account) == own


class _ReferringRequest(msgspec.Struct, frozen=True):
    """A request that refers to what is stored."""

    services: Services
    caller: str
    stored: StoredAnswers
    question: StoreQuestion
    """What it refers to."""
    own: Account
    """The account, if its provider speaks the client's dialect and stores answers itself."""

    async def put_turns(self, body: bytes, choose: Callable[[list[StoredTurn]], Sequence[StoredTurn]]) -> bytes:
        """The request with the turns before it, unless the provider has them. `choose`: which of them are put in."""
        services, caller, stored, question, own = self.services, self.caller, self.stored, self.question, self.own
        if not question.previous:
            if own[0] or question.is_bare:
                return body
            return await begin_work(services.dispatcher.heavy, caller, body).run(
                partial(stored.render_whole, body, (), False)
            )
        most, is_named = services.live.config.server.max_body, bool(question.conversation)
        turns = await find_turns(services.store.responses, caller, question.previous, most, is_named=is_named)
        if turns is None:
            if _passes(services.live.config, own):
                return body
            raise Refused(stored.unknown_answer(question.previous))
        if _is_own(turns[-1], own):
            return body
        parts = [StoredTurn(turn.items, turn.response) for turn in turns]
        work = begin_work(services.dispatcher.heavy, caller, body)
        work.is_large = work.is_large or sum([turn.size for turn in turns]) > LARGE
        return await work.run(lambda: stored.render_whole(body, choose(parts), bool(own[0])))

    async def put_items(self, body: bytes) -> bytes:
        """The request with the items that it refers to, unless the provider has all of them."""
        caller, responses, references = self.caller, self.services.store.responses, self.question.references
        holders = await responses.find_holders(caller, references[:_MOST_REFERENCES])
        answers = {id: await responses.find(caller, id) for id in dict.fromkeys(holders.values())}
        known: dict[str, Json] = {}
        is_own = True
        for id in references:
            answer = answers.get(holders.get(id, ""))
            items: Mapping[str, Json] = self.stored.output_items(answer.response) if answer is not None else {}
            if id in items and answer is not None:
                known[id] = items[id]
                is_own = is_own and _is_own(answer, self.own)
            elif not _passes(self.services.live.config, self.own):
                raise Refused(self.stored.unknown_item(id))
        return body if is_own else self.stored.put_items(body, known)


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

    async def settle(self, made: bytes) -> bytes:
        kept = self._keeper.kept
        if kept is None or self._stored:
            return made
        self._stored = True
        services, caller, exchange = self._services, self._record.caller.name, self._record.exchange
        work = RequestWork(services.dispatcher.heavy, caller, is_heavy(kept[1]))
        asked = exchange.destination if exchange is not None else None
        provider, is_relayed = (asked.provider, asked.target.dialect == self._record.dialect) if asked else ("", False)
        if is_relayed and await services.store.responses.find_link(caller, kept[0]) is not None:
            return await self._without_store(made, "its provider has given its id to another one", work)
        conversation, previous = self._question.conversation, self._question.previous
        chain = await services.store.responses.find(caller, conversation) if conversation else None
        if chain is not None:
            previous = chain.previous
        whole = StoredResponse(self._question.items, kept[1], previous, *find_account(services.live.config, provider))
        answer, beginning = await shorten(services, caller, kept[0], whole)
        stored = dialect(self._record.dialect).stored_answers
        items = await work.run(partial(stored.output_items, kept[1])) if stored is not None else {}
        stores = await services.store.responses.put(caller, kept[0], answer, [id for id in items if id])
        if stores and beginning is not None:
            services.conversations.beginnings.put(caller, beginning)
        if stores and chain is not None:
            stores = await services.store.responses.put(caller, conversation, replace(chain, previous=kept[0]))
        return (
            made if stores else await self._without_store(made, "the store is away, or there is no room for it", work)
        )

    async def _without_store(self, made: bytes, why: str, work: RequestWork) -> bytes:
        warning = f"the answer was not stored, and says so: {why}"
        self._services.records.log(LogLevel.WARNING, {"event": "state", "id": self._record.id, "warning": warning})
        return await work.run(partial(self._keeper.unstored, made))
