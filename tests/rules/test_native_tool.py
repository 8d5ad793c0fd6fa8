"""`native-tool`: tools that only their own provider runs."""

from __future__ import annotations

from typing import Any

import pytest
from tests.rules.runs import facts, run, sent

from dragoman.conversation.tools import ChoiceMode
from dragoman.rules.tools.native_tool import native_tool

RESPONSES = "openai-responses"
HI: dict[str, Any] = {"role": "user", "content": "Hi"}
SEARCH: dict[str, Any] = {"type": "web_search"}
FUNCTION: dict[str, Any] = {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}}


def body(*tools: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"input": [HI], "tools": list(tools), **more}


def test_a_tool_of_another_dialect_goes() -> None:
    done = run(native_tool, body(SEARCH, FUNCTION), facts("anthropic"), source=RESPONSES)
    assert done.conversation.tools == (done.ask.conversation.tools[1],)
    assert done.changes == [("/tools/0", "content", False)]
    assert done.did == ["left out the web_search tool of openai-responses"]


def test_a_tool_of_a_kind_that_the_target_does_not_run() -> None:
    known = facts(RESPONSES, native_tools=["file_*"])
    done = run(native_tool, body(SEARCH, {"type": "file_search"}), known, source=RESPONSES)
    assert done.json["tools"] == [{"type": "file_search"}]
    assert done.changes == [("/tools/0", "content", False)]


def test_a_choice_that_only_its_own_dialect_has() -> None:
    asked = body(FUNCTION, tool_choice={"type": "web_search"})
    done = run(native_tool, asked, facts("anthropic"), source=RESPONSES)
    assert done.ask.conversation.settings.tool_choice.mode is ChoiceMode.NATIVE  # type: ignore[union-attr]
    assert done.conversation.settings.tool_choice is None
    assert done.changes == [("/tool_choice", "metadata", False)]
    assert run(native_tool, asked, facts(RESPONSES), source=RESPONSES).untouched


UNTOUCHED = {
    "a tool that the target runs": (body(SEARCH, FUNCTION), facts(RESPONSES, native_tools=["web_*"])),
    "functions alone": (body(FUNCTION), facts("anthropic")),
    "a choice that all have": (body(FUNCTION, tool_choice="required"), facts("anthropic")),
}


@pytest.mark.parametrize("name", UNTOUCHED)
def test_untouched(name: str) -> None:
    assert run(native_tool, *UNTOUCHED[name], source=RESPONSES).untouched


def test_adapt_for_real_providers() -> None:
    asked = {"messages": [HI], "max_tokens": 9, "tools": [{"type": "web_search_20250305", "name": "web_search"}]}
    done = sent(asked, "openai/gpt-4o", source="anthropic")
    assert "tools" not in done.json
    assert done.changes == [("native-tool", "/tools/0", "content", False)]
    assert sent(asked, "anthropic/claude-opus-4-8").json["tools"] == asked["tools"]


def test_a_container_goes_with_the_tool_that_has_it() -> None:
    asked = {
        "max_tokens": 9,
        "messages": [{"role": "user", "content": "Hi"}],
        "container": "container_1",
        "tools": [{"type": "code_execution_20250825", "name": "code_execution"}],
    }
    done = sent(asked, "bedrock-anthropic/us.anthropic.claude-opus-4-8")
    assert "container" not in done.json
    assert ("refused-setting", "/container", "metadata", False) in done.changes
    assert sent(asked, "anthropic/claude-opus-4-8").changes == []
