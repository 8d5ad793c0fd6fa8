"""`lone-reasoning`: thinking at the end of an assistant's turn, with nothing after it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.rules.runs import facts, run, sent

from dragoman.rules.reason.lone_reasoning import lone_reasoning

REFUSES = facts("openai-responses", lone_reasoning="refuses")

CASES = [
    ("user: Hi\n~ Hm.\nuser: More", "user: Hi\nuser: More"),
    ("user: Hi\n~ Hm.", "user: Hi"),
    ("user: Hi\nassistant: Hello\nuser: More\n~ Hm.\n~ Hm again.", "user: Hi\nassistant: Hello\nuser: More"),
]


@pytest.mark.parametrize(("before", "after"), CASES)
def test_it_is_left_out(before: str, after: str) -> None:
    done = run(lone_reasoning, before, REFUSES)
    assert done.script == after
    assert [change[1:] for change in done.changes] == [("metadata", False)]
    assert done.did == ["left out thinking that nothing follows"]


@pytest.mark.parametrize(
    "script",
    [
        "user: Hi\n~ Hm.\nassistant: Hello",
        "user: Hi\n~ Hm.\ncall look(c1) {}\nresult c1: ok",
        "user: Hi\nassistant: Hello",
    ],
)
def test_what_is_followed_stays(script: str) -> None:
    assert run(lone_reasoning, script, REFUSES).untouched


def test_where_it_is_taken() -> None:
    assert run(lone_reasoning, CASES[0][0], facts("openai-responses")).untouched


def test_adapt_for_a_real_provider() -> None:
    thought: dict[str, Any] = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "QUJD" * 8}
    hi = {"role": "user", "content": "Hi"}
    done = sent({"model": "gpt-5", "input": [hi, thought, hi]}, "openai-responses/gpt-5")
    assert done.json["input"] == [hi, hi]
    assert done.changes == [("lone-reasoning", "/input/1", "metadata", False)]
    words = [{"type": "output_text", "text": "Hello", "annotations": []}]
    answer = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": words}
    whole = {"model": "gpt-5", "input": [hi, thought, answer, hi]}
    assert sent(whole, "openai-responses/gpt-5").json == whole
