"""`tool-wrapper`: tools declared in another shape than the target reads."""

from __future__ import annotations

from typing import Any

import pytest
from tests.rules.runs import facts, leaves_alone, run, sent

from dragoman.rules.tools.tool_wrapper import tool_wrapper

HI: dict[str, Any] = {"role": "user", "content": "Hi"}
FUNCTION: dict[str, Any] = {"name": "f", "parameters": {"type": "object", "properties": {}}}
OPENAI: dict[str, Any] = {"type": "function", "function": FUNCTION}
SHAPES: dict[str, dict[str, Any]] = {
    "": OPENAI,
    "function_declarations": {"function_declarations": [FUNCTION]},
    "functionDeclarations": {"functionDeclarations": [FUNCTION]},
}


def body(*tools: dict[str, Any]) -> dict[str, Any]:
    return {"messages": [HI], "tools": list(tools)}


@pytest.mark.parametrize("wanted", SHAPES)
@pytest.mark.parametrize("given", SHAPES)
def test_a_tool_is_written_in_the_shape_that_the_target_takes(given: str, wanted: str) -> None:
    done = run(tool_wrapper, body(SHAPES[given]), facts(tool_wrapper=wanted))
    assert done.json["tools"] == [SHAPES[wanted]]
    assert done.changes == ([] if given == wanted else [("/tools/0", "nothing", False)])
    assert done.untouched is (given == wanted)


def test_only_the_odd_one_is_written_anew() -> None:
    done = run(tool_wrapper, body(OPENAI, {"function_declarations": [{**FUNCTION, "name": "g"}]}), facts())
    assert done.json["tools"] == [OPENAI, {"type": "function", "function": {**FUNCTION, "name": "g"}}]
    assert done.conversation.tools[0] is done.ask.conversation.tools[0]
    assert done.changes == [("/tools/1", "nothing", False)]
    assert done.did == ["wrote the tool g in the target's own shape"]


def test_the_field_that_holds_the_schema() -> None:
    declared = {"tools": [{"functionDeclarations": [{"name": "f", "parametersJsonSchema": {"type": "object"}}]}]}
    contents = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}
    done = run(tool_wrapper, {**contents, **declared}, facts("gemini", schema_as="parameters"), source="gemini")
    assert done.json["tools"] == [{"functionDeclarations": [{"name": "f", "parameters": {"type": "OBJECT"}}]}]
    assert done.changes == [("/tools/0/functionDeclarations/0", "nothing", False)]
    assert run(tool_wrapper, {**contents, **declared}, facts("gemini"), source="gemini").untouched


UNTOUCHED = {
    "a further shape that it takes": (
        body(SHAPES["functionDeclarations"]),
        facts(tool_wrappers=["functionDeclarations"]),
    ),
    "the old form, which has a rule of its own": ({"messages": [HI], "functions": [FUNCTION]}, facts()),
    "a tool of the provider's own": (body({"type": "web_search"}), facts(tool_wrapper="functionDeclarations")),
}


test_untouched = leaves_alone(tool_wrapper, UNTOUCHED)


def test_adapt_for_real_providers() -> None:
    odd = body(SHAPES["function_declarations"])
    done = sent(odd, "openai/gpt-4o")
    assert done.json["tools"] == [OPENAI]
    assert done.changes == [("tool-wrapper", "/tools/0", "nothing", False)]
    first = sent(odd, "gemini-compatible/gemini-2.5-flash").json["tools"]
    assert first == [OPENAI]  # C14: the others follow by the ladder, if it is refused
    elsewhere = sent({**odd, "max_tokens": 9}, "anthropic/claude-opus-4-8", source="openai-chat")
    assert elsewhere.json["tools"][0]["name"] == "f"
    assert elsewhere.changes == []
