"""`duplicate-call-id`: one id for two calls."""

from __future__ import annotations

from tests.rules.runs import facts, leaves_alone, run, sent

from dragoman.conversation.pairs import pair
from dragoman.conversation.parts import Call
from dragoman.rules.pair.duplicate_call_id import duplicate_call_id

TURNS = facts(duplicate_ids="refuses", duplicate_ids_in_turn="refuses", call_id_length=9)
IN_TURN = facts(duplicate_ids="accepts", duplicate_ids_in_turn="refuses", call_id_length=9)
TWICE = "user: Hi\ncall f(a) {}\nresult a: 1\ncall f(a) {}\nresult a: 2"
ONE_TURN = "user: Hi\ncall f(a) {}\ncall g(a) {}\nresult a: 1\nresult a: 2"


def ids(script: str, known: object = TURNS) -> list[str]:
    messages = run(duplicate_call_id, script, known).conversation.messages  # type: ignore[arg-type]
    return [part.id for message in messages for part in message.parts if isinstance(part, Call)]


def test_the_later_call_and_its_result_get_a_new_id() -> None:
    done = run(duplicate_call_id, TWICE, TURNS)
    new = ids(TWICE)[1]
    assert new != "a"
    assert done.script == f"user: Hi\ncall f(a) {{}}\nresult a: 1\ncall f({new}) {{}}\nresult {new}: 2"
    assert done.changes == [("/messages/3/tool_calls/0", "nothing", False)]
    assert done.undo.ids == {new: "a"}
    assert [
        new is old for new, old in zip(done.conversation.messages, done.ask.conversation.messages, strict=True)
    ] == [
        True,
        True,
        True,
        False,
        False,
    ]


def test_within_a_turn() -> None:
    done = run(duplicate_call_id, ONE_TURN, IN_TURN)
    new = ids(ONE_TURN, IN_TURN)[1]
    assert done.script == f"user: Hi\ncall f(a) {{}}\ncall g({new}) {{}}\nresult a: 1\nresult {new}: 2"
    assert done.changes == [("/messages/1/tool_calls/1", "nothing", False)]


def test_within_a_turn_of_several_messages() -> None:
    apart = "user: Hi\ncall f(a) {}\nassistant: Well\nresult a: 1"
    known = [*ids(apart, IN_TURN), *ids(TWICE, IN_TURN)]
    assert known == ["a", "a", "a"]
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    turn = {"role": "assistant", "content": "Well", "tool_calls": [call]}
    done = run(duplicate_call_id, {"messages": [{"role": "user", "content": "Hi"}, turn, turn]}, IN_TURN)
    assert done.changes == [("/messages/2/tool_calls/0", "nothing", False)]


def test_new_ids_have_the_length_that_the_target_wants() -> None:
    assert len(ids(TWICE)[1]) == 9
    assert len(ids(TWICE, facts(duplicate_ids="refuses"))[1]) == 24


def test_the_same_conversation_with_more_turns_gets_the_same_ids() -> None:
    longer = f"{TWICE}\ncall f(a) {{}}\nresult a: 3"
    assert ids(longer)[:2] == ids(TWICE)
    assert len(set(ids(longer))) == 3


def test_every_result_still_answers_its_call() -> None:
    done = run(duplicate_call_id, f"{TWICE}\ncall f(a) {{}}\ncall f(a) {{}}\nresult a: 3\nresult a: 4", TURNS)
    assert pair(done.conversation.messages).answers == pair(done.ask.conversation.messages).answers


def test_a_call_without_a_result_is_renamed_alone() -> None:
    script = "user: Hi\ncall f(a) {}\nresult a: 1\ncall f(a) {}"
    done = run(duplicate_call_id, script, TURNS)
    assert done.script == script.replace("result a: 1\ncall f(a)", f"result a: 1\ncall f({ids(script)[1]})")


UNTOUCHED = {
    "ids that differ": ("call f(a) {}\nresult a: 1\ncall f(b) {}\nresult b: 2", TURNS),
    "two turns if only one turn is looked at": (TWICE, IN_TURN),
    "a target that takes them": (ONE_TURN, facts(duplicate_ids="accepts", duplicate_ids_in_turn="accepts")),
}


test_untouched = leaves_alone(duplicate_call_id, UNTOUCHED)


def test_A16_adapt_for_a_real_provider() -> None:
    call = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
    results = [{"type": "tool_result", "tool_use_id": "a", "content": text} for text in ("1", "2")]
    messages = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": [call, call]},
        {"role": "user", "content": results},
    ]
    done = sent({"messages": messages, "max_tokens": 9}, "anthropic/claude-opus-4-8")
    first, second = [block["id"] for block in done.json["messages"][1]["content"]]
    assert first == "a" != second
    assert done.json["messages"][2]["content"] == [results[0], {**results[1], "tool_use_id": second}]
    assert done.changes == [("duplicate-call-id", "/messages/1/content/1", "nothing", False)]
    assert done.undo.ids == {second: "a"}
