"""Endpoints that are passed on as they are, such as embeddings, images and speech, to providers that have them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial

import msgspec

from dragoman.config.model_lookup import find_candidates
from dragoman.config.schema.config_file import Config
from dragoman.config.schema.log import LogLevel
from dragoman.conversation.dialect_names import DEFAULT_DIALECT
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.conversation.literals import quote
from dragoman.dialects.dialect import AnswerContext
from dragoman.dialects.registry import dialect
from dragoman.engine.answer.client_failures import render_failure
from dragoman.engine.answer.stream_redaction import Redaction
from dragoman.engine.library.report_summary import MODEL_HEADER
from dragoman.engine.tokens.token_estimate import estimate_text
from dragoman.gateway.callers.budgets import hold, refuse_unpriced
from dragoman.gateway.callers.caller import Refused, Slot
from dragoman.gateway.callers.credentials import find_credential
from dragoman.gateway.callers.key_limits import admit
from dragoman.gateway.http.client_watch import watch_client
from dragoman.gateway.http.inbound import ClientGone
from dragoman.gateway.http.outbound import JSON, header
from dragoman.gateway.models.model_limits import ModelLimiter
from dragoman.gateway.models.model_names import find_destinations
from dragoman.gateway.records.recording import LONGEST_NAME
from dragoman.gateway.records.request_record import GONE
from dragoman.gateway.served_request import ServedRequest
from dragoman.store.ledger_entry import Entry
from dragoman.upstream.auth.authorizer import NoCredentials
from dragoman.upstream.auth.caller_credential import CallerCredential
from dragoman.upstream.contracts import SendBooking
from dragoman.upstream.destinations import HttpDestination
from dragoman.upstream.refusals import error_body, transport_failure
from dragoman.upstream.transport.failures import TransportFailure
from dragoman.upstream.transport.incoming import Incoming
from dragoman.upstream.transport.outgoing import Outgoing
from dragoman.wire.error_bodies import parse_failure
from dragoman.wire.json_reader import readable, refuse_duplicates, render_object, split_members
from dragoman.wire.multipart import BadForm, FormPart, form_boundary, parse_form, render_form
from dragoman.wire.sse import render_data_frame

LIMIT = 64 * 1024 * 1024
_APPLICATION_JSON = "application/json"
_EVENT_STREAM = b"text/event-stream"
_MODEL = "model"


class _Body(msgspec.Struct, frozen=True):
    """A body to pass on: the JSON members or the parts of a form, and the model that it names."""

    model: str
    content: dict[str, msgspec.Raw] | list[FormPart]
    tokens: int

    def named(self, model: str) -> tuple[str, bytes]:
        """The content type and the body under another name for the model. A body that names none gets it."""
        if isinstance(self.content, list):
            others = [part for part in self.content if part.name != _MODEL]
            return render_form([FormPart(_MODEL, model.encode()), *others])
        members: dict[str, bytes | msgspec.Raw] = dict(self.content)
        return _APPLICATION_JSON, render_object(members | {_MODEL: quote(model)})


class _Sending(msgspec.Struct):
    """Where a body is passed on to, with whose credential, and how often it was sent."""

    destination: HttpDestination
    path: str
    credential: CallerCredential | None = None
    sends: int = 1

    def resent(self) -> bool:
        """Whether the body may go out again, because its connection closed before an answer."""
        if self.sends >= self.destination.policy.attempts:
            return False
        self.sends += 1
        return True


async def relay(
    request: ServedRequest,
    path: str,
    client: str = DEFAULT_DIALECT,
    form: str = DEFAULT_DIALECT,
) -> None:
    """The same request to the provider behind the model, under its own name for it. `client`: the dialect of errors,
    `form`: the one whose vendor has the path."""
    services, inbound, caller = request.services, request.inbound, request.caller
    started = time.perf_counter()
    with Slot(services.traffic, caller):
        received = await request.body()
        request.outbound.work = request.work(received)
        with watch_client(inbound, len(received)):
            body = await request.outbound.work.run(partial(_parse, inbound.headers, received))
        name = _member(services.live.config, body.model or _default_model(services.live.config, path))
        route = find_destinations(services, caller, name, form)
        destination = route.first
        _refuse_foreign(destination, path)
        if caller.budget is not None:
            refuse_unpriced(caller, f"{path} of {route.first.name}")
            await hold(services.store.budgets, services.clocks, caller, caller.budget)
        if caller.limits is not None:
            await admit(services.store.limits, caller, caller.limits, body.tokens)
        await _book(services.models.limits, destination, body.tokens)
        sending = _Sending(destination, path, find_credential(request, form, destination))
        failure: Failure | None = Failure(FailureKind.NETWORK, "the client has gone", GONE)
        try:
            with watch_client(inbound, len(received)):
                failure = await _pass_on(request, sending, body.named(destination.target.model), client)
        finally:
            _write_down(request, name, sending, started, failure)


def _refuse_foreign(destination: HttpDestination, path: str) -> None:
    """Raise Refused if the provider speaks a dialect that does not have this path, or is an emulator."""
    target_dialect = dialect(destination.target.dialect)
    what = f"{path} is passed on to providers that have it, and "
    if path not in target_dialect.relayed_paths:
        what += f"{destination.name} speaks {target_dialect.title}; "
        hint = "ask for a model of a provider that speaks the dialect of OpenAI"
    elif destination.emulated:
        what += f"an emulator stands in for {destination.name}, because there is no key; "
        hint = "give the provider a key (`dragoman doctor` names the variables)"
    else:
        return
    failure = Failure(FailureKind.NOT_SERVED, what + hint, 501, "not_implemented")
    raise Refused(failure, ((b"x-should-retry", b"false"),))


async def _book(limits: ModelLimiter, destination: HttpDestination, tokens: int) -> None:
    """Raise Refused if the limits of the model have no room. There is no output in tokens."""
    if destination.rate_limits is None:
        return
    booked = await limits.book_tokens(SendBooking(destination, tokens, 0), destination.rate_limits)
    if isinstance(booked, Failure):
        raise Refused(booked)


def _member(config: Config, name: str) -> str:
    """The first model of a route: what is passed on is not chosen by its content."""
    return next(iter(find_candidates(config, name) or (name,)))


def _default_model(config: Config, path: str) -> str:
    """The model for a request that names none. A model that chats can rarely listen."""
    audio = config.default_audio_model if path.startswith("/audio/") else None
    return audio or config.default_model or ""


async def _pass_on(request: ServedRequest, sending: _Sending, sent: tuple[str, bytes], client: str) -> Failure | None:
    """The provider's answer as it is, or its refusal without our secrets."""
    services, destination = request.services, sending.destination
    redaction = services.dispatcher.redaction if sending.credential is None else sending.credential.redaction
    named = [header(MODEL_HEADER, destination.name)]
    headers = (("content-type", sent[0]), *services.dispatcher.health.signed(destination))
    url = destination.url(dialect(destination.target.dialect).relay_root + sending.path)
    outgoing = Outgoing("POST", url, headers, sent[1])
    try:
        if destination.scheme is not None:
            outgoing = await services.dispatcher.authorizers.authorize(destination.scheme, outgoing, sending.credential)
        transport = services.dispatcher.transports.of(destination)
        incoming: Incoming = await transport.send(outgoing, destination.timeouts, sending.resent)
        if incoming.status < 300:
            return await _answer(request, incoming, destination, redaction)
        refused = await error_body(incoming)
        failure = parse_failure(incoming.status, dict(incoming.headers), refused, destination.provider)
    except TransportFailure as fault:
        failure = transport_failure(fault, destination.name)
    except NoCredentials as fault:
        failure = Failure(FailureKind.AUTH, str(fault), fault.status)
    failure = redaction.failure(failure)
    await request.outbound.refusal(client, failure, named)
    return failure


async def _answer(
    request: ServedRequest, incoming: Incoming, destination: HttpDestination, redaction: Redaction
) -> Failure | None:
    """A stream piece by piece, anything else at once. There is no other way to report a stream that breaks off."""
    outbound, named = request.outbound, [header(MODEL_HEADER, destination.name)]
    shown = (incoming.header("content-type") or "").encode("latin-1", "replace") or JSON
    if not shown.startswith(_EVENT_STREAM):
        await outbound.whole(200, await incoming.read(LIMIT), named, shown)
        return None
    try:
        async with incoming:
            await outbound.streamed(aiter(incoming), named, shown, request.services.live.config.server.write_timeout)
    except TransportFailure as fault:
        failure = redaction.failure(transport_failure(fault, destination.name))
        error = render_failure(DEFAULT_DIALECT, failure, AnswerContext(id=outbound.id))
        await outbound.end(render_data_frame(error.body))
        return failure
    except TimeoutError:
        raise ClientGone from None
    return None


def _write_down(request: ServedRequest, name: str, sending: _Sending, started: float, failure: Failure | None) -> None:
    services, destination = request.services, sending.destination
    entry = Entry(
        id=request.outbound.id,
        time=time.time(),
        caller=request.caller.name,
        client_dialect=DEFAULT_DIALECT,
        upstream_dialect=DEFAULT_DIALECT,
        asked=name[:LONGEST_NAME],
        target=destination.name,
        upstream_model=destination.target.model,
        attempts=sending.sends,
        duration=time.perf_counter() - started,
        status=request.outbound.status or GONE,
        error_kind=failure.kind.value if failure is not None else None,
        error=failure.message if failure is not None else None,
    )
    services.store.ledger.record(entry)
    services.records.recent.note(entry)
    services.records.metrics.request("relay", entry.target, entry.status)
    line = {"event": "relay", "id": entry.id, "key": entry.caller, "target": entry.target, "status": entry.status}
    services.records.lines.add(LogLevel.INFO if failure is None else LogLevel.WARNING, line)


def _parse(headers: Mapping[str, str], body: bytes) -> _Body:
    """The body as it is passed on. What is sent is rendered from this, so no other reader finds another model in it."""
    try:
        boundary = form_boundary(headers.get("content-type", _APPLICATION_JSON))
        if boundary is None:
            return _parse_json(body)
        return _parse_parts(parse_form(body, boundary))
    except BadForm as fault:
        raise Refused(Failure(FailureKind.BAD_REQUEST, f"the form cannot be read: {fault}", 400)) from None


def _parse_json(body: bytes) -> _Body:
    source, _ = readable(body)
    found = split_members(source)
    refuse_duplicates(source, found)
    raw = bytes(found.get(_MODEL, b'""'))
    model = msgspec.json.decode(raw, type=str) if raw[:1] == b'"' else ""
    return _Body(model, found, estimate_text(body))


def _parse_parts(parts: list[FormPart]) -> _Body:
    named = [part for part in parts if _is_model(part.name)]
    if len(named) > 1:
        raise BadForm('there is more than one "model"')
    if named and (named[0].name != _MODEL or named[0].filename is not None):
        raise BadForm('the model must be a plain field called "model"')
    return _Body(named[0].content.decode("utf-8", "replace") if named else "", parts, 0)


def _is_model(name: str) -> bool:
    """Whether some server would take a field for the model: there are those that ignore case, spaces and `[]`."""
    return name.partition("[")[0].strip().casefold() == _MODEL
