"""`thought-in-id`: call ids that carry a thought signature."""

from __future__ import annotations

from base64 import b64encode

from tests.rules.runs import facts, leaves_alone, run, sent

from dragoman.emulators.signatures import mint
from dragoman.rules.pair.thought_in_id import thought_in_id

REFUSES = facts(thought_in_id="refuses")
LONG = "call_1__thought__c2ln"


def test_the_tail_goes_from_the_call_and_from_its_result() -> None:
    done = run(
        thought_in_id,
        f"user: Hi\ncall look(c0) {{}}\ncall look({LONG}) {{}}\nresult c0: a\nresult {LONG}: b",
        REFUSES,
    )
    assert done.script == "user: Hi\ncall look(c0) {}\ncall look(call_1) {}\nresult c0: a\nresult call_1: b"
    assert done.changes == [("/messages/1/tool_calls/1", "metadata", False), ("/messages/3", "metadata", False)]
    assert done.undo.ids == {"call_1": LONG}
    assert done.conversation.messages[0] is done.ask.conversation.messages[0]
    assert done.conversation.messages[1].parts[0] is done.ask.conversation.messages[1].parts[0]


def test_a_result_without_its_call_loses_the_tail_too() -> None:
    done = run(thought_in_id, f"user: Hi\nresult {LONG}: b", REFUSES)
    assert done.script == "user: Hi\nresult call_1: b"
    assert done.undo.ids == {}


UNTOUCHED = {
    "plain ids": ("user: Hi\ncall look(call_1) {}\nresult call_1: b", REFUSES),
    "odd ids without the mark": ('user: Hi\ncall look("call 1") {}\nresult "call 1": b', REFUSES),
    "a target that reads the tail": (f"call look({LONG}) {{}}\nresult {LONG}: b", facts(thought_in_id="accepts")),
}


test_untouched = leaves_alone(thought_in_id, UNTOUCHED)


def test_C4_the_tail_becomes_the_signature_at_googles_compatible_endpoint() -> None:
    signature = b64encode(bytes(range(60))).decode()
    long = f"call_1__thought__{signature}"
    call = {"id": long, "type": "function", "function": {"name": "f", "arguments": "{}"}}
    answer = {"role": "tool", "tool_call_id": long, "content": "ok"}
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": None, "tool_calls": [call]}, answer]
    done = sent({"messages": messages}, "gemini-openai/gemini-3-pro-preview")
    held = {"google": {"thought_signature": signature}}
    assert done.json["messages"][1]["tool_calls"] == [{**call, "id": "call_1", "extra_content": held}]
    assert done.json["messages"][2] == {**answer, "tool_call_id": "call_1"}
    assert done.undo.ids == {"call_1": long}
    assert {loses for _, _, loses, _ in done.changes} == {"nothing"}


def test_C4_adapt_maps_the_id_back() -> None:
    call = {"id": LONG, "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "x", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": LONG, "content": "ok"},
    ]
    done = sent({"messages": messages, "max_tokens": 9}, "anthropic/claude-opus-4-8", source="openai-chat")
    assert done.json["messages"][1]["content"][1]["id"] == "call_1"
    assert done.json["messages"][2]["content"][0]["tool_use_id"] == "call_1"
    assert done.changes == [
        ("thought-in-id", "/messages/1/tool_calls/0", "metadata", False),
        ("thought-in-id", "/messages/2", "metadata", False),
    ]
    assert done.undo.ids == {"call_1": LONG}


def test_the_signature_goes_to_a_target_that_takes_it() -> None:
    signature = mint("gemini/gemini-3-pro-preview", "f")
    call = {"id": f"call_1__thought__{signature}", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "x", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call["id"], "content": "ok"},
    ]
    done = sent({"messages": messages}, "gemini/gemini-3-pro-preview", source="openai-chat")
    called = done.json["contents"][1]["parts"][1]
    assert (called["functionCall"]["id"], called["thoughtSignature"]) == ("call_1", signature)
    assert ("thought-in-id", "/messages/1/tool_calls/0", "nothing", False) in done.changes
