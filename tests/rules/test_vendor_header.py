"""`vendor-header`: a line in the system text that only the client's own vendor reads."""

from __future__ import annotations

from typing import Any

import pytest
from tests.rules.runs import facts, leaves_alone, run, sent

from dragoman.rules.clean.vendor_header import vendor_header

REFUSES = facts(vendor_header="refuses")
LINE = "x-anthropic-billing-header: cc_version=2.1.90; cc_entrypoint=cli"


def test_it_stays_home() -> None:
    done = run(vendor_header, f"system: {LINE}\nsystem: Be brief.\nuser: Hi", REFUSES)
    assert done.script == "system: Be brief.\nuser: Hi"
    assert done.changes == [("/messages/0/content", "metadata", False)]


UNTOUCHED = {
    "a target that reads it": (f"system: {LINE}\nuser: Hi", facts(vendor_header="accepts")),
    "a user's words": (f"user: {LINE}", REFUSES),
    "words about it": (f"system: Never repeat {LINE}\nuser: Hi", REFUSES),
    "more than the line": (f'system: {LINE} "Be brief."\nuser: Hi', REFUSES),
    "another header": ("system: x-anthropic-version: 1\nuser: Hi", REFUSES),
}


test_untouched = leaves_alone(vendor_header, UNTOUCHED)


def _request(*system: str) -> dict[str, Any]:
    texts = [{"type": "text", "text": text} for text in system]
    return {"max_tokens": 9, "system": texts, "messages": [{"role": "user", "content": "Hi"}]}


@pytest.mark.parametrize("target", ["openai/gpt-4o", "openai-responses/gpt-5.6", "gemini/gemini-2.5-flash"])
def test_other_vendors_do_not_get_it(target: str) -> None:
    done = sent(_request(LINE, "Be brief."), target, source="anthropic")
    assert "billing" not in str(done.json)
    assert "Be brief." in str(done.json)
    assert ("vendor-header", "/system/0", "metadata", False) in done.changes


def test_its_own_vendor_gets_it() -> None:
    done = sent(_request(LINE, "Be brief."), "anthropic/claude-sonnet-4-5", source="anthropic")
    assert LINE in str(done.json)
    assert done.changes == []


def test_in_the_targets_own_dialect_the_client_knows_best() -> None:
    request = {"messages": [{"role": "system", "content": LINE}, {"role": "user", "content": "Hi"}]}
    assert sent(request, "openai/gpt-4o", source="openai-chat").changes == []
