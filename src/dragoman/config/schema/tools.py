"""`tools` and `tool_servers`: what the gateway runs in place of a provider, and the servers that it asks."""

from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct, field

from dragoman.config.schema.amounts import Amount
from dragoman.config.secret import Secret
from dragoman.engine.tool_runs.run_limits import RunLimits


class ToolApproval(StrEnum):
    """Whether a client is asked before a tool is called."""

    NEVER = "never"
    ALWAYS = "always"


class McpTransport(StrEnum):
    """How a server of tools is spoken to over HTTP."""

    AUTO = "auto"
    STREAMABLE = "streamable"
    SSE = "sse"


class ServerLogin(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """OAuth 2.1 with client credentials."""

    issuer: Annotated[
        str,
        Meta(
            description="The authorisation server that the client is registered with. Its secret goes to no other.",
            examples=["https://auth.example.com"],
        ),
    ]
    client_id: Annotated[str, Meta(description="The client's id.", examples=["dragoman"])]
    client_secret: Annotated[Secret, Meta(description="The client's secret.", examples=["${TRACKER_SECRET}"])]
    scope: Annotated[str | None, Meta(description="What to ask for, with spaces between.")] = None


class ToolServer(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An MCP server whose tools the gateway calls. It has a `url` or a `command`."""

    url: Annotated[str | None, Meta(description="Where it listens.", examples=["https://tracker.example.com/mcp"])] = (
        None
    )
    command: Annotated[
        tuple[str, ...],
        Meta(
            description="The program that is started and spoken to over stdin and stdout, with its arguments. One "
            "process for each key that uses it.",
        ),
    ] = ()
    env: Annotated[
        dict[str, Secret],
        Meta(description="Variables for the program. Of the gateway's own it gets HOME, PATH and the like only."),
    ] = field(default_factory=dict)
    transport: Annotated[
        McpTransport, Meta(description="`auto`: streamable HTTP, and the older SSE if that is not served.")
    ] = McpTransport.AUTO
    token: Annotated[Secret | None, Meta(description="Sent as `Authorization: Bearer`.")] = None
    headers: Annotated[
        dict[str, Secret], Meta(description="Further headers.", examples=[{"X-Api-Key": "${TRACKER_KEY}"}])
    ] = field(default_factory=dict)
    oauth: Annotated[ServerLogin | None, Meta(description="OAuth with client credentials, instead of a token.")] = None
    allowed_tools: Annotated[
        tuple[str, ...], Meta(description="The tools that may be called; empty: all.", examples=[["search_issues"]])
    ] = ()
    read_only: Annotated[bool, Meta(description="Only tools that say they change nothing may be called.")] = False
    approval: Annotated[
        ToolApproval,
        Meta(
            description="`always`: the client approves each call; a client whose dialect cannot is refused. `never`: "
            "calls are made at once."
        ),
    ] = ToolApproval.NEVER
    timeout: Annotated[float, Meta(gt=0, description="Seconds for connecting, for a list and for a call, each.")] = 30.0
    cost: Annotated[Amount, Meta(description="What one call costs, in the currency of the prices.")] = 0.0

    def secrets(self) -> tuple[Secret, ...]:
        """What nobody but the server may see."""
        login = (self.oauth.client_secret,) if self.oauth is not None else ()
        token = (self.token,) if self.token is not None else ()
        return (*token, *login, *self.headers.values(), *self.env.values())


class SearchConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who searches the web for models that cannot: SearXNG at a `url`, or a `tool` of a `server`."""

    url: Annotated[
        str | None,
        Meta(
            description="The base URL of a SearXNG whose settings allow the format `json`.",
            examples=["http://searxng:8080"],
        ),
    ] = None
    server: Annotated[str | None, Meta(description="A server of `tool_servers`.")] = None
    tool: Annotated[str | None, Meta(description="Its tool that searches.")] = None
    argument: Annotated[str, Meta(description="The argument of that tool that takes the query.")] = "query"
    results: Annotated[int, Meta(ge=1, le=50, description="Pages that the model is shown.")] = 8
    timeout: Annotated[float, Meta(gt=0, description="Seconds for one search by SearXNG.")] = 15.0
    cost: Annotated[Amount, Meta(description="What one search costs, in the currency of the prices.")] = 0.0


class FetchConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who fetches pages for models that cannot: the gateway itself, or a `tool` of a `server`."""

    server: Annotated[str | None, Meta(description="A server of `tool_servers`.")] = None
    tool: Annotated[str | None, Meta(description="Its tool that fetches.")] = None
    argument: Annotated[str, Meta(description="The argument of that tool that takes the URL.")] = "url"
    allow: Annotated[
        tuple[str, ...],
        Meta(description="Private hosts, `*.suffix` or networks that may be reached.", examples=[["wiki.internal"]]),
    ] = ()
    max_bytes: Annotated[int, Meta(ge=1, description="What is read of a page at most.")] = 2_097_152
    timeout: Annotated[float, Meta(gt=0, description="Seconds for one page.")] = 15.0
    cost: Annotated[Amount, Meta(description="What one page costs, in the currency of the prices.")] = 0.0


class ToolsConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the gateway runs if a model is given a tool that its provider lacks."""

    allow: Annotated[
        tuple[str, ...],
        Meta(
            description="MCP servers that clients may name: origins, or URLs with the beginning of a path.",
            examples=[["https://mcp.example.com", "http://tools.internal:8000/mcp"]],
        ),
    ] = ()
    search: Annotated[
        SearchConfig | None, Meta(description="Web search.", examples=[{"url": "http://searxng:8080"}])
    ] = None
    fetch: Annotated[
        FetchConfig | None,
        Meta(description="Fetching pages; `{}`: the gateway itself, from public addresses.", examples=[{}]),
    ] = None
    limits: Annotated[RunLimits, Meta(description="What the tools of one answer may take.")] = RunLimits()
    answer_bytes: Annotated[
        int, Meta(ge=1024, description="Bytes of one answer of a server, before it is cut for the model.")
    ] = 4_194_304
    answer_values: Annotated[
        int, Meta(ge=100, description="Values of the JSON of one answer of a server; one with more fails.")
    ] = 20_000
    max_tools: Annotated[int, Meta(ge=1, description="Tools of one server. One with more is not used.")] = 1_000
    list_ttl: Annotated[float, Meta(ge=0, description="Seconds that a list of tools is kept.")] = 300.0
    idle: Annotated[float, Meta(gt=0, description="Seconds until an unused connection is closed.")] = 300.0
    max_connections: Annotated[
        int, Meta(ge=1, description="Connections to servers of tools per worker. A key has at most half of them.")
    ] = 256
