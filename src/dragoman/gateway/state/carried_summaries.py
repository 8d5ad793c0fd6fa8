"""Compaction: a summary takes the place of a conversation, and the client carries it, sealed.

A provider that compacts by itself is left to do it. For all others a model writes the summary: the one of
`history.compact.model`, or else the one that the request asks for. A summary that is not whole is an error, and nothing
is kept or handed out.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import AsyncIterator
from functools import partial

import msgspec

from dragoman.conversation.collect import collect
from dragoman.conversation.conversation import Ask
from dragoman.conversation.events import Ended, Event, OpaqueBlock, Started, Stopped, Used
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.conversation.parts import Opaque, Origin
from dragoman.conversation.replies import Stop, Usage
from dragoman.dialects.contracts.compaction import CarriedSummary, CompactionAsk, Compactions, CompactionWay
from dragoman.dialects.dialect import AnswerContext, StreamRenderer
from dragoman.dialects.registry import dialect
from dragoman.engine.exchange.destination import TargetRoute
from dragoman.engine.history.carried_summary import (
    count_replaced,
    has_words,
    is_whole_summary,
    stand_in,
    summary_parts,
    summary_question,
)
from dragoman.engine.history.compaction import PrefixSummary, UsedSummary
from dragoman.engine.history.sizes import estimate_reserve
from dragoman.engine.library.report_summary import MODEL_HEADER
from dragoman.gateway.callers.caller import Caller, Refused, begin_work
from dragoman.gateway.callers.credentials import find_credential
from dragoman.gateway.http.outbound import Outbound, header
from dragoman.gateway.models.model_names import find_lead
from dragoman.gateway.models.side_requests import SideRequest, ask_route
from dragoman.gateway.records.request_record import CarriedBlock, RequestRecord
from dragoman.gateway.served_request import ServedRequest
from dragoman.gateway.services import Services
from dragoman.gateway.state.seals import PREFIX, SECRET_BYTES, BrokenSeal, Seals
from dragoman.upstream.destinations import HttpDestination
from dragoman.upstream.heavy_work import RequestWork

_SECONDS = 300.0
"""For one part of a summary."""
_KIND = "compaction"
_UNFINISHED = "the summary that {model} wrote is not whole: {why}; nothing was compacted. Try again, or set "
_UNFINISHED += "`history.compact.model` to a model that keeps to its headings"


class SealedSummary(msgspec.Struct, frozen=True):
    """What is sealed."""

    text: str
    whole: bool


class MadeSummary(msgspec.Struct, frozen=True):
    """A summary, and the tokens that it took."""

    text: str
    usage: Usage


_decode = msgspec.json.Decoder(SealedSummary).decode


class Compaction(msgspec.Struct, frozen=True):
    """What is to be done for a request, by us."""

    form: Compactions
    ask: CompactionAsk
    route: TargetRoute[HttpDestination]
    model: str


async def read_compaction(
    services: Services,
    caller: Caller,
    client: str,
    body: bytes,
    form: Compactions,
    *,
    model: str | None = None,
    way: CompactionWay | None = None,
) -> tuple[bytes, Compaction | None]:
    """The request with the summaries of ours opened; and what we do about it, unless its provider does it by itself.

    `client` is the dialect of the request, `model` the one that its path names, `way` what its path asks for. Raises
    Refused.
    """
    seals = await _find_seals(services)
    parse = partial(form.parse, body, partial(_open, seals, caller, form))
    ask = await begin_work(services.dispatcher.heavy, caller.name, body).run(parse)
    if way is not None:
        ask = msgspec.structs.replace(ask, way=way)
    if ask.way is None:
        return ask.body, None
    name = model or ask.model or services.live.config.default_model or ""
    lead = find_lead(services, caller, name, client)
    if lead.candidates is None and lead.route is not None and _has_own(lead.route, caller, client, ask.way):
        return ask.body, None
    route = lead.route or services.live.routes.find(next(iter(lead.candidates or ())), client)
    assert route is not None
    return ask.bare, Compaction(form, ask, route, name)


async def _find_seals(services: Services) -> Seals:
    """With the configured secret, or with the one that the store keeps. Raises Refused."""
    config = services.live.config
    configured = [one.reveal().encode() for one in (config.secret, config.old_secret) if one is not None]
    if services.conversations.seals is None or services.conversations.seals[0] != configured:
        known = configured or [await services.store.secrets.agree("seals", secrets.token_bytes(SECRET_BYTES))]
        if not configured and services.store.health().is_state_away:
            what = "the store is away, and with it the secret of what clients carry; try again, or set `secret`"
            raise Refused(Failure(FailureKind.OVERLOADED, what, 503, retry_after=1.0))
        services.conversations.seals = configured, Seals(known)
    return services.conversations.seals[1]


def _has_own(route: TargetRoute[HttpDestination], caller: Caller, client: str, way: CompactionWay) -> bool:
    """Whether every provider that may answer compacts in this way, and reads what the others have made of it."""
    if way is CompactionWay.ENDPOINT and (caller.budget is not None or route.first.emulated):
        return False  # what is passed on has no price, and goes to no emulator
    targets = [one.target for one in route.destinations]
    return len({target.facts.family for target in targets}) == 1 and all(
        target.dialect == client and way.value in target.facts.compaction for target in targets
    )


def _open(seals: Seals, caller: Caller, form: Compactions, sealed: str, shown: str | None) -> CarriedSummary | None:
    if not sealed.startswith(PREFIX):
        return None
    try:
        found = _decode(seals.open(caller.name, sealed))
    except (BrokenSeal, msgspec.DecodeError):
        what = f"The encrypted content {sealed[:4]}...{sealed[-4:]} could not be verified. Reason: Encrypted content "
        what += "could not be decrypted or parsed."
        raise Refused(Failure(FailureKind.BAD_REQUEST, what, 400, form.broken_code)) from None
    if shown is not None and shown != found.text:
        what = "the text of a compaction block was changed; send the block back as it came"
        raise Refused(Failure(FailureKind.BAD_REQUEST, what, 400, form.changed_code))
    return CarriedSummary(stand_in(found.text), found.whole)


async def answer_with_summary(
    request: ServedRequest, record: RequestRecord, compaction: Compaction, ask: Ask, work: RequestWork
) -> bool:
    """Send the summary, if the client wants nothing else: then it is all done. Otherwise note what the answer begins
    with, if the conversation is so long that a summary is due."""
    way = compaction.ask.way
    assert way is not None
    if way is CompactionWay.THRESHOLD:
        tokens = await work.run(partial(estimate_reserve, ask.conversation))
        if tokens <= compaction.ask.above:
            return False
    if not await work.run(partial(has_words, ask.conversation)):
        what = "there is nothing to compact: the conversation is empty"
        raise Refused(Failure(FailureKind.BAD_REQUEST, what, 400, "compaction_nothing_to_summarize"))
    made = await _summarise(request, record, compaction, ask, work)
    whole = way is CompactionWay.THRESHOLD
    seals = await _find_seals(request.services)
    sealed = seals.seal(record.caller.name, msgspec.json.encode(SealedSummary(made.text, whole)))
    carried = CarriedSummary(made.text, whole)
    item = compaction.form.render_item(secrets.token_hex(25), carried, sealed, way)
    block = Opaque(_KIND, item, Origin(record.dialect))
    if way is CompactionWay.THRESHOLD and not compaction.ask.pauses:
        units = await work.run(partial(count_replaced, ask.conversation))
        prefix = PrefixSummary(made.text, len(ask.conversation.messages))
        record.carried = CarriedBlock(block, UsedSummary(units, prefix) if units else None)
        return False
    record.notices += (header(MODEL_HEADER, compaction.route.first.name),)
    if way is CompactionWay.ENDPOINT and compaction.form.render_answer is not None:
        render, given = compaction.form.render_answer, compaction.ask.bare
        body = await work.run(partial(render, _answer_id(record), given, item, made.usage, int(time.time())))
        request.outbound.rewriter = None  # such an answer is not continued by its id
        await request.outbound.whole(200, body, list(record.notices))
        return True
    stop_word, now = compaction.form.stop_word, int(time.time())
    events: list[Event] = [
        Started(_answer_id(record), record.model, now),
        OpaqueBlock(0, 0, block),
        Stopped(0, Stop.PAUSE if stop_word else Stop.END, stop_word),
        Used(made.usage),
        Ended(),
    ]
    context = AnswerContext(model=record.model, id=record.id, created=now, request=ask.members, clock=time.time)
    await _send(request.outbound, record, events, context, ask.stream)
    return True


def _answer_id(record: RequestRecord) -> str:
    return dialect(record.dialect).id_prefix + secrets.token_hex(25)


async def _send(
    outbound: Outbound, record: RequestRecord, events: list[Event], context: AnswerContext, streams: bool
) -> None:
    """The answer that is one block, whole or as a stream."""
    answers = dialect(record.dialect).answers
    if streams:
        pieces = _render_stream(answers.stream_renderer(context), events)
        content_type = dialect(record.dialect).framing.content_type.encode()
        await outbound.streamed(pieces, list(record.notices), content_type, _SECONDS)
        return
    reply = collect(events)
    assert not isinstance(reply, Failure)
    await outbound.whole(200, answers.render(reply, context), list(record.notices))


async def _render_stream(renderer: StreamRenderer, events: list[Event]) -> AsyncIterator[bytes]:
    yield renderer.render(events) + renderer.close()


async def _summarise(
    request: ServedRequest, record: RequestRecord, compaction: Compaction, ask: Ask, work: RequestWork
) -> MadeSummary:
    """A summary of the whole conversation. Raises Refused if there is none that is whole."""
    services, credential = request.services, find_credential(request, record.dialect, compaction.route.first)
    policy = compaction.route.first.compact
    own = services.live.routes.find(policy.model) if policy is not None else None
    route, model = (
        (own, policy.model) if own is not None and policy is not None else (compaction.route, compaction.model)
    )
    text, usage = "", Usage()
    window = route.first.target.facts.context_window
    for number, part in enumerate(await work.run(lambda: list(summary_parts(ask.conversation, window)))):
        question = summary_question(part, text, compaction.ask.instructions)
        asked = SideRequest(f"{record.id}-summary-{number}", record.caller, question, _SECONDS, credential)
        answer = await ask_route(services, route, model, asked)
        if isinstance(answer, Failure):
            raise Refused(answer)
        if answer.stop is not Stop.END or not is_whole_summary(answer.text):
            why = "it was cut" if answer.stop is not Stop.END else "its headings are missing"
            raise Refused(Failure(FailureKind.BROKEN_STREAM, _UNFINISHED.format(model=model, why=why), 502))
        text = answer.text
        usage = Usage(input=usage.input + answer.usage.input, output=usage.output + answer.usage.output)
    return MadeSummary(text, usage)
