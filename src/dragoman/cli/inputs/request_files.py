"""Requests from a file: one JSON document, or JSON Lines, read one at a time; and transcripts of agents.

A file is JSON Lines if its name ends so, or if its second line begins a new object. Whether it is a transcript is seen
from its first lines (`dragoman.transcripts`).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import click
import msgspec
from msgspec.structs import replace

from dragoman.cli.output.console import is_terminal
from dragoman.errors import MalformedRequest
from dragoman.transcripts.catalogue import FORMATS, recognise_format
from dragoman.transcripts.transcript import TranscriptFormat, TranscriptRecord
from dragoman.wire.json_reader import readable

MAX_BYTES = 256 << 20
"""The size limit of one request."""

SAMPLE_LINES, SAMPLE_BYTES = 40, 8 << 20
"""How many lines, and how much of them, are looked at to recognise a transcript."""

AUTO = "auto"
SUFFIXES = (".jsonl", ".ndjson")
_UNFINISHED = (b"[", b"{", b",", b":")


class RequestItem(msgspec.Struct, frozen=True):
    """One request."""

    file: str
    line: int
    """0 if it is the whole file."""
    body: bytes
    read: int
    """The number of bytes read for it."""
    too_long: bool = False
    form: str = ""
    """The format of a transcript that the body is still in."""
    dialect: str = ""
    """That of the request, if it is known."""
    label: str = ""
    """Names a request among several of one file."""

    @property
    def where(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place} ({self.label})" if self.label else place

    def valid_body(self) -> bytes:
        """The request. Raises MalformedRequest."""
        if self.too_long:
            raise MalformedRequest(f"longer than {MAX_BYTES >> 20} MB", hint="no provider accepts such a request")
        if not self.body.strip():
            raise MalformedRequest("no request found", hint="give one JSON object, or one per line")
        return _request_in(self.body, FORMATS[self.form]) if self.form else self.body

    def source(self, given: str) -> str:
        """The dialect to read it in, if the user gave this one."""
        return self.dialect or (AUTO if given in FORMATS else given)


def _request_in(body: bytes, form: TranscriptFormat) -> bytes:
    """The request that stands in one record of a transcript."""
    record = _decode(body)
    found = [] if record is None else form.parse([record])
    if not found:
        raise MalformedRequest(f"holds no conversation, if it is {form.title}", hint="--from names another format")
    return msgspec.json.encode(found[0].request)


def _decode(body: bytes, line: int = 0) -> TranscriptRecord | None:
    """The JSON value; None if it is none."""
    try:
        value: Any = msgspec.json.decode(readable(body)[0])
    except (msgspec.DecodeError, MalformedRequest, RecursionError):
        return None
    return TranscriptRecord(value, line)


class RequestSource(msgspec.Struct, frozen=True):
    """An open file of requests."""

    name: str
    lines: bool
    """Whether it holds one request per line."""
    size: int
    items: Iterator[RequestItem]
    form: TranscriptFormat | None = None
    """The transcripts that it holds."""


@contextmanager
def open_requests(path: str, lines: bool = False, source: str = "") -> Iterator[RequestSource]:
    """The requests of a file; `-` is standard input. `source`: `auto`, or the name of a format of transcripts.

    Raises MalformedRequest if it cannot be read.
    """
    name = "standard input" if path == "-" else path
    try:
        with _stream(path) as stream:
            size = 0 if path == "-" else Path(path).stat().st_size
            yield _open_source(name, stream, size, lines or path.endswith(SUFFIXES), source)
    except OSError as error:
        if isinstance(error, BrokenPipeError) or error.filename not in (path, None):
            raise
        raise MalformedRequest(f"cannot be read: {error.strerror}", at=name) from None


@contextmanager
def _stream(path: str) -> Iterator[BinaryIO]:
    if path != "-":
        with open(path, "rb") as stream:
            yield stream
        return
    if is_terminal(sys.stdin):
        click.echo("reading a request from the terminal; press Ctrl-D at its end", err=True)
    yield sys.stdin.buffer


def _open_source(name: str, stream: BinaryIO, size: int, lines: bool, source: str) -> RequestSource:
    ahead: list[RequestItem] = []
    lines_read = _read_lines(name, stream)
    while len(_non_empty(ahead)) < 2 and (item := next(lines_read, None)) is not None:
        ahead.append(item)
    if not lines and not _is_lines(_non_empty(ahead)):
        return _whole_source(name, size, _whole_item(name, ahead, stream), source)
    form = FORMATS.get(source)
    if source == AUTO:
        ahead += _sample(lines_read, ahead)
        records = (_decode(item.body, item.line) for item in _non_empty(ahead))
        form = recognise_format([record for record in records if record is not None], lines=True)
    items = _line_items(ahead, lines_read)
    if form is not None and form.session:
        return RequestSource(name, False, size, _session_items(name, items, form), form)
    return RequestSource(name, True, size, items if form is None else _in_format(items, form), form)


def _whole_source(name: str, size: int, item: RequestItem, source: str) -> RequestSource:
    form = FORMATS.get(source)
    record = _decode(item.body) if source == AUTO else None
    if record is not None:
        form = recognise_format([record], lines=False)
    if form is not None and form.session:
        return RequestSource(name, False, size, _session_items(name, iter([item]), form), form)
    return RequestSource(name, False, size, iter([item]) if form is None else _in_format(iter([item]), form), form)


def _sample(lines: Iterator[RequestItem], ahead: list[RequestItem]) -> Iterator[RequestItem]:
    """More lines to recognise a file by, not many and not much."""
    read = sum(item.read for item in ahead)
    for item in islice(lines, SAMPLE_LINES) if read < SAMPLE_BYTES else ():
        yield item
        read += item.read
        if read >= SAMPLE_BYTES:
            return


def _in_format(items: Iterator[RequestItem], form: TranscriptFormat) -> Iterator[RequestItem]:
    for item in items:
        yield replace(item, form=form.name, dialect=form.dialect or AUTO)


def _session_items(name: str, lines: Iterator[RequestItem], form: TranscriptFormat) -> Iterator[RequestItem]:
    """The conversations of a session. Lines that are no JSON come first, to be reported as what they are."""
    records, read = [], 0
    for item in lines:
        record = _decode(item.body, item.line) if not item.too_long else None
        read += item.read
        if record is None:
            yield item
        elif read > MAX_BYTES:
            raise MalformedRequest(f"longer than {MAX_BYTES >> 20} MB, too long for a session", at=name)
        else:
            records.append(record)
    found = form.parse(records)
    if not found:
        raise MalformedRequest(f"holds no conversation, if it is {form.title}", at=name)
    for one in found:
        body = msgspec.json.encode(one.request)
        yield RequestItem(name, 0, body, len(body), dialect=form.dialect, label=one.label)


def _non_empty(items: list[RequestItem]) -> list[RequestItem]:
    return [item for item in items if item.too_long or item.body.strip()]


def _is_lines(non_empty: list[RequestItem]) -> bool:
    if len(non_empty) < 2 or non_empty[0].body.strip().endswith(_UNFINISHED):
        return False
    return non_empty[1].body.lstrip().startswith(b"{")


def _line_items(ahead: list[RequestItem], rest: Iterator[RequestItem]) -> Iterator[RequestItem]:
    yield from _non_empty(ahead)
    yield from (item for item in rest if item.too_long or item.body.strip())


def _whole_item(name: str, ahead: list[RequestItem], stream: BinaryIO) -> RequestItem:
    head = b"".join(item.body for item in ahead)
    rest = stream.read(max(0, MAX_BYTES - len(head)) + 1)
    body = head + rest
    too_long = len(body) > MAX_BYTES or any(item.too_long for item in ahead)
    return RequestItem(name, 0, body, len(body), too_long)


def _read_lines(name: str, stream: BinaryIO) -> Iterator[RequestItem]:
    """The lines with their numbers. The content of a line that is too long is skipped."""
    number = 0
    while line := stream.readline(MAX_BYTES + 1):
        number += 1
        read = len(line)
        too_long = read > MAX_BYTES
        while too_long and line and not line.endswith(b"\n"):
            line = stream.readline(MAX_BYTES)
            read += len(line)
        yield RequestItem(name, number, b"" if too_long else line, read, too_long)
