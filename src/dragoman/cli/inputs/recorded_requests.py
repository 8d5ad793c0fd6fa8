"""A request by its id, as it was recorded: in the ledger, in the files of exchanges or refusals, or by a gateway."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
from msgspec.structs import replace

from dragoman.cli.inputs.given_config import GivenConfig
from dragoman.cli.inputs.state_access import RunningGateway, open_kept_store
from dragoman.config.schema.config_file import Config
from dragoman.errors import OptionError
from dragoman.store.journals.refusal_log import RefusalLine, parse_refusal, timestamp
from dragoman.store.ledger_entry import Entry, Viewer

_ID = re.compile(r"req_[0-9a-f]{6,40}(-[a-z]+)?")
_KEPT = "requests are kept with store.keep_bodies: true, or with log.exchanges.folder"


class RecordedLine(msgspec.Struct):
    """What a report and a line of an exchange file have in common."""

    id: str = ""
    client_dialect: str = ""
    upstream_dialect: str = ""
    asked: str = ""
    target: str = ""
    upstream_model: str = ""
    stream: bool = False
    status: int = 0
    error: str | None = None
    error_kind: str | None = None
    timestamp: str = ""
    time: float = 0.0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    written_tokens: int = 0
    request: Any = None
    sent: Any = None
    request_effective: Any = None

    def line(self) -> RefusalLine:
        return RefusalLine(
            timestamp=self.timestamp or timestamp(self.time),
            provider=self.target.partition("/")[0],
            stage="stream" if self.stream else "request",
            status_code=self.status or None,
            error_type=self.error_kind or "",
            error=self.error or "",
            request_id=self.id,
            target=self.target or self.asked,
            client_dialect=self.client_dialect,
            upstream_dialect=self.upstream_dialect,
            input_request=self.request,
            sent_request=self.sent or self.request_effective,
        )


class _KeptText(msgspec.Struct):
    """A body as the console shows it."""

    text: str | None = None
    cut: int = 0

    def decode(self) -> Any:
        """Its value; None if it is not there, or not whole."""
        return None if self.text is None or self.cut else msgspec.json.decode(self.text)


class _KeptView(msgspec.Struct):
    """What the console is told about a request."""

    client: _KeptText
    upstream: _KeptText


def is_request_id(text: str) -> bool:
    """Whether it looks like an id of the ledger, and is no file."""
    return _ID.fullmatch(text) is not None and not Path(text).exists()


def from_gateway(gateway: RunningGateway, request_id: str) -> RefusalLine:
    """The request as a gateway that runs reports it. Raises OptionError."""
    place = f"/dragoman/requests/{quote(request_id, safe='')}"
    line = gateway.ask(RecordedLine, place).line()
    return line if line.input_request is not None else _from_its_memory(gateway, place, line)


def _from_its_memory(gateway: RunningGateway, place: str, line: RefusalLine) -> RefusalLine:
    """The request with the bodies that the gateway still has in memory, which it shows to admins alone."""
    try:
        view = gateway.ask(_KeptView, f"{place}/view")
    except OptionError:
        return _with_request(line)
    request, sent = view.client.decode(), view.upstream.decode()
    return _with_request(replace(line, input_request=request, sent_request=sent))


def from_config(given: GivenConfig, request_id: str) -> RefusalLine:
    """The request as the store, or a file of the configuration, has it. Raises OptionError."""
    config = given.loaded().config
    fault = OptionError("is not in the ledger", at=request_id, hint="`dragoman requests` lists what is")
    try:
        entry = asyncio.run(_entry(given, request_id))
    except OptionError as unread:
        entry, fault = None, unread
    if entry is not None and entry.request is not None:
        return msgspec.json.decode(entry.report(), type=RecordedLine).line()
    found = next(_from_files(config, request_id), None)
    if found is not None:
        return _with_request(found)
    raise fault if entry is None else OptionError("is in the ledger without its request", at=request_id, hint=_KEPT)


async def _entry(given: GivenConfig, request_id: str) -> Entry | None:
    async with open_kept_store(given) as store:
        return await store.ledger.report(request_id, Viewer("", admin=True))


def _from_files(config: Config, request_id: str) -> Iterator[RefusalLine]:
    """Lines about a request: those of exchanges, then those of refusals, the newest files first."""
    folder, refusals = config.log.exchanges.folder, config.log.provider_errors.path
    exchanges = sorted(Path(folder).glob("*.jsonl"), reverse=True) if folder else []
    kept = [Path(refusals), *sorted(Path(refusals).parent.glob(f"{Path(refusals).name}.*"))] if refusals else []
    for line in _lines(exchanges, request_id):
        with suppress(msgspec.DecodeError):  # somebody may have cut the file
            if (recorded := msgspec.json.decode(line, type=RecordedLine)).id == request_id:
                yield recorded.line()
    for line in _lines(kept, request_id):
        with suppress(ValueError):
            if (refusal := parse_refusal(line)).request_id == request_id:
                yield refusal


def _lines(files: list[Path], request_id: str) -> Iterator[bytes]:
    """The lines that hold the id somewhere."""
    wanted = request_id.encode()
    for file in files:
        try:
            with file.open("rb") as lines:
                yield from (line for line in lines if wanted in line)
        except OSError:
            continue


def _with_request(line: RefusalLine) -> RefusalLine:
    if line.input_request is None:
        raise OptionError("was recorded without its request", at=line.request_id, hint=_KEPT)
    return line
