"""Which tools the gateway runs because the target lacks them, and the calls of them that a client was asked about."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from dragoman.conversation.conversation import Ask, Conversation
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.conversation.parts import Call
from dragoman.conversation.provider_tools import Family, McpServer, ProviderTool
from dragoman.conversation.tools import Tool
from dragoman.dialects.registry import dialect
from dragoman.engine.exchange.steps import ListTools
from dragoman.engine.tool_runs.approvals import AnsweredCall, find_answered, server_call, with_answered
from dragoman.engine.tool_runs.run_functions import RunnableTool, WantedTool, runnable_tool, searchable_tool
from dragoman.engine.tool_runs.tool_rounds import FinishedCall

ServerTools = Sequence[tuple[Tool, ...] | None]
"""For each tool that is asked for, those of its server, if it has one; None: it cannot be run."""


class WantedTools(msgspec.Struct, frozen=True):
    """Which tools are asked for. Those that need nothing but the request are not."""

    wanted: tuple[WantedTool, ...]
    """Tools of the request and of servers that are offered, without the search among tools."""
    search: WantedTool | None
    """The search among tools, if the request has it."""
    approvals: tuple[AnsweredCall, ...]
    """Calls of these servers that the client has just answered about."""

    def step(self) -> ListTools:
        """What the driver asks: the lists, and the calls that are to be run first."""
        tools = {one.tool.server.label: one.tool for one in self.wanted if one.tool.server is not None}
        approved = [one.to_run(tools[one.call.server]) for one in self.approvals if one.approval.is_given]
        return ListTools(tuple([one.tool for one in self.wanted]), tuple(approved))

    def find_unapproved(self, found: ServerTools, client: str) -> Failure | None:
        """The refusal of a server whose calls must be approved, if the client's dialect has no form to ask."""
        codec = dialect(client).provider_tools
        if codec is not None and codec.render_approval is not None:
            return None
        for wanted, tools in zip(self.wanted, found, strict=True):
            server = wanted.tool.server
            if server is None or server.approved is None or tools is None:
                continue
            unasked = [tool.name for tool in tools if tool.name not in server.approved]
            if unasked:
                names = ", ".join(unasked[:5])
                what = f"calls of {names} of {server.label} need the client's approval, and there is no form "
                what += "to ask for it in this API; use the Responses API, allow them without asking, or leave them out"
                return Failure(FailureKind.BAD_REQUEST, what, 400)
        return None

    def finish_approved(self, ran: Sequence[FinishedCall]) -> tuple[tuple[Call, FinishedCall], ...]:
        """The calls that the client has answered about, with what came of them."""
        came = {one.run.id: one for one in ran}
        done = [came.get(one.call.id) or FinishedCall(one.denied()) for one in self.approvals]
        return tuple([(server_call(one.run), one) for one in done])

    def find_runnable(self, found: ServerTools, conversation: Conversation) -> tuple[RunnableTool, ...]:
        """The tools that can be run, and the search among them."""
        runs = [runnable_tool(one, tools) for one, tools in zip(self.wanted, found, strict=True) if tools is not None]
        search = searchable_tool(self.search, conversation, runs) if self.search is not None else None
        return tuple(runs if search is None else [*runs, search])


def find_wanted_tools(ask: Ask, wanted: tuple[WantedTool, ...], offered: tuple[McpServer, ...]) -> WantedTools:
    """What to ask for. `wanted`: tools of the request that the target lacks. `offered`: servers that every request has;
    the client's own of the same name goes first."""
    named = {one.tool.server.label for one in wanted if one.tool.server is not None}
    servers = [WantedTool(ProviderTool(Family.MCP, server=one)) for one in offered if one.label not in named]
    every = [one for one in (*wanted, *servers) if one.tool.family is not Family.TOOL_SEARCH]
    labels = {one.tool.server.label for one in every if one.tool.server is not None}
    answered = find_answered(ask.conversation, ask.dialect) if labels else ()
    return WantedTools(
        tuple(every),
        next((one for one in wanted if one.tool.family is Family.TOOL_SEARCH), None),
        tuple([one for one in answered if one.call.server in labels]),
    )


def with_approved(ask: Ask, approved: tuple[tuple[Call, FinishedCall], ...]) -> Ask:
    """The request with the calls that the client has answered about, and with what came of them."""
    pairs = tuple([(call, one.run) for call, one in approved])
    return replace(ask, conversation=with_answered(ask.conversation, ask.dialect, pairs), traits=None)
