"""Files of exchanges: one JSON line per request, with what the client asked and what was really sent.

One file a day, or one for each client dialect, which makes the gateway a capture proxy. Lines are made and written by a
thread of their own. Secrets never reach a file, and texts only if they are asked for.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from dragoman.config.schema.log import ExchangeLog, LogSplit
from dragoman.store.journals.queued_lines import QueuedLines, append_line, open_lines
from dragoman.store.journals.redaction import Redactor, parse_body, without_content
from dragoman.store.journals.refusal_log import timestamp
from dragoman.store.ledger_entry import Entry

_LEFT_OUT = frozenset({"request", "sent", "answer", "changes", "tried", "time"})


class ExchangeLine(Struct, frozen=True):
    """A request of the ledger with its bodies, which the ledger itself may not keep."""

    entry: Entry
    request: bytes
    sent: bytes | None
    answer: bytes | None


class ExchangeFiles(QueuedLines[ExchangeLine]):
    """Writes the files. Several workers may write the same ones: a line is one write at the end of the file."""

    def __init__(self, config: ExchangeLog, redactor: Redactor) -> None:
        self.config = config
        self._redactor = redactor
        super().__init__(None if config.folder is None else Path(config.folder), thread="dragoman-exchanges")

    def append(self, line: ExchangeLine) -> None:
        assert self._folder is not None
        handle = open_lines(self._folder / self._name(line.entry))
        try:
            append_line(handle, self._line(line))
        finally:
            os.close(handle)

    def weigh(self, line: ExchangeLine) -> int:
        return len(line.request) + len(line.sent or b"") + len(line.answer or b"")

    def _name(self, entry: Entry) -> str:
        return f"{entry.day if self.config.split is LogSplit.DAY else entry.client_dialect}.jsonl"

    def _line(self, line: ExchangeLine) -> bytes:
        entry = line.entry
        fields: dict[str, Any] = {"timestamp": timestamp(entry.time)}
        fields |= {name: getattr(entry, name) for name in entry.__struct_fields__ if name not in _LEFT_OUT}
        fields["changes"] = msgspec.json.decode(entry.changes)
        fields["request"] = self._body(line.request)
        fields["request_effective"] = self._body(line.sent)
        if line.answer is not None:
            fields["answer"] = self._body(line.answer)
        return msgspec.json.encode(self._redactor.value(fields))

    def _body(self, body: bytes | None) -> Any:
        if body is None:
            return None
        parsed = parse_body(body)
        return parsed if self.config.content else without_content(parsed)
