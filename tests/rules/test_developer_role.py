"""`developer-role`: the role `developer`."""

from __future__ import annotations

from tests.rules.runs import facts, leaves_alone, run, sent

from dragoman.rules.place.developer_role import developer_role

REFUSES = facts(developer_role="refuses")


def test_it_becomes_a_system_message_where_it_stands() -> None:
    done = run(developer_role, "developer (bob): Be brief.\nuser: Hi\ndeveloper: In French.", REFUSES)
    assert done.script == "system (bob): Be brief.\nuser: Hi\nsystem: In French."
    assert done.changes == [("/messages/0", "nothing", False), ("/messages/2", "nothing", False)]
    assert done.conversation.messages[1] is done.ask.conversation.messages[1]


UNTOUCHED = {
    "a system message": ("system: Be brief.\nuser: Hi", REFUSES),
    "a target that knows it": ("developer: Be brief.\nuser: Hi", facts(developer_role="accepts")),
}


test_untouched = leaves_alone(developer_role, UNTOUCHED)


def test_adapt_for_real_providers() -> None:
    messages = [{"role": "developer", "content": "Be brief."}, {"role": "user", "content": "Hi"}]
    done = sent({"messages": messages}, "mistral/mistral-large-latest")
    assert done.json["messages"] == [{"role": "system", "content": "Be brief."}, messages[1]]
    assert done.changes == [("developer-role", "/messages/0", "nothing", False)]
    assert sent({"messages": messages}, "openai/gpt-5").changes == []
