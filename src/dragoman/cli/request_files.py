"""Requests from a file: one JSON document, or JSON Lines, read one at a time.

A file is JSON Lines if its name ends so, or if its second line begins a new object.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import click
import msgspec

from dragoman.cli.console import is_terminal
from dragoman.errors import MalformedRequest

MAX_BYTES = 256 << 20
"""The size limit of one request."""

SUFFIXES = (".jsonl", ".ndjson")
_UNFINISHED = (b"[", b"{", b",", b":")


class RequestItem(msgspec.Struct, frozen=True):
    """One request. `line` is 0 if it is the whole file; `read` is the number of bytes read for it."""

    file: str
    line: int
    body: bytes
    read: int
    too_long: bool = False

    @property
    def where(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file

    def valid_body(self) -> bytes:
        if self.too_long:
            raise MalformedRequest(f"longer than {MAX_BYTES >> 20} MB", hint="no provider accepts such a request")
        if not self.body.strip():
            raise MalformedRequest("no request found", hint="give one JSON object, or one per line")
        return self.body


class RequestSource(msgspec.Struct, frozen=True):
    """An open file of requests. `lines`: it holds one request per line."""

    name: str
    lines: bool
    size: int
    items: Iterator[RequestItem]


@contextmanager
def open_requests(path: str, lines: bool = False) -> Iterator[RequestSource]:
    """The requests of a file; `-` is standard input. Raises MalformedRequest if it cannot be read."""
    name = "standard input" if path == "-" else path
    try:
        with _stream(path) as stream:
            size = 0 if path == "-" else Path(path).stat().st_size
            yield _open_source(name, stream, size, lines or path.endswith(SUFFIXES))
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


def _open_source(name: str, stream: BinaryIO, size: int, lines: bool) -> RequestSource:
    ahead: list[RequestItem] = []
    lines_read = _read_lines(name, stream)
    while len(_non_empty(ahead)) < 2 and (item := next(lines_read, None)) is not None:
        ahead.append(item)
    if lines or _is_lines(_non_empty(ahead)):
        return RequestSource(name, True, size, _line_items(ahead, lines_read))
    return RequestSource(name, False, size, iter([_whole_item(name, ahead, stream)]))


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
