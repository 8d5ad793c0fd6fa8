"""Stored turns as chains: each holds what is new in it, and names the turn before.

A turn names what its request continues as its `previous`. A client that sends everything on every turn names nothing:
its turn is stored as what stands after the items of an earlier turn, its `base`. Reading puts both together.
"""

from __future__ import annotations

from functools import partial

from msgspec.structs import replace

from dragoman.conversation.failures import Failure, FailureKind
from dragoman.gateway.callers.caller import Refused, begin_work
from dragoman.gateway.services import Services
from dragoman.gateway.state.stored_beginnings import Beginning, cut, find_beginning, make_beginning
from dragoman.store.contracts.stored_responses import StoredResponse, StoredResponses

MOST_TURNS = 1000
"""Of a conversation that is continued by ids."""
MOST_BASES = 250
"""Turns that are read to put the items of one together. The next one is stored whole."""
SHORTEST = 4096
"""Bytes of items that are worth a link."""
_SLACK = 16
"""A chain that was read in the last sixteenth of its lifetime is not read again only to stay."""
_NOTHING = b"[]"


async def shorten(
    services: Services, caller: str, id: str, turn: StoredResponse
) -> tuple[StoredResponse, Beginning | None]:
    """The turn without the items that a stored one has already; and what may be known of it once it is stored."""
    items, now = turn.items, services.clocks.steady()
    if len(items) < SHORTEST or items[:1] != b"[":
        return turn, None
    work, known = begin_work(services.dispatcher.heavy, caller, items), services.conversations.beginnings
    likely = [one for one in known.find_likely(caller, items) if one.id != id]
    try:
        found = await work.run(partial(find_beginning, items, likely))
        if found is None or found.bases >= MOST_BASES:
            return turn, await work.run(partial(make_beginning, id, items, 0, now))
        is_late = now - found.read >= services.live.config.state.seconds() / _SLACK
        if not await _is_there(services.store.responses, caller, found.id, is_late):
            known.drop(caller, found.id)
            return turn, await work.run(partial(make_beginning, id, items, 0, now))
        read = now if is_late else found.read
        beginning = await work.run(partial(make_beginning, id, items, found.bases + 1, read))
    except Refused:  # the gateway is busy with large requests: whole is right too
        return turn, None
    return replace(turn, items=cut(items, found), base=found.id), beginning


async def remove_stored(responses: StoredResponses, caller: str, *ids: str) -> None:
    """Raises Refused if one could not be removed: a client must not be told that it was."""
    if not all([await responses.forget(caller, id) for id in ids]):
        what = "it could not be removed: the store cannot be written"
        raise Refused(Failure(FailureKind.OVERLOADED, what, 503, retry_after=5))


async def _is_there(responses: StoredResponses, caller: str, id: str, wholly: bool) -> bool:
    """Whether a turn is stored; `wholly`: and all that its items are put together of, which are then in use."""
    while id:
        found = await responses.find_link(caller, id)
        if found is None:
            return False
        id = found.base if wholly else ""
    return True


async def find_turns(
    responses: StoredResponses, caller: str, last: str, most: int, *, is_named: bool = False
) -> list[StoredResponse] | None:
    """A stored conversation from its beginning; None if a turn of it is not there. `is_named`: a conversation names
    its last turn, which is there for it also if it was removed. Raises Refused."""
    found: list[StoredResponse] = []
    turn = await (responses.find_link if is_named else responses.find)(caller, last)
    while True:
        whole = await put_together(responses, caller, turn, most) if turn is not None else None
        if turn is None or whole is None:
            return None
        found.append(whole)
        most -= whole.size
        if len(found) > MOST_TURNS:
            raise _too_long()
        if not turn.previous:
            return found[::-1]
        turn = await responses.find_link(caller, turn.previous)


async def put_together(
    responses: StoredResponses, caller: str, turn: StoredResponse, most: int
) -> StoredResponse | None:
    """A turn with all its items; None if some are not there. Raises Refused if it has more bytes than these."""
    parts, base, size = [turn.items], turn.base, turn.size
    while base and size <= most and len(parts) <= MOST_BASES:
        found = await responses.find_link(caller, base)
        if found is None:
            return None
        parts.append(found.items)
        base, size = found.base, size + len(found.items)
    if base or size > most:
        raise _too_long()
    if len(parts) == 1:
        return turn
    lists = [part for part in reversed(parts) if part != _NOTHING]
    return replace(turn, items=b"[" + b",".join([part[1:-1] for part in lists]) + b"]", base="")


def _too_long() -> Refused:
    what = "the stored conversation is longer than one request may be; begin a new one"
    return Refused(Failure(FailureKind.TOO_LARGE, what, 413, param="previous_response_id"))


async def keep_chain(services: Services, caller: str, id: str, turn: StoredResponse) -> None:
    """A turn was used: those that it builds on are in use as well, and expire no earlier."""
    if not services.conversations.beginnings.is_due(caller, id, services.live.config.state.seconds() / _SLACK):
        return
    waiting, seen = [turn.previous, turn.base], 0
    while waiting and seen < MOST_TURNS:
        link = waiting.pop()
        found = await services.store.responses.find_link(caller, link) if link else None
        seen += 1
        if found is not None:
            waiting += [found.previous, found.base]
