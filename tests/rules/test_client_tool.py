"""`client-tool`: a vendor's tools that the client runs, and tools that stand in namespaces or among the messages."""

from __future__ import annotations

from typing import Any

import pytest
from tests.rules.runs import facts, leaves_alone, run, sent

from dragoman import adapt
from dragoman.conversation.parts import Call, Result, Text
from dragoman.conversation.tools import CallForm, Tool
from dragoman.rules.clean.client_tool import client_tool

RESPONSES = "openai-responses"
HI: dict[str, Any] = {"role": "user", "content": "Hi"}
SCHEMA = {"type": "object", "properties": {"p": {"type": "string"}}}
FUNCTION: dict[str, Any] = {"type": "function", "name": "f", "parameters": SCHEMA}
SHELL: dict[str, Any] = {"type": "shell"}
SPACE: dict[str, Any] = {
    "type": "namespace",
    "name": "files",
    "tools": [
        {"type": "function", "name": "read", "description": "d", "parameters": SCHEMA, "strict": True},
        {"type": "custom", "name": "raw"},
        {"type": "web_search"},
        7,
    ],
}
CALL: dict[str, Any] = {"type": "shell_call", "call_id": "c1", "action": {"commands": ["ls"]}}
OUTPUT: dict[str, Any] = {"type": "shell_call_output", "call_id": "c1", "output": [{"stdout": "a"}]}
FOREIGN = facts("anthropic")


def body(*tools: dict[str, Any], said: tuple[dict[str, Any], ...] = (), **more: Any) -> dict[str, Any]:
    return {"input": [HI, *said], "tools": list(tools), **more}


def names(tools: tuple[Any, ...]) -> list[str]:
    return [tool.name for tool in tools]


def test_the_functions_of_a_namespace_become_tools() -> None:
    done = run(client_tool, body(SPACE, FUNCTION), FOREIGN, source=RESPONSES)
    read, raw, own = done.conversation.tools
    assert names((read, raw, own)) == ["files__read", "files__raw", "f"]
    assert isinstance(read, Tool)
    assert isinstance(raw, Tool)
    assert (read.description, read.strict, raw.custom) == (b'"d"', True, True)
    assert done.undo.names == {"files__read": "read", "files__raw": "raw"}
    assert done.undo.calls["files__read"] == CallForm("read", fields={"namespace": b'"files"'})
    assert done.changes == [("/tools/0", "metadata", False)]
    assert done.did == ["declared the namespace tool as 2 functions"]


ABOUT = '"[All tools files__*: The user\'s \\"notes\\".]'


@pytest.mark.parametrize(
    ("tools", "told"),
    [
        ([{"type": "function", "name": "read", "description": "Reads."}], [f'{ABOUT}\\nReads."']),
        ([{"type": "function", "name": "read"}, {"type": "custom", "name": "raw"}], [f'{ABOUT}"', None]),
        ([], []),
    ],
)
def test_the_first_function_of_a_namespace_says_what_all_are_for(tools: list[Any], told: list[str | None]) -> None:
    space = {"type": "namespace", "name": "files", "description": 'The user\'s "notes".', "tools": tools}
    made = run(client_tool, body(FUNCTION, space), FOREIGN, source=RESPONSES).conversation.tools[1:]
    assert [one.description.decode() if one.description else None for one in made] == told
    found = {"type": "tool_search_output", "call_id": "c", "execution": "client", "tools": [space]}
    late = run(client_tool, body(FUNCTION, said=(found,)), FOREIGN, source=RESPONSES).conversation.tools[1:]
    assert [one.description.decode() if one.description else None for one in late] == told


def test_a_call_names_the_function_of_its_namespace() -> None:
    calls = (
        {"type": "function_call", "call_id": "c1", "name": "read", "namespace": "files", "arguments": "{}"},
        {"type": "function_call", "call_id": "c2", "name": "read", "namespace": "others", "arguments": "{}"},
        {"type": "function_call", "call_id": "c3", "name": "read", "arguments": "{}"},
    )
    done = run(client_tool, body(SPACE, said=calls), FOREIGN, source=RESPONSES)
    made = done.conversation.messages[1].parts
    assert [part.name for part in made] == ["files__read", "read", "read"]  # type: ignore[attr-defined]
    assert [part.extras is None for part in made] == [True, False, True]
    assert done.changes[1:] == [("/input/1", "nothing", False)]


def test_the_tool_its_calls_and_results_are_those_of_a_function() -> None:
    patch = {"type": "apply_patch_call", "call_id": "c2", "operation": {"type": "delete_file", "path": "a"}}
    failed = {"type": "apply_patch_call_output", "call_id": "c2", "status": "failed", "output": "no"}
    said = (CALL, patch, OUTPUT, failed)
    done = run(client_tool, body(SHELL, {"type": "apply_patch"}, said=said), FOREIGN, source=RESPONSES)
    _, turn, results = done.conversation.messages
    assert turn.parts == (
        Call("c1", "shell", b'{"commands":["ls"]}'),
        Call("c2", "apply_patch", b'{"type":"delete_file","path":"a"}'),
    )
    assert results.parts == (
        Result("c1", (Text(b'"[{\\"stdout\\":\\"a\\"}]"'),)),
        Result("c2", (Text(b'"no"'),), is_error=True),
    )
    assert [(message.role, message.at, message.span) for message in (turn, results)] == [
        ("assistant", 1, 2),
        ("tool", 3, 2),
    ]
    assert names(done.conversation.tools) == ["shell", "apply_patch"]
    assert done.undo.calls == {
        "shell": CallForm("shell", "shell"),
        "apply_patch": CallForm("apply_patch", "apply_patch"),
    }
    assert done.changes == [
        *(("/tools/0", "metadata", False), ("/tools/1", "metadata", False)),
        *((f"/input/{index}", "nothing", False) for index in range(1, 5)),
    ]


def test_what_a_function_has_no_place_for_is_reported() -> None:
    check = {"id": "sc_1", "code": "malicious_instructions", "message": "Look twice."}
    click = {"type": "computer_call", "call_id": "c1", "action": {"type": "wait"}, "pending_safety_checks": [check]}
    seen = {"type": "computer_call_output", "call_id": "c1", "acknowledged_safety_checks": [check]}
    seen |= {"output": {"type": "computer_screenshot", "image_url": "https://e.example/a.png"}}
    done = run(client_tool, body({"type": "computer"}, said=(click, seen)), FOREIGN, source=RESPONSES)
    assert done.did[1:] == [
        "wrote computer_call as the call of a function, without pending_safety_checks",
        "wrote computer_call_output as the result of a function, without acknowledged_safety_checks",
    ]
    assert done.changes[1:] == [("/input/1", "metadata", False), ("/input/2", "metadata", False)]
    assert all(part.extras is None for message in done.conversation.messages for part in message.parts)
    unpaired = run(
        client_tool, body(said=(click,)), facts(RESPONSES, paired_blocks=["computer_call*"]), source=RESPONSES
    )
    assert unpaired.changes == [("/input/1", "metadata", False)]


def test_a_name_that_is_taken() -> None:
    own = {**FUNCTION, "name": "shell"}
    done = run(client_tool, body(SHELL, own, said=(CALL, OUTPUT)), FOREIGN, source=RESPONSES)
    made, kept = names(done.conversation.tools)
    assert (kept, made.startswith("shell_")) == ("shell", True)
    assert done.conversation.messages[1].parts[0].name == made  # type: ignore[attr-defined]
    assert done.undo.names == {made: "shell"}
    assert done.undo.calls == {made: CallForm("shell", "shell")}
    assert done.did[0] == f"declared the shell tool as the function {made}"


LATE: dict[str, Any] = {"type": "additional_tools", "role": "developer", "tools": [FUNCTION, SPACE, {"type": "x"}]}


def test_tools_among_the_messages_go_to_the_list() -> None:
    old = {**FUNCTION, "description": "old"}
    done = run(client_tool, body(old, said=(LATE,)), FOREIGN, source=RESPONSES)
    first, *others = done.conversation.tools
    assert isinstance(first, Tool)
    assert (first.name, first.description) == ("f", None)
    assert names(tuple(others)) == ["files__read", "files__raw"]
    assert len(done.conversation.messages) == 1
    assert done.changes == [
        ("/input/1", "content", False),
        ("/tools/0", "content", False),
        ("/input/1", "metadata", False),
    ]
    assert done.did == [
        "left out the x tool of openai-responses",
        "left out an earlier declaration of f",
        "declared the tools of additional_tools in the list",
    ]


def test_a_tool_declared_again_in_the_same_words_loses_nothing() -> None:
    spaced = {"type": "function", "name": "f", "parameters": dict(reversed(SCHEMA.items()))}
    done = run(client_tool, body({**spaced, "defer_loading": True}, said=(LATE,)), FOREIGN, source=RESPONSES)
    assert done.did == ["left out the x tool of openai-responses", "declared the tools of additional_tools in the list"]


@pytest.mark.parametrize("runs", ["client", "server"])
def test_tools_that_a_search_found(runs: str) -> None:
    call = {"type": "tool_search_call", "execution": runs, "arguments": {"query": "x"}}
    found = {"type": "tool_search_output", "execution": runs, "tools": [FUNCTION]}
    identity = {"call_id": "c1"} if runs == "client" else {"call_id": None}
    search = {"type": "tool_search", "execution": runs}
    said = ({**call, **identity}, {**found, **identity})
    done = run(client_tool, body(search, said=said), FOREIGN, source=RESPONSES)
    if runs == "client":
        assert names(done.conversation.tools) == ["tool_search", "f"]
        assert len(done.conversation.messages) == 3
        assert done.changes[1:] == [("/input/1", "nothing", False), ("/input/2", "metadata", False)]
    else:
        assert names(done.conversation.tools) == ["f"]
        assert len(done.conversation.messages) == 1
        assert done.changes[1:] == [("/input/1", "metadata", False), ("/input/2", "metadata", False)]
        assert done.did[:2] == [
            "left out the tool_search tool, since all tools are declared",
            "left out tool_search_call, since all tools are declared",
        ]


def test_a_search_that_is_no_tool_of_the_request() -> None:
    call = {"type": "tool_search_call", "execution": "client", "call_id": "c1", "arguments": {"query": "x"}}
    found = {"type": "tool_search_output", "execution": "client", "call_id": "c1", "tools": [FUNCTION]}
    done = run(client_tool, body({"type": "tool_search"}, said=(call, found)), FOREIGN, source=RESPONSES)
    assert (names(done.conversation.tools), len(done.conversation.messages)) == (["f"], 1)
    assert done.did[1:] == [
        "left out tool_search_call, since all tools are declared",
        "declared the tools of tool_search_output in the list",
    ]


def test_tools_that_messages_adds() -> None:
    own, added = {"name": "a", "input_schema": SCHEMA}, {"name": "b", "input_schema": SCHEMA}
    blocks = [{"type": "tool_addition", "tool": {"type": "tool_reference", "name": "a"}}]
    blocks += [{"type": "tool_addition", "tool": added}]
    said = [HI, {"role": "system", "content": [*blocks, {"type": "text", "text": "Go."}]}]
    asked = {"messages": said, "max_tokens": 9, "tools": [own]}
    done = run(client_tool, asked, facts(RESPONSES), source="anthropic")
    assert names(done.conversation.tools) == ["a", "b"]
    assert done.script.splitlines()[-1] == "system: Go."
    assert [did for _, did, _ in done.changes] == ["metadata", "metadata"]
    assert run(client_tool, asked, facts("anthropic"), source="anthropic").untouched


REMOVE_A = {"type": "tool_removal", "tool": {"type": "tool_reference", "name": "a"}}
ADD_A = {"type": "tool_addition", "tool": {"type": "tool_reference", "tool_name": "a"}}
ADD_B = {"type": "tool_addition", "tool": {"name": "b", "input_schema": SCHEMA}}
REMOVE_B = {"type": "tool_removal", "tool": {"type": "tool_reference", "tool_name": "b"}}
REMOVE_BASH = {"type": "tool_removal", "tool": {"type": "tool_reference", "name": "bash"}}
CHANGES: list[tuple[list[dict[str, Any]], list[str]]] = [
    ([REMOVE_A], ["bash"]),
    ([REMOVE_A, ADD_A], ["a", "bash"]),
    ([ADD_B, REMOVE_A], ["bash", "b"]),
    ([ADD_B, REMOVE_B, REMOVE_B], ["a", "bash"]),
    ([REMOVE_B, ADD_B], ["a", "bash", "b"]),
    ([REMOVE_BASH], ["a"]),
    ([{"type": "tool_removal", "tool": {"type": "mcp_toolset"}}], ["a", "bash"]),
]


@pytest.mark.parametrize(("blocks", "left"), CHANGES)
@pytest.mark.parametrize("target", ["openai/gpt-4o", "gemini/gemini-2.5-flash"])
def test_what_changes_among_the_messages_changes_the_list(
    blocks: list[dict[str, Any]], left: list[str], target: str
) -> None:
    own = [{"name": "a", "input_schema": SCHEMA}, {"type": "bash_20250124", "name": "bash"}]
    asked = {"messages": [HI, {"role": "system", "content": blocks}], "max_tokens": 9, "tools": own}
    done = sent(asked, target, source="anthropic")
    listed = done.json["tools"][0].get("functionDeclarations") or [tool["function"] for tool in done.json["tools"]]
    assert [tool["name"] for tool in listed] == left
    assert "mixed-system" not in [rule for rule, *_ in done.changes]
    at = [at for rule, at, *_ in done.changes if rule == "client-tool" and at.startswith("/messages")]
    assert at == [f"/messages/1/content/{index}" for index in range(len(blocks))]


def test_an_older_model_of_the_same_dialect_gets_the_list_as_it_is_in_the_end() -> None:
    own = [{"name": "a", "input_schema": SCHEMA}, {"name": "c", "input_schema": SCHEMA}]
    turn = {"role": "system", "content": [REMOVE_A, ADD_B]}
    asked = {"messages": [HI, turn], "max_tokens": 9, "tools": own}
    done = sent(asked, "anthropic/claude-sonnet-4-5", source="anthropic")
    assert [tool["name"] for tool in done.json["tools"]] == ["c", "b"]
    assert sent(asked, "anthropic/claude-opus-4-8", source="anthropic").json["messages"] == [HI, turn]


def test_calls_join_the_turn_that_they_belong_to() -> None:
    text = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]}
    plain = {"type": "function_call", "call_id": "c2", "name": "f", "arguments": "{}"}
    answered = {"type": "function_call_output", "call_id": "c2", "output": "ok"}
    said = (text, CALL, plain, answered, OUTPUT)
    done = run(client_tool, body(SHELL, FUNCTION, said=said), FOREIGN, source=RESPONSES)
    _, turn, results = done.conversation.messages
    assert [type(part).__name__ for part in turn.parts] == ["Text", "Call", "Call"]
    assert [part.call_id for part in results.parts] == ["c2", "c1"]  # type: ignore[attr-defined]


def test_a_target_of_the_same_dialect_that_does_not_know_the_tool() -> None:
    known = facts(RESPONSES, native_tools=["web_*"])
    done = run(client_tool, body(SHELL, {"type": "web_search"}, said=(CALL, OUTPUT)), known, source=RESPONSES)
    assert [tool["type"] for tool in done.json["tools"]] == ["function", "web_search"]
    assert [item.get("type") for item in done.json["input"]][1:] == ["function_call", "function_call_output"]
    assert done.json["input"][1]["arguments"] == '{"commands":["ls"]}'


def test_a_choice_of_the_tool_names_its_function() -> None:
    done = run(client_tool, body(SHELL, tool_choice=SHELL), FOREIGN, source=RESPONSES)
    choice = done.conversation.settings.tool_choice
    assert choice is not None
    assert (choice.mode, choice.names) == ("named", ("shell",))
    assert done.changes[-1] == ("/tool_choice", "nothing", False)


UNTOUCHED = {
    "a target that knows the tools": (body(SHELL, SPACE, said=(CALL, OUTPUT, LATE)), facts(RESPONSES)),
    "a shell at the provider": (body({"type": "shell", "environment": {"type": "container_auto"}}), FOREIGN),
    "a tool that the provider runs": (body({"type": "web_search"}), FOREIGN),
    "a namespace without tools": (body({"type": "namespace", "name": "x"}), FOREIGN),
    "a block that is none of a tool": (body(FUNCTION, said=({"type": "compaction", "id": "x"},)), FOREIGN),
    "a call without its arguments": (body(FUNCTION, said=({"type": "shell_call", "action": 1},)), FOREIGN),
    "a result without its call": (body(FUNCTION, said=({"type": "shell_call_output", "output": []},)), FOREIGN),
}


test_untouched = leaves_alone(client_tool, UNTOUCHED, source=RESPONSES)


ANTHROPIC = {
    "bash_20250124": ["bash"],
    "bash_20241022": ["bash"],
    "text_editor_20250728": ["str_replace_based_edit_tool"],
    "memory_20250818": ["memory"],
    "computer_20251124": ["computer"],
    "tool_search_tool_bm25_20251119": [],
}


@pytest.mark.parametrize("kind", ANTHROPIC)
def test_tools_of_messages(kind: str) -> None:
    tool = {"type": kind, "cache_control": {"type": "ephemeral"}, "display_width_px": 8, "display_height_px": 6}
    asked = {"messages": [HI], "max_tokens": 9, "tools": [tool]}
    done = run(client_tool, asked, facts(RESPONSES), source="anthropic")
    assert names(done.conversation.tools) == ANTHROPIC[kind]
    assert done.changes == [("/tools/0", "metadata", False)]
    assert all(made.hint is not None for made in done.conversation.tools if isinstance(made, Tool))
    assert run(client_tool, asked, facts("anthropic"), source="anthropic").untouched
    said = [made.description or b"" for made in done.conversation.tools if isinstance(made, Tool)]
    assert [b"8 pixels wide and 6 high" in words for words in said] == [kind.startswith("computer")] * len(said)


def test_a_set_of_tools_without_those_that_are_off() -> None:
    tool = {"type": "computer_toolset_20260801", "configs": {"zoom": {"enabled": False}, "key": {"enabled": True}}}
    use = {"type": "tool_use", "id": "t1", "name": "key", "toolset_name": "computer", "input": {"text": "a"}}
    asked = {"messages": [HI, {"role": "assistant", "content": [use]}], "max_tokens": 9, "tools": [tool]}
    done = run(client_tool, asked, facts(RESPONSES), source="anthropic")
    assert "computer__zoom" not in names(done.conversation.tools)
    assert len(done.conversation.tools) == 16
    assert done.conversation.messages[1].parts[0].name == "computer__key"  # type: ignore[attr-defined]
    assert done.undo.calls["computer__key"] == CallForm("key", fields={"toolset_name": b'"computer"'})


def test_adapt_for_real_providers() -> None:
    asked = {"messages": [HI], "max_tokens": 9, "tools": [{"type": "bash_20250124", "name": "bash"}]}
    done = sent(asked, "openai/gpt-4o", source="anthropic")
    (tool,) = done.json["tools"]
    assert (tool["function"]["name"], list(tool["function"]["parameters"]["properties"])) == (
        "bash",
        ["command", "restart"],
    )
    assert done.changes == [("client-tool", "/tools/0", "metadata", False)]
    assert sent(asked, "anthropic/claude-opus-4-8").changes == []
    assert sent(asked, "bedrock-anthropic/us.anthropic.claude-opus-4-8").changes == []


def test_tools_are_shown_at_once_if_nothing_searches_for_them() -> None:
    search = {"type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex"}
    tool = {"name": "look", "input_schema": {"type": "object"}}
    body = {"max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
    body["tools"] = [search, {**tool, "defer_loading": True}]
    done = sent(body, "bedrock-anthropic/us.anthropic.claude-opus-4-8", source="anthropic")
    assert done.json["tools"] == [tool]
    assert not sent(body, "anthropic/claude-opus-4-8", source="anthropic").changes


@pytest.mark.parametrize("target", ["anthropic/claude-sonnet-4-6", "openai/gpt-4o", "gemini/gemini-2.5-flash"])
@pytest.mark.parametrize(
    ("tool", "name"),
    [
        ({"type": "bash_20250124", "name": "bash"}, "bash"),
        ({"type": "text_editor_20250728", "name": "edit"}, "edit"),
        ({"type": "apply_patch"}, "apply_patch"),
        ({"type": "shell"}, "shell"),
    ],
)
def test_clients_of_chat_get_calls_of_functions(tool: dict[str, Any], name: str, target: str) -> None:
    """Chat has no form for such a tool, so that its client is called by the function's name and arguments."""
    call = {"id": "call_1", "type": "function", "function": {"name": name, "arguments": '{"command":"ls"}'}}
    turns = [
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": "a.txt"},
    ]
    done = adapt({"messages": turns, "tools": [tool]}, source="openai-chat", target=target)
    declared = done.json["tools"][0]
    declared = declared.get("function") or (declared.get("functionDeclarations") or [declared])[0]
    assert declared["name"] == name
    assert len(declared["description"]) > 20
    assert {one.rule for one in done.changes} == {"client-tool"} | {
        "required-setting" for one in done.changes if one.rule == "required-setting"
    }
    assert not done.undo.names


@pytest.mark.parametrize(
    ("choice", "made"),
    [
        ({"type": "function", "name": "read", "namespace": "files"}, {"type": "function", "name": "files__read"}),
        ({"type": "function", "name": "read"}, {"type": "function", "name": "files__read"}),
        ({"type": "function", "name": "look"}, {"type": "function", "name": "look"}),
        (
            {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "read"}]},
            {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "files__read"}]},
        ),
    ],
)
def test_a_choice_names_a_tool_of_a_namespace_by_its_whole_name(choice: dict[str, Any], made: dict[str, Any]) -> None:
    read, look = (
        {"type": "function", "name": name, "parameters": {"type": "object", "properties": {}}}
        for name in ("read", "look")
    )
    files = {"type": "namespace", "name": "files", "description": "Files.", "tools": [read]}
    given = {"model": "m", "input": "Hi", "tools": [files, look], "tool_choice": choice}
    done = adapt(given, target="xai-responses/grok-4.3", source="openai-responses")
    assert done.json["tool_choice"] == made
    named = [change.loses for change in done.changes if change.at == "/tool_choice"]
    assert named == (["nothing"] if made != choice else [])
    assert adapt(done.body, target="xai-responses/grok-4.3", source="openai-responses").changes == ()
