"""One line per request, gathered and written together: a request never waits for the log."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping
from typing import Any, TextIO

import msgspec

from dragoman.config.schema import Log, LogFormat, LogLevel

_encode = msgspec.json.Encoder().encode
_RANK = {LogLevel.DEBUG: 0, LogLevel.INFO: 1, LogLevel.WARNING: 2, LogLevel.ERROR: 3}
_FLUSH = 0.2

Line = Mapping[str, Any] | msgspec.Struct


class RequestLog:
    """Log lines on their way to a stream."""

    def __init__(self, config: Log, stream: TextIO | None = None) -> None:
        self._rank = _RANK[config.level]
        self._write: Callable[[Line], str] = _json if config.format is LogFormat.JSON else _text
        self.stream = stream or sys.stderr
        self._waiting: list[Line] = []
        self._timer: asyncio.TimerHandle | None = None

    def takes(self, level: LogLevel) -> bool:
        """Whether a line of this weight is written at all."""
        return _RANK[level] >= self._rank

    def add(self, level: LogLevel, line: Mapping[str, Any]) -> None:
        if _RANK[level] >= self._rank:
            self.put({"level": level.value, **line})

    def put(self, line: Line) -> None:
        """A line that has its level in it, and is known to be wanted."""
        self._waiting.append(line)
        if self._timer is None:
            try:
                self._timer = asyncio.get_running_loop().call_later(_FLUSH, self.flush)
            except RuntimeError:
                self.flush()

    def flush(self) -> None:
        self._timer = None
        waiting, self._waiting = self._waiting, []
        if waiting:
            self.stream.write("".join([self._write(line) for line in waiting]))
            self.stream.flush()


def _json(line: Line) -> str:
    return _encode(line).decode() + "\n"


def _text(line: Line) -> str:
    """`key=value` words; texts are JSON, so that no line break of a client's can pose as a line of ours."""
    fields = msgspec.to_builtins(line).items()
    words = [f"{name}={_encode(value).decode()}" for name, value in fields if value not in (None, "", 0, ())]
    return " ".join(words) + "\n"
