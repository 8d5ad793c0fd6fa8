"""The credential that a caller sent for a provider with `credentials: caller`, such as the login of a subscription.

It goes to that provider alone. The gateway's own keys never go anywhere: they are in a header of their own then.
"""

from __future__ import annotations

from dragoman.config.clients import Clients
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.dialects.registry import dialect, model_listing
from dragoman.engine.answer.stream_redaction import Redaction
from dragoman.gateway.callers.caller import Refused
from dragoman.gateway.http.inbound import KEY_HEADER, KEY_HEADERS, Inbound
from dragoman.gateway.served_request import ServedRequest
from dragoman.store.journals.redaction import Redactor
from dragoman.upstream.auth.caller_credential import CallerCredential
from dragoman.upstream.destinations import HttpDestination

_BEARER = "bearer "


def find_credential(request: ServedRequest, client: str, destination: HttpDestination) -> CallerCredential | None:
    """What the caller sent for this destination; None if the gateway asks it with its own. Raises Refused."""
    if not destination.as_caller:
        return None
    services, inbound = request.services, request.inbound
    if services.live.clients.by_hash and not inbound.headers.get(KEY_HEADER):
        what = f"{destination.provider} is asked with your own credential: send the gateway's key as `{KEY_HEADER}`"
        raise Refused(Failure(FailureKind.AUTH, what, 401))
    sent = _read_sent(services.live.clients, inbound)
    value = next(iter(sent.values()), "").rpartition(" ")[2]
    if not value:
        what = f"{destination.provider} is asked with your own credential: send its key or token as to the provider"
        raise Refused(Failure(FailureKind.AUTH, what, 401))
    assert destination.scheme is not None
    is_own = client == destination.target.dialect and not sent.keys().isdisjoint(inbound.headers)
    vendor, (name, prefix) = dialect(client), destination.auth or ("authorization", "Bearer ")
    accounts = {one: inbound.headers[one] for one in vendor.account_headers if one in inbound.headers}
    headers = {**sent, **accounts} if is_own else {name: prefix + value}
    return CallerCredential(
        destination.scheme,
        tuple(headers.items()),
        _redaction(services.dispatcher.redaction, [one.rpartition(" ")[2] for one in sent.values()]),
        vendor.limit_prefixes if client == destination.target.dialect else (),
    )


def _read_sent(clients: Clients, inbound: Inbound) -> dict[str, str]:
    """The headers that hold a credential, and no key of this gateway. A signature was made for another address."""
    sent = {name: inbound.headers[name] for name in KEY_HEADERS if inbound.headers.get(name)}
    bearer = inbound.headers.get("authorization", "")
    if bearer.lower().startswith(_BEARER):
        sent = {"authorization": bearer, **sent}
    sent = sent or {"": inbound.query.get("key", "")}
    return {name: value for name, value in sent.items() if clients.identify(value.rpartition(" ")[2]) is None}


def _redaction(known: Redaction, values: list[str]) -> Redaction:
    own = Redactor(values)
    return Redaction(lambda text: known.text(own.text(text)), lambda data: known.data(own.known(data)))


def find_list_credential(request: ServedRequest, client: str) -> CallerCredential | None:
    """The credential for a list of models, which names no provider: for the only one that it can be meant for."""
    services = request.services
    names = [name for name, one in services.live.config.providers.items() if one.asks_as_caller]
    places = [place for name in names if (place := services.live.routes.provider(name)) is not None]
    meant = [place for place in places if model_listing(place.target.dialect) is model_listing(client)]
    if len(meant) != 1:
        return None
    try:
        return find_credential(request, meant[0].target.dialect, meant[0])
    except Refused:
        return None
