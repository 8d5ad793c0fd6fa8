"""The report as one reads it: by weight, folded, harmless spelling apart."""

from __future__ import annotations

import re
from typing import Any

import pytest

import dragoman
from dragoman.conversation.changes import Change, ChangeKind
from dragoman.engine.library.report_summary import LONGEST, fold, render_summary, report_headers


def _change(rule: str, at: str, did: str, loses: str, kind: ChangeKind = "repair") -> Change:
    return Change(rule, at, did, loses, kind)


def _agent_request() -> dict[str, Any]:
    """What a coding agent sends: 25 tools, cache hints, thinking of another model, a late instruction."""
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {"path": {"type": "string"}, "limit": {"type": "number", "exclusiveMinimum": 0}},
        "required": ["path"],
        "additionalProperties": False,
    }
    cached = {"cache_control": {"type": "ephemeral"}}
    called = [{"type": "tool_use", "id": f"toolu_{n}", "name": f"tool_{n}", "input": {"path": "/"}} for n in range(2)]
    results = [{"type": "tool_result", "tool_use_id": f"toolu_{n}", "content": "ok"} for n in range(2)]
    return {
        "model": "claude-sonnet-4-5",
        "max_tokens": 32000,
        "system": [{"type": "text", "text": "You are an agent."}, {"type": "text", "text": "Be brief.", **cached}],
        "tools": [{"name": f"tool_{n}", "description": "Works", "input_schema": schema} for n in range(25)],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Fix it", **cached}]},
            {"role": "assistant", "content": called},
            {"role": "user", "content": [*results, {"type": "text", "text": "Go on"}]},
            {"role": "system", "content": "Answer in French."},
        ],
    }


def test_an_agents_request_gives_a_report_of_a_page() -> None:
    adapted = dragoman.adapt(_agent_request(), source="anthropic", target="gemini-compatible/gemini-2.5-flash")
    folded = fold(adapted.changes)
    assert len(adapted.changes) > 75
    assert len(folded) < 15
    assert sum(one.count for one in folded) == len(adapted.changes)
    assert folded[0].rule == "late-system"
    lines = adapted.summary().splitlines()
    assert lines[0] == "`late-system` at /messages/3: turned into a user turn (loses authority)"
    assert "`schema-keyword` in 25 tools: left out $schema (loses metadata)" in lines
    assert "`refused-hint` in 2 places: took off a cache hint (loses metadata)" in lines
    assert lines[-1].startswith("spelling only, nothing lost: ")


def test_the_heaviest_losses_come_first_and_spelling_last() -> None:
    changes = [
        _change("list-content", "/messages/0", "wrote a string", "nothing"),
        _change("refused-hint", "/messages/0", "took off a cache hint", "metadata"),
        _change("refused-part", "/messages/1", "left out a picture", "content"),
        _change("late-system", "/messages/2", "turned into a user turn", "authority"),
    ]
    assert [one.rule for one in fold(changes)] == ["refused-part", "late-system", "refused-hint", "list-content"]
    assert report_headers(changes).changes == b"refused-part;n=1, late-system;n=1, refused-hint;n=1, list-content;n=1"
    assert render_summary(changes).splitlines()[-1] == "spelling only, nothing lost: `list-content`"


def test_what_was_added_has_a_header_and_a_line_of_its_own() -> None:
    changes = [
        _change("missing-result", "/messages/1", "made up a result", "nothing", "synthetic"),
        _change("cache-marks", "/messages/2", "put a cache hint on it", "nothing", "added"),
        _change("kept-reasoning", "/messages/1", "put back thinking", "nothing", "added"),
        _change("list-content", "/messages/0", "wrote a string", "nothing"),
    ]
    headers = report_headers(changes)
    assert list(headers) == [
        (b"x-dragoman-changes", b"missing-result;n=1, list-content;n=1"),
        (b"x-dragoman-added", b"cache-marks;n=1, kept-reasoning;n=1"),
    ]
    assert list(report_headers(changes[1:3])) == [(b"x-dragoman-added", headers.added)]
    assert render_summary(changes).splitlines() == [
        "spelling only, nothing lost: `list-content`",
        "made up, nothing lost: `missing-result`",
        "added by Dragoman: `cache-marks`, `kept-reasoning`",
    ]


@pytest.mark.parametrize(
    ("places", "where"),
    [
        (["/tools/0", "/tools/1", "/tools/1"], "in 2 tools"),
        (["/tools/0/functionDeclarations/0", "/tools/0/functionDeclarations/1"], "in 2 tools"),
        (["/toolConfig/tools/0/toolSpec", "/toolConfig/tools/2/toolSpec"], "in 2 tools"),
        (["/messages/0/content/1", "/messages/3"], "in 2 messages"),
        (["/messages/0/content/1", "/messages/0/content/2"], "in 2 places"),
        (["/tools/0", "/system/1"], "in 2 places"),
        (["/system/1"], "at /system/1"),
        ([""], "in the request"),
    ],
)
def test_where_it_happened(places: list[str], where: str) -> None:
    [one] = fold([_change("r", at, "did it", "nothing") for at in places])
    assert (one.where, one.count) == (where, len(places))


def test_the_name_of_a_tool_does_not_part_what_is_the_same() -> None:
    changes = [
        _change("schema-keyword", f"/tools/{n}", f"tool_{n}/path: left out format", "metadata") for n in range(12)
    ]
    [one] = fold(changes)
    assert str(one) == "`schema-keyword` in 12 tools: left out format (loses metadata)"
    assert len(one.places) == 8


def test_many_different_acts_of_one_rule_are_bounded() -> None:
    changes = [_change("stray-field", f"/messages/{n}", f"left out field_{n}", "metadata") for n in range(300)]
    folded = fold(changes)
    assert len(folded) == 6
    assert folded[-1].did == "left out field_5, and 294 more of the kind"
    assert sum(one.count for one in folded) == 300


def test_the_header_is_a_list_of_at_most_a_kilobyte_that_ends_after_an_item() -> None:
    changes = [_change(f"rule-number-{n}", "", "did it", "content" if n == 99 else "nothing") for n in range(100)]
    header = report_headers(changes).changes.decode()
    assert len(header) <= LONGEST
    assert header.startswith("rule-number-99;n=1, ")
    assert re.fullmatch(r"[a-z0-9-]+;n=\d+(, [a-z0-9-]+;n=\d+)*", header)


def test_nothing_changed() -> None:
    assert render_summary(()) == "nothing changed"
    assert fold(()) == ()
