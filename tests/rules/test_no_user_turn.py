"""`no-user-turn`: nothing but system messages, or turns of which none is the user's."""

from __future__ import annotations

import pytest
from tests.rules.runs import CHAT, facts, leaves_alone, run, sent

from dragoman.rules.turns.no_user_turn import no_user_turn

REFUSES = facts(system_only="refuses")


def test_a_user_turn_is_appended() -> None:
    done = run(no_user_turn, "system: A\ndeveloper: B", REFUSES)
    assert done.script == "system: A\ndeveloper: B\nuser: Please continue."
    assert done.changes == [("/messages/1", "nothing", True)]
    assert done.conversation.messages[:2] == done.ask.conversation.messages


@pytest.mark.parametrize("script", ["system: A\nassistant: Hi", "call look(c1) {}\nresult c1: ok"])
def test_a_user_turn_is_appended_to_turns_of_the_model(script: str) -> None:
    assert run(no_user_turn, script, facts(no_user="refuses")).script == f"{script}\nuser: Please continue."
    assert run(no_user_turn, f"{script}\nuser: Go", facts(no_user="refuses")).untouched
    assert run(no_user_turn, "system: A", facts(no_user="refuses")).untouched


def test_it_is_put_first_where_no_user_may_follow_results() -> None:
    known = facts(no_user="refuses", user_after_tool="refuses", system_only="refuses")
    loop = "call look(c1) {}\nresult c1: ok"
    done = run(no_user_turn, f"system: A\n{loop}", known)
    assert done.script == f"system: A\nuser: Please continue.\n{loop}"
    assert done.changes == [("/messages/1", "nothing", True)]
    assert run(no_user_turn, "system: A", known).script == "system: A\nuser: Please continue."
    assert run(no_user_turn, f"system: A\n{loop}\nuser: Go", known).untouched


def test_in_a_translation_it_stays_first_when_the_user_speaks() -> None:
    """Z.AI's models want a turn of the user, and nobody knows whether one may follow results."""
    call = {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "look", "input": {}}]}
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "ok"}]}
    more = [{"role": "assistant", "content": "Done."}, {"role": "user", "content": "And then?"}]
    short, long = (
        sent({"messages": [call, result, *turns], "max_tokens": 9}, "zai/glm-4.6", source="anthropic").json["messages"]
        for turns in ([], more)
    )
    assert short[0] == {"role": "user", "content": "Please continue."}
    assert long[:3] == short


def test_the_words_can_be_configured() -> None:
    assert run(no_user_turn, "system: A", REFUSES, texts={"no_user_turn": "Go."}).script == "system: A\nuser: Go."


UNTOUCHED = {
    "a user turn": ("system: A\nuser: Hi", REFUSES),
    "an assistant turn": ("system: A\nassistant: Hi", REFUSES),
    "a target that takes it": ("system: A", facts(system_only="accepts")),
}


test_untouched = leaves_alone(no_user_turn, UNTOUCHED)


def test_C18_adapt_for_real_providers() -> None:
    messages = [{"role": "system", "content": "A"}]
    done = sent({"messages": messages, "max_tokens": 9}, "anthropic/claude-opus-4-8", source=CHAT)
    assert (done.json["system"], done.json["messages"]) == ("A", [{"role": "user", "content": "Please continue."}])
    assert done.changes == [("no-user-turn", "/messages/0", "nothing", True)]
    assert sent({"messages": messages}, "openai/gpt-4o").changes == []
    behind = sent({"messages": messages}, "gemini-compatible/gemini-2.5-flash")
    assert behind.json["messages"] == [*messages, {"role": "user", "content": "Please continue."}]
    assert behind.changes == [("no-user-turn", "/messages/0", "nothing", True)]
