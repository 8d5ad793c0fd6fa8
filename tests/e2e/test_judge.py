"""The judge of the matrix finds what it looks for: these tests need no client."""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.e2e.matrix import LEARNT, ClientReport, client_problems, refusal_problems, upstream_problems
from tests.e2e.plot import Case, calls_of, thought, turn_for
from tests.e2e.upstreams import BY_NAME

CASE = Case("py-chat", BY_NAME["deepseek"], "whole")
CALLS = [[call.name, call.arguments] for call in calls_of(CASE.tag, 1, 2, 3, 4)]
THOUGHTS = [thought(CASE.tag, number) for number in (1, 2, 3)]
SWAPPED = [[CALLS[2][0], CALLS[0][1]], *CALLS[1:2], [CALLS[0][0], CALLS[0][1]], CALLS[3]]


@pytest.mark.parametrize(
    ("heard", "found"),
    [
        (ClientReport(CASE.answer, CALLS, THOUGHTS, None), None),
        (ClientReport(CASE.answer, CALLS[::-1], None, None), None),
        (ClientReport("", CALLS, THOUGHTS, None), "the text is"),
        (ClientReport(CASE.answer + "\n", CALLS, THOUGHTS, None), "the text is"),
        (ClientReport(CASE.answer, CALLS[:3], THOUGHTS, None), "the tools were given"),
        (ClientReport(CASE.answer, SWAPPED, THOUGHTS, None), "the tools were given"),
        (ClientReport(CASE.answer, CALLS, [], None), "the thoughts are"),
        (ClientReport(CASE.answer, CALLS, THOUGHTS[:1] + THOUGHTS, None), "the thoughts are"),
    ],
)
def test_what_a_client_ends_up_with(heard: ClientReport, found: str | None) -> None:
    problems = client_problems(CASE, heard)
    assert [found in one for one in problems] == [True] if found else problems == []


def chat_body(case: Case, **reasoning: Callable[[int], Any]) -> dict[str, Any]:
    messages: list[Any] = [{"role": "user", "content": case.question}]
    for number in (1, 2):
        calls = calls_of(case.tag, 2 * number - 1, 2 * number)
        said = [
            {"id": f"c{number}{at}", "function": {"name": call.name, "arguments": json.dumps(call.arguments)}}
            for at, call in enumerate(calls)
        ]
        thinking = {name: make(number) for name, make in reasoning.items()}
        messages.append({"role": "assistant", "tool_calls": said, **thinking})
        messages += [
            {"role": "tool", "tool_call_id": f"c{number}{at}", "content": f"Report on Ort {2 * number - 1 + at} x"}
            for at in (0, 1)
        ]
    return {"messages": messages, "tools": [{"function": {"name": "weather"}}], "reasoning_effort": "medium"}


def claude_body(case: Case) -> dict[str, Any]:
    messages: list[Any] = [{"role": "user", "content": case.question}]
    for number in (1, 2):
        calls = calls_of(case.tag, 2 * number - 1, 2 * number)
        used = [
            {"type": "tool_use", "id": f"c{number}{at}", "name": call.name, "input": call.arguments}
            for at, call in enumerate(calls)
        ]
        thinking = {"type": "thinking", "thinking": thought(case.tag, number), "signature": "c2ln"}
        results = [
            {
                "type": "tool_result",
                "tool_use_id": f"c{number}{at}",
                "content": f"Report on Ort {2 * number - 1 + at} x",
            }
            for at in (0, 1)
        ]
        messages += [{"role": "assistant", "content": [thinking, *used]}, {"role": "user", "content": results}]
    return {"messages": messages, "thinking": {"type": "enabled"}}


def gemini_body(case: Case) -> dict[str, Any]:
    contents: list[Any] = [{"role": "user", "parts": [{"text": case.question}]}]
    for number in (1, 2):
        calls = calls_of(case.tag, 2 * number - 1, 2 * number)
        parts: list[Any] = [{"functionCall": {"name": call.name, "args": call.arguments}} for call in calls]
        parts[0]["thoughtSignature"] = "c2ln"
        answers = [
            {"functionResponse": {"name": call.name, "response": {"output": f"Report on Ort {2 * number - 1 + at} x"}}}
            for at, call in enumerate(calls)
        ]
        contents += [{"role": "model", "parts": parts}, {"role": "user", "parts": answers}]
    return {"contents": contents, "generationConfig": {"thinkingConfig": {"includeThoughts": True}}}


def responses_body(case: Case) -> dict[str, Any]:
    items: list[Any] = [{"role": "user", "content": case.question}]
    for number in (1, 2):
        items.append({"type": "reasoning", "summary": [], "encrypted_content": "c2ln"})
        for at, call in enumerate(calls_of(case.tag, 2 * number - 1, 2 * number)):
            given = json.dumps(call.arguments)
            items.append({"type": "function_call", "call_id": f"c{number}{at}", "name": call.name, "arguments": given})
        items += [
            {
                "type": "function_call_output",
                "call_id": f"c{number}{at}",
                "output": f"Report on Ort {2 * number - 1 + at} x",
            }
            for at in (0, 1)
        ]
    return {"input": items, "store": False, "include": ["reasoning.encrypted_content"], "reasoning": {"effort": "low"}}


def detail(case: Case) -> Callable[[int], Any]:
    return lambda number: [{"type": "reasoning.text", "text": thought(case.tag, number), "signature": "c2ln"}]


def case_of(name: str) -> Case:
    return Case("py-chat", BY_NAME[name], "whole")


BODIES: dict[str, Callable[[Case], dict[str, Any]]] = {
    "claude": claude_body,
    "gemini3": gemini_body,
    "responses": responses_body,
    "chat": chat_body,
    "deepseek": lambda case: chat_body(case, reasoning_content=lambda number: thought(case.tag, number)),
    "openrouter": lambda case: chat_body(case, reasoning_details=detail(case)),
    "groq": lambda case: chat_body(case, reasoning=lambda number: thought(case.tag, number)),
}


@pytest.mark.parametrize("name", BODIES)
def test_a_whole_third_request_has_no_problems(name: str) -> None:
    case = case_of(name)
    assert upstream_problems(case, BODIES[name](case)) == []


def _drop(body: Any, key: str) -> Any:
    """The body without the first member of this name, wherever it stands."""
    if isinstance(body, dict):
        if key in body:
            del body[key]
            return True
        return any(_drop(value, key) for value in body.values())
    return any(_drop(one, key) for one in body) if isinstance(body, list) else False


@pytest.mark.parametrize(
    ("name", "member"),
    [
        ("claude", "signature"),
        ("gemini3", "thoughtSignature"),
        ("responses", "encrypted_content"),
        ("deepseek", "reasoning_content"),
        ("openrouter", "signature"),
        ("groq", "reasoning"),
    ],
)
def test_reasoning_that_is_gone_is_missed(name: str, member: str) -> None:
    case = case_of(name)
    body = copy.deepcopy(BODIES[name](case))
    assert _drop(body, member)
    assert "the reasoning that came back is" in upstream_problems(case, body)[0]


def test_a_value_that_skips_the_check_is_no_signature() -> None:
    case = case_of("gemini3")
    body = gemini_body(case)
    skip = base64.b64encode(b"skip_thought_signature_validator").decode()
    body["contents"][1]["parts"][0]["thoughtSignature"] = skip
    assert "the reasoning that came back is" in upstream_problems(case, body)[0]


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("claude", {"thinking": {"type": "disabled"}}),
        ("claude", {"thinking": None}),
        ("gemini3", {"generationConfig": {"thinkingConfig": {"includeThoughts": False}}}),
        ("gemini3", {"generationConfig": {"thinkingConfig": {"includeThoughts": True, "thinkingBudget": 0}}}),
        ("responses", {"reasoning": {"effort": "none"}}),
        ("responses", {"include": None}),
        ("responses", {"store": True}),
        ("deepseek", {"thinking": {"type": "disabled"}}),
        ("openrouter", {"reasoning": {"enabled": False}}),
        ("groq", {"reasoning_effort": "none"}),
    ],
)
def test_thinking_that_is_off_is_noticed(name: str, changes: dict[str, Any]) -> None:
    case = case_of(name)
    assert upstream_problems(case, {**BODIES[name](case), **changes}) == ["thinking is off on the third turn"]


def test_results_that_changed_places_are_noticed() -> None:
    case = case_of("chat")
    body = chat_body(case)
    results = [one for one in body["messages"] if one["role"] == "tool"]
    results[0]["content"], results[1]["content"] = results[1]["content"], results[0]["content"]
    assert "a result stands with another call" in upstream_problems(case, body)[0]


def test_only_the_first_refusal_of_an_unknown_field_is_forgiven(monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case("codex", BY_NAME["responses"])
    monkeypatch.setitem(LEARNT, ("codex", "responses"), "session_notes")
    unknown = {"error": {"message": "Unknown parameter: 'session_notes'."}}
    assert refusal_problems(case, [unknown]) == []
    assert refusal_problems(case, [unknown, unknown]) != []
    assert refusal_problems(case, [{"error": {"message": "No."}}]) != []
    assert refusal_problems(case_of("responses"), [unknown]) != []


def test_only_requests_that_need_it_go_to_the_other_api() -> None:
    """A body of the other API is read as one; whose it is decides whether it belongs there."""
    codex, other = Case("codex", BY_NAME["chat"]), case_of("chat")
    assert turn_for(other.upstream, responses_body(other) | {"tools": [{"name": "weather"}]}).text == other.answer
    assert upstream_problems(other, responses_body(other)) == ["the request went to another API"]
    assert upstream_problems(other, chat_body(other)) == []
    assert upstream_problems(codex, chat_body(codex))[0] == "the request went to another API"


def test_a_request_of_no_loop_takes_no_turn() -> None:
    case = case_of("deepseek")
    body = chat_body(case, reasoning_content=lambda number: "x")
    assert turn_for(case.upstream, body).text == case.answer
    assert turn_for(case.upstream, {**body, "tools": []}).text == "A side question."
    assert turn_for(case.upstream, {**body, "messages": body["messages"][:1]}).text == "Let me look."
    assert turn_for(case.upstream, {**body, "messages": body["messages"][:3]}).text == "Results are missing."
