"""Files of lines: what one bad line costs, and that nobody waits for them."""

from __future__ import annotations

import json
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dragoman.config.schema.log import ExchangeLog, LogSplit
from dragoman.store.journals.exchange_log import ExchangeFiles, ExchangeLine
from dragoman.store.journals.queued_lines import QueuedLines, append_line, open_lines
from dragoman.store.journals.redaction import Redactor
from dragoman.store.ledger_entry import Entry


class NumberFile(QueuedLines[int]):
    """Writes a number per line. Negative ones cannot be written."""

    def append(self, line: int) -> None:
        assert self._folder is not None
        if line < 0:
            raise ValueError(f"{line} is negative")
        with (self._folder / "numbers").open("a") as file:
            file.write(f"{line}\n")

    def weigh(self, line: int) -> int:
        return 8


def test_a_line_that_cannot_be_written_is_lost_alone(tmp_path: Path) -> None:
    numbers = NumberFile(tmp_path / "deep" / "folder", thread="test")
    for number in (1, -2, 3, -4, 5):
        numbers.write(number)
    assert numbers.flush()
    numbers.close()
    health = numbers.health()
    assert (tmp_path / "deep" / "folder" / "numbers").read_text() == "1\n3\n5\n"
    assert (health.written, health.failed, health.last_error) == (3, 2, "ValueError: -4 is negative")


def test_without_a_folder_nothing_is_queued() -> None:
    numbers = NumberFile(None, thread="test")
    numbers.write(1)
    assert not numbers.is_wanted
    assert numbers.flush()
    numbers.close()
    assert numbers.health().written == 0


def test_a_bad_exchange_costs_no_other_exchange(tmp_path: Path) -> None:
    files = ExchangeFiles(ExchangeLog(folder=str(tmp_path), split=LogSplit.DIALECT), Redactor())
    for name in ("first", "\ud800", "last"):
        entry = Entry(id=name, time=1_800_000_000.0, client_dialect="openai-chat")
        files.write(ExchangeLine(entry=entry, request=b'{"model":"m"}', sent=None, answer=None))
    assert files.flush()
    files.close()
    lines = (tmp_path / "openai-chat.jsonl").read_text().splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["first", "last"]
    assert (files.health().written, files.health().failed) == (2, 1)


@contextmanager
def no_file_above(size: int) -> Iterator[None]:
    """The system writes what fits, as on a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_line_for_which_there_is_no_room_is_lost_alone(tmp_path: Path) -> None:
    handle = open_lines(tmp_path / "lines")
    try:
        append_line(handle, b"the first")
        with no_file_above(15), pytest.raises(OSError, match="No space left"):
            append_line(handle, b"torn by the disk")
        for line in (b"the second", b"the third"):
            append_line(handle, line)
    finally:
        os.close(handle)
    assert (tmp_path / "lines").read_bytes() == b"the first\ntorn \nthe second\nthe third\n"


def test_a_torn_exchange_is_told(tmp_path: Path) -> None:
    files = ExchangeFiles(ExchangeLog(folder=str(tmp_path), split=LogSplit.DIALECT), Redactor())
    entry = Entry(id="torn", time=1_800_000_000.0, client_dialect="openai-chat")
    with no_file_above(100):
        files.write(ExchangeLine(entry=entry, request=b'{"model":"m"}', sent=None, answer=None))
        assert files.flush()
    files.close()
    assert (files.health().written, files.health().failed) == (0, 1)
