"""Stored answers by their ids: shown, removed, and what was sent for them."""

from __future__ import annotations

from dragoman.config.schema.config_file import Config
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.dialects.contracts.background import BackgroundForm
from dragoman.dialects.contracts.stored_answers import StoredAnswers
from dragoman.dialects.dialect import Dialect
from dragoman.gateway.callers.caller import Refused
from dragoman.gateway.http.outbound import SSE
from dragoman.gateway.served_request import ServedRequest
from dragoman.gateway.state.background_answers import cancel, find_state, follow, remove
from dragoman.gateway.state.stored_chains import keep_chain, put_together


def is_served(config: Config, vendor: Dialect, template: str) -> bool:
    """Whether a path of a vendor's API is one of stored answers, and they are stored here."""
    stored = vendor.stored_answers
    return config.state.enabled and stored is not None and template in _paths(vendor, stored)


def _paths(vendor: Dialect, stored: StoredAnswers) -> tuple[str, ...]:
    cancelling = (vendor.background.cancel_path,) if vendor.background is not None else ()
    return (stored.path, stored.items_path, *cancelling)


async def serve_stored_answer(request: ServedRequest, vendor: Dialect, template: str) -> None:
    services, inbound, outbound, caller = request.services, request.inbound, request.outbound, request.caller
    stored = vendor.stored_answers
    assert stored is not None  # see `is_served`
    id = inbound.path.rstrip("/").split("/")[-1 if template == stored.path else -2]
    found = await services.store.responses.find(caller.name, id)
    if found is None:
        raise _unknown(id)
    form = vendor.background
    if inbound.method == "GET" and (found.previous or found.base):
        await keep_chain(services, caller.name, id, found)
    if template == stored.items_path:
        whole = await put_together(services.store.responses, caller.name, found, services.live.config.server.max_body)
        if whole is None:
            raise _unknown(id)
        await outbound.whole(200, stored.render_items(whole.items, inbound.query))
    elif form is not None and template == form.cancel_path:
        await outbound.whole(200, _known(id, await cancel(services, caller.name, id, form, found)))
    elif inbound.method == "DELETE":
        await remove(services, caller.name, id)
        await outbound.whole(200, stored.render_deleted(id))
    elif inbound.query.get("stream", "").lower() == "true":
        await _stream(request, id, form)
    else:
        state = await find_state(services, caller.name, id, form, found) if form is not None else found.response
        await outbound.whole(200, _known(id, state))


def _known(id: str, state: bytes | None) -> bytes:
    if state is None:
        raise _unknown(id)
    return state


def _unknown(id: str) -> Refused:
    what = f"Response with id '{id[:200]}' not found."
    return Refused(Failure(FailureKind.NOT_FOUND, what, 404, "response_not_found"))


async def _stream(request: ServedRequest, id: str, form: BackgroundForm | None) -> None:
    """The events of an answer that is or was made in the background, from the one after `starting_after`."""
    after = request.inbound.query.get("starting_after", "")
    since = int(after) if after.isdigit() and len(after) < 10 else -1
    events = await follow(request.services, request.caller.name, id, form, since) if form is not None else None
    if events is None:
        what = "only an answer that was begun with `background` and `stream` can be streamed; leave out `stream`"
        raise Refused(Failure(FailureKind.BAD_REQUEST, what, 400, param="stream"))
    await request.outbound.streamed(events, [], SSE, request.services.live.config.server.write_timeout)
