"""Conversations that clients make by themselves: a name for a chain of turns that are kept here."""

from __future__ import annotations

import secrets
import time
from functools import partial

import msgspec
from msgspec.structs import replace

from dragoman.config.schema.config_file import Config
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.dialects.contracts.stored_answers import ConversationForm, StoredTurn
from dragoman.dialects.dialect import Dialect
from dragoman.gateway.callers.caller import Refused
from dragoman.gateway.served_request import ServedRequest
from dragoman.gateway.state.stored_answers import find_removed
from dragoman.gateway.state.stored_chains import find_turns, remove_stored
from dragoman.store.contracts.stored_responses import StoredResponse, StoredResponses
from dragoman.upstream.heavy_work import RequestWork
from dragoman.wire.json_size import LARGE

MOST_REMOVED = 1000
"""Items of a conversation that may be removed one by one."""


def is_served(config: Config, vendor: Dialect, template: str) -> bool:
    """Whether a path of a vendor's API is one of conversations, and they are kept here."""
    form = vendor.conversations
    if form is None or not config.state.enabled:
        return False
    return template in (form.new_path, form.path, form.items_path, form.item_path)


async def conversation(request: ServedRequest, vendor: Dialect, template: str) -> None:
    services, inbound, outbound, caller = request.services, request.inbound, request.outbound, request.caller.name
    responses = services.store.responses
    form, stored = vendor.conversations, vendor.stored_answers
    assert form is not None  # see `is_served`
    assert stored is not None
    posts = inbound.method == "POST"
    body = await request.body() if posts else b""
    work = request.work(body)
    if template == form.new_path:
        await outbound.whole(200, await _create(responses, caller, form, body, work))
        return
    steps = inbound.path.rstrip("/").split("/")
    id = steps[{form.path: -1, form.items_path: -2, form.item_path: -3}[template]]
    found = await responses.find(caller, id)
    if found is None:
        raise Refused(stored.unknown_conversation(id))
    if template == form.path and inbound.method == "DELETE":
        await remove_stored(responses, caller, id)
        await outbound.whole(200, form.render_deleted(id))
    elif template == form.path:
        if posts:
            found = replace(found, response=await work.run(partial(form.update, found.response, body)))
            await _put(responses, caller, id, found)
        await outbound.whole(200, found.response)
    elif posts:
        items = await work.run(partial(form.parse_items, body, secrets.token_hex(24)))
        await _add(responses, caller, id, found, items)
        await outbound.whole(200, await work.run(partial(form.render_items, items, {"order": "asc", "limit": "100"})))
    else:
        most = services.live.config.server.max_body
        turns = await find_turns(responses, caller, found.previous, most, is_named=True) if found.previous else []
        if turns is None:
            raise Refused(stored.unknown_answer(found.previous))
        items = await _list(turns, form, find_removed(found), work)
        if template == form.items_path:
            await outbound.whole(200, await work.run(partial(form.render_items, items, inbound.query)))
            return
        item = await work.run(partial(form.find_item, items, steps[-1]))
        if item is None:
            what = f"Item with id '{steps[-1][:200]}' not found."
            raise Refused(Failure(FailureKind.NOT_FOUND, what, 404, "item_not_found"))
        if inbound.method == "DELETE":
            await _remove(responses, caller, id, found, steps[-1])
        await outbound.whole(200, found.response if inbound.method == "DELETE" else item)


async def _create(
    responses: StoredResponses, caller: str, form: ConversationForm, body: bytes, work: RequestWork
) -> bytes:
    id, shown, items = await work.run(partial(form.create, body, secrets.token_hex(24), int(time.time())))
    made = StoredResponse(b"", shown)
    if items == b"[]":
        await _put(responses, caller, id, made)
    else:
        await _add(responses, caller, id, made, items)
    return shown


async def _add(responses: StoredResponses, caller: str, id: str, found: StoredResponse, items: bytes) -> None:
    """Items that no answer follows are a turn too."""
    turn = f"{id}#{secrets.token_hex(8)}"
    await _put(responses, caller, turn, StoredResponse(items, b'{"output":[]}', found.previous))
    await _put(responses, caller, id, replace(found, previous=turn))


async def _remove(responses: StoredResponses, caller: str, id: str, found: StoredResponse, item: str) -> None:
    """Answers by themselves stay as they are: the conversation notes which of their items it does not have."""
    removed = find_removed(found)
    if len(removed) >= MOST_REMOVED:
        what = f"{MOST_REMOVED} items were removed from this conversation; begin a new one"
        raise Refused(Failure(FailureKind.BAD_REQUEST, what, 400))
    await _put(responses, caller, id, replace(found, items=msgspec.json.encode(sorted({*removed, item}))))


async def _put(responses: StoredResponses, caller: str, id: str, turn: StoredResponse) -> None:
    if not await responses.put(caller, id, turn):
        what = "the conversation could not be stored: the store is away, or there is no room for it"
        raise Refused(Failure(FailureKind.OVERLOADED, what, 503, retry_after=5))


async def _list(
    turns: list[StoredResponse], form: ConversationForm, removed: frozenset[str], work: RequestWork
) -> bytes:
    work.is_large = work.is_large or sum([turn.size for turn in turns]) > LARGE
    parts = [StoredTurn(turn.items, turn.response) for turn in turns]
    return await work.run(partial(_render_left, form, parts, removed))


def _render_left(form: ConversationForm, turns: list[StoredTurn], removed: frozenset[str]) -> bytes:
    items = form.all_items(turns)
    return msgspec.json.encode([one for one in msgspec.json.decode(items) if one["id"] not in removed])
