"""`missing-description`: a tool without a description."""

from __future__ import annotations

from typing import Any

from tests.rules.runs import facts, run, sent

from dragoman.profiles.profile import Layer, Profiles
from dragoman.rules.tools.missing_description import missing_description

REFUSES = facts(tools_without_description="refuses")


def asked(*descriptions: str | None) -> dict[str, Any]:
    tools = []
    for index, description in enumerate(descriptions):
        function: dict[str, Any] = {"name": f"f{index}", "parameters": {"type": "object", "properties": {}}}
        if description is not None:
            function["description"] = description
        tools.append({"type": "function", "function": function})
    return {"messages": [{"role": "user", "content": "Hi"}], "tools": tools}


def test_it_gets_an_empty_one() -> None:
    done = run(missing_description, asked(None, "Looks.", "", None), REFUSES)
    assert [tool.description for tool in done.conversation.tools] == [b'""', b'"Looks."', b'""', b'""']
    assert done.changes == [("/tools/0", "nothing", False), ("/tools/3", "nothing", False)]
    assert done.did == ["gave f0 an empty description", "gave f3 an empty description"]


def test_untouched() -> None:
    assert run(missing_description, asked("Looks.", ""), REFUSES).untouched
    assert run(missing_description, asked(None), facts()).untouched


def test_adapt_for_a_template_that_reads_it() -> None:
    profiles = Profiles(layers=(Layer("test", {"tools_without_description": "refuses"}),))
    done = sent(asked(None), "openai-compatible-lenient/m", profiles=profiles)
    assert done.json["tools"] == asked("")["tools"]
    assert done.changes == [("missing-description", "/tools/0", "nothing", False)]
    assert sent(asked(None), "openai-compatible-lenient/m").changes == []
