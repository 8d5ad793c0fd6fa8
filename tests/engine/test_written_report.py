"""A report that is written in pieces is the report that is written at once."""

from __future__ import annotations

import msgspec
import pytest

from dragoman import adapt
from dragoman.engine.library.report_summary import report_headers, write_report


@pytest.mark.parametrize("count", [0, 1, 499, 500, 501, 1203])
def test_pieces_add_up(count: int) -> None:
    messages = [{"role": "user", "content": "Hi"}]
    request = {"model": "m", "messages": messages, **{f"x{number}": number for number in range(count)}}
    changes = adapt(request, source="openai-chat", target="anthropic/claude-sonnet-4-5").changes
    written = write_report(changes)
    assert written.json == msgspec.json.encode(changes)
    assert written.headers == report_headers(changes)
    assert sum(written.counts.values()) == len(changes) >= count
    assert written.counts.get("refused-setting", 0) == count
