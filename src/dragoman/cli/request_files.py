"""Requests from a file: one whole JSON document, or JSON Lines, read one at a time.

A file is JSON Lines if its name says so, or if its second line opens an object of its own.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import click
import msgspec

from dragoman.cli.console import on_terminal
from dragoman.errors import MalformedRequest

LARGEST = 256 << 20
"""The most bytes that one request may have."""

SUFFIXES = (".jsonl", ".ndjson")
_UNFINISHED = (b"[", b"{", b",", b":")


class Item(msgspec.Struct, frozen=True):
    """One request. `line` is 0 where it is the whole file; `read` counts the bytes it took."""

    file: str
    line: int
    body: bytes
    read: int
    too_long: bool = False

    @property
    def where(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file

    def checked(self) -> bytes:
        if self.too_long:
            raise MalformedRequest(f"longer than {LARGEST >> 20} MB", hint="no provider takes such a request")
        if not self.body.strip():
            raise MalformedRequest("there is nothing in it", hint="give one JSON object, or one a line")
        return self.body


class Source(msgspec.Struct, frozen=True):
    """What is to be read: `lines` tells whether it holds a request a line."""

    name: str
    lines: bool
    size: int
    items: Iterator[Item]


@contextmanager
def opened(path: str, lines: bool = False) -> Iterator[Source]:
    """The requests of a file, `-` being standard input. Raises MalformedRequest where it cannot be read."""
    name = "standard input" if path == "-" else path
    try:
        with _stream(path) as stream:
            size = 0 if path == "-" else Path(path).stat().st_size
            yield _source(name, stream, size, lines or path.endswith(SUFFIXES))
    except OSError as fault:
        if isinstance(fault, BrokenPipeError) or fault.filename not in (path, None):
            raise
        raise MalformedRequest(f"cannot be read: {fault.strerror}", at=name) from None


@contextmanager
def _stream(path: str) -> Iterator[BinaryIO]:
    if path != "-":
        with open(path, "rb") as stream:
            yield stream
        return
    if on_terminal(sys.stdin):
        click.echo("reading a request from the terminal; end it with Ctrl-D", err=True)
    yield sys.stdin.buffer


def _source(name: str, stream: BinaryIO, size: int, lines: bool) -> Source:
    ahead: list[Item] = []
    numbered = _numbered(name, stream)
    while len(_filled(ahead)) < 2 and (item := next(numbered, None)) is not None:
        ahead.append(item)
    if lines or _is_lines(_filled(ahead)):
        return Source(name, True, size, _chained(ahead, numbered))
    return Source(name, False, size, iter([_whole(name, ahead, stream)]))


def _filled(items: list[Item]) -> list[Item]:
    return [item for item in items if item.too_long or item.body.strip()]


def _is_lines(filled: list[Item]) -> bool:
    if len(filled) < 2 or filled[0].body.strip().endswith(_UNFINISHED):
        return False
    return filled[1].body.lstrip().startswith(b"{")


def _chained(ahead: list[Item], rest: Iterator[Item]) -> Iterator[Item]:
    yield from _filled(ahead)
    yield from (item for item in rest if item.too_long or item.body.strip())


def _whole(name: str, ahead: list[Item], stream: BinaryIO) -> Item:
    head = b"".join(item.body for item in ahead)
    rest = stream.read(max(0, LARGEST - len(head)) + 1)
    body = head + rest
    too_long = len(body) > LARGEST or any(item.too_long for item in ahead)
    return Item(name, 0, body, len(body), too_long)


def _numbered(name: str, stream: BinaryIO) -> Iterator[Item]:
    """Lines with their numbers. One that is too long is skipped, not kept."""
    number = 0
    while line := stream.readline(LARGEST + 1):
        number += 1
        read = len(line)
        too_long = read > LARGEST
        while too_long and line and not line.endswith(b"\n"):
            line = stream.readline(LARGEST)
            read += len(line)
        yield Item(name, number, b"" if too_long else line, read, too_long)
