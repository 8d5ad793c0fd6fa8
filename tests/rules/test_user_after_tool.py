"""`user-after-tool`: a user turn right after tool results."""

from __future__ import annotations

from tests.rules.runs import facts, leaves_alone, run, sent

from dragoman.engine.library.adapt import adapt
from dragoman.rules.turns.user_after_tool import user_after_tool

REFUSES = facts(user_after_tool="refuses")
TALK = "user: Hi\ncall f(a) {}\nresult a: 1\nuser: B"


def test_a_short_assistant_turn_is_put_between() -> None:
    done = run(user_after_tool, f"{TALK}\ncall f(b) {{}}\nresult b: 2\nuser: C", REFUSES)
    assert done.script == (
        "user: Hi\ncall f(a) {}\nresult a: 1\nassistant: Understood.\nuser: B\n"
        "call f(b) {}\nresult b: 2\nassistant: Understood.\nuser: C"
    )
    assert done.changes == [("/messages/3", "nothing", True), ("/messages/6", "nothing", True)]


def test_the_words_can_be_configured() -> None:
    assert "assistant: Ok.\nuser: B" in run(user_after_tool, TALK, REFUSES, texts={"bridge": "Ok."}).script


UNTOUCHED = {
    "the assistant in between": ("call f(a) {}\nresult a: 1\nassistant: A\nuser: B", REFUSES),
    "results at the end": ("call f(a) {}\nresult a: 1", REFUSES),
    "a target that takes it": (TALK, facts(user_after_tool="accepts")),
}


test_untouched = leaves_alone(user_after_tool, UNTOUCHED)


def test_adapt_for_real_providers() -> None:
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "x", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a", "content": "1"},
        {"role": "user", "content": "B"},
    ]
    done = sent({"messages": messages}, "strict-template/m")
    assert done.json["messages"] == [*messages[:3], {"role": "assistant", "content": "Understood."}, messages[3]]
    assert done.changes == [("user-after-tool", "/messages/3", "nothing", True)]
    assert sent({"messages": messages}, "openai/gpt-4o").changes == []


def test_devstral_gets_a_word_between_results_and_the_user() -> None:
    """https://github.com/BerriAI/litellm/issues/17761"""
    call = {"id": "a1b2c3d4e", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    hi = {"role": "user", "content": "Hi"}
    result = {"role": "tool", "tool_call_id": "a1b2c3d4e", "content": "1"}
    body = {"messages": [hi, {"role": "assistant", "content": "", "tool_calls": [call]}, result, hi]}
    for model, roles in {
        "devstral-2512": ["tool", "assistant", "user"],
        "mistral-small-latest": ["tool", "user"],
    }.items():
        done = adapt(body, source="openai-chat", target=f"mistral/{model}")
        assert [turn["role"] for turn in done.json["messages"][2:]] == roles


def test_what_is_said_of_a_turn_that_was_made_up_leads_to_where_it_came_from() -> None:
    picture = {"type": "input_image", "detail": "original", "image_url": "data:image/png;base64,iVBORw0KGgo="}
    items = [
        {"role": "user", "content": "Hi"},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "1"}, picture]},
    ]
    done = adapt({"model": "m", "input": items}, source="openai-responses", target="mistral/devstral-2512")
    told = {change.did: change.at for change in done.changes}
    assert told["put an assistant turn behind it"] == "/input/2"
    assert told["wrote high for the level of detail"] == "/input/2"
    assert "" not in told.values()
