"""sigrid: system message consolidation."""

from __future__ import annotations

from typing import Any

import pytest
from tests.acceptance.asking import CLAUDE, OPENAI, ask, says, sent

TWO = ask(says("system", "Say apple."), says("system", "Say banana."), says("user", "Go"))


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("separate", ["Say apple.", "Say banana."]),
        ("join", ["Say apple.\n\n---\n\nSay banana."]),
        ({"join": "\n"}, ["Say apple.\nSay banana."]),
        ({"join": ""}, ["Say apple.Say banana."]),
    ],
)
def test_D1_consolidation(choice: Any, expected: list[str]) -> None:
    messages = sent(TWO, OPENAI, rules={"many-systems": choice}).json["messages"]
    assert [message["content"] for message in messages if message["role"] == "system"] == expected


def test_D2_one_instruction_is_a_list_of_one() -> None:
    one = ask(says("system", "Say apple."), says("user", "Go"))
    assert sent(one, OPENAI, rules={"many-systems": "join"}).json["messages"] == one["messages"]


def test_D3_claude_gets_all_of_them() -> None:
    assert sent(TWO, CLAUDE).json["system"] == "Say apple.\n\nSay banana."


def test_D4_banana() -> None:
    assert sent(TWO, CLAUDE, rules={"many-systems": "join"}).json["system"] == "Say apple.\n\n---\n\nSay banana."
