"""MCP servers that do what a test wants of them: over HTTP in the older era, and as a program.

They speak the protocol by hand, and share nothing with the SDK.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.gateway.upstream import Answer, Seen, Upstream, upstream

from dragoman.config.schema.tools import ToolServer

Json = dict[str, Any]
FIND = {
    "name": "find",
    "description": "Finds things.",
    "inputSchema": {"type": "object", "properties": {"what": {"type": "string"}}},
    "annotations": {"readOnlyHint": True},
}
CHANGE = {"name": "change", "inputSchema": {"type": "object"}}


def text(said: str, **more: Any) -> Json:
    return {"content": [{"type": "text", "text": said}], **more}


@dataclass
class ScriptedMcp:
    """A server with a session for each `initialize`. `on_call` answers calls: a result, or an HTTP answer."""

    tools: list[Json] = field(default_factory=lambda: [FIND, CHANGE])
    on_call: Callable[[Json], Json | Answer] = lambda params: text("found it")
    on_list: Callable[[Json], Json] | None = None
    before: Callable[[Seen], Answer | None] = lambda seen: None
    sessions: list[str] = field(default_factory=list)
    http: Upstream = field(default_factory=lambda: Upstream(lambda seen: None))

    @property
    def url(self) -> str:
        return self.http.url.removesuffix("/v1") + "/mcp"

    def server(self, **more: Any) -> ToolServer:
        return ToolServer(url=self.url, **{"timeout": 20.0, **more})

    def methods(self) -> list[str]:
        return [seen.body["method"] for seen in self.http.seen if seen.raw]

    def answer(self, seen: Seen) -> Answer:
        refused = self.before(seen)
        if refused is not None:
            return refused
        if not seen.raw:
            return 405, {}
        message, session = seen.body, seen.headers.get("mcp-session-id")
        self.http.headers.pop("mcp-session-id", None)
        if message["method"] == "initialize":
            self.sessions.append(f"session-{len(self.http.seen)}")
            self.http.headers["mcp-session-id"] = self.sessions[-1]
        elif session is not None and session not in self.sessions:
            return 404, {}
        if "id" not in message:
            return 202, b""
        made = self._result(message["method"], message.get("params") or {})
        if isinstance(made, tuple):
            return made
        return 200, {"jsonrpc": "2.0", "id": message["id"], **made}

    def _result(self, method: str, params: Json) -> Json | Answer:
        if method == "initialize":
            about = {"capabilities": {"tools": {}}, "serverInfo": {"name": "scripted", "version": "1"}}
            return {"result": {"protocolVersion": "2025-06-18", **about}}
        if method == "tools/list":
            return {"result": self.on_list(params) if self.on_list is not None else {"tools": self.tools}}
        if method == "tools/call":
            made = self.on_call(params)
            return made if isinstance(made, tuple) or "error" in made else {"result": made}
        return {"error": {"code": -32601, "message": "Method not found"}}


@contextmanager
def scripted_mcp(**more: Any) -> Iterator[ScriptedMcp]:
    made = ScriptedMcp(**more)
    with upstream(made.answer) as http:
        made.http = http
        yield made


PROGRAM = """
import json, os, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    method = message["method"]
    if method == "initialize":
        about = {"capabilities": {"tools": {}}, "serverInfo": {"name": "p", "version": "1"}}
        result = {"protocolVersion": "2025-06-18", **about}
    elif method == "tools/list":
        result = {"tools": [{"name": "environment", "inputSchema": {"type": "object"}}]}
    elif method == "tools/call":
        size = message["params"].get("arguments", {}).get("size")
        said = "x" * size if size else json.dumps({"pid": os.getpid(), **os.environ})
        result = {"content": [{"type": "text", "text": said}]}
    else:
        print("no message", flush=True)
        error = {"code": -32601, "message": "?"}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}), flush=True)
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""
