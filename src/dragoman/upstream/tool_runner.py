"""What runs a provider's tools in its place: web search, fetching pages, the tools of a server.

The exchange decides which calls are run and what becomes of the results (`engine/exchange/tool_rounds.py`). A runner
does nothing but run them. Everything that it returns is data of strangers.
"""

from __future__ import annotations

from typing import Protocol

from dragoman.conversation.failures import Failure
from dragoman.conversation.provider_tools import Family, McpServer, ProviderTool, ToolRun
from dragoman.conversation.tools import Tool
from dragoman.engine.exchange.run_limits import RunLimits


class ToolRunner(Protocol):
    """`caller` is the name of the key that asks. Whatever waits is cancelled with its request."""

    offers: bool
    """Whether any server is configured whose tools a request may be given."""

    families: frozenset[Family]
    """What can be run, as it is configured now. Tool search needs no runner."""

    @property
    def limits(self) -> RunLimits:
        """What one answer may take, as it is configured now."""

    def offered(self, caller: str, named: tuple[str, ...]) -> tuple[McpServer, ...]:
        """The configured servers whose tools a request is given: those of the caller, and those that are `named` for
        its destination. Never waits."""

    async def list_tools(self, caller: str, server: McpServer) -> tuple[Tool, ...] | Failure:
        """The tools of a server that the client may use (`allowed`, `read_only`), sorted by the names that the server
        has for them; or why they cannot be had. A failure has the status that the client gets if it is told."""

    async def run(self, caller: str, tool: ProviderTool, call: ToolRun) -> ToolRun:
        """The call with what came of it: `output` is what the model reads, at most `limits.bytes` long. A run that
        fails has an `error`, a word of those that vendors use (`unavailable`, `invalid_tool_input`, `url_not_allowed`,
        `too_many_requests`), and says in `output` what is wrong. It raises nothing but `CancelledError`.

        `tool` is what the client declared, with its domains, place and server. `call` has the family, the id, the
        arguments (a JSON object), and for a server the tool's name there."""

    def cost(self, tool: ProviderTool) -> float:
        """What one run costs, in dollars, as configured; 0 if nobody says."""
