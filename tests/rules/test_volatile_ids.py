"""`volatile-ids`: message ids in system text that change on every turn."""

from __future__ import annotations

import pytest
from tests.rules.runs import facts, run, sent

from dragoman.rules.clean.volatile_ids import volatile_ids

ANY = facts()


@pytest.mark.parametrize(
    ("text", "fixed"),
    [
        ("Be brief. [message_id: 4711]", "Be brief. [message_id: stable]"),
        ('{"message_id": "4711", "n": 1} x', '{"message_id": "stable", "n": 1} x'),
        ('"message_id":"a" [message_id:b] .', '"message_id":"stable" [message_id:stable] .'),
    ],
)
@pytest.mark.parametrize("role", ["system", "developer"])
def test_the_id_becomes_a_constant(role: str, text: str, fixed: str) -> None:
    done = run(volatile_ids, f"{role}: {text}\nsystem: Other.\nuser: Hi", ANY, choice="fix")
    assert done.script == f"{role}: {fixed}\nsystem: Other.\nuser: Hi"
    assert done.changes == [("/messages/0/content", "metadata", False)]
    assert done.conversation.messages[1] is done.ask.conversation.messages[1]


UNTOUCHED = {
    "off unless asked for": ("system: [message_id: 1]", None),
    "off": ("system: [message_id: 1]", "off"),
    "the user's words": ("system: Be brief.\nuser: [message_id: 1]", "fix"),
    "no id": ("system: Every message_id is a secret.", "fix"),
    "constant already": ("system: [message_id: stable]", "fix"),
}


@pytest.mark.parametrize("name", UNTOUCHED)
def test_untouched(name: str) -> None:
    said, choice = UNTOUCHED[name]
    assert run(volatile_ids, said, ANY, choice=choice).untouched


def test_C38_adapt_with_the_choice() -> None:
    messages = [{"role": "system", "content": "[message_id: 1]"}, {"role": "user", "content": "Hi"}]
    done = sent({"messages": messages}, "openai/gpt-4o", rules={"volatile-ids": "fix"})
    assert done.json["messages"] == [{"role": "system", "content": "[message_id: stable]"}, messages[1]]
    assert done.changes == [("volatile-ids", "/messages/0/content", "metadata", False)]
    assert sent({"messages": messages}, "openai/gpt-4o").json["messages"] == messages
