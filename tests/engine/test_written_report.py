"""A report that is written in pieces is the report that is written at once; a very long one is written in part."""

from __future__ import annotations

import msgspec
import pytest

from dragoman import Change, adapt
from dragoman.engine.compile.report import usage_asked
from dragoman.engine.library.report_summary import MOST_WRITTEN, find_report, report_headers, write_report


def report(count: int, name: str = "x") -> tuple[Change, ...]:
    messages = [{"role": "user", "content": "Hi"}]
    request = {"model": "m", "messages": messages, **{f"{name}{number}": number for number in range(count)}}
    return adapt(request, source="openai-chat", target="anthropic/claude-sonnet-4-5").changes


@pytest.mark.parametrize("count", [0, 1, 99, 100, 101, MOST_WRITTEN - 1])
def test_pieces_add_up(count: int) -> None:
    changes = report(count)
    written = write_report(changes)
    assert written.json == msgspec.json.encode(changes)
    assert written.headers == report_headers(changes)
    assert sum(written.counts.values()) == len(changes) >= count
    assert written.counts.get("refused-setting", 0) == count


def test_what_is_left_out_of_a_long_report_is_counted() -> None:
    changes = report(2_000)
    heavy = Change("late-system", "/messages/0", "made a user turn", "authority")
    written = write_report((*changes, heavy))
    shown = msgspec.json.decode(written.json)
    assert len(changes) > 2_000
    assert (written.counts["refused-setting"], written.headers) == (2_000, report_headers((*changes, heavy)))
    assert heavy.at in [one["at"] for one in shown], "the heaviest is there"
    told = [one for one in shown if "left out of this record" in one["did"]]
    assert len(shown) - len(told) == MOST_WRITTEN
    assert sum([int(one["did"].split()[2]) for one in told]) == len(changes) + 1 - MOST_WRITTEN
    assert len(written.json) < 200 * MOST_WRITTEN


def test_a_name_of_megabytes_is_not_written_down() -> None:
    changes = report(1, "x" * 1_000_000)
    assert len(msgspec.json.encode(changes)) > 1_000_000
    written = write_report(changes)
    assert len(written.json) < 10_000
    (long,) = [one for one in msgspec.json.decode(written.json) if one["rule"] == "refused-setting"]
    assert long["before"] is not None, "its digest is that of the whole"


def test_requests_that_are_changed_alike_share_one_report() -> None:
    written = write_report((usage_asked(),))
    assert find_report((usage_asked(),)) is written
    assert find_report((usage_asked(), usage_asked())) is None
    assert find_report((usage_asked().adding("more"),)) is None


def test_a_report_of_changes_of_its_own_is_not_kept() -> None:
    changes = report(1)
    write_report(changes)
    assert find_report(changes) is None
