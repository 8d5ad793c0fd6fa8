"""`many-strict`: more strict tools, or larger ones, than the target compiles."""

from __future__ import annotations

from typing import Any

import pytest
from tests.rules.runs import Run, facts, run, sent

from dragoman.rules.tools.many_strict import many_strict

CLAUDE = "anthropic"


def limited(tools: int = 9, optional: int = 9, unions: int = 9) -> Any:
    return facts(CLAUDE, strict_max=tools, strict_optional_max=optional, strict_union_max=unions)


def tool(name: str, *, optional: int = 0, unions: int = 0, strict: bool = True) -> dict[str, Any]:
    fields: dict[str, Any] = {f"o{number}": {"type": "string"} for number in range(optional)}
    fields |= {f"u{number}": {"type": ["string", "null"]} for number in range(unions)}
    schema = {
        "type": "object",
        "properties": fields,
        "required": [name for name in fields if name[0] == "u"],
        "additionalProperties": False,
    }
    return {"name": name, "input_schema": schema} | ({"strict": True} if strict else {})


def body(*tools: dict[str, Any]) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 9, "tools": list(tools)}


def through(known: Any, *tools: dict[str, Any]) -> Run:
    return run(many_strict, body(*tools), known, source=CLAUDE)


def stay(done: Run) -> list[bool]:
    return [entry.get("strict", False) for entry in done.json["tools"]]


def test_as_many_as_fit_stay_strict_in_their_order() -> None:
    done = through(limited(tools=2), tool("a"), tool("b", strict=False), tool("c"), tool("d"), tool("e"))
    assert stay(done) == [True, False, True, False, False]
    assert done.changes == [("/tools/3", "metadata", False), ("/tools/4", "metadata", False)]
    assert done.did[0] == "sent d without `strict`: more than the target compiles"
    assert [entry["input_schema"] for entry in done.json["tools"]] == [tool("x")["input_schema"]] * 5
    assert done.conversation.tools[0] is done.ask.conversation.tools[0]


def test_optional_fields_count_together() -> None:
    assert stay(through(limited(optional=4), tool("a", optional=3), tool("b", optional=2), tool("c", optional=1))) == [
        True,
        False,
        True,
    ]


def test_fields_of_several_types_count_together() -> None:
    assert stay(through(limited(unions=4), tool("a", unions=3), tool("b", unions=2), tool("c", unions=1))) == [
        True,
        False,
        True,
    ]


@pytest.mark.parametrize(("fields", "stays"), [(3, True), (4, False)])
def test_a_tool_alone_must_be_below_the_limit(fields: int, stays: bool) -> None:
    assert stay(through(limited(optional=4), tool("a", optional=fields))) == [stays]
    assert stay(through(limited(unions=4), tool("a", unions=fields))) == [stays]


def test_a_strict_tool_without_a_schema_weighs_nothing() -> None:
    bare = {"type": "function", "function": {"name": "f", "strict": True}}
    asked = {"messages": [{"role": "user", "content": "Hi"}], "tools": [bare, bare]}
    done = run(many_strict, asked, facts(strict_max=1, strict_optional_max=1, strict_union_max=1))
    assert [entry["function"].get("strict") for entry in done.json["tools"]] == [True, None]


UNTOUCHED = {
    "as many as it takes": (limited(tools=2), (tool("a"), tool("b"))),
    "tools that are not strict": (limited(tools=1), (tool("a", strict=False), tool("b", strict=False))),
    "a target without a limit": (facts(CLAUDE), (tool("a"), tool("b"))),
}


@pytest.mark.parametrize("name", UNTOUCHED)
def test_untouched(name: str) -> None:
    known, tools = UNTOUCHED[name]
    assert through(known, *tools).untouched


def test_adapt_for_a_real_provider() -> None:
    done = sent(body(*[tool(f"t{number}") for number in range(21)]), "anthropic/claude-sonnet-4-5")
    assert [entry.get("strict") for entry in done.json["tools"]] == [True] * 20 + [None]
    assert done.changes == [("many-strict", "/tools/20", "metadata", False)]


@pytest.mark.parametrize(("fields", "strict"), [(23, True), (24, None)])
def test_adapt_and_a_strict_tool_that_is_too_heavy(fields: int, strict: bool | None) -> None:
    done = sent(body(tool("f", optional=fields)), "anthropic/claude-sonnet-4-5")
    assert done.json["tools"][0].get("strict") is strict
