"""Tools of a provider that the gateway runs in its place, as functions for a target that lacks them.

A function stands for the tool just as one stands for a shell that the client runs (`NativeTool.meant`): the rule
`client-tool` declares it, gives it a free name, and writes its calls and results in the history. Only the calls of an
answer are not the client's: their form has the key of the tool (`CallForm.run`).
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from dragoman.conversation.canonical import base62
from dragoman.conversation.conversation import Ask, Conversation
from dragoman.conversation.dialect_names import DIALECT_NAMES
from dragoman.conversation.literals import quote
from dragoman.conversation.parts import OURS
from dragoman.conversation.provider_tools import Family, McpServer, ProviderTool
from dragoman.conversation.tools import CallForm, NativeTool, Tool
from dragoman.dialects.registry import dialect
from dragoman.engine.compile.plan import client_of, plan
from dragoman.engine.tool_runs.tool_catalogue import find_deferred, without_deferred
from dragoman.profiles.profile import Target
from dragoman.rules.context import Context
from dragoman.rules.native_kinds import find_strange_tools


class WantedTool(msgspec.Struct, frozen=True, gc=False):
    """A tool of a request that its target lacks."""

    tool: ProviderTool
    at: int = -1
    """The entry of the client's list; -1: none declares it."""
    member: str = ""
    """The member of the request that declares it, if one does."""


def find_api(ask: Ask, target: Target, runnable: Container[Family] = ()) -> Target:
    """The API of the target's provider that has the tools that a request wants run: the target's own, unless it lacks
    some that the other has. `runnable`: what the gateway runs."""
    twin, conversation = target.twin, ask.conversation
    declares = conversation.extras is not None and declares_by_members(conversation)
    if twin is None or not (declares or NativeTool in map(type, conversation.tools)):
        return target
    context, has = plan(target, client_of(ask, target, True)).context, twin.facts.provider_tools
    lacking = [one.tool.family for one in find_strange_tools(conversation, context) if one.written is None]
    return twin if any(has.get(family) and family not in runnable for family in lacking) else target


def declares_by_members(conversation: Conversation) -> bool:
    """Whether members at the top level of the request declare tools of its vendor."""
    extras = conversation.extras
    codec = dialect(extras.dialect).provider_tools if extras is not None and extras.dialect in DIALECT_NAMES else None
    return extras is not None and codec is not None and not codec.members.isdisjoint(extras.fields)


class RunnableTool(msgspec.Struct, frozen=True, gc=False):
    """A tool that the gateway runs, and the functions that stand for it."""

    key: str
    tool: ProviderTool
    at: int
    functions: tuple[Tool, ...]
    member: str = ""
    catalogue: tuple[Tool, ...] = ()
    """What is found by searching, if it searches tools."""

    def function_names(self) -> dict[str, str]:
        """The functions, by the tools that they stand for."""
        return {one.called.name: one.name for one in self.functions if one.called is not None}


def find_wanted(conversation: Conversation, context: Context) -> tuple[WantedTool, ...]:
    """The tools that the target lacks and that somebody else could run."""
    found: list[WantedTool] = []
    for one in find_strange_tools(conversation, context):
        if one.written is None and one.tool.family in _RUNNABLE:
            found.append(WantedTool(one.tool, one.native.at if one.native is not None else -1, one.member))
    return tuple(found)


def runnable_tool(wanted: WantedTool, listed: Sequence[Tool] = ()) -> RunnableTool:
    """The tool with its functions. `listed`: the tools of its server."""
    server = wanted.tool.server
    if server is None:
        family = wanted.tool.family
        function = _FUNCTIONS[family]
        form = CallForm(function.name, family, run=family)
        functions = (replace(function, called=form, at=wanted.at),)
        return RunnableTool(family, wanted.tool, wanted.at, functions, wanted.member)
    key = f"{Family.MCP}:{server.label}:{wanted.at}"  # a client may call its server what we call one of ours
    made = [_server_function(server, key, tool, wanted.at) for tool in sorted(listed, key=lambda one: one.name)]
    return RunnableTool(key, wanted.tool, wanted.at, tuple(made), wanted.member)


def _server_function(server: McpServer, key: str, tool: Tool, at: int) -> Tool:
    form = CallForm(tool.name, Family.MCP, run=key)
    return replace(tool, name=server_function_name(server.label, tool.name), called=form, at=at)


def server_function_name(label: str, name: str) -> str:
    """What the function is called that stands for a tool of a server. A label that could be taken for another one and
    the beginning of a tool's name is marked, so that no two functions have one name."""
    if "__" in label or label.endswith("_"):
        label = f"{re.sub('_+', '_', label)}_{base62(label, length=8)}".lstrip("_")
    return f"{label}__{name}"


def searchable_tool(
    wanted: WantedTool, conversation: Conversation, runs: Sequence[RunnableTool]
) -> RunnableTool | None:
    """The search of tools, if any are deferred: those of the request, and those of servers that are run."""
    servers = [one for one in runs if one.tool.server is not None and one.tool.server.deferred]
    catalogue = (*find_deferred(conversation.tools), *[tool for one in servers for tool in one.functions])
    if not catalogue:
        return None
    return replace(runnable_tool(wanted), catalogue=catalogue)


def with_functions(conversation: Conversation, runs: Sequence[RunnableTool]) -> Conversation:
    """The conversation with the functions behind the tools that they stand for. Those that no entry of the list
    declares come after it, in the order of their keys."""
    by_place = {one.at: one for one in runs if one.at >= 0}
    tools: list[Tool | NativeTool] = []
    for tool in conversation.tools:
        found = by_place.get(tool.at) if isinstance(tool, NativeTool) else None
        tools.append(
            replace(tool, meant=found.functions) if found is not None and isinstance(tool, NativeTool) else tool
        )
    for one in sorted([one for one in runs if one.at < 0], key=lambda one: one.key):
        tools.append(NativeTool(one.tool.family, b"{}", OURS, meant=one.functions, member=one.member))
    changed = _without_members(replace(conversation, tools=tuple(tools)), runs)
    if all(tool.at in by_place for tool in conversation.tools if isinstance(tool, NativeTool)):
        changed = _without_limit(changed)
    catalogue = [tool for one in runs for tool in one.catalogue]
    return without_deferred(changed, catalogue) if catalogue else changed


def _without_members(conversation: Conversation, runs: Sequence[RunnableTool]) -> Conversation:
    """The conversation without the members of the request whose tools all are run."""
    extras, members = conversation.extras, [one.member for one in runs if one.member]
    codec = dialect(extras.dialect).provider_tools if extras is not None and members else None
    if extras is None or codec is None:
        return conversation
    declared = codec.parse_members(extras.fields)
    run = {name for name in members if members.count(name) == len(declared.get(name, ()))}
    return replace(conversation, extras=extras.without(run))


def find_calls_limit(conversation: Conversation) -> str:
    """The member of the request that bounds the runs of an answer; empty if it has none."""
    extras = conversation.extras
    codec = dialect(extras.dialect).provider_tools if extras is not None and extras.dialect in DIALECT_NAMES else None
    return codec.calls_limit if extras is not None and codec is not None and codec.calls_limit in extras.fields else ""


def _without_limit(conversation: Conversation) -> Conversation:
    """The conversation without the bound of all runs: if the gateway runs every tool, it keeps to it."""
    extras, limit = conversation.extras, find_calls_limit(conversation)
    if extras is None or not limit:
        return conversation
    return replace(conversation, extras=extras.without({limit}))


def _function(name: str, description: str, argument: str, meaning: str) -> Tool:
    schema = {
        "type": "object",
        "properties": {argument: {"type": "string", "description": meaning}},
        "required": [argument],
        "additionalProperties": False,
    }
    return Tool(name, quote(description), msgspec.json.encode(schema))


_FUNCTIONS: Mapping[Family, Tool] = {
    Family.WEB_SEARCH: _function(
        "web_search",
        "Search the web for current information. The result lists pages by number, each with its title, its address "
        "and what it says. Name the address of a page that you rely on in your answer.",
        "query",
        "What to search for.",
    ),
    Family.WEB_FETCH: _function(
        "web_fetch",
        "Fetch a page of the web by its address, and read its text.",
        "url",
        "The address of the page, with https:// or http://.",
    ),
    Family.TOOL_SEARCH: _function(
        "tool_search",
        "Search for further tools. There are more than those that you see. What is found can be called afterwards.",
        "query",
        "Words for what the tool should do, or its name.",
    ),
}
_RUNNABLE = frozenset({*_FUNCTIONS, Family.MCP})
