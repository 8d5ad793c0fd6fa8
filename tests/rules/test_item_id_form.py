"""`item-id-form`: ids of items that another vendor made, and thinking that only its provider keeps."""

from __future__ import annotations

from typing import Any

import pytest
from tests.rules.runs import Run, facts, run, sent

from dragoman.emulators.signatures import mint
from dragoman.rules.reason.item_id_form import item_id_form

RESPONSES = "openai-responses"
OWN = facts(RESPONSES, item_ids={"reasoning": "rs_", "call": "fc_", "message": "msg_"})
HI: dict[str, Any] = {"role": "user", "content": "Hi"}
THOUGHT: dict[str, Any] = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm"}]}
CALL: dict[str, Any] = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
OUTPUT: dict[str, Any] = {"type": "function_call_output", "call_id": "c", "output": "ok"}


def message(identity: str | None, text: str = "Hello") -> dict[str, Any]:
    content = [{"type": "output_text", "text": text}]
    item = {"type": "message", "role": "assistant", "status": "completed", "content": content}
    return item if identity is None else {**item, "id": identity}


def through(*items: dict[str, Any], known: Any = OWN) -> Run:
    return run(item_id_form, {"input": [HI, *items]}, known, source=RESPONSES)


def test_a_call_keeps_its_call_id_and_loses_the_other() -> None:
    done = through({**CALL, "id": "tool_1"}, OUTPUT)
    assert done.json["input"] == [HI, CALL, OUTPUT]
    assert done.changes == [("/input/1", "metadata", False)]
    assert done.did == ["took off an id of another form"]


def test_a_message_under_another_id() -> None:
    done = through(message("chatcmpl-1"), HI)
    assert done.json["input"] == [HI, message(None), HI]
    assert done.changes == [("/input/1", "metadata", False)]


def test_a_block_that_is_there_twice() -> None:
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search"}}
    done = through(search, search, message("msg_1"), HI, search)
    assert done.json["input"] == [HI, search, message("msg_1"), HI]
    assert done.changes == [("/input/2", "nothing", False), ("/input/5", "nothing", False)]
    for other in ({"type": "item_reference", "id": "msg_1"}, {"type": "compaction_trigger"}):
        assert through(other, other).untouched
    assert through(search, {**search, "id": "ws_2"}).untouched


def test_thinking_under_another_id_is_left_out() -> None:
    done = through({**THOUGHT, "id": "76f8b89e"}, message("msg_1"), HI)
    assert done.json["input"] == [HI, message("msg_1"), HI]
    assert done.changes == [("/input/1", "metadata", False)]
    assert done.did == ["left out thinking that only another provider keeps"]


def test_thinking_whose_message_is_not_named_is_left_out() -> None:
    done = through({**THOUGHT, "id": "rs_1"}, message(None), HI)
    assert done.json["input"] == [HI, message(None), HI]


@pytest.mark.parametrize("identity", ["msg_1", "chatcmpl-1"])
def test_thinking_whose_message_loses_its_id_is_left_out(identity: str) -> None:
    done = through(message("msg_1"), HI, {**THOUGHT, "id": "rs_1"}, message(identity), HI)
    assert done.json["input"] == [HI, message("msg_1"), HI, message(None), HI]
    assert done.changes == [("/input/3", "metadata", False), ("/input/4", "metadata", False)]


def test_with_nothing_stored_encrypted_thinking_needs_no_named_message() -> None:
    """So the Vercel AI SDK sends it since its version 7."""
    sealed = {**THOUGHT, "id": "rs_1", "encrypted_content": mint(RESPONSES, "Hm", url_safe=True)}
    asked = {"store": False, "input": [HI, sealed, message(None), CALL, OUTPUT]}
    done = sent(asked, "openai-responses/gpt-5.6", source=RESPONSES)
    assert (done.json["input"], done.changes) == (asked["input"], [])
    kept = sent({**asked, "store": True}, "openai-responses/gpt-5.6", source=RESPONSES)
    assert kept.json["input"] == [HI, message(None), CALL, OUTPUT]


@pytest.mark.parametrize("more", [{}, {"encrypted_content": "gAAAAA"}])
def test_with_nothing_stored_thinking_that_is_only_named_is_left_out(more: dict[str, Any]) -> None:
    asked = {"store": False, "input": [HI, {**THOUGHT, "id": "rs_1", **more}, message("msg_1"), HI]}
    done = sent(asked, "openai-responses/gpt-5.6", source=RESPONSES)
    assert done.json["input"] == [HI, message("msg_1"), HI]
    assert [rule for rule, *_ in done.changes] == ["item-id-form"]


def test_thinking_that_stands_there_twice() -> None:
    once = [{**THOUGHT, "id": "rs_1"}, message("msg_1"), HI]
    done = through(*once, {**THOUGHT, "id": "rs_1"}, message("msg_2"))
    assert done.json["input"] == [HI, *once, message("msg_2")]
    assert done.changes == [("/input/4", "metadata", False)]


def test_a_turn_of_nothing_else_goes_with_its_thinking() -> None:
    done = through({**THOUGHT, "id": "76f8b89e"}, HI)
    assert done.json["input"] == [HI, HI]


UNTOUCHED = {
    "ids of its own": ({**THOUGHT, "id": "rs_1"}, message("msg_1"), {**CALL, "id": "fc_1"}, OUTPUT),
    "no ids": (message(None), CALL, OUTPUT),
    "thinking before a call": ({**THOUGHT, "id": "rs_1"}, CALL, OUTPUT),
    "thinking without an id": (THOUGHT, message(None), HI),
    "two thoughts of one message": ({**THOUGHT, "id": "rs_1"}, {**THOUGHT, "id": "rs_2"}, message("msg_1")),
}


@pytest.mark.parametrize("name", UNTOUCHED)
def test_untouched(name: str) -> None:
    assert through(*UNTOUCHED[name]).untouched


def test_a_target_without_such_ids_takes_any() -> None:
    assert through({**CALL, "id": "tool_1"}, OUTPUT, known=facts(RESPONSES)).untouched


def test_what_is_left_alone_is_the_same_object() -> None:
    done = through(message("msg_1"), HI, {**CALL, "id": "tool_1"}, OUTPUT)
    before, after = done.ask.conversation.messages, done.conversation.messages
    assert [new is old for new, old in zip(after, before, strict=True)] == [True, True, True, False, True]


def test_adapt_for_a_real_provider() -> None:
    body = {"input": [HI, {**THOUGHT, "id": "76f8b89e"}, message("msg_1"), {**CALL, "id": "tool_1"}, OUTPUT]}
    done = sent(body, "openai-responses/gpt-5")
    assert done.json["input"] == [HI, message("msg_1"), CALL, OUTPUT]
    assert done.changes == [
        ("item-id-form", "/input/1", "metadata", False),
        ("item-id-form", "/input/3", "metadata", False),
    ]
    kept = {"input": [HI, {**THOUGHT, "id": "rs_1"}, message("msg_1"), HI]}
    assert sent(kept, "openai-responses/gpt-5").json["input"] == kept["input"]


def test_an_id_that_an_earlier_item_has() -> None:
    call, other = {**CALL, "id": "fc_1"}, {**CALL, "id": "fc_1", "call_id": "d"}
    done = through(call, OUTPUT, message("msg_1"), HI, other, {**OUTPUT, "call_id": "d"}, message("msg_1", "Again"))
    plain = {name: value for name, value in other.items() if name != "id"}
    expected = [HI, call, OUTPUT, message("msg_1"), HI, plain, {**OUTPUT, "call_id": "d"}, message(None, "Again")]
    assert done.json["input"] == expected
    assert done.changes == [("/input/5", "metadata", False), ("/input/7", "metadata", False)]
    assert set(done.did) == {"took off an id that an earlier item has"}


def test_a_result_under_the_id_of_its_call() -> None:
    """Clients that know one id of a call write it as the `id` of both items, and leave out `call_id`."""
    asked = {
        "input": [
            HI,
            {"type": "function_call", "id": "fc_1", "name": "look", "arguments": "{}"},
            {"type": "function_call_output", "id": "fc_1", "output": "12 degrees"},
        ]
    }
    done = sent(asked, "openai-responses/gpt-5.6", source=RESPONSES)
    _, call, output = done.json["input"]
    assert (call["id"], "id" in output, output["call_id"]) == ("fc_1", False, call["call_id"])
    assert ("item-id-form", "/input/2", "metadata", False) in done.changes


def test_a_result_may_have_an_id_of_any_form() -> None:
    asked = {"input": [HI, CALL, {**OUTPUT, "id": "output_1"}]}
    done = sent(asked, "openai-responses/gpt-5.6", source=RESPONSES)
    assert (done.json["input"], done.changes) == (asked["input"], [])


@pytest.mark.parametrize("identity", [None, "msg_1"])
def test_thinking_between_two_messages_of_one_turn(identity: str | None) -> None:
    """The second message has no id, or the one of the first: stored thinking before it lost what must follow it."""
    asked = {"input": [HI, message("msg_1"), {**THOUGHT, "id": "rs_1"}, message(identity, "Bye"), HI]}
    done = sent(asked, "openai-responses/gpt-5.6", source=RESPONSES)
    assert [item.get("type") for item in done.json["input"]] == [HI.get("type"), "message", "message", HI.get("type")]
    assert ("item-id-form", "/input/2", "metadata", False) in done.changes
    whole = {"input": [HI, message("msg_1"), {**THOUGHT, "id": "rs_1"}, message("msg_2", "Bye"), HI]}
    assert not sent(whole, "openai-responses/gpt-5.6", source=RESPONSES).changes


SEALED = "gAAAAAB" + "a" * 91


def test_a_sealed_thought_under_another_id_stays_without_it() -> None:
    thought = {"type": "reasoning", "summary": [], "encrypted_content": SEALED}
    done = sent({"input": [HI, {**thought, "id": "item_1"}, message("msg_1"), HI]}, "openai-responses/gpt-5.6")
    assert done.json["input"][1] == thought
    assert done.changes == [("item-id-form", "/input/1", "metadata", False)]


def test_a_target_that_keeps_nothing() -> None:
    """No id is left, nor thinking that is nothing else. A reference to a message is: its words are nowhere else."""
    refers = [{"type": "item_reference", "id": name} for name in ("rs_3", "msg_3")]
    given = [
        HI,
        {**THOUGHT, "id": "rs_1"},
        {**THOUGHT, "id": "rs_2", "encrypted_content": SEALED},
        message("msg_1"),
        CALL,
    ]
    known = facts(RESPONSES, item_ids=OWN.item_ids, kept_items="refuses", reasoning_states=["encrypted_content"])
    done = run(item_id_form, {"input": [*given, {**OUTPUT, "id": "fco_1"}, *refers, HI]}, known, source=RESPONSES)
    assert [one.get("id") for one in done.json["input"]] == [None, None, None, None, None, "msg_3", None]
    assert done.json["input"][1]["encrypted_content"] == SEALED
    assert len(done.did) == 5
