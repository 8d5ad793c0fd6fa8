"""`many-tools`: more tools than the target takes."""

from __future__ import annotations

from typing import Any

from tests.rules.runs import CHAT, facts, run, sent

from dragoman.rules.tools.many_tools import many_tools

TWO = facts(tools_max=2)


def tool(name: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": {}}}}


def body(*names: str, **more: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": "Hi"}], "tools": [tool(name) for name in names], **more}


def left(done: Any) -> list[str]:
    return [entry["function"]["name"] for entry in done.json["tools"]]


def test_the_first_ones_stay_in_their_order() -> None:
    done = run(many_tools, body("a", "b", "c", "d"), TWO)
    assert left(done) == ["a", "b"]
    assert done.changes == [("/tools/2", "content", False), ("/tools/3", "content", False)]
    assert done.did[0] == "left out the tool c: more than the target takes"


def test_what_was_called_or_is_chosen_stays() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "d", "arguments": "{}"}}
    said = body("a", "b", "c", "d", tool_choice={"type": "function", "function": {"name": "c"}})
    said["messages"] += [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "ok"},
    ]
    assert left(run(many_tools, said, TWO)) == ["c", "d"]


def test_untouched() -> None:
    assert run(many_tools, body("a", "b"), TWO).untouched
    assert run(many_tools, body("a", "b", "c"), facts()).untouched
    assert run(many_tools, body("a", "b", "c"), TWO, choice="keep").untouched


def test_adapt_for_openai() -> None:
    done = sent(body(*(f"t{number}" for number in range(130))), "openai/gpt-4o", source=CHAT)
    assert len(left(done)) == 128
    assert done.changes == [("many-tools", f"/tools/{at}", "content", False) for at in (128, 129)]


def test_adapt_for_others_that_count() -> None:
    many = body(*(f"t{number}" for number in range(600)))
    assert len(left(sent(many, "groq/openai/gpt-oss-120b", source=CHAT))) == 128
    declared = sent(many, "gemini/gemini-2.5-flash", source=CHAT).json["tools"][0]["functionDeclarations"]
    assert len(declared) == 512
