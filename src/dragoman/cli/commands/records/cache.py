"""`dragoman cache`: what a recorded session read from the provider's prompt cache, and which request broke it."""

from __future__ import annotations

from datetime import datetime

import click
import msgspec

from dragoman.cli.inputs.recorded_requests import RecordedLine
from dragoman.cli.inputs.request_files import AUTO, RequestItem, open_requests
from dragoman.cli.output.cache_tables import print_cache
from dragoman.conversation.conversation import Ask
from dragoman.conversation.replies import Usage
from dragoman.engine.compile.compiled_request import CompiledRequest
from dragoman.engine.compile.compiler import compile_ask
from dragoman.engine.exchange.destination import Destination
from dragoman.engine.history.session_turns import SentTurn, SessionTurns, blame, count_shared_tokens, find_break
from dragoman.engine.history.sizes import estimate_tokens
from dragoman.engine.library.adapt import BUILTIN, read
from dragoman.errors import MalformedRequest, RequestError, TargetError
from dragoman.profiles.prices import find_price
from dragoman.store.cache_report import report_of
from dragoman.store.ledger_entry import Entry

_SECONDS = 10.0
"""Between two requests that do not say when they were sent."""


@click.command()
@click.argument("file")
@click.option("--to", "target", metavar="TARGET", help="PROFILE/MODEL; by default that of each line.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def cache(file: str, target: str | None, as_json: bool) -> None:
    """Show what a recorded session read from the provider's prompt cache, what that saved, and which request broke it.

    FILE has a request on each line, in the order in which they were sent: one of log.exchanges, or the requests alone.
    The tokens are those that the provider counted, if the lines have them. Else they are estimated, as if the provider
    kept all that stays the same. Nothing is sent.
    """
    with open_requests(file, lines=True, source=AUTO) as source:
        session = _RecordedSession(target)
        entries = [session.add(item) for item in source.items if item.body.strip()]
    report = report_of(reversed(entries))
    if as_json:
        click.echo(msgspec.json.encode(report))
    else:
        print_cache(report)


class _RecordedSession:
    """The requests so far, as the gateway would have seen them."""

    def __init__(self, target: str | None) -> None:
        self._target = target
        self._now = 0.0
        self._turns = SessionTurns(lambda: self._now)

    def add(self, item: RequestItem) -> Entry:
        try:
            line, ask = _parse(item)
            place = self._place(line, ask)
            request = compile_ask(ask, place.target)
        except (RequestError, TargetError) as fault:
            raise MalformedRequest(str(fault), at=item.where) from None
        self._now = _time_of(line, self._now)
        before = self._turns.find("", ask)
        if before is not None and (broken := find_break(before, request, place)) is not None:
            request = msgspec.structs.replace(request, changes=blame(before, broken, request))
        usage = _usage_of(line) if line.input_tokens else _estimate(before, request, place.name)
        use = self._turns.note("", request, usage, place)
        return Entry(
            id=line.id or item.where,
            time=self._now,
            asked=line.asked or place.name,
            target=place.name,
            input_tokens=usage.input,
            output_tokens=usage.output,
            cached_tokens=usage.cached,
            written_tokens=usage.cache_written,
            session=use.session,
            resent_tokens=use.resent,
            cache_saved=use.saved,
            cache_lost=use.lost,
            cache_break=use.why,
        )

    def _place(self, line: RecordedLine, ask: Ask) -> Destination:
        name = self._target or _target_of(line, ask)
        target = BUILTIN.target(name)
        return Destination(name=name, provider="", target=target, price=find_price(target.profile.name, target.model))


def _target_of(line: RecordedLine, ask: Ask) -> str:
    """A provider of somebody's configuration is not known here. That of its dialect has the beginning of its name."""
    provider, _, model = line.target.partition("/")
    names = BUILTIN.names()
    if provider in names:
        return line.target
    dialect = line.upstream_dialect or ask.dialect
    vendor = max([name for name in names if dialect.startswith(name)], key=len, default=dialect)
    return f"{vendor}/{line.upstream_model or model or ask.model or 'model'}"


def _parse(item: RequestItem) -> tuple[RecordedLine, Ask]:
    body, source = item.valid_body(), item.source(AUTO)
    try:
        line = msgspec.json.decode(body, type=RecordedLine)
    except msgspec.DecodeError as fault:
        raise MalformedRequest(f"is no line of requests: {fault}") from None
    if line.request is None:
        return RecordedLine(), read(body, source=source)
    return line, read(line.request, source=line.client_dialect or AUTO)


def _time_of(line: RecordedLine, now: float) -> float:
    try:
        return datetime.fromisoformat(line.timestamp).timestamp()
    except ValueError:
        return now + _SECONDS


def _usage_of(line: RecordedLine) -> Usage:
    return Usage(line.input_tokens, line.output_tokens, line.cached_tokens, line.written_tokens)


def _estimate(before: SentTurn | None, request: CompiledRequest, target: str) -> Usage:
    """As if the provider kept every prompt, and read all that stays the same."""
    total = int(estimate_tokens(request.conversation, request.facts.model))
    is_known = before is not None and before.target == target
    shared = min(count_shared_tokens(before, request), total) if before is not None and is_known else 0
    return Usage(total, 0, shared, total - shared)
