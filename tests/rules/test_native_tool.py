"""`native-tool`: tools that only their own provider runs."""

from __future__ import annotations

from typing import Any

import pytest
from tests.rules.runs import facts, leaves_alone, run, sent

from dragoman import adapt
from dragoman.conversation.tools import ChoiceMode
from dragoman.rules.clean.native_tool import native_tool

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


test_untouched = leaves_alone(native_tool, UNTOUCHED, source=RESPONSES)


def test_adapt_for_real_providers() -> None:
    asked = {"messages": [HI], "max_tokens": 9, "tools": [{"type": "web_search_20250305", "name": "web_search"}]}
    done = sent(asked, "deepseek/deepseek-chat", source="anthropic")
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


# The target's own tool


WEB = {"type": "web_search_20250305", "name": "web_search"}
CODE = {"type": "code_execution_20250825", "name": "code_execution"}
LOOKUP = {"name": "lookup", "input_schema": {"type": "object", "properties": {}}}


def claude(*tools: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"messages": [HI], "max_tokens": 100, "tools": list(tools), **more}


PROMPT = {"role": "user", "parts": [{"text": "Hi"}]}
DECLARED = {"name": "lookup", "parametersJsonSchema": {"type": "object", "properties": {}}}
OWN: dict[str, tuple[dict[str, Any], str, str, dict[str, Any]]] = {
    "a search with limits that the target has too": (
        claude({**WEB, "allowed_domains": ["a.example"], "user_location": {"type": "approximate", "city": "Bonn"}}),
        "anthropic",
        "openai-responses/gpt-4.1",
        {
            "tools": [
                {
                    "type": "web_search",
                    "filters": {"allowed_domains": ["a.example"]},
                    "user_location": {"type": "approximate", "city": "Bonn"},
                }
            ]
        },
    ),
    "a search beside functions, with the flag for both": (
        claude(WEB, LOOKUP),
        "anthropic",
        "gemini/gemini-3-pro",
        {
            "tools": [
                {"googleSearch": {}},
                {"functionDeclarations": [DECLARED]},
            ],
            "toolConfig": {"includeServerSideToolInvocations": True},
        },
    ),
    "code beside functions needs no flag": (
        claude(CODE, LOOKUP),
        "anthropic",
        "gemini/gemini-3-pro",
        {"tools": [{"codeExecution": {}}, {"functionDeclarations": [DECLARED]}], "toolConfig": None},
    ),
    "its own search beside functions, with the flag for both": (
        {"contents": [PROMPT], "tools": [{"functionDeclarations": [DECLARED]}, {"google_search": {}}]},
        "gemini",
        "gemini/gemini-3-pro",
        {
            "tools": [{"functionDeclarations": [DECLARED]}, {"google_search": {}}],
            "toolConfig": {"includeServerSideToolInvocations": True},
        },
    ),
    "a search that only the provider's other API has": (
        claude(WEB, LOOKUP),
        "anthropic",
        "openai/gpt-4o",
        {"tools": [{"type": "web_search"}, {**FUNCTION, "name": "lookup", "strict": False}]},
    ),
    "a search by a member that only the provider's other API has": (
        {"messages": [HI], "web_search_options": {}},
        "openai-chat",
        "openai/gpt-5",
        {"tools": [{"type": "web_search"}], "web_search_options": None},
    ),
    "a search alone, for a target that does not mix": (
        claude(WEB),
        "anthropic",
        "gemini/gemini-2.5-flash",
        {"tools": [{"googleSearch": {}}], "toolConfig": None},
    ),
    "a search and fetching are one tool": (
        claude(WEB, {"type": "web_fetch_20250910", "name": "web_fetch"}),
        "anthropic",
        "openai-responses/gpt-4.1",
        {"tools": [{"type": "web_search"}]},
    ),
    "a search by a member": (
        {"messages": [HI], "web_search_options": {"search_context_size": "low"}},
        "openai-chat",
        "openai-responses/gpt-4.1",
        {"tools": [{"type": "web_search", "search_context_size": "low"}]},
    ),
    "a member for a search": (
        body(SEARCH),
        RESPONSES,
        "openai/gpt-4o-search-preview",
        {"tools": None, "web_search_options": {}},
    ),
    "code": (
        body({"type": "code_interpreter", "container": {"type": "auto"}}),
        RESPONSES,
        "anthropic/claude-opus-4-8",
        {"tools": [{"type": "code_execution_20250825", "name": "code_execution"}]},
    ),
    "code by Nova": (
        claude({"type": "code_execution_20250825", "name": "code_execution"}),
        "anthropic",
        "bedrock/amazon.nova-2-lite-v1:0",
        {"toolConfig": {"tools": [{"systemTool": {"name": "nova_code_interpreter"}}]}},
    ),
    "a router's search": (
        claude({**WEB, "max_uses": 2}),
        "anthropic",
        "openrouter/openai/gpt-4o",
        {"tools": [{"type": "openrouter:web_search", "parameters": {"max_uses": 2}}]},
    ),
}


UNMIXED: dict[str, tuple[dict[str, Any], str, list[dict[str, Any]], str]] = {
    "another's": (
        claude(WEB, CODE, LOOKUP),
        "anthropic",
        [{"codeExecution": {}}, {"functionDeclarations": [DECLARED]}],
        "/tools/0",
    ),
    "its own": (
        {"contents": [PROMPT], "tools": [{"functionDeclarations": [DECLARED]}, {"google_search": {}}]},
        "gemini",
        [{"functionDeclarations": [DECLARED]}],
        "/tools/1",
    ),
}


@pytest.mark.parametrize("name", UNMIXED)
def test_a_search_is_not_sent_beside_functions_to_a_target_that_refuses_both(name: str) -> None:
    asked, source, tools, place = UNMIXED[name]
    done = sent(asked, "gemini/gemini-2.5-flash", source=source)
    assert done.json["tools"] == tools
    assert [change[1:3] for change in done.changes if change[2] == "content"] == [(place, "content")]


@pytest.mark.parametrize("name", OWN)
def test_the_targets_own_tool_takes_its_place(name: str) -> None:
    asked, source, target, members = OWN[name]
    done = sent(asked, target, source=source)
    assert {member: done.json.get(member) for member in members} == members
    assert {(rule, loses) for rule, _, loses, _ in done.changes if rule == "native-tool"} == {
        ("native-tool", "nothing")
    }


def test_a_tool_that_has_no_counterpart_there_goes() -> None:
    assert "tools" not in sent(claude(WEB), "deepseek/deepseek-chat", source="anthropic").json
    done = sent(claude(WEB, LOOKUP), "gemini/gemini-2.5-flash", source="anthropic")
    assert [list(tool) for tool in done.json["tools"]] == [["functionDeclarations"]]
    assert ("native-tool", "/tools/0", "content", False) in done.changes
    unsure = sent(claude(WEB, LOOKUP), "vertex/gemini-3-pro", source="anthropic")
    assert [list(tool) for tool in unsure.json["tools"]] == [["functionDeclarations"]]


def test_settings_that_the_target_lacks_are_reported() -> None:
    done = run(
        native_tool,
        claude({**WEB, "max_uses": 2}),
        facts("openai-responses", provider_tools={"web-search": "web_search"}),
        source="anthropic",
    )
    assert done.did == ["declared web_search_20250305 as web_search, without most_uses"]
    assert done.changes == [("/tools/0", "authority", False)]


SERVER = {"type": "url", "name": "wiki", "url": "https://wiki.example/mcp", "authorization_token": "secret"}
TOOLSET = {"type": "mcp_toolset", "mcp_server_name": "wiki"}
MCP = {"type": "mcp", "server_label": "wiki", "server_url": "https://wiki.example/mcp", "authorization": "secret"}


def test_servers_of_tools_both_ways() -> None:
    there = sent(claude(TOOLSET, mcp_servers=[SERVER]), "openai-responses/gpt-4.1", source="anthropic")
    assert there.json["tools"] == [{**MCP, "require_approval": "never"}]
    assert "mcp_servers" not in there.json
    older = sent(claude(mcp_servers=[SERVER]), "openai-responses/gpt-4.1", source="anthropic")
    assert older.json["tools"] == there.json["tools"]
    never = {**MCP, "require_approval": "never", "allowed_tools": ["ask"]}
    login = {"require_approval": "never", "headers": {"Authorization": "Bearer secret"}}
    assert sent(body({**MCP, **login, "authorization": ""}), "anthropic/claude-opus-4-8", source=RESPONSES).json[
        "mcp_servers"
    ] == [SERVER]
    back = sent(body(never, {**never, "server_label": "docs"}), "anthropic/claude-opus-4-8", source=RESPONSES)
    assert back.json["mcp_servers"] == [SERVER, {**SERVER, "name": "docs"}]
    allowed = {"default_config": {"enabled": False}, "configs": {"ask": {"enabled": True}}}
    assert back.json["tools"] == [{**TOOLSET, **allowed}, {**TOOLSET, "mcp_server_name": "docs", **allowed}]


def test_a_server_of_googles_clients() -> None:
    reached = {"url": "https://wiki.example/mcp", "headers": {"Authorization": "Bearer secret"}}
    server = {"name": "wiki", "streamableHttpTransport": reached}
    asked = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}], "tools": [{"mcpServers": [server]}]}
    assert sent(asked, "gemini/gemini-2.5-flash", source="gemini").json == asked
    done = sent(asked, "anthropic/claude-opus-4-8", source="gemini")
    assert (done.json["mcp_servers"], done.json["tools"]) == ([SERVER], [TOOLSET])
    several = {**asked, "tools": [{"mcpServers": [server, {**server, "name": "docs"}]}]}
    assert "mcp_servers" not in sent(several, "anthropic/claude-opus-4-8", source="gemini").json


def test_a_server_in_the_form_of_chat() -> None:
    server = {**MCP, "require_approval": "never"}
    asked = {"messages": [{"role": "user", "content": "Hi"}], "tools": [server]}
    assert sent(asked, "groq/openai/gpt-oss-120b", source="openai-chat").json["tools"] == [server]
    done = sent(asked, "anthropic/claude-opus-4-8", source="openai-chat")
    assert (done.json["mcp_servers"], done.json["tools"]) == ([SERVER], [TOOLSET])
    assert sent(asked, "openai/gpt-4.1", source="openai-chat").json["tools"] == [server]
    described = {**asked, "tools": [{**server, "server_description": "All that is known."}]}
    (declared,) = adapt(described, source="openai-chat", target="anthropic/claude-opus-4-8").changes[:1]
    assert (declared.did, declared.loses) == ("declared mcp as mcp_toolset, without server_description", "metadata")


@pytest.mark.parametrize(
    ("source", "target"),
    [(RESPONSES, "anthropic/claude-opus-4-8"), ("openai-chat", "openai/gpt-4.1")],
    ids=["the target does not ask", "the client is not asked"],
)
def test_a_server_whose_calls_need_an_approval_is_not_given_to_others(source: str, target: str) -> None:
    turns = {"input": "Hi"} if source == RESPONSES else {"messages": [{"role": "user", "content": "Hi"}]}
    done = sent({**turns, "tools": [MCP]}, target, source=source)
    assert "mcp_servers" not in done.json
    assert "tools" not in done.json
    assert ("native-tool", "/tools/0", "content", False) in done.changes


def test_each_of_googles_apis_has_tools_of_its_own() -> None:
    turn = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}
    vertex = {**turn, "tools": [{"enterpriseWebSearch": {}}, {"retrieval": {"vertexAiSearch": {}}}]}
    assert sent(vertex, "vertex/gemini-2.5-flash", source="gemini").json == vertex
    assert sent(vertex, "gemini/gemini-2.5-flash", source="gemini").json["tools"] == [{"googleSearch": {}}]
    studio = {**turn, "tools": [{"fileSearch": {"fileSearchStoreNames": ["s"]}}]}
    assert sent(studio, "gemini/gemini-2.5-flash", source="gemini").json == studio
    assert sent(studio, "vertex/gemini-2.5-flash", source="gemini").json == turn
    assert sent(studio, "gemini-native-compatible/some-model", source="gemini").json == studio


def test_tools_that_a_search_finds_stay_deferred() -> None:
    deferred = {**LOOKUP, "defer_loading": True}
    search = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}
    there = sent(claude(search, deferred), "openai-responses/gpt-5.6", source="anthropic").json["tools"]
    assert [(tool["type"], tool.get("defer_loading")) for tool in there] == [("tool_search", None), ("function", True)]
    space = {"type": "namespace", "name": "s", "tools": [{**FUNCTION, "defer_loading": True}]}
    asked = body({"type": "tool_search"}, space)
    back = sent(asked, "anthropic/claude-opus-4-8", source=RESPONSES).json["tools"]
    assert [(tool["name"], tool.get("defer_loading")) for tool in back] == [
        ("tool_search_tool_bm25", None),
        ("s__f", True),
    ]
    unaware = sent(asked, "deepseek/deepseek-chat", source=RESPONSES).json["tools"]
    assert [tool["function"]["name"] for tool in unaware] == ["s__f"]


CHOICES: dict[str, tuple[dict[str, Any], str, str, Any]] = {
    "by name": (
        claude(WEB, tool_choice={"type": "tool", "name": "web_search"}),
        "anthropic",
        "openai-responses/gpt-4.1",
        "required",
    ),
    "by type": (
        body({"type": "web_search_preview"}, tool_choice={"type": "web_search_preview"}),
        RESPONSES,
        "anthropic/claude-opus-4-8",
        {"type": "any"},
    ),
    "if nothing can be forced": (
        claude(WEB, tool_choice={"type": "tool", "name": "web_search"}),
        "anthropic",
        "gemini/gemini-2.5-flash",
        None,
    ),
    "of a tool that is left out": (
        claude(WEB, LOOKUP, tool_choice={"type": "tool", "name": "web_search"}),
        "anthropic",
        "deepseek/deepseek-chat",
        None,
    ),
    "one among others": (
        claude(WEB, LOOKUP, tool_choice={"type": "tool", "name": "web_search"}),
        "anthropic",
        "openai-responses/gpt-4.1",
        None,
    ),
}


@pytest.mark.parametrize("name", CHOICES)
def test_a_choice_of_a_providers_tool(name: str) -> None:
    asked, source, target, choice = CHOICES[name]
    done = sent(asked, target, source=source)
    assert done.json.get("tool_choice") == choice
    assert done.json.get("toolConfig") is None
    assert [rule for rule, at, *_ in done.changes if at == "/tool_choice"] == ["native-tool"]


def test_a_server_of_tools_is_sent_with_the_beta_that_it_needs() -> None:
    server = {
        "type": "mcp",
        "server_label": "wiki",
        "server_url": "https://mcp.example.com",
        "require_approval": "never",
    }
    asked = {"input": "Hi", "tools": [server]}
    done = adapt(asked, source="openai-responses", target="anthropic/claude-sonnet-4-6")
    assert done.json["mcp_servers"][0]["name"] == "wiki"
    assert done.headers["anthropic-beta"] == "mcp-client-2025-11-20"
    plain = {"input": "Hi", "tools": [{"type": "web_search"}]}
    assert "anthropic-beta" not in adapt(plain, source="openai-responses", target="anthropic/claude-sonnet-4-6").headers


def test_a_tool_that_nobody_else_has_is_left_out_beside_functions_as_well() -> None:
    contents = [{"role": "user", "parts": [{"text": "Where?"}]}]
    tools = [{"functionDeclarations": [{"name": "look", "description": "Look."}]}, {"googleMaps": {}}]
    done = adapt({"contents": contents, "tools": tools}, source="gemini", target="gemini/gemini-2.5-flash")
    assert done.json["tools"] == tools[:1]
    assert "toolConfig" not in done.json
    assert [(change.rule, change.at) for change in done.changes] == [("native-tool", "/tools/1")]


OTHERS_WORDS: dict[str, tuple[dict[str, Any], str, dict[str, Any]]] = {
    "Claude's search for Claude": (
        {"type": "web_search_20250305", "name": "web_search", "max_uses": 3},
        "anthropic/claude-sonnet-4-6",
        {"type": "web_search_20250305", "name": "web_search", "max_uses": 3},
    ),
    "Claude's search": (
        {"type": "web_search_20250305", "name": "web_search", "allowed_domains": ["example.com"]},
        "openai-responses/gpt-5",
        {"type": "web_search", "filters": {"allowed_domains": ["example.com"]}},
    ),
    "Google's search for Google": ({"google_search": {}}, "gemini/gemini-2.5-flash", {"googleSearch": {}}),
    "Google's search": (
        {"googleSearch": {}},
        "anthropic/claude-sonnet-4-5",
        {"type": "web_search_20250305", "name": "web_search"},
    ),
    "Google's runs of code": (
        {"code_execution": {}},
        "openai-responses/gpt-5",
        {"type": "code_interpreter", "container": {"type": "auto"}},
    ),
    "OpenAI's runs of code": (
        {"type": "code_interpreter", "container": {"type": "auto"}},
        "gemini/gemini-2.5-flash",
        {"codeExecution": {}},
    ),
}


@pytest.mark.parametrize("name", OTHERS_WORDS)
def test_clients_of_chat_write_it_in_the_words_of_any_vendor(name: str) -> None:
    tool, target, own = OTHERS_WORDS[name]
    done = adapt({"messages": [HI], "tools": [tool]}, source="openai-chat", target=target)
    assert done.json["tools"] == [own]
    if "type" in tool:
        assert adapt({"messages": [HI], "tools": [tool]}, source="ollama", target=target).json["tools"] == [own]
    assert ("native-tool", "/tools/0") in [(one.rule, one.at) for one in done.changes]


@pytest.mark.parametrize(
    "tool", [{"google_search": {}}, {"type": "web_search_20250305", "name": "web_search"}], ids=["Google", "Claude"]
)
def test_an_api_that_checks_its_tools_gets_its_own_words(tool: dict[str, Any]) -> None:
    for target in ("openai-responses/gpt-5", "xai-responses/grok-4.3"):
        assert adapt(body(tool), source=RESPONSES, target=target).json["tools"] == [SEARCH]


def test_what_a_proxy_may_know_goes_to_it_as_it_is() -> None:
    tools = [{"type": "web_search_20250305", "name": "web_search"}, {"google_search": {}}, {"type": "bash_20250124"}]
    done = adapt({"messages": [HI], "tools": tools}, source="openai-chat", target="openai-compatible/m")
    assert (done.json["tools"], done.changes) == (tools, ())


def test_a_server_that_stands_elsewhere_is_not_made_up() -> None:
    toolset = {"type": "mcp_toolset", "mcp_server_name": "x"}
    done = adapt({"messages": [HI], "tools": [toolset]}, source="openai-chat", target="anthropic/claude-sonnet-4-6")
    assert "tools" not in done.json
    assert [(one.did, one.loses) for one in done.changes if one.rule == "native-tool"] == [
        ("left out the mcp_toolset tool of openai-chat", "content")
    ]


@pytest.mark.parametrize(
    ("tool", "made", "gone"),
    [
        ({"type": "web_search", "user_location": {"type": "approximate"}}, SEARCH, "user_location"),
        ({"type": "web_search", "filters": {"allowed_domains": ["a.example"]}}, None, ""),
        ({"type": "file_search", "vector_store_ids": ["v"], "ranking_options": {}}, None, "ranking_options"),
        ({"type": "mcp", "server_label": "s", "server_url": "https://s.example"}, None, ""),
    ],
)
def test_members_of_its_own_tool_that_the_target_refuses(
    tool: dict[str, Any], made: dict[str, Any] | None, gone: str
) -> None:
    done = adapt(body(tool), source=RESPONSES, target="xai-responses/grok-4.3")
    assert done.json["tools"] == [made or {name: value for name, value in tool.items() if name != gone}]
    report = [(one.rule, one.at, one.did, one.loses) for one in done.changes]
    said = ("native-tool", "/tools/0", f"took `{gone}` out of the {tool['type']} tool", "metadata")
    assert report == ([said] if gone else [])
    assert adapt(body(tool), source=RESPONSES, target="openai-responses/gpt-5").changes == ()


def test_what_a_member_asked_for_is_reported_at_the_member() -> None:
    options = {"search_context_size": "low", "user_location": {"type": "approximate", "approximate": {"country": "DE"}}}
    request = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "web_search_options": options}
    changes = adapt(request, target="xai-responses/grok-4.3", source="openai-chat").changes
    assert [change.at for change in changes if change.rule == "native-tool"] == ["/web_search_options"] * 2
