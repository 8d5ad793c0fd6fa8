"""`unknown-role`: a role that the target does not know."""

from __future__ import annotations

from tests.rules.runs import facts, leaves_alone, run, sent

from dragoman.rules.clean.unknown_role import unknown_role

REFUSES = facts(unknown_role="refuses")


def test_it_becomes_a_user_turn_where_it_stands() -> None:
    done = run(unknown_role, "user: Hi\nnarrator (bob): It rains.\nassistant: Oh.\nchorus: Doom!", REFUSES)
    assert done.script == "user: Hi\nuser (bob): It rains.\nassistant: Oh.\nuser: Doom!"
    assert done.changes == [("/messages/1", "authority", False), ("/messages/3", "authority", False)]
    assert done.did == ["turned the role `narrator` into a user turn", "turned the role `chorus` into a user turn"]
    assert done.conversation.messages[0] is done.ask.conversation.messages[0]


UNTOUCHED = {
    "roles that everybody knows": ("system: S\ndeveloper: D\nuser: U\nassistant: A", REFUSES),
    "a target that takes any role": ("user: Hi\nnarrator: It rains.", facts(unknown_role="accepts")),
}


test_untouched = leaves_alone(unknown_role, UNTOUCHED)


def test_E6_adapt_for_a_real_provider() -> None:
    messages = [{"role": "user", "content": "Hi"}, {"role": "narrator", "content": "It rains."}]
    done = sent({"messages": messages}, "openai/gpt-4o")
    assert done.json["messages"] == [messages[0], {"role": "user", "content": "It rains."}]
    assert done.changes == [("unknown-role", "/messages/1", "authority", False)]
