"""`empty-description`: a tool whose description is empty."""

from __future__ import annotations

from typing import Any

from tests.rules.runs import CHAT, facts, run, sent

from dragoman.rules.tools.empty_description import empty_description

REFUSES = facts(empty_description="refuses")


def described(*descriptions: str | None) -> dict[str, Any]:
    tools = []
    for index, description in enumerate(descriptions):
        function: dict[str, Any] = {"name": f"f{index}", "parameters": {"type": "object", "properties": {}}}
        if description is not None:
            function["description"] = description
        tools.append({"type": "function", "function": function})
    return {"messages": [{"role": "user", "content": "Hi"}], "tools": tools}


def test_it_is_left_out() -> None:
    done = run(empty_description, described("", "Looks.", ""), REFUSES)
    assert [tool.description for tool in done.conversation.tools] == [None, b'"Looks."', None]
    assert [tool.name for tool in done.conversation.tools] == ["f0", "f1", "f2"]
    assert done.changes == [("/tools/0", "nothing", False), ("/tools/2", "nothing", False)]
    assert done.did == ["left out the empty description of f0", "left out the empty description of f2"]


def test_untouched() -> None:
    assert run(empty_description, described("Looks.", None), REFUSES).untouched
    assert run(empty_description, described(""), facts()).untouched


def test_adapt_for_a_real_provider() -> None:
    done = sent(described(""), "bedrock/us.amazon.nova-lite-v1:0", source=CHAT)
    assert "description" not in done.json["toolConfig"]["tools"][0]["toolSpec"]
    assert done.changes == [("empty-description", "/tools/0", "nothing", False)]
    assert sent(described(""), "openai/gpt-4o").changes == []
