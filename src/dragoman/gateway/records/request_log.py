"""One line per request. Lines are collected and written together, so a request never waits for the log."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping
from typing import Any, TextIO

import msgspec

from dragoman.config.schema.log import Log, LogFormat, LogLevel

_encode = msgspec.json.Encoder().encode
_RANK = {LogLevel.DEBUG: 0, LogLevel.INFO: 1, LogLevel.WARNING: 2, LogLevel.ERROR: 3}
_FLUSH = 0.2

Line = Mapping[str, Any] | msgspec.Struct


class RequestLog:
    """Collects log lines and writes them to a stream."""

    def __init__(self, config: Log, stream: TextIO | None = None) -> None:
        self._rank = _RANK[config.level]
        self._write: Callable[[Line], str] = _json if config.format is LogFormat.JSON else _text
        self.stream: TextIO | None = stream or sys.stderr  # which is None if it was closed before the start
        self._pending: list[Line] = []
        self._lost = 0
        self._timer: asyncio.TimerHandle | None = None

    def takes(self, level: LogLevel) -> bool:
        """Whether lines of this level are logged."""
        return _RANK[level] >= self._rank

    def add(self, level: LogLevel, line: Mapping[str, Any]) -> None:
        if _RANK[level] >= self._rank:
            self.put({"level": level.value, **line})

    def put(self, line: Line) -> None:
        """Add a line that contains its level and is known to be logged."""
        self._pending.append(line)
        if self._timer is None:
            try:
                self._timer = asyncio.get_running_loop().call_later(_FLUSH, self.flush)
            except RuntimeError:
                self.flush()

    def flush(self) -> None:
        self._timer = None
        pending, self._pending = self._pending, []
        if pending and self.stream is not None:
            self._write_all(self.stream, pending)

    def _write_all(self, stream: TextIO, lines: list[Line]) -> None:
        """A log that cannot be written, because the disk is full or its reader gone, stops no request and no start.
        Once it can be again, it begins on a new line and tells how many lines are missing."""
        text = "".join([self._write(line) for line in lines])
        if self._lost:
            line = {"level": "error", "event": "not-written", "what": "log", "entries": self._lost}
            text = "\n" + self._write(line) + text
        try:
            stream.write(text)
            stream.flush()
        except OSError:
            self._lost += len(lines)
        else:
            self._lost = 0


def _json(line: Line) -> str:
    return _encode(line).decode() + "\n"


def _text(line: Line) -> str:
    """`key=value` pairs. Texts are JSON, so that a line break from a client cannot fake a log line."""
    fields = msgspec.to_builtins(line).items()
    words = [f"{name}={_encode(value).decode()}" for name, value in fields if value not in (None, "", 0, ())]
    return " ".join(words) + "\n"
