"""`refused-system`: a model that takes no system message."""

from __future__ import annotations

from tests.rules.runs import facts, leaves_alone, run, sent

from dragoman.rules.place.refused_system import refused_system

NONE = facts(system_count="none")


def test_each_becomes_a_tagged_user_turn_where_it_stands() -> None:
    done = run(refused_system, "system: One.\n+ Two.\nuser: Hi\ndeveloper (bob): Three.", NONE)
    assert done.script == "user: [System] One.\n+ Two.\nuser: Hi\nuser (bob): [System] Three."
    assert done.changes == [("/messages/0", "authority", False), ("/messages/2", "authority", False)]
    assert done.conversation.messages[1] is done.ask.conversation.messages[1]


def test_a_message_without_words_is_its_tag_and_the_rest() -> None:
    assert run(refused_system, "system: [image https://a/b.png]", NONE).script == (
        "user: [System]\\u0020\n[image https://a/b.png]"
    )


def test_the_tag_can_be_configured() -> None:
    assert run(refused_system, "system: One.", NONE, texts={"system_prefix": "# "}).script == "user: # One."


UNTOUCHED = {
    "no system message": ("user: Hi", NONE),
    "a model that takes one": ("system: S\nuser: Hi", facts(system_count="one")),
    "a model that takes many": ("system: S\nsystem: T\nuser: Hi", facts(system_count="many")),
}


test_untouched = leaves_alone(refused_system, UNTOUCHED)


def test_adapt_for_a_real_model() -> None:
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]
    done = sent({"messages": messages}, "openai/o1-mini")
    assert done.json["messages"] == [{"role": "user", "content": "[System] Be brief."}, messages[1]]
    assert done.changes == [("refused-system", "/messages/0", "authority", False)]
    assert sent({"messages": messages}, "openai/gpt-4o").changes == []
