"""ADR-001: Gemini behind OpenRouter."""

from __future__ import annotations

import re

import msgspec
import pytest
from tests.acceptance.asking import (
    CLAUDE,
    GEMINI,
    NATIVE,
    OPENAI,
    PROXY,
    STRICT,
    Wire,
    answered,
    ask,
    called,
    compiled_by_gateway,
    roles,
    rules,
    says,
    sent,
)
from tests.judges import judge

from dragoman.errors import RepairRefused

AUTONOMOUS = ask(says("system", "S"), called(), answered())
LATE = ask(says("user", "a"), says("system", "b"), says("user", "c"))


def test_A1_other_models_are_unaffected() -> None:
    adapted = sent({**AUTONOMOUS, "model": "gpt-4o"}, OPENAI)
    assert adapted.body == msgspec.json.encode({**AUTONOMOUS, "model": "gpt-4o"})


@pytest.mark.parametrize("model", ["google/gemini-2.0-flash-001", "google/gemma-3-27b-it", "gemini-2.0-flash-exp"])
def test_A2_gemini_is_known_by_profile(model: str) -> None:
    assert rules(sent(LATE, f"openrouter/{model}")) == ["late-system"]


def test_A5_late_system_messages_become_user_turns() -> None:
    adapted = sent(ask(says("system", "1"), says("system", "2"), says("user", "a"), says("system", "b")), GEMINI)
    assert adapted.json["messages"][0]["content"] == "1"
    assert adapted.json["messages"][-1] == {"role": "user", "content": "[System] b"}


TRIGGERS: dict[str, list[Wire]] = {
    "a user message": [says("user", "t")],
    "an autonomous thought": [says("assistant", "t")],
    "a plugin event": [says("user", "a"), says("assistant", "b"), says("system", "t")],
    "proactive contact": [says("system", "t"), called(), answered()],
    "a retry note": [says("user", "a"), says("system", "t"), called(), answered()],
    "a forced answer": [says("user", "a"), called(), answered(), says("system", "t")],
    "a summary": [says("system", "t"), says("assistant", "a"), says("user", "b")],
}


@pytest.mark.parametrize("name", TRIGGERS)
@pytest.mark.parametrize("target", [GEMINI, NATIVE])
def test_A6_A7_triggers_are_taken(target: str, name: str) -> None:
    request = ask(says("system", "S"), *TRIGGERS[name])
    adapted = sent(request, target)
    profile, _, model = target.partition("/")
    headers = {"content-type": "application/json"}
    assert judge(profile, model, adapted.path, headers, adapted.body) is None
    texts = re.findall(r'"(?:\[System\] |S\\n\\n)?t"', adapted.body.decode())
    assert len(texts) == 1


@pytest.mark.parametrize("late", [says("assistant", "t"), says("system", "t")], ids=["assistant", "system"])
def test_A6_the_judge_refuses_what_is_not_repaired(late: Wire) -> None:
    kept = ask(
        says("system", "S"), *([] if late["role"] == "assistant" else [says("user", "a")]), late, says("user", "b")
    )
    refused = judge(
        "openrouter", GEMINI[11:], "/chat/completions", {}, msgspec.json.encode({**kept, "model": GEMINI[11:]})
    )
    assert refused is not None


@pytest.mark.parametrize("target", [GEMINI, STRICT, "openrouter/anthropic/claude-sonnet-4", OPENAI])
def test_A8_a_note_stays_before_its_calls(target: str) -> None:
    history = [
        says("user", "a"),
        says("assistant", "b"),
        says("system", "retry"),
        called(),
        answered(),
        says("system", "z"),
    ]
    messages = sent(ask(*history), target).json["messages"]
    at = next(place for place, one in enumerate(messages) if one.get("tool_calls"))
    assert messages[at - 1]["content"] in ("retry", "[System] retry")
    assert (messages[at + 1]["role"], messages[at + 1]["tool_call_id"]) == ("tool", messages[at]["tool_calls"][0]["id"])


@pytest.mark.parametrize("target", [GEMINI, NATIVE, PROXY, "gemini-openai/gemini-2.5-flash", "vertex/gemini-2.5-flash"])
@pytest.mark.parametrize("turns", [[says("assistant", "a")], [called(), answered()]], ids=["a thought", "a call"])
def test_A3_a_conversation_without_a_user_gets_one_made_up_turn(target: str, turns: list[Wire]) -> None:
    """The turn that opens it is one of the user's: nothing is appended, least of all to the result of a call."""
    adapted = sent(ask(says("system", "S"), says("system", "T"), *turns), target)
    assert [change.rule for change in adapted.changes if change.at != "/tools" and change.kind == "synthetic"] == [
        "leading-assistant"
    ]
    assert "[autonomous processing]" in adapted.body.decode()
    assert "Please continue." not in adapted.body.decode()


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("opening", ["system", "user", "user"]),
        ("keep", ["user", "system", "user"]),
        ("user", ["user", "user", "user"]),
    ],
)
def test_A10_every_policy_can_be_chosen(choice: str, expected: list[str]) -> None:
    assert roles(sent(LATE, GEMINI, rules={"late-system": choice})) == expected


def test_A10_a_late_system_message_can_be_an_error() -> None:
    with pytest.raises(RepairRefused, match="late-system"):
        sent(LATE, GEMINI, rules={"late-system": "fail"})


def test_A12_transcript_policies_are_profiles() -> None:
    assert roles(sent(ask(says("system", "1"), says("system", "2"), says("user", "a"), says("user", "b")), STRICT)) == [
        "system",
        "user",
    ]


def test_A12_lm_studio_takes_one_system_message_and_merged_turns() -> None:
    request = ask(says("system", "1"), says("system", "2"), says("user", "a"), says("user", "b"))
    adapted = sent(request, "lmstudio/local")
    assert adapted.json["messages"] == [says("system", "1\n\n2"), says("user", "a\n\nb")]
    assert rules(adapted) == ["many-systems", "repeated-role"]


def test_A13_passes_leave_pairs_whole() -> None:
    assert roles(sent(AUTONOMOUS, STRICT))[-2:] == ["assistant", "tool"]


def test_A15_an_empty_list_of_calls_is_none() -> None:
    merged = sent(ask(says("user", "q"), says("assistant", "a", tool_calls=[]), says("assistant", "b")), STRICT)
    assert merged.json["messages"][1]["content"] == "a\n\nb"


def test_A16_a_repeated_call_id_is_repaired_only_if_it_is_refused() -> None:
    twice = ask(says("user", "a"), called(), answered(), called(), answered(), says("user", "b"))
    assert "duplicate-call-id" not in rules(sent(twice, NATIVE))
    repaired = sent(twice, "mistral/mistral-large-latest")
    ids = [call["id"] for message in repaired.json["messages"] for call in message.get("tool_calls", ())]
    named = [message["tool_call_id"] for message in repaired.json["messages"] if message["role"] == "tool"]
    assert len(set(ids)) == len(ids) or "duplicate-call-id" not in rules(repaired)
    assert named == ids


def test_A17_the_report_counts() -> None:
    counted = rules(sent(LATE, GEMINI))
    assert counted.count("late-system") == 1
    several = ask(says("system", "1"), says("system", "2"), says("system", "3"), says("user", "a"))
    assert rules(sent(several, CLAUDE)).count("many-systems") == 2
    started = ask(says("assistant", "a"), says("user", "b"))
    assert rules(sent(started, GEMINI)).count("leading-assistant") == 1


def test_A17_the_counts_name_the_policy_and_the_messages_before_and_after() -> None:
    asked = ask(
        says("system", "1"), says("system", "2"), says("assistant", "a"), says("system", "3"), says("user", "b")
    )
    counts = sent(asked, NATIVE).counts()
    assert (counts.profile, counts.messages_read, counts.messages_written) == ("gemini", 5, 5)
    assert counts.rules == {"late-system": 1, "many-systems": 1, "leading-assistant": 1}
    shown = compiled_by_gateway(asked, NATIVE).json()["counts"]
    assert shown == msgspec.to_builtins(counts)
    merged = ask(says("user", "a"), says("user", "b"), says("assistant", "c"), says("user", "d"))
    counts = sent(merged, STRICT).counts()
    assert (counts.messages_read, counts.messages_written, counts.rules) == (4, 3, {"repeated-role": 1})


def test_A21_gemini_behind_openrouter_gets_optional_fields_without_strict() -> None:
    schema = {"type": "object", "properties": {"x": {"type": "string"}, "y": {"type": "string"}}, "required": ["x"]}
    tool = {"type": "function", "function": {"name": "f", "parameters": schema, "strict": True}}
    adapted = sent(ask(says("user", "a"), tools=[tool]), GEMINI)
    assert adapted.json["tools"][0]["function"] == {"name": "f", "parameters": schema}
    assert rules(adapted) == ["schema-keyword"]
    whole = {**tool["function"], "parameters": {**schema, "required": ["x", "y"]}}
    kept = sent(ask(says("user", "a"), tools=[{"type": "function", "function": whole}]), GEMINI)
    assert kept.json["tools"][0]["function"] == whole


def test_A21_an_empty_list_of_required_fields_is_left_out_of_what_is_written_anew() -> None:
    schema = {"type": "object", "properties": {"x": {"type": "string"}}, "required": []}
    tool = {"type": "function", "function": {"name": "f", "parameters": schema}}
    adapted = sent(ask(says("user", "a"), tools=[tool]), NATIVE)
    declared = adapted.json["tools"][0]["functionDeclarations"][0]
    assert declared["parametersJsonSchema"] == {"type": "object", "properties": {"x": {"type": "string"}}}
    assert rules(adapted) == ["schema-keyword"]
    strict = {"type": "function", "function": {"name": "f", "strict": True, "parameters": schema}}
    (written,) = sent(ask(says("user", "a"), tools=[strict]), CLAUDE).json["tools"]
    assert written["strict"] is True
    assert "required" not in written["input_schema"]
