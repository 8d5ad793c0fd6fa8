"""`refused-name`: a name on a message."""

from __future__ import annotations

from tests.rules.runs import CHAT, facts, leaves_alone, run, sent

from dragoman.rules.name.refused_name import refused_name

REFUSES = facts(message_name="refuses")
SAID = "system (s): S\nuser (bob): Hi\n+ there\nuser: Plain"


def test_the_name_is_taken_off() -> None:
    done = run(refused_name, SAID, REFUSES)
    assert done.script == "system: S\nuser: Hi\n+ there\nuser: Plain"
    assert done.changes == [("/messages/0", "metadata", False), ("/messages/1", "metadata", False)]
    assert done.conversation.messages[2] is done.ask.conversation.messages[2]
    assert run(refused_name, SAID, REFUSES, choice="drop").script == done.script


def test_the_choice_text_puts_it_before_the_words() -> None:
    done = run(refused_name, SAID, REFUSES, choice="text")
    assert done.script == "system: s: S\nuser: bob: Hi\n+ there\nuser: Plain"
    assert done.changes == [("/messages/0", "metadata", False), ("/messages/1", "metadata", False)]


def test_a_message_without_words() -> None:
    done = run(refused_name, "user (bob): [image https://a/b.png]", REFUSES, choice="text")
    assert done.script == "user: bob:\\u0020\n[image https://a/b.png]"


def test_a_name_gets_the_form_that_the_target_takes() -> None:
    form = facts(message_name_pattern=r"[^\s<|\\/>]+")
    body = {"messages": [{"role": "user", "name": "Bob <b> Smith", "content": "Hi"}, {"role": "user", "content": "Yo"}]}
    done = run(refused_name, body, form)
    assert done.json["messages"][0] == {"role": "user", "name": "Bob__b__Smith", "content": "Hi"}
    assert done.changes == [("/messages/0", "metadata", False)]
    assert done.did == ["wrote its name as Bob__b__Smith"]
    assert run(refused_name, "user (bob): Hi", form).untouched


UNTOUCHED = {
    "no name": ("user: Hi", REFUSES, None),
    "a target that takes it": (SAID, facts(message_name="accepts"), None),
    "keep": (SAID, REFUSES, "keep"),
}


test_untouched = leaves_alone(refused_name, UNTOUCHED)


def test_adapt_for_real_providers() -> None:
    body = {"messages": [{"role": "user", "name": "bob", "content": "Hi"}], "max_tokens": 9}
    done = sent(body, "anthropic/claude-opus-4-8", source=CHAT)
    assert done.json["messages"] == [{"role": "user", "content": "Hi"}]
    assert done.changes == [("refused-name", "/messages/0", "metadata", False)]
    asked = sent(body, "anthropic/claude-opus-4-8", source=CHAT, rules={"refused-name": "text"})
    assert asked.json["messages"] == [{"role": "user", "content": "bob: Hi"}]
    assert sent(body, "openai/gpt-4o").changes == []
    spaced = {"messages": [{"role": "user", "name": "Bob Smith", "content": "Hi"}]}
    assert sent(spaced, "openai/gpt-4o").json["messages"][0]["name"] == "Bob_Smith"


NAMED_RESULT = {
    "messages": [
        {"role": "user", "content": "Hi", "name": "bob"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "c1", "name": "f", "content": "ok"},
    ]
}


def test_a_result_without_a_place_for_the_name_of_its_tool() -> None:
    done = run(refused_name, NAMED_RESULT, facts(result_name="refuses"))
    assert done.json["messages"][2] == {"role": "tool", "tool_call_id": "c1", "content": "ok"}
    assert done.json["messages"][0]["name"] == "bob"
    assert done.changes == [("/messages/2", "nothing", False)]
    assert run(refused_name, NAMED_RESULT, facts(message_name="accepts")).untouched


def test_an_empty_name_on_a_result() -> None:
    messages = [{**NAMED_RESULT["messages"][0], "name": "bob"}, NAMED_RESULT["messages"][1]]
    nameless = {"role": "tool", "tool_call_id": "c1", "content": "ok"}
    body = {"messages": [*messages, {**nameless, "name": ""}]}
    for target in ("openai/gpt-4o", "fireworks/accounts/fireworks/models/kimi-k2"):
        done = sent(body, target)
        assert done.json["messages"][2] == nameless
        assert ("refused-name", "/messages/2", "nothing", False) in done.changes
    assert sent(body, "groq/llama-3.3-70b-versatile").json["messages"][2] == {**nameless, "name": ""}
    given = sent(body, "gemini/gemini-2.5-flash", source=CHAT).json["contents"][2]["parts"]
    assert given[0]["functionResponse"]["name"] == "f"


def test_both_names_for_fireworks() -> None:
    done = sent(NAMED_RESULT, "fireworks/accounts/fireworks/models/kimi-k2", source=CHAT)
    assert done.json["messages"][0] == {"role": "user", "content": "Hi"}
    assert done.json["messages"][2] == {"role": "tool", "tool_call_id": "c1", "content": "ok"}


def test_the_name_on_a_result_of_another_dialect_is_no_news() -> None:
    turns = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "function": {"name": "f", "arguments": {}}}]},
        {"role": "tool", "tool_name": "f", "tool_call_id": "c1", "content": "ok"},
    ]
    done = sent({"messages": turns}, "fireworks/accounts/fireworks/models/kimi-k2", source="ollama")
    assert done.json["messages"][2] == {"role": "tool", "tool_call_id": "c1", "content": "ok"}
    assert done.changes == []
