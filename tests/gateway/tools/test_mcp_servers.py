"""Servers of tools: connections, sessions, lists, results and everything that a hostile server may try."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.gateway.tools.scripted_mcp import CHANGE, FIND, PROGRAM, Json, ScriptedMcp, scripted_mcp, text
from tests.gateway.upstream import Answer, Seen

from dragoman.config.schema.tools import ServerLogin, ToolsConfig, ToolServer
from dragoman.config.secret import Secret
from dragoman.conversation.parts import Inline, Media, MediaKind
from dragoman.gateway.tools import stdio_programs
from dragoman.gateway.tools.mcp_servers import CalledTool, McpServers, ToolListing

SMALL = ToolsConfig(answer_bytes=20_000, max_tools=10)


@pytest.fixture
def scripted() -> Iterator[ScriptedMcp]:
    with scripted_mcp() as one:
        yield one


@pytest.fixture
async def servers() -> AsyncIterator[McpServers]:
    made = McpServers(SMALL)
    yield made
    await made.close()
    assert [task for task in asyncio.all_tasks() if task is not asyncio.current_task()] == []


async def call(servers: McpServers, server: ToolServer, caller: str = "me", **arguments: Any) -> CalledTool:
    return await servers.try_call(caller, server, "find", arguments)


async def test_a_list_is_sorted_kept_and_told_by_the_server(servers: McpServers, scripted: ScriptedMcp) -> None:
    for caller in ("me", "you"):
        listing = await servers.try_list(caller, scripted.server())
        assert isinstance(listing, ToolListing)
        assert [(one.tool.name, one.read_only) for one in listing.tools] == [("change", False), ("find", True)]
    assert listing.tools[1].tool.description == b'"Finds things."'
    assert scripted.methods().count("tools/list") == 1


async def test_two_keys_and_two_credentials_never_share_a_session(servers: McpServers, scripted: ScriptedMcp) -> None:
    one, other = scripted.server(token=Secret("token-of-one")), scripted.server(token=Secret("token-of-another"))
    for caller, server in (("me", one), ("me", one), ("you", one), ("me", other)):
        assert (await call(servers, server, caller)).text == "found it"
    calls = [seen for seen in scripted.http.seen if seen.raw and seen.body["method"] == "tools/call"]
    used = [(seen.headers["mcp-session-id"], seen.headers["authorization"]) for seen in calls]
    assert used[0] == used[1]
    assert len(set(used)) == len(scripted.sessions) == 3


async def test_a_client_cannot_name_the_session_of_another(servers: McpServers, scripted: ScriptedMcp) -> None:
    headers = {"Mcp-Session-Id": Secret("session-of-another"), "Last-Event-Id": Secret("event-of-another")}
    assert (await call(servers, scripted.server(headers=headers))).text == "found it"
    sent = [value for seen in scripted.http.seen for value in seen.headers.values()]
    assert not [value for value in sent if value.endswith("-of-another")]


async def test_the_era_of_a_server_is_remembered(servers: McpServers, scripted: ScriptedMcp) -> None:
    await call(servers, scripted.server(), "me")
    await call(servers, scripted.server(), "you")
    assert scripted.methods().count("server/discover") == 1


def _error(code: int, message: str) -> Json:
    return {"jsonrpc": "2.0", "error": {"code": code, "message": message}, "id": None}


@pytest.mark.parametrize(
    "forgot",
    [
        (404, {}),
        (400, _error(-32000, "Bad Request: No valid session ID provided")),
        (400, _error(-32600, "Bad Request: Server not initialized")),
        (401, b"Unauthorized: Session not found"),
    ],
)
async def test_a_forgotten_session_is_opened_anew_and_the_call_made_once(
    servers: McpServers, scripted: ScriptedMcp, forgot: Answer
) -> None:
    made: list[Json] = []
    scripted.on_call = lambda params: (made.append(params), text("found it"))[1]
    await call(servers, scripted.server())
    old = scripted.sessions[0]
    scripted.before = lambda seen: forgot if seen.raw and seen.headers.get("mcp-session-id") == old else None
    assert (await call(servers, scripted.server())).text == "found it"
    assert len(made) == 2


async def test_a_server_that_became_an_older_one_is_asked_as_one(servers: McpServers, scripted: ScriptedMcp) -> None:
    def modern(seen: Seen) -> Answer:
        if not seen.raw:
            return 405, {}
        about = {"supportedVersions": ["2026-07-28"], "capabilities": {}, "serverInfo": {"name": "s", "version": "2"}}
        result = about if seen.body["method"] == "server/discover" else text("found it")
        kept = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
        return 200, {"jsonrpc": "2.0", "id": seen.body["id"], "result": {**kept, **result}}

    def older(seen: Seen) -> Answer | None:
        has_session = not seen.raw or seen.body["method"] == "initialize" or "mcp-session-id" in seen.headers
        return None if has_session else (400, _error(-32600, "Bad Request: Missing session ID"))

    scripted.before = modern
    await call(servers, scripted.server())
    assert "initialize" not in scripted.methods()
    scripted.before = older
    for caller in ("me", "you"):
        assert (await call(servers, scripted.server(), caller)).text == "found it"


async def test_a_call_that_takes_too_long_is_made_once(servers: McpServers, scripted: ScriptedMcp) -> None:
    made: list[Json] = []
    asked, free = threading.Event(), threading.Event()  # it does not tell anything by itself
    scripted.before = lambda seen: None if seen.raw else (asked.set(), (404, {}))[1]
    scripted.on_call = lambda params: (made.append(params), free.wait(10), text("too late"))[2]
    slow = scripted.server(timeout=1.0)
    await servers.try_list("me", slow)
    assert await asyncio.to_thread(asked.wait, 10)
    assert "no answer" in (await call(servers, slow)).text
    free.set()
    assert len(made) == 1


IMAGE, SOUND = MediaKind.IMAGE, MediaKind.AUDIO
RESULTS: dict[str, tuple[Json, CalledTool]] = {
    "text": (text("one\n{{two}}"), CalledTool("one\n{{two}}")),
    "error": (text("wrong arguments", isError=True), CalledTool("wrong arguments", "mcp_tool_execution_error")),
    "image": (
        {"content": [{"type": "image", "data": "AAAA", "mimeType": "image/png"}]},
        CalledTool("[image: image/png, 3 bytes]", media=(Media(kind=IMAGE, source=Inline("image/png", b'"AAAA"')),)),
    ),
    "sound": (
        {"content": [{"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}]},
        CalledTool("[audio: audio/wav, 3 bytes]", media=(Media(kind=SOUND, source=Inline("audio/wav", b'"AAAA"')),)),
    ),
    "no-base64": (
        {"content": [{"type": "image", "data": "AA A", "mimeType": "image/png"}]},
        CalledTool("[image: image/png, 3 bytes, not shown]"),
    ),
    "odd-type": (
        {"content": [{"type": "image", "data": "AAAA", "mimeType": 'image/png", evil'}]},
        CalledTool('[image: image/png", evil, 3 bytes, not shown]'),
    ),
    "resource": (
        {"content": [{"type": "resource", "resource": {"uri": "file:///a", "text": "inside"}}]},
        CalledTool("inside"),
    ),
    "blob": (
        {"content": [{"type": "resource", "resource": {"uri": "file:///a", "blob": "AAAA", "mimeType": "a/b"}}]},
        CalledTool("[file:///a: a/b, 3 bytes, not shown]"),
    ),
    "link": (
        {"content": [{"type": "resource_link", "uri": "http://169.254.169.254/", "name": "n", "description": "d"}]},
        CalledTool("n: http://169.254.169.254/ (d)"),
    ),
    "structured": ({"content": [], "structuredContent": {"a": 1}}, CalledTool('{"a":1}')),
}


@pytest.mark.parametrize("kind", RESULTS)
async def test_a_result_becomes_text(servers: McpServers, scripted: ScriptedMcp, kind: str) -> None:
    sent, read = RESULTS[kind]
    scripted.on_call = lambda params: sent
    assert await call(servers, scripted.server()) == read


async def test_a_picture_that_is_a_secret_is_not_shown(servers: McpServers, scripted: ScriptedMcp) -> None:
    token = "c2VjcmV0LXRva2VuLTEy"
    scripted.on_call = lambda params: {"content": [{"type": "image", "data": token, "mimeType": "image/png"}]}
    called = await call(servers, scripted.server(token=Secret(token)))
    assert called == CalledTool("[image: image/png, 15 bytes, not shown]")


async def test_a_result_that_does_not_fit_its_schema_is_shown_all_the_same(
    servers: McpServers, scripted: ScriptedMcp
) -> None:
    """The SDK would throw it away, and match a stranger's pattern against a stranger's text before."""
    slow = {"type": "object", "properties": {"a": {"type": "string", "pattern": "^(x+x+)+y$"}}, "required": ["a"]}
    scripted.tools = [{**FIND, "outputSchema": slow}]
    await servers.try_list("me", scripted.server())
    scripted.on_call = lambda params: text("as it is", structuredContent={"a": "x" * 40})
    assert await call(servers, scripted.server()) == CalledTool("as it is")


async def test_a_secret_that_a_server_repeats_is_taken_out(servers: McpServers, scripted: ScriptedMcp) -> None:
    server = scripted.server(token=Secret("token-0123456789"), headers={"X-Key": Secret("header-0123456789")})
    scripted.on_call = lambda params: text("you sent token-0123456789 and header-0123456789")
    assert (await call(servers, server)).text == "you sent [REDACTED] and [REDACTED]"
    scripted.on_call = lambda params: {"error": {"code": -32603, "message": "bad token-0123456789"}}
    assert await call(servers, server) == CalledTool(
        "The server of the tool failed: bad [REDACTED].", "mcp_protocol_error", -32603
    )


async def test_a_secret_in_the_refusal_to_open_is_taken_out(servers: McpServers, scripted: ScriptedMcp) -> None:
    refusal = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32600, "message": "no token-0123456789 here"}}
    scripted.before = lambda seen: (400, {**refusal, "id": (seen.body or {}).get("id")})
    found = await servers.try_list("me", scripted.server(token=Secret("token-0123456789")))
    assert found == "no [REDACTED] here"


def pages(forever: bool) -> Any:
    def listed(params: Json) -> Json:
        page = int(params.get("cursor") or 0)
        more = {"nextCursor": str(page + 1)} if forever or page < 2 else {}
        return {"tools": [{**CHANGE, "name": f"t{page}"}], **more}

    return listed


LISTS: dict[str, tuple[Json, str]] = {
    "three pages": ({"on_list": pages(False)}, "t0 t1 t2"),
    "pages without end": ({"on_list": pages(True)}, "more than 10 tools"),
    "empty pages without end": (
        {"on_list": lambda params: {"tools": [], "nextCursor": "again"}},
        "more than 100 pages",
    ),
    "many": ({"tools": [{**CHANGE, "name": f"t{n}"} for n in range(11)]}, "more than 10 tools"),
    "long": ({"tools": [{**CHANGE, "description": "x" * 30_000}]}, "longer than 20000 bytes"),
    "no list": ({"on_list": lambda params: {"tools": "none"}}, "did not answer as MCP has it"),
}


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[pytest.mark.slow] if "empty" in kind else []) for kind in LISTS]
)
async def test_lists_are_paged_and_bounded(servers: McpServers, scripted: ScriptedMcp, kind: str) -> None:
    more, expected = LISTS[kind]
    for name, value in more.items():
        setattr(scripted, name, value)
    listing = await servers.try_list("me", scripted.server())
    found = listing if isinstance(listing, str) else " ".join([one.tool.name for one in listing.tools])
    assert expected in found


async def test_a_huge_result_fails_alone(servers: McpServers, scripted: ScriptedMcp) -> None:
    scripted.on_call = lambda params: text("x" * 30_000) if params["arguments"] else text("small")
    result = await call(servers, scripted.server(), size=1)
    assert result.error == "mcp_protocol_error"
    assert "longer than 20000 bytes" in result.text
    assert await call(servers, scripted.server()) == CalledTool("small")
    assert len(scripted.sessions) == 1


async def test_a_slow_server_is_not_waited_for(servers: McpServers, scripted: ScriptedMcp) -> None:
    gate = threading.Event()
    await servers.try_list("me", scripted.server())
    scripted.on_call = lambda params: (gate.wait(60), text("late"))[1]
    assert await call(servers, scripted.server(timeout=0.3)) == CalledTool(
        "The server of the tool failed: no answer within 0.3 s.", "mcp_protocol_error"
    )
    gate.set()


async def test_a_cancelled_request_cancels_its_call(servers: McpServers, scripted: ScriptedMcp) -> None:
    began, told, gate = threading.Event(), threading.Event(), threading.Event()
    scripted.on_call = lambda params: (began.set(), gate.wait(60), text("late"))[2]

    def notice(seen: Seen) -> Answer | None:
        if seen.raw and seen.body["method"] == "notifications/cancelled":
            told.set()
        return None

    scripted.before = notice
    asked = asyncio.create_task(call(servers, scripted.server()))
    await asyncio.to_thread(began.wait, 60)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    assert await asyncio.to_thread(told.wait, 60)
    gate.set()


async def test_a_redirect_to_another_origin_is_not_followed(servers: McpServers, scripted: ScriptedMcp) -> None:
    with scripted_mcp() as inner:
        scripted.before = lambda seen: (307, {})
        scripted.http.headers["location"] = inner.url
        found = await servers.try_list("me", scripted.server(token=Secret("token-0123456789")))
        assert isinstance(found, str)
        assert inner.http.seen == []


LOGIN = {"client_id": "me", "client_secret": Secret("client-secret-1"), "scope": "tools"}


def log_in(scripted: ScriptedMcp, issuer: str) -> Any:
    """The answers of a server whose authorisation server is at `issuer`, and of that one too."""

    def answer(seen: Seen) -> Answer | None:
        metadata = {"issuer": issuer, "authorization_endpoint": f"{issuer}/go", "token_endpoint": f"{issuer}/token"}
        if "oauth-protected-resource" in seen.path:
            return 200, {"resource": scripted.url, "authorization_servers": [issuer]}
        if "oauth-authorization-server" in seen.path:
            return 200, {**metadata, "response_types_supported": ["code"]}
        if seen.path == "/token":
            return 200, {"access_token": "access-0123456789", "token_type": "Bearer", "expires_in": 3600}
        return None if seen.headers.get("authorization") == "Bearer access-0123456789" else (401, {})

    return answer


async def test_client_credentials_are_sent_to_their_issuer(servers: McpServers, scripted: ScriptedMcp) -> None:
    issuer = scripted.url.removesuffix("/mcp")
    scripted.before = log_in(scripted, issuer)
    scripted.on_call = lambda params: text("access-0123456789")
    result = await call(servers, scripted.server(oauth=ServerLogin(issuer=issuer, **LOGIN)))
    assert result == CalledTool("[REDACTED]")
    asked = next(seen for seen in scripted.http.seen if seen.path == "/token")
    assert b"grant_type=client_credentials" in asked.raw


async def test_a_server_cannot_name_who_gets_the_secret(servers: McpServers, scripted: ScriptedMcp) -> None:
    """Neither another authorisation server, nor one at an address that is not public, is asked anything."""
    with scripted_mcp() as thief:
        stolen = thief.url.removesuffix("/mcp")
        scripted.before = log_in(scripted, stolen)
        thief.before = log_in(scripted, stolen)
        login = ServerLogin(issuer="https://auth.example.com", **LOGIN)
        found = await servers.try_list("me", scripted.server(oauth=login))
        assert isinstance(found, str)
        assert thief.http.seen == []
        assert not [seen for seen in scripted.http.seen if b"client-secret-1" in seen.raw]


async def test_connections_are_bounded_and_the_oldest_goes(scripted: ScriptedMcp) -> None:
    servers = McpServers(ToolsConfig(max_connections=2))
    for caller in ("a", "b", "c", "a"):
        assert (await call(servers, scripted.server(), caller)).text == "found it"
    assert len(scripted.sessions) == 4
    await servers.close()


async def test_a_key_has_at_most_half_of_the_connections(
    scripted: ScriptedMcp, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes the place of its own oldest one, and never that of another key; if all of its own are in use, it waits
    while others are served."""
    servers = McpServers(ToolsConfig(max_connections=4))

    def owners() -> list[str]:
        return sorted(owner for owner, _ in servers._places)

    async def ask(caller: str, number: int) -> str:
        return (await call(servers, scripted.server(headers={"x-number": Secret(str(number))}), caller)).text

    for caller, number in (("a", 0), *[("greedy", number) for number in range(5)], ("b", 0), ("c", 0)):
        assert await ask(caller, number) == "found it"
    assert owners() == ["a", "b", "c", "greedy"], "who has the most makes room"
    assert await ask("greedy", 5) == "found it"
    assert owners() == ["b", "c", "greedy", "greedy"]
    monkeypatch.setattr(type(next(iter(servers._places.values()))), "free", False)
    assert "all connections that a key may have are in use" in await ask("greedy", 6)
    assert "all connections to servers of tools are in use" in await ask("d", 0)
    servers.config = ToolsConfig(max_connections=5)
    assert "all connections that a key may have are in use" in await ask("greedy", 6)
    assert await ask("d", 0) == "found it"
    await servers.close()


async def test_an_idle_connection_closes_itself(scripted: ScriptedMcp) -> None:
    servers = McpServers(ToolsConfig(idle=0.05))
    await call(servers, scripted.server())
    place = next(iter(servers._places.values()))
    assert place.connection is not None
    await asyncio.wait({place.connection.task})
    assert (await call(servers, scripted.server())).text == "found it"
    assert len(scripted.sessions) == 2
    await servers.close()


REFUSALS = {401: "it answered 401", 403: "it answered 403", 404: "it answered 404", 500: "it answered 500"}


async def test_an_error_of_mcp_is_told_although_the_older_way_is_refused(
    servers: McpServers, scripted: ScriptedMcp
) -> None:
    scripted.before = lambda seen: (400, _error(-32022, "no version in common")) if seen.raw else (405, {})
    assert await servers.try_list("me", scripted.server()) == "no version in common"


@pytest.mark.parametrize("status", REFUSALS)
async def test_a_refusal_is_told_by_its_status(servers: McpServers, scripted: ScriptedMcp, status: int) -> None:
    scripted.before = lambda seen: (status, {"secret": "of the server"})
    assert await servers.try_list("me", scripted.server()) == REFUSALS[status]


async def test_a_server_that_is_not_there_is_told_by_its_origin(servers: McpServers) -> None:
    found = await servers.try_list("me", ToolServer(url="http://127.0.0.1:1/mcp?key=secret"))
    assert isinstance(found, str)
    assert found.startswith("http://127.0.0.1:1: it cannot be reached")
    assert "secret" not in found


async def test_a_program_gets_its_own_environment_alone(servers: McpServers, monkeypatch: Any) -> None:
    monkeypatch.setenv("PROVIDER_API_KEY", "key-of-a-provider")
    server = ToolServer(
        command=(sys.executable, "-c", PROGRAM), env={"OWN": Secret("own"), "KEY": Secret("secret-123")}
    )
    environment = json.loads((await call(servers, server)).text)
    assert environment["OWN"] == "own"
    assert environment["KEY"] == "[REDACTED]"
    assert "PROVIDER_API_KEY" not in environment
    await servers.close()
    with contextlib.suppress(ProcessLookupError):
        os.kill(environment["pid"], 0)
        raise AssertionError("the program still runs")


async def test_a_program_that_ends_at_a_question_of_the_newer_era_is_asked_as_before(servers: McpServers) -> None:
    older = PROGRAM.replace("error = {", 'sys.exit(1) if method == "server/discover" else None; error = {')
    assert older != PROGRAM
    told = await call(servers, ToolServer(command=(sys.executable, "-c", older)))
    assert json.loads(told.text)["pid"]


async def test_a_program_that_says_too_much_is_ended(servers: McpServers) -> None:
    server = ToolServer(command=(sys.executable, "-c", PROGRAM))
    assert (await call(servers, server, size=30_000)).error == "mcp_protocol_error"
    assert len((await call(servers, server, size=300)).text) == 300


async def test_a_program_that_cannot_be_started_is_told(servers: McpServers) -> None:
    found = await servers.try_list("me", ToolServer(command=("/nowhere/to/be/found",)))
    assert found == "it cannot be started or reached (No such file or directory)"


async def test_a_secret_in_a_list_of_tools_is_taken_out(servers: McpServers, scripted: ScriptedMcp) -> None:
    schema = {"type": "object", "properties": {"what": {"type": "string", "default": "token-0123456789"}}}
    told = {"name": "find", "description": 'Send "token-0123456789".', "inputSchema": schema}
    scripted.tools = [told, {**CHANGE, "name": "token-0123456789"}]
    listing = await servers.try_list("me", scripted.server(token=Secret("token-0123456789")))
    assert isinstance(listing, ToolListing)
    [one] = listing.tools
    assert one.tool.description == rb'"Send \"[REDACTED]\"."'
    assert json.loads(one.tool.schema or b"") == {
        "type": "object", "properties": {"what": {"type": "string", "default": "[REDACTED]"}},
    }  # fmt: skip


async def test_credentials_in_headers_and_urls_are_taken_out(servers: McpServers, scripted: ScriptedMcp) -> None:
    server = scripted.server(headers={"Authorization": Secret("Bearer bare-0123456789")})
    server = replace(server, url=f"{server.url}?short=words&key=query-0123456789")
    scripted.on_call = lambda params: text("bare-0123456789, query-0123456789, words")
    assert (await call(servers, server)).text == "[REDACTED], [REDACTED], words"


async def test_a_secret_that_begins_like_another_leaves_nothing_of_it(
    servers: McpServers, scripted: ScriptedMcp
) -> None:
    server = scripted.server(token=Secret("secret-01"), headers={"X-Key": Secret("secret-0123456789")})
    scripted.on_call = lambda params: text("secret-0123456789 secret-01")
    assert (await call(servers, server)).text == "[REDACTED] [REDACTED]"


async def test_what_the_sdk_quotes_of_an_answer_is_not_shown(servers: McpServers, scripted: ScriptedMcp) -> None:
    await call(servers, scripted.server())
    scripted.on_call = lambda params: (200, b'{"jsonrpc": "2.0", "id": "half a secret"')
    assert await call(servers, scripted.server()) == CalledTool(
        "The server of the tool failed: it did not answer as MCP has it.", "mcp_protocol_error"
    )


MANY: dict[str, Json] = {
    "blocks": {"content": [{"type": "text", "text": ""}] * 70},
    "values": {"content": [], "structuredContent": {"a": [[]] * 210}},
}


@pytest.mark.parametrize("kind", MANY)
async def test_an_answer_of_many_values_fails_alone(scripted: ScriptedMcp, kind: str) -> None:
    """The SDK takes seconds for four million bytes of them, on the event loop."""
    servers = McpServers(ToolsConfig(answer_values=200))
    scripted.on_call = lambda params: MANY[kind] if params["arguments"] else text("a, [b], {c}, " * 1000)
    result = await call(servers, scripted.server(), many=True)
    assert result.error == "mcp_protocol_error"
    assert "more than 200 values" in result.text
    assert (await call(servers, scripted.server())).text == "a, [b], {c}, " * 1000  # a text is one value
    await servers.close()


CHILD = f"""
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"], stdin=subprocess.DEVNULL)
exec({PROGRAM!r}.replace("os.getpid()", str(child.pid)))
"""


def is_running(pid: int) -> bool:
    """Whether a process runs. One that nobody has asked for its end yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


async def end_of(child: int) -> None:
    for _ in range(600):
        if not is_running(child):
            return
        await asyncio.sleep(0.1)
    raise AssertionError("it still runs")


async def test_what_a_program_leaves_behind_ends_with_it(servers: McpServers) -> None:
    server = ToolServer(command=(sys.executable, "-c", CHILD))
    child = json.loads((await call(servers, server)).text)["pid"]
    assert is_running(child)
    await servers.close()
    await end_of(child)


async def test_nobody_goes_on_waiting_for_a_program_that_is_slow_to_end(
    servers: McpServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fixture sees every task that is left."""
    monkeypatch.setattr(stdio_programs, "_GRACE", 0)
    called = await call(servers, ToolServer(command=(sys.executable, "-c", CHILD)))
    await servers.close()
    assert [task for task in asyncio.all_tasks() if task is not asyncio.current_task()] == []
    await end_of(json.loads(called.text)["pid"])
    await asyncio.sleep(0.2)  # the loop hears of the end
