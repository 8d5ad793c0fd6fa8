"""MCP servers as OpenAI declares them among the tools of Responses, and as other vendors took it over for Chat."""

from __future__ import annotations

from dragoman.conversation.provider_tools import Family, McpServer, ProviderTool
from dragoman.dialects.shared.provider_tools import Members, object_in, other_settings, take_bearer, word_in, words_in

SERVER = "mcp"
"""The type of such a tool."""
_READ = (
    *("type", "server_label", "server_url", "authorization", "headers", "allowed_tools", "require_approval"),
    "defer_loading",
)


def parse_server(found: Members) -> ProviderTool:
    """What the entry of the list of tools declares. Each call must be approved, unless it says otherwise."""
    allowed, approval = found.get("allowed_tools"), found.get("require_approval")
    names = words_in(found, "allowed_tools") if isinstance(allowed, list) else None
    if isinstance(allowed, dict) and isinstance(allowed.get("tool_names"), list):
        names = words_in(allowed, "tool_names")
    approved: tuple[str, ...] | None = None if approval == "never" else ()
    if isinstance(approval, dict):
        approved = words_in(object_in(approval, "never"), "tool_names")
    headers = {name: value for name, value in object_in(found, "headers").items() if isinstance(value, str)}
    authorization = word_in(found, "authorization") or take_bearer(headers)
    server = McpServer(
        word_in(found, "server_label"),
        word_in(found, "server_url"),
        authorization,
        headers,
        names,
        read_only=object_in(found, "allowed_tools").get("read_only") is True,
        approved=approved,
        deferred=found.get("defer_loading") is True,
    )
    return ProviderTool(Family.MCP, server=server, further=other_settings(found, _READ), name=SERVER)
