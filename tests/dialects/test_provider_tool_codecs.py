"""Tools that providers run, in the words of each vendor."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from tests.corpus import recorded_in

from dragoman.conversation.envelope import seal, unseal
from dragoman.conversation.parts import Opaque, Origin
from dragoman.conversation.provider_tools import Family, FoundPage, McpServer, ProviderTool, ProviderToolCodec, ToolRun
from dragoman.conversation.tools import NativeTool, Tool
from dragoman.dialects.registry import dialect


def codec(name: str) -> ProviderToolCodec:
    found = dialect(name).provider_tools
    assert found is not None
    return found


def block(wire: dict[str, Any], name: str) -> Opaque:
    return Opaque(kind=wire["type"], json=orjson.dumps(wire), origin=Origin(name))


DECLARED: list[tuple[str, str, dict[str, Any], ProviderTool]] = [
    (
        "anthropic",
        "web_search_20250305",
        {
            "type": "web_search_20250305",
            "name": "web_search",
            "allowed_domains": ["example.com"],
            "user_location": {"type": "approximate", "city": "Bonn"},
            "max_uses": 3,
        },
        ProviderTool(Family.WEB_SEARCH, ("example.com",), (), {"city": "Bonn"}, 3, name="web_search"),
    ),
    (
        "openai-responses",
        "web_search",
        {
            "type": "web_search",
            "filters": {"allowed_domains": ["example.com"]},
            "user_location": {"type": "approximate", "city": "Bonn"},
            "search_context_size": "low",
        },
        ProviderTool(Family.WEB_SEARCH, ("example.com",), (), {"city": "Bonn"}, depth="low", name="web_search"),
    ),
    (
        "openai-responses",
        "mcp",
        {
            "type": "mcp",
            "server_label": "wiki",
            "server_url": "https://wiki.example/mcp",
            "authorization": "t",
            "headers": {"x-a": "b"},
            "allowed_tools": {"read_only": True, "tool_names": ["ask"]},
            "require_approval": {"never": {"tool_names": ["ask"]}},
            "defer_loading": True,
        },
        ProviderTool(
            Family.MCP,
            name="mcp",
            server=McpServer(
                "wiki",
                "https://wiki.example/mcp",
                "t",
                {"x-a": "b"},
                ("ask",),
                read_only=True,
                approved=("ask",),
                deferred=True,
            ),
        ),
    ),
    (
        "openai-responses",
        "code_interpreter",
        {"type": "code_interpreter", "container": {"type": "auto"}},
        ProviderTool(Family.CODE, name="code_interpreter"),
    ),
    ("gemini", "googleSearch", {"googleSearch": {}}, ProviderTool(Family.WEB_SEARCH)),
    ("gemini", "urlContext", {"urlContext": {}}, ProviderTool(Family.WEB_FETCH)),
    (
        "openai-chat",
        "openrouter:web_search",
        {"type": "openrouter:web_search", "parameters": {"excluded_domains": ["b.example"], "max_uses": 2}},
        ProviderTool(Family.WEB_SEARCH, (), ("b.example",), {}, 2, name="openrouter:web_search"),
    ),
    (
        "openai-chat",
        "browser_search",
        {"type": "browser_search"},
        ProviderTool(Family.WEB_SEARCH, name="browser_search"),
    ),
]


@pytest.mark.parametrize(("name", "kind", "wire", "tool"), DECLARED, ids=lambda value: str(value)[:20])
def test_declarations_are_read_and_written(name: str, kind: str, wire: dict[str, Any], tool: ProviderTool) -> None:
    parsed = codec(name).parse_tool(NativeTool(kind, orjson.dumps(wire), Origin(name)), {})
    assert parsed == tool
    written = codec(name).render_tool(tool, kind)
    assert written is not None
    assert orjson.loads(written.json) == wire
    assert written.lost == ()


def test_a_server_and_its_toolset() -> None:
    anthropic = codec("anthropic")
    servers = b'[{"type":"url","name":"wiki","url":"https://wiki.example/mcp","authorization_token":"t"}]'
    toolset = (
        b'{"type":"mcp_toolset","mcp_server_name":"wiki","default_config":{"enabled":false},'
        b'"configs":{"ask":{"enabled":true}}}'
    )
    opened = anthropic.open_members({"mcp_servers": servers})
    tool = anthropic.parse_tool(NativeTool("mcp_toolset", toolset, Origin("anthropic")), opened)
    assert tool == ProviderTool(Family.MCP, server=McpServer("wiki", "https://wiki.example/mcp", "t", allowed=("ask",)))
    written = anthropic.render_tool(tool, "mcp_toolset")
    assert written is not None
    assert orjson.loads(written.json) == orjson.loads(toolset)
    assert orjson.loads(written.members["mcp_servers"]) == orjson.loads(servers)


def test_a_server_of_the_older_form() -> None:
    servers = b'[{"type":"url","name":"wiki","url":"https://w.example","tool_configuration":{"allowed_tools":["ask"]}}]'
    found = codec("anthropic").parse_members({"mcp_servers": servers})
    assert found == {
        "mcp_servers": (ProviderTool(Family.MCP, server=McpServer("wiki", "https://w.example", allowed=("ask",))),)
    }


@pytest.mark.parametrize(
    "server",
    [
        McpServer("a", "https://a.example", approved=()),
        McpServer("a", "https://a.example", headers={"x": "y"}),
        McpServer("a", "https://a.example", read_only=True),
        McpServer("a", "http://a.example"),
        McpServer("a"),
    ],
)
def test_what_the_connector_cannot_promise_is_not_declared(server: McpServer) -> None:
    assert codec("anthropic").render_tool(ProviderTool(Family.MCP, server=server), "mcp_toolset") is None


def test_settings_without_a_place_are_named() -> None:
    tool = ProviderTool(Family.WEB_SEARCH, (), ("b.example",), {}, 3, "low", further=("use_cache",))
    openai = codec("openai-responses").render_tool(tool, "web_search")
    claude = codec("anthropic").render_tool(tool, "web_search_20250305")
    assert openai is not None
    assert openai.lost == ("blocked_domains", "most_uses", "use_cache")
    assert claude is not None
    assert claude.lost == ("depth", "use_cache")


SEARCH = ToolRun(
    Family.WEB_SEARCH,
    "srvtoolu_1",
    "web_search",
    b'{"query":"sky"}',
    pages=(FoundPage("https://sky.example", "Sky", age="2 days ago"),),
)
RUNS = [
    ("gemini", ToolRun(Family.CODE, "", "", b'{"code":"print(1)"}', output="1")),
    ("bedrock", ToolRun(Family.CODE, "tooluse_1", "", b'{"code":"print(1)"}', output="1")),
    ("bedrock", ToolRun(Family.WEB_SEARCH, "tooluse_1", "", b'{"query":"sky"}')),
    ("anthropic", SEARCH),
    ("anthropic", ToolRun(Family.WEB_SEARCH, "srvtoolu_1", "web_search", b'{"query":"sky"}', error="unavailable")),
    (
        "anthropic",
        ToolRun(
            Family.WEB_FETCH,
            "srvtoolu_1",
            "web_fetch",
            b'{"url":"https://sky.example"}',
            pages=(FoundPage("https://sky.example", "Sky", "It is blue."),),
            goes_back=True,
        ),
    ),
    ("anthropic", ToolRun(Family.CODE, "srvtoolu_1", "code_execution", b'{"code":"print(1)"}', output="1")),
    ("anthropic", ToolRun(Family.MCP, "mcptoolu_1", "ask", b'{"q":1}', output="Yes.", server="wiki")),
    (
        "anthropic",
        ToolRun(
            Family.TOOL_SEARCH, "srvtoolu_1", "tool_search_tool_bm25", b'{"query":"rates"}', tools=(Tool("get_rate"),)
        ),
    ),
    (
        "openai-responses",
        ToolRun(Family.WEB_SEARCH, "ws_1", "", b'{"query":"sky"}', pages=(FoundPage("https://sky.example"),)),
    ),
    ("openai-responses", ToolRun(Family.WEB_FETCH, "ws_1", "", b'{"url":"https://sky.example"}')),
    ("openai-responses", ToolRun(Family.CODE, "ci_1", "", b'{"code":"print(1)"}', output="1")),
    ("openai-responses", ToolRun(Family.MCP, "mcp_1", "ask", b'{"q":1}', output="Yes.", server="wiki")),
    (
        "openai-responses",
        ToolRun(Family.FILE_SEARCH, "fs_1", "", b'{"queries":["who"]}', pages=(FoundPage("", "a.txt", "Me."),)),
    ),
]


@pytest.mark.parametrize(("name", "run"), RUNS, ids=lambda value: str(value)[:40])
def test_runs_are_written_and_read(name: str, run: ToolRun) -> None:
    halves = [codec(name).parse_run(one) for one in codec(name).render_run(run)]
    whole = halves[0]
    assert whole is not None
    for half in halves[1:]:
        assert whole.is_open
        assert half is not None
        assert half.is_result
        assert half.id == whole.id
        whole = whole.joined(half)
    assert whole == run


def test_a_search_of_tools_gives_whole_definitions() -> None:
    tool = Tool("get_rate", b'"Rates."', b'{"type":"object"}')
    call, result = codec("openai-responses").render_run(
        ToolRun(Family.TOOL_SEARCH, "x", arguments=b'{"query":"rates"}', tools=(tool,))
    )
    assert orjson.loads(call.json)["arguments"] == {"query": "rates"}
    (found,) = orjson.loads(result.json)["tools"]
    assert (found["type"], found["name"], found["parameters"]) == ("function", "get_rate", {"type": "object"})
    read = codec("openai-responses").parse_run(result)
    assert read is not None
    assert [one.name for one in read.tools] == ["get_rate"]


def test_a_state_of_ours_travels_with_the_first_page_and_comes_back() -> None:
    state = seal(Opaque(kind="web_search_call", json=b'{"id":"ws_1"}', origin=Origin("openai-responses")))
    pages = (FoundPage("https://a.example"), FoundPage("https://b.example"))
    run = ToolRun(Family.WEB_SEARCH, "ws_1", arguments=b'{"query":"sky"}', pages=pages, state=state)
    call, result = codec("anthropic").render_run(run)
    assert orjson.loads(call.json)["id"].startswith("srvtoolu_")
    entries = orjson.loads(result.json)["content"]
    assert all(unseal(entry["encrypted_content"]) is not None for entry in entries)
    read = codec("anthropic").parse_run(result)
    assert read is not None
    assert read.state == state


@pytest.mark.parametrize(
    "junk", [b"[]", b"{", b'{"content":7}', b'{"action":[],"outputs":3,"error":7,"arguments":"x"}']
)
@pytest.mark.parametrize("name", ["anthropic", "openai-responses", "gemini", "openai-chat", "bedrock"])
def test_junk_is_read_without_a_fault(name: str, junk: bytes) -> None:
    kinds = (
        *("server_tool_use", "mcp_tool_use", "web_search_tool_result", "web_fetch_tool_result", "mcp_tool_result"),
        *("bash_code_execution_tool_result", "tool_search_tool_result", "web_search_call", "mcp_call"),
        *("code_interpreter_call", "file_search_call", "tool_search_call", "tool_search_output", "toolUse"),
        *("toolResult", "toolCall", "toolResponse", "executableCode", "codeExecutionResult", "googleSearch"),
        *("systemTool", "openrouter:web_search"),
    )
    for kind in kinds:
        codec(name).parse_run(Opaque(kind=kind, json=junk, origin=Origin(name)))
        opened = codec(name).open_members({"mcp_servers": junk})
        codec(name).parse_tool(NativeTool(kind, junk, Origin(name)), opened)
        listed = b"[" + junk + b"]"
        codec(name).parse_members({"mcp_servers": listed, "web_search_options": junk, "plugins": listed})
        codec(name).parse_ending({"groundingMetadata": junk, "urlContextMetadata": junk, "executed_tools": listed})


def test_an_error_of_a_server_keeps_its_number() -> None:
    error = {"type": "http_error", "code": 502, "message": "gone"}
    item = {"type": "mcp_call", "id": "mcp_1", "server_label": "wiki", "name": "ask", "arguments": "{}", "error": error}
    run = codec("openai-responses").parse_run(block(item, "openai-responses"))
    assert run is not None
    (shown,) = codec("openai-responses").render_run(run)
    assert orjson.loads(shown.json)["error"] == error


def _objects(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, dict):
        return [value, *(found for inner in value.values() for found in _objects(inner))]
    return [found for inner in value for found in _objects(inner)] if isinstance(value, list) else []


def test_members_of_chat_that_ask_for_a_search() -> None:
    chat = codec("openai-chat")
    options = b'{"search_context_size":"low","user_location":{"type":"approximate","approximate":{"city":"Bonn"}}}'
    tool = ProviderTool(Family.WEB_SEARCH, location={"city": "Bonn"}, depth="low")
    assert chat.parse_members({"web_search_options": options}) == {"web_search_options": (tool,)}
    written = chat.render_tool(tool, "web_search_options")
    assert written is not None
    assert (written.json, orjson.loads(written.members["web_search_options"])) == (b"", orjson.loads(options))
    found = chat.parse_members({"plugins": b'[{"id":"web","include_domains":["a.example"]}]'})
    assert found == {"plugins": (ProviderTool(Family.WEB_SEARCH, ("a.example",)),)}
    filtered = chat.render_tool(ProviderTool(Family.WEB_SEARCH, ("a.example",), ("b.example",)), "search_domain_filter")
    assert filtered is not None
    assert orjson.loads(filtered.members["search_domain_filter"]) == ["a.example", "-b.example"]


def test_the_end_of_an_answer_tells_of_a_search() -> None:
    metadata = {
        "webSearchQueries": ["sky", "blue"],
        "groundingChunks": [{"web": {"uri": "https://sky.example", "title": "Sky"}}],
    }
    (run,) = codec("gemini").parse_ending({"groundingMetadata": orjson.dumps(metadata)})
    assert orjson.loads(run.arguments or b"") == {"query": "sky", "queries": ["sky", "blue"]}
    assert run.pages == (FoundPage("https://sky.example", "Sky"),)
    assert orjson.loads(codec("gemini").render_ending([run], [])["groundingMetadata"]) == metadata
    executed = {"type": "search", "index": 0, "arguments": '{"query": "sky"}', "output": "Blue."}
    (run,) = codec("openai-chat").parse_ending({"executed_tools": orjson.dumps([executed])})
    assert (run.family, run.arguments, run.output) == (Family.WEB_SEARCH, b'{"query":"sky"}', "Blue.")


_RUN_KINDS = {
    "anthropic": ("server_tool_use", "mcp_tool_use", "_tool_result"),
    "openai-responses": ("web_search_call", "code_interpreter_call", "file_search_call", "mcp_call"),
}


@pytest.mark.parametrize("name", sorted(_RUN_KINDS))
def test_recorded_runs_are_read(name: str) -> None:
    """Each block of a recorded request tells of a run; those of a second model, which no other vendor has, do not."""
    seen = 0
    for exchange in recorded_in(name):
        request = exchange["request"]
        for wire in _objects(request["body"] if request else None):
            kind = wire.get("type")
            if not isinstance(kind, str) or not kind.endswith(_RUN_KINDS[name]) or "advisor" in str(wire):
                continue
            run = codec(name).parse_run(block(wire, name))
            assert run is not None, wire
            assert run.arguments or run.output is not None or run.pages or run.tools or run.error, wire
            seen += 1
    assert seen > 8


RESPONSES: dict[str, tuple[dict[str, Any], tuple[str, ...], str | None]] = {
    "addresses": (
        {"result": ["https://a.example", "https://b.example"]},
        ("https://a.example", "https://b.example"),
        None,
    ),
    "pages": ({"result": [{"url": "https://a.example", "title": "A"}]}, ("https://a.example",), None),
    "markup for a page": ({"search_suggestions": "<style></style>"}, (), None),
    "something else": ({"moon": "far"}, (), '{"moon":"far"}'),
    "pages beside something else": (
        {"result": [{"url": "https://a.example"}, 7], "moon": "far"},
        ("https://a.example",),
        '{"result":[{"url":"https://a.example"},7],"moon":"far"}',
    ),
}


@pytest.mark.parametrize("case", RESPONSES)
def test_what_a_tool_of_google_answered_is_read_in_any_form(case: str) -> None:
    response, urls, output = RESPONSES[case]
    block = orjson.dumps({"toolResponse": {"id": "a", "toolType": "URL_CONTEXT", "response": response}})
    run = codec("gemini").parse_run(Opaque(kind="toolResponse", json=block, origin=Origin("gemini")))
    assert run is not None
    assert (tuple(page.url for page in run.pages), run.output) == (urls, output)
