"""Counting tokens before a request is sent.

If the dialect of the target can ask for a count, its provider counts. Otherwise we estimate, and a header says so.
"""

from __future__ import annotations

from functools import partial

from dragoman.dialects.dialect import AnswerContext
from dragoman.engine.exchange.caller_options import caller_options
from dragoman.engine.exchange.destination import TargetRoute
from dragoman.engine.exchange.steps import Send
from dragoman.engine.history.calibration import calibration_key
from dragoman.engine.library.report_summary import MODEL_HEADER
from dragoman.engine.tokens.token_count import count_request, estimate_count, parse_count_request, render_count
from dragoman.gateway.callers.caller import Refused, Slot
from dragoman.gateway.callers.credentials import find_credential
from dragoman.gateway.callers.key_limits import admit
from dragoman.gateway.http.client_watch import watch_client
from dragoman.gateway.http.outbound import ESTIMATED, header
from dragoman.gateway.models.model_names import find_destinations
from dragoman.gateway.served_request import ServedRequest
from dragoman.gateway.services import Services
from dragoman.gateway.state.stored_answers import with_counted_turns
from dragoman.upstream.auth.authorizer import NoCredentials
from dragoman.upstream.auth.caller_credential import CallerCredential
from dragoman.upstream.destinations import HttpDestination
from dragoman.upstream.transport.failures import TransportFailure
from dragoman.upstream.transport.outgoing import Outgoing

LIMIT = 1 << 20


def _counting_is_safe() -> bool:
    """A count changes nothing and costs nothing, so it may be asked for again."""
    return True


async def count(request: ServedRequest, dialect: str, model: str | None = None) -> None:
    services, inbound, outbound, caller = request.services, request.inbound, request.outbound, request.caller
    with Slot(services.traffic, caller):
        body = await with_counted_turns(services, caller.name, dialect, await request.body())
        parse = partial(parse_count_request, dialect, body, inbound.headers, model, services.live.config.limits)
        work = request.work(body)
        with watch_client(inbound, len(body)):
            ask = await work.run(parse)
        name = ask.model or services.live.config.default_model or ""
        first = find_destinations(services, caller, name, dialect).first
        credential = find_credential(request, dialect, first)
        if caller.limits is not None:
            await admit(services.store.limits, caller, caller.limits, 0)
        options = caller_options(inbound.headers, loosen=caller.admin)
        context = AnswerContext(model=name, id=outbound.id)
        dispatch = services.dispatcher.open(
            ask, TargetRoute((first,)), context, caller.name, options=options, work=work
        )
        named = header(MODEL_HEADER, first.name)
        with watch_client(inbound, len(body)):
            step = await dispatch.prepare()
            if not isinstance(step, Send):
                raise Refused(step.failure)
            counted = await _count(services, step, first, dialect, credential)
        if counted is not None:
            await outbound.whole(200, counted, [named])
            return
        known = services.store.calibrations.find(calibration_key(first.name, ask.conversation))
        estimate = await work.run(partial(estimate_count, dialect, step.request, known))
        await outbound.whole(200, estimate, [named, ESTIMATED])


async def _count(
    services: Services,
    step: Send[HttpDestination],
    first: HttpDestination,
    dialect: str,
    credential: CallerCredential | None,
) -> bytes | None:
    """The provider's own figure, or None if it gives none. `dialect`: in which the client reads it."""
    asked = count_request(step.request, first.target.profile)
    if asked is None:
        return None
    headers = (*asked.headers.items(), *first.signed(step.key))
    outgoing = Outgoing("POST", first.url(asked.path), headers, asked.body)
    try:
        if first.scheme is not None:
            outgoing = await services.dispatcher.authorizers.authorize(first.scheme, outgoing, credential)
        incoming = await services.dispatcher.transports.of(first).send(outgoing, first.timeouts, _counting_is_safe)
        answer = await incoming.read(LIMIT)
    except (TransportFailure, NoCredentials):
        return None
    return render_count(dialect, answer, asked.figure) if incoming.status == 200 else None
