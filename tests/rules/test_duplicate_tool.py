"""`duplicate-tool`: two tools of one name."""

from __future__ import annotations

from typing import Any

import pytest
from tests.judges import judge
from tests.rules.runs import CHAT, facts, leaves_alone, run

from dragoman.engine.library.adapt import adapt
from dragoman.rules.tools.duplicate_tool import duplicate_tool

REFUSES = facts(duplicate_tools="refuses")
HI: dict[str, Any] = {"role": "user", "content": "Hi"}
WHERE = {"type": "approximate", "approximate": {"country": "DE"}}


def tool(name: str, description: str = "Looks.") -> dict[str, Any]:
    function = {"name": name, "description": description, "parameters": {"type": "object", "properties": {}}}
    return {"type": "function", "function": function}


def body(*tools: dict[str, Any]) -> dict[str, Any]:
    return {"messages": [HI], "tools": list(tools)}


@pytest.mark.parametrize(("description", "loses"), [("Looks.", "nothing"), ("Looks elsewhere.", "content")])
def test_the_first_stays(description: str, loses: str) -> None:
    done = run(duplicate_tool, body(tool("look"), tool("find"), tool("look", description)), REFUSES)
    assert done.json["tools"] == [tool("look"), tool("find")]
    assert done.changes == [("/tools/2", loses, False)]
    assert done.did == ["left out another tool of the name look"]


def test_a_search_of_the_vendors_own_that_is_asked_for_twice() -> None:
    request = {
        "model": "m",
        **body({"type": "web_search"}, tool("look")),
        "web_search_options": {"user_location": WHERE},
    }
    adapted = adapt(request, target="anthropic/claude-sonnet-4-6")
    assert judge("anthropic", "claude-sonnet-4-6", adapted.path, adapted.headers, adapted.body) is None
    assert "duplicate-tool" in [change.rule for change in adapted.changes]


def test_every_further_one_is_reported() -> None:
    done = run(duplicate_tool, body(tool("look"), tool("look"), tool("look")), REFUSES)
    assert [change[0] for change in done.changes] == ["/tools/1", "/tools/2"]


UNTOUCHED = {
    "other names": (body(tool("look"), tool("Look")), REFUSES),
    "a target that takes it": (body(tool("look"), tool("look")), facts()),
    "no tools": ({"messages": [HI]}, REFUSES),
    "a provider's tool twice": (body({"type": "web_search"}, {"type": "web_search"}), REFUSES),
}


test_untouched = leaves_alone(duplicate_tool, UNTOUCHED)


@pytest.mark.parametrize("target", ["anthropic/claude-sonnet-4-5", "gemini/gemini-2.5-flash"])
def test_adapt_for_real_providers(target: str) -> None:
    done = adapt(body(tool("look"), tool("look", "Looks elsewhere.")), source=CHAT, target=target)
    assert ("duplicate-tool", "/tools/1", "content") in [(one.rule, one.at, one.loses) for one in done.changes]
    profile, _, model = target.partition("/")
    assert judge(profile, model, done.path, done.headers, done.body) is None
