"""`misnamed-result`: a result under another name than its call."""

from __future__ import annotations

from typing import Any

import pytest
from tests.rules.runs import facts, run, sent

from dragoman.rules.pair.misnamed_result import misnamed_result

REFUSES = facts("gemini", misnamed_result="refuses")


def asked(calls: list[dict[str, Any]], results: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "contents": [
            {"role": "user", "parts": [{"text": "Hi"}]},
            {"role": "model", "parts": [{"functionCall": {"args": {}, **call}} for call in calls]},
            {"role": "user", "parts": [{"functionResponse": {"response": {}, **result}} for result in results]},
        ]
    }


LOOK: dict[str, Any] = {"name": "look"}
FIND: dict[str, Any] = {"name": "find"}
A, B = {"id": "a"}, {"id": "b"}

REPAIRS: dict[str, tuple[list[dict[str, Any]], list[dict[str, Any]], list[dict[str, Any]]]] = {
    "by its id": ([LOOK | A, FIND | B], [FIND | B, {"name": "b"} | A], [FIND | B, LOOK | A]),
    "by its place": ([LOOK, FIND], [{"name": "call_1"}, {"name": "call_2"}], [LOOK, FIND]),
}


@pytest.mark.parametrize("name", REPAIRS)
def test_repairs(name: str) -> None:
    calls, before, after = REPAIRS[name]
    done = run(misnamed_result, asked(calls, before), REFUSES, source="gemini")
    assert done.json["contents"] == asked(calls, after)["contents"]
    changed = [index for index, result in enumerate(before) if result not in after]
    assert done.changes == [(f"/contents/2/parts/{index}", "metadata", False) for index in changed]


UNTOUCHED = {
    "the name of its call": ([LOOK | A], [LOOK | A]),
    "one of two calls with its id": ([LOOK | A, FIND | A], [LOOK | A, FIND | A]),
    "no call at all": ([LOOK | A], [FIND | B]),
    "an id that the call does not have": ([LOOK], [LOOK | A]),
}


@pytest.mark.parametrize("name", UNTOUCHED)
def test_untouched(name: str) -> None:
    assert run(misnamed_result, asked(*UNTOUCHED[name]), REFUSES, source="gemini").untouched


def test_adapt_for_a_real_provider() -> None:
    body = asked([LOOK], [{"name": "call_1"}])
    done = sent(body, "gemini/gemini-2.5-flash", source="gemini")
    assert done.json["contents"] == asked([LOOK], [LOOK])["contents"]
    assert done.changes == [("misnamed-result", "/contents/2/parts/0", "metadata", False)]
