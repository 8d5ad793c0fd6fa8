"""What providers behind OpenRouter refuse, and what is sent to them instead."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from tests.judges import judge

from dragoman.engine.library.adapt import adapt

Wire = dict[str, Any]
GOOGLE, OPENAI, CLAUDE = "google/gemini-2.5-flash", "openai/gpt-4o", "anthropic/claude-sonnet-4.5"
USER: Wire = {"role": "user", "content": "Hi"}
SAID: Wire = {"role": "assistant", "content": "Hello"}
TOOLS: Wire = {"tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]}


def call(arguments: str = "{}") -> Wire:
    function = {"name": "f", "arguments": arguments}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": function}],
    }


RESULT: Wire = {"role": "tool", "tool_call_id": "c1", "content": "ok"}
LATE = [USER, call(), RESULT, SAID, USER, RESULT, SAID, USER]
CASES: list[tuple[str, Wire, str]] = [
    (GOOGLE, {"messages": [{"role": "user", "content": ""}, SAID, USER]}, "contents.parts must not be empty"),
    (GOOGLE, {"messages": [USER, {"role": "assistant", "content": ""}, USER]}, "contents.parts must not be empty"),
    (GOOGLE, {"messages": [USER, {"role": "assistant", "content": None}, USER]}, "contents.parts must not be empty"),
    (GOOGLE, {"messages": [USER, call("[1]"), RESULT, USER], **TOOLS}, "function_call.args"),
    (CLAUDE, {"messages": [USER, call("oops"), RESULT, USER], **TOOLS}, "Input should be a valid dictionary"),
    (OPENAI, {"messages": LATE, **TOOLS}, "must be a response to a preceeding message"),
    (CLAUDE, {"messages": LATE, **TOOLS}, "unexpected `tool_use_id` found"),
    (OPENAI, {"messages": [USER], "tool_choice": "auto"}, "only allowed when 'tools' are specified"),
    (GOOGLE, {"messages": [USER], "tool_choice": "auto"}, "without function_declarations"),
    (CLAUDE, {"messages": [USER], "tools": [], "tool_choice": "auto"}, "while providing tools"),
    (OPENAI, {"messages": [USER], "reasoning_effort": "ultra"}, "Invalid option"),
    (OPENAI, {"messages": [USER], "reasoning": {"effort": "ultra"}}, "Invalid option"),
]


@pytest.mark.parametrize(("model", "body", "words"), CASES)
def test_it_is_refused_as_it_is_and_accepted_as_compiled(model: str, body: Wire, words: str) -> None:
    wire = orjson.dumps({"model": model, **body})
    refused = judge("openrouter", model, "/chat/completions", {}, wire)
    assert refused is not None
    assert words in orjson.dumps(refused.body).decode()
    sent = adapt(wire, source="openai-chat", target=f"openrouter/{model}")
    assert judge("openrouter", model, sent.path, sent.headers, sent.body) is None
    assert sent.changes


THOUGHT = {"type": "reasoning.text", "text": "Hm."}


@pytest.mark.parametrize(
    "field", [{"reasoning": "Hm."}, {"reasoning_content": "Hm."}, {"reasoning_details": [THOUGHT]}]
)
def test_a_turn_of_nothing_but_reasoning_is_taken(field: Wire) -> None:
    wire = orjson.dumps({"model": GOOGLE, "messages": [USER, {"role": "assistant", "content": None, **field}, USER]})
    assert judge("openrouter", GOOGLE, "/chat/completions", {}, wire) is None


@pytest.mark.parametrize("target", ["mistral/mistral-large-latest", "cerebras/gpt-oss-120b"])
def test_a_picture_in_a_result_goes_to_the_user_turn_after_it(target: str) -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    result = {**RESULT, "content": [{"type": "text", "text": "see"}, picture]}
    name, _, model = target.partition("/")
    wire = orjson.dumps({"model": model, "messages": [USER, call(), result, USER], **TOOLS})
    assert judge(name, model, "/chat/completions", {}, wire) is not None
    sent = adapt(wire, source="openai-chat", target=target)
    assert judge(name, model, sent.path, sent.headers, sent.body) is None
    messages = orjson.loads(sent.body)["messages"]
    assert messages[2]["content"] in ("see", [{"type": "text", "text": "see"}])
    assert messages[-1]["content"][0] == picture
    assert [(change.rule, change.loses) for change in sent.changes if change.rule == "refused-part"] == [
        ("refused-part", "metadata")
    ]
