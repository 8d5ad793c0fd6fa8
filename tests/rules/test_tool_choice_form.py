"""`tool-choice-form`: a tool choice that the target does not take."""

from __future__ import annotations

from typing import Any

import pytest
from tests.rules.runs import CHAT, Run, facts, run, sent

from dragoman.conversation.tools import ChoiceMode, ToolChoice
from dragoman.rules.settings.tool_choice_form import tool_choice_form

HI: dict[str, Any] = {"role": "user", "content": "Hi"}
TOOL: dict[str, Any] = {
    "type": "function",
    "function": {"name": "f", "parameters": {"type": "object", "properties": {}}},
}
NAMED: dict[str, Any] = {"type": "function", "function": {"name": "f"}}
AUTO, REQUIRED, NONE = ToolChoice(ChoiceMode.AUTO), ToolChoice(ChoiceMode.REQUIRED), ToolChoice(ChoiceMode.NONE)


def through(choice: Any, known: Any, **more: Any) -> Run:
    return run(tool_choice_form, {"messages": [HI], "tools": [TOOL], "tool_choice": choice, **more}, known)


def allowed(mode: str) -> dict[str, Any]:
    return {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": [NAMED]}}


KINDS: list[tuple[Any, list[str], ToolChoice | None]] = [
    (NAMED, ["auto", "none", "required"], REQUIRED),
    (NAMED, ["auto", "none"], AUTO),
    ("required", ["auto", "none"], AUTO),
    ("required", ["none"], None),
    ("auto", ["required"], None),
    (allowed("auto"), ["auto", "required", "named"], AUTO),
    (allowed("required"), ["auto", "required", "named"], REQUIRED),
    (allowed("required"), ["auto"], AUTO),
]


@pytest.mark.parametrize(("choice", "known", "sent_as"), KINDS)
def test_a_kind_that_the_target_does_not_know(choice: Any, known: list[str], sent_as: ToolChoice | None) -> None:
    done = through(choice, facts(tool_choices=known))
    assert done.conversation.settings.tool_choice == sent_as
    assert done.changes == [("/tool_choice", "nothing" if choice == "auto" else "metadata", False)]  # the default
    assert done.conversation.tools is done.ask.conversation.tools


CALLED = [
    {
        "role": "assistant",
        "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
    },
    {"role": "tool", "tool_call_id": "c", "content": "x"},
]


@pytest.mark.parametrize(
    ("turns", "stance", "stays"), [([], "refuses", 0), (CALLED, "accepts", 0), (CALLED, "refuses", 1)]
)
def test_tools_of_which_none_may_be_called_are_left_out(turns: list[Any], stance: str, stays: int) -> None:
    asked = {"messages": [HI, *turns], "tools": [TOOL], "tool_choice": "none"}
    done = run(tool_choice_form, asked, facts(tool_choices=["auto", "required"], undeclared_tools=stance))
    assert done.conversation.settings.tool_choice is None
    assert len(done.conversation.tools) == stays
    assert done.changes == [("/tool_choice", "metadata", False), ("/tools", "metadata", False)][: 2 - stays]


@pytest.mark.parametrize("target", ["ollama/qwen3:8b", "bedrock/us.amazon.nova-lite-v1:0"])
def test_adapt_without_a_word_for_no_tools(target: str) -> None:
    done = sent({"messages": [HI], "tools": [TOOL], "tool_choice": "none"}, target, source=CHAT)
    assert done.json.keys().isdisjoint({"tools", "toolConfig"})


def test_a_target_that_cannot_be_told_which_tool_gets_that_one_alone() -> None:
    other = {"type": "function", "function": {"name": "g", "parameters": {"type": "object", "properties": {}}}}
    asked = {"messages": [HI], "tools": [other, TOOL], "tool_choice": NAMED}
    done = run(tool_choice_form, asked, facts(tool_choices=["none", "required"]))
    assert done.conversation.settings.tool_choice == REQUIRED
    assert done.json["tools"] == [TOOL]
    assert done.changes == [("/tool_choice", "metadata", False), ("/tools", "metadata", False)]
    kept = run(tool_choice_form, asked, facts(tool_choices=["auto"]))
    assert kept.json["tools"] == [other, TOOL]
    cohere = sent(asked, "cohere/command-a-03-2025")
    assert cohere.json["tool_choice"] == "REQUIRED"
    assert [tool["function"]["name"] for tool in cohere.json["tools"]] == ["f"]


def test_without_tools_there_is_nothing_to_choose() -> None:
    asked = {"messages": [HI], "tool_choice": "required", "parallel_tool_calls": False, "temperature": 1}
    done = run(tool_choice_form, asked, facts(choice_without_tools="refuses"))
    assert done.json == {"messages": [HI], "temperature": 1, "model": "m"} | {"model": done.json["model"]}
    assert done.changes == [("/tool_choice", "nothing", False), ("/parallel_tool_calls", "nothing", False)]
    assert run(tool_choice_form, asked, facts(choice_without_tools="accepts")).untouched


@pytest.mark.parametrize(("choice", "own"), [("any", "required"), ({"function": {"name": "f"}}, NAMED)])
def test_one_vendors_word(choice: Any, own: Any) -> None:
    done = through(choice, facts(odd_choice="refuses"))
    assert done.json["tool_choice"] == own
    assert done.changes == [("/tool_choice", "nothing", False)]
    assert through(choice, facts(odd_choice="accepts")).untouched


UNTOUCHED: dict[str, tuple[Any, Any]] = {
    "a kind that it knows": ("required", facts()),
    "a named tool": (NAMED, facts()),
    "none": ("none", facts(tool_choices=["auto", "none"])),
    "a choice of its own dialect": ({"type": "web_search"}, facts(tool_choices=["auto"])),
}


@pytest.mark.parametrize("name", UNTOUCHED)
def test_untouched(name: str) -> None:
    assert through(*UNTOUCHED[name]).untouched


def test_calls_that_must_fit_their_schemas() -> None:
    """Gemini's word for it has no other in another dialect."""
    tools = [{"functionDeclarations": [{"name": "f", "parameters": {"type": "object", "properties": {}}}]}]
    config = {"functionCallingConfig": {"mode": "VALIDATED"}}
    body = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}], "tools": tools, "toolConfig": config}
    done = sent(body, "openai/gpt-4o", source="gemini")
    assert done.json["tool_choice"] == "auto"
    assert done.changes == [("tool-choice-form", "/toolConfig/functionCallingConfig", "metadata", False)]
    assert sent(body, "gemini/gemini-2.5-flash").changes == []


def test_no_choice() -> None:
    assert run(tool_choice_form, {"messages": [HI], "tools": [TOOL], "seed": 1}, facts(tool_choices=[])).untouched


@pytest.mark.parametrize(("choice", "own"), [("any", "required"), ({"function": {"name": "f"}}, NAMED)])
def test_adapt_and_one_vendors_word(choice: Any, own: Any) -> None:
    asked = {"messages": [HI], "tools": [TOOL], "tool_choice": choice}
    done = sent(asked, "openai/gpt-4o")
    assert done.json["tool_choice"] == own
    assert done.changes == [("tool-choice-form", "/tool_choice", "nothing", False)]
    assert sent(asked, "mistral/mistral-small-latest").json["tool_choice"] == choice


def test_a_vendors_word_that_is_taken_nevertheless() -> None:
    known = facts(odd_choice="refuses", odd_choices=["any"])
    assert through("any", known).untouched
    assert through({"function": {"name": "f"}}, known).json["tool_choice"] == NAMED


def test_adapt_understands_any_elsewhere_without_a_word() -> None:
    asked = {"messages": [HI], "tools": [TOOL], "tool_choice": "any", "max_tokens": 9}
    done = sent(asked, "anthropic/claude-sonnet-4-5", source=CHAT)
    assert done.json["tool_choice"] == {"type": "any"}
    assert done.changes == []


def test_adapt_and_a_choice_without_tools() -> None:
    done = sent({"messages": [HI], "tool_choice": "auto"}, "openai/gpt-4o")
    assert "tool_choice" not in done.json
    assert done.changes == [("tool-choice-form", "/tool_choice", "nothing", False)]
    assert sent({"messages": [HI], "tool_choice": "auto"}, "mistral/mistral-small-latest").changes == []


@pytest.mark.parametrize("target", ["lmstudio/m", "llamacpp/m"])
def test_adapt_and_a_server_that_cannot_be_told_which_tool(target: str) -> None:
    """LM Studio refuses an object, and llama.cpp reads it as `auto`."""
    other = {**TOOL, "function": {**TOOL["function"], "name": "other"}}
    done = sent({"messages": [HI], "tools": [TOOL, other], "tool_choice": NAMED}, target)
    assert (done.json["tool_choice"], done.json["tools"]) == ("required", [TOOL])
    assert [(rule, at) for rule, at, _, _ in done.changes] == [
        ("tool-choice-form", "/tool_choice"),
        ("tool-choice-form", "/tools"),
    ]


RESPONSES = "openai-responses"
SEARCH: dict[str, Any] = {"type": "web_search"}
SHELL: dict[str, Any] = {"type": "shell"}


def function(name: str) -> dict[str, Any]:
    return {"type": "function", "name": name, "parameters": {"type": "object", "properties": {}}}


def allowing(*tools: dict[str, Any], mode: str = "auto", said: Any = "Hi") -> dict[str, Any]:
    listed = [{"type": tool["type"], "name": tool["name"]} if "name" in tool else tool for tool in tools]
    choice = {"type": "allowed_tools", "mode": mode, "tools": listed}
    return {"model": "m", "input": said, "tools": [function("a"), function("b"), SEARCH, SHELL], "tool_choice": choice}


def test_a_choice_among_tools_of_the_vendor_stays_in_its_dialect() -> None:
    body = allowing(function("a"), SEARCH, {"type": "mcp", "server_label": "s"})
    done = sent({**body, "tools": [*body["tools"], {"type": "mcp", "server_label": "s"}]}, "openai-responses/gpt-5")
    assert (done.json["tool_choice"], done.changes) == (body["tool_choice"], [])


def test_the_vendors_tools_of_a_choice_become_functions_or_go() -> None:
    done = sent(allowing(function("a"), SEARCH, SHELL), "ollama-openai/gpt-4o", source=RESPONSES)
    names = [tool["function"]["name"] for tool in done.json["tool_choice"]["allowed_tools"]["tools"]]
    assert names == ["a", "shell"]
    reported = [(rule, loses) for rule, at, loses, _ in done.changes if at == "/tool_choice"]
    assert reported == [("native-tool", "metadata"), ("client-tool", "nothing")]


def test_nothing_may_be_called_if_the_vendors_tool_was_all_that_might() -> None:
    done = sent(allowing(SEARCH), "mistral/mistral-large-latest", source=RESPONSES)
    assert done.json["tool_choice"] == "none"


def test_a_tool_of_the_target_stands_for_the_vendors_in_a_choice() -> None:
    done = sent(allowing(SEARCH), "anthropic/claude-sonnet-4-5", source=RESPONSES)
    assert (done.json["tools"], done.json["tool_choice"]) == (
        [{"type": "web_search_20250305", "name": "web_search"}],
        {"type": "auto"},
    )
    assert ("native-tool", "/tool_choice", "nothing", False) in done.changes


@pytest.mark.parametrize(
    ("target", "mode", "written"),
    [
        ("anthropic/claude-sonnet-4-5", "auto", {"type": "auto"}),
        ("anthropic/claude-sonnet-4-5", "required", {"type": "any"}),
        ("mistral/mistral-large-latest", "required", "required"),
        ("cerebras/gpt-oss-120b", "auto", "auto"),
        ("fireworks/accounts/fireworks/models/kimi-k2", "auto", "auto"),
        ("ollama/qwen3:8b", "required", None),
    ],
)
def test_only_the_tools_of_a_choice_are_sent_if_the_target_cannot_be_asked_for_them(
    target: str, mode: str, written: Any
) -> None:
    done = sent(allowing(function("b"), mode=mode), target, source=RESPONSES)
    assert [tool.get("name") or tool["function"]["name"] for tool in done.json["tools"]] == ["b"]
    assert done.json.get("tool_choice") == written
    assert ("tool-choice-form", "/tools", "metadata", False) in done.changes


def test_tools_that_the_history_calls_stay_beside_a_choice() -> None:
    call = {"type": "function_call", "call_id": "c", "name": "a", "arguments": "{}"}
    said = [HI, call, {"type": "function_call_output", "call_id": "c", "output": "x"}]
    done = sent(allowing(function("b"), said=said), "bedrock/amazon.nova-pro-v1:0", source=RESPONSES)
    assert [tool["toolSpec"]["name"] for tool in done.json["toolConfig"]["tools"]] == ["a", "b"]


def test_a_choice_in_the_form_of_the_other_api_keeps_its_tools() -> None:
    nested = {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [NAMED]}}
    done = sent({**allowing(), "tools": [function("f")], "tool_choice": nested}, "openai-responses/gpt-5")
    flat = {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "f"}]}
    assert done.json["tool_choice"] == flat
    assert sent({"messages": [HI], "tools": [TOOL], "tool_choice": flat}, "openai/gpt-4o").json["tool_choice"] == nested


@pytest.mark.parametrize("parallel", [True, False])
def test_tools_of_which_none_may_be_called_take_their_settings_along(parallel: bool) -> None:
    body = {"messages": [HI], "tools": [TOOL], "tool_choice": "none", "parallel_tool_calls": parallel}
    done = sent(body, "zai/glm-5.3", source=CHAT)
    assert not {"tools", "tool_choice", "parallel_tool_calls"} & done.json.keys()
    assert ("tool-choice-form", "/parallel_tool_calls", "nothing", False) in done.changes
