"""Stored answers by their ids: shown, removed, and what was sent for them."""

from __future__ import annotations

from dragoman.conversation.failures import Failure, FailureKind
from dragoman.dialects.dialect import Dialect
from dragoman.gateway.callers.callers import Caller, Refused
from dragoman.gateway.http.inbound import Inbound
from dragoman.gateway.http.outbound import Outbound
from dragoman.gateway.services import Services
from dragoman.store import StoredResponse


def is_served(services: Services, vendor: Dialect, template: str) -> bool:
    """Whether a path of a vendor's API is one of stored answers, and they are stored here."""
    stored = vendor.stored_answers
    return services.config.state.enabled and stored is not None and template in (stored.path, stored.items_path)


async def stored_answer(
    services: Services, inbound: Inbound, outbound: Outbound, caller: Caller, vendor: Dialect, template: str
) -> None:
    stored = vendor.stored_answers
    assert stored is not None  # see `is_served`
    id = inbound.path.rstrip("/").split("/")[-1 if template == stored.path else -2]
    found = await services.store.responses.find(caller.name, id)
    if found is None:
        what = f"Response with id '{id[:200]}' not found."
        raise Refused(Failure(FailureKind.NOT_FOUND, what, 404, "response_not_found"))
    if template == stored.items_path:
        await outbound.whole(200, stored.render_items(found.items, inbound.query))
    elif inbound.method == "DELETE":
        await services.store.responses.forget(caller.name, id)
        await outbound.whole(200, stored.render_deleted(id))
    else:
        await outbound.whole(200, _shown(inbound, found))


def _shown(inbound: Inbound, found: StoredResponse) -> bytes:
    if inbound.query.get("stream", "").lower() == "true":
        what = "a stored answer is shown whole; leave out `stream`"
        raise Refused(Failure(FailureKind.BAD_REQUEST, what, 400, param="stream"))
    return found.response
