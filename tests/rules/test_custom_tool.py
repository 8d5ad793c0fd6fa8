"""`custom-tool`: tools that take plain text."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.judges import judge
from tests.rules.runs import CHAT, facts, leaves_alone, run, sent

from dragoman.engine.library.adapt import adapt
from dragoman.rules.clean.custom_tool import custom_tool

REFUSES = facts(custom_tools="refuses")
SCHEMA = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
TOOL: dict[str, Any] = {"type": "custom", "custom": {"name": "run", "description": "d", "format": {"type": "text"}}}
CALL: dict[str, Any] = {"id": "c", "type": "custom", "custom": {"name": "run", "input": 'say "hi"'}}
ANSWERED: list[dict[str, Any]] = [
    {"role": "user", "content": "Hi"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c", "content": "ok"},
]


def test_the_tool_and_its_calls_become_functions() -> None:
    done = run(custom_tool, {"messages": ANSWERED, "tools": [TOOL]}, REFUSES)
    assert done.json["tools"] == [
        {"type": "function", "function": {"name": "run", "description": "d", "parameters": SCHEMA}}
    ]
    (call,) = done.json["messages"][1]["tool_calls"]
    assert call == {
        "id": "c",
        "type": "function",
        "function": {"name": "run", "arguments": '{"input":"say \\"hi\\""}'},
    }
    assert done.json["messages"][2] == ANSWERED[2]
    assert ("/messages/1/tool_calls/0", "nothing", False) in done.changes
    assert ("/tools/0", "metadata", False) in done.changes


LARK = {"syntax": "lark", "definition": 'start: "a"+'}


@pytest.mark.parametrize(
    ("source", "body"),
    [
        (
            CHAT,
            {
                "messages": [],
                "tools": [
                    {"type": "custom", "custom": {"name": "run", "format": {"type": "grammar", "grammar": LARK}}}
                ],
            },
        ),
        (
            "openai-responses",
            {"input": [], "tools": [{"type": "custom", "name": "run", "format": {"type": "grammar", **LARK}}]},
        ),
    ],
)
def test_the_function_shows_the_grammar(source: str, body: dict[str, Any]) -> None:
    done = run(custom_tool, body, facts(source, custom_tools="refuses"), source=source)
    (tool,) = done.json["tools"]
    argument = tool.get("function", tool)["parameters"]["properties"]["input"]
    assert argument == {"type": "string", "description": 'A text by this grammar (lark):\nstart: "a"+'}


def test_the_result_of_a_custom_call_follows() -> None:
    items = [
        {"role": "user", "content": "Hi"},
        {"type": "custom_tool_call", "call_id": "c", "name": "run", "input": "ls"},
        {"type": "custom_tool_call_output", "call_id": "c", "output": "a.txt"},
    ]
    done = run(
        custom_tool, {"input": items}, facts("openai-responses", custom_tools="refuses"), source="openai-responses"
    )
    _, call, answer = done.json["input"]
    assert (call["type"], call["arguments"]) == ("function_call", '{"input":"ls"}')
    assert (answer["type"], answer["output"]) == ("function_call_output", "a.txt")
    assert done.changes == [("/input/1", "nothing", False), ("/input/2", "nothing", False)]


def test_a_result_says_that_its_call_was_custom_where_results_say_so() -> None:
    called = {**ANSWERED[1], "tool_calls": [*ANSWERED[1]["tool_calls"], CALLED]}
    results = [ANSWERED[2], {"role": "tool", "tool_call_id": "f", "content": "12"}]
    for last in ([], [{"role": "user", "content": "More"}]):
        messages = [ANSWERED[0], called, *results, *last]
        done = sent({"messages": messages, "tools": [TOOL, FUNCTION]}, "openai-responses/gpt-4o", source=CHAT)
        kinds = [item["type"] for item in done.json["input"][1:5]]
        assert kinds == ["custom_tool_call", "function_call", "custom_tool_call_output", "function_call_output"]
        assert done.changes == []


CALLED = {"id": "f", "type": "function", "function": {"name": "f", "arguments": "{}"}}
FUNCTION = {"type": "function", "function": {"name": "f"}}
UNTOUCHED = {
    "functions alone": ({"messages": ANSWERED[:1], "tools": [FUNCTION]}, REFUSES),
    "a target that takes custom tools": ({"messages": ANSWERED, "tools": [TOOL]}, facts(custom_tools="accepts")),
}


test_untouched = leaves_alone(custom_tool, UNTOUCHED)


def test_other_tools_stay_the_same_objects() -> None:
    done = run(custom_tool, {"messages": ANSWERED[:1], "tools": [FUNCTION, TOOL]}, REFUSES)
    assert done.conversation.tools[0] is done.ask.conversation.tools[0]
    assert done.changes == [("/tools/1", "metadata", False)]


def test_adapt_for_a_real_provider() -> None:
    done = sent({"messages": ANSWERED, "tools": [TOOL], "max_tokens": 9}, "anthropic/claude-opus-4-8", source=CHAT)
    assert done.json["tools"] == [{"name": "run", "description": "d", "input_schema": SCHEMA}]
    assert done.json["messages"][1]["content"][0]["input"] == {"input": 'say "hi"'}
    assert done.changes == [
        ("custom-tool", "/messages/1/tool_calls/0", "nothing", False),
        ("custom-tool", "/tools/0", "metadata", False),
    ]


@pytest.mark.parametrize(
    "target",
    [
        *("openrouter/openai/gpt-4o", "xai/grok-4", "zai/glm-4.6", "fireworks/m", "together/m", "cerebras/m"),
        *("gemini-openai/gemini-2.5-flash", "vllm/m"),
    ],
)
def test_who_only_has_functions_is_sent_functions(target: str) -> None:
    adapted = adapt({"messages": ANSWERED, "tools": [TOOL]}, source=CHAT, target=target)
    assert adapted.json["messages"][1]["tool_calls"][0]["type"] == "function"
    assert adapted.json["tools"][0]["type"] == "function"
    name, _, model = target.partition("/")
    assert judge(name, model, adapted.path, adapted.headers, adapted.body) is None


CHOSEN = {"type": "custom", "custom": {"name": "run"}}
ALLOWED = {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [CHOSEN, FUNCTION]}}


@pytest.mark.parametrize(
    ("target", "choice", "written"),
    [
        ("groq/llama-3.3-70b-versatile", CHOSEN, {"type": "function", "function": {"name": "run"}}),
        ("groq/llama-3.3-70b-versatile", ALLOWED, "required"),
        ("anthropic/claude-sonnet-4-5", CHOSEN, {"type": "tool", "name": "run"}),
        ("openai-responses/gpt-5", CHOSEN, {"type": "custom", "name": "run"}),
        (
            "openai-responses/gpt-5",
            ALLOWED,
            {
                "type": "allowed_tools",
                "mode": "required",
                "tools": [{"type": "custom", "name": "run"}, {"type": "function", "name": "f"}],
            },
        ),
    ],
)
def test_the_choice_of_a_custom_tool_follows_the_tool(target: str, choice: dict[str, Any], written: object) -> None:
    request = {"model": "m", "messages": ANSWERED[:1], "tools": [TOOL, FUNCTION], "tool_choice": choice}
    adapted = adapt(request, target=target)
    assert json.loads(adapted.body)["tool_choice"] == written
    profile, _, model = target.partition("/")
    assert judge(profile, model, adapted.path, adapted.headers, adapted.body) is None


@pytest.mark.parametrize("choice", [CHOSEN, ALLOWED])
def test_a_choice_written_anew_names_a_custom_tool_as_one(choice: dict[str, Any]) -> None:
    request = {"model": "m", "messages": ANSWERED[:1], "tools": [TOOL, FUNCTION], "tool_choice": choice}
    there = adapt(request, target="openai-responses/gpt-5")
    back = adapt(there.body, source="openai-responses", target="openai/gpt-5")
    assert json.loads(back.body)["tool_choice"] == choice
