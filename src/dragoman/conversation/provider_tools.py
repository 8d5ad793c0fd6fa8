"""Tools that a provider runs, as all vendors mean them: what a client declares, and what one run asked and found.

Dialects keep such tools and their blocks verbatim (`NativeTool`, `Opaque`). Only if one crosses to another vendor, or
is run by the gateway, is it read as these values and written in the other's form (`Dialect.provider_tools`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any

import msgspec
from msgspec.structs import replace

from dragoman.conversation.parts import Json, Media, Opaque
from dragoman.conversation.tools import NativeTool, Tool


class Family(StrEnum):
    """What a tool does, whatever a vendor calls it."""

    WEB_SEARCH = "web-search"
    WEB_FETCH = "web-fetch"
    CODE = "code"
    FILE_SEARCH = "file-search"
    IMAGE = "image"
    MCP = "mcp"
    TOOL_SEARCH = "tool-search"


class McpServer(msgspec.Struct, frozen=True, gc=False):
    """A server of tools that the client names."""

    label: str
    url: str = ""
    authorization: str = ""
    """A bearer token. It goes to the server, and nowhere else."""
    headers: Mapping[str, str] = {}
    """Further headers for the server. They may be secrets too."""
    allowed: tuple[str, ...] | None = None
    """The tools that may be called; None: all."""
    barred: tuple[str, ...] = ()
    """Tools that may not be called."""
    read_only: bool = False
    """Only tools that change nothing may be called."""
    approved: tuple[str, ...] | None = None
    """The tools that may be called without asking the client; None: all. Empty: each call is asked about."""
    deferred: bool = False
    """Its tools are found by searching, and not listed."""
    configured: bool = False
    """Named by the gateway's configuration, which knows how to reach it. What a client sends never sets it."""


class ProviderTool(msgspec.Struct, frozen=True, gc=False):
    """A tool that a provider runs, as a client declares it."""

    family: Family
    allowed_domains: tuple[str, ...] = ()
    """Only pages of these are found; empty: of all."""
    blocked_domains: tuple[str, ...] = ()
    """Pages of these are not found."""
    location: Mapping[str, str] = {}
    """Where the user is, roughly: `city`, `region`, `country`, `timezone`."""
    most_uses: int | None = None
    """How often it may be used in one answer."""
    depth: str = ""
    """How much of what is found the model reads: `low`, `medium`, `high`."""
    server: McpServer | None = None
    """Whose tools they are, of the family MCP."""
    further: tuple[str, ...] = ()
    """Names of settings that only its own vendor has: lost elsewhere, and reported."""
    name: str = ""
    """What a tool choice calls it."""


class FoundPage(msgspec.Struct, frozen=True, gc=False):
    """A page, or a piece of one, that a run has found."""

    url: str
    title: str = ""
    text: str = ""
    """What it says, as far as the provider shows it."""
    age: str = ""
    """When it was written, in the provider's words."""


class GroundedSpan(msgspec.Struct, frozen=True, gc=False):
    """A piece of an answer's text that rests on a page."""

    url: str
    start: int
    """In bytes of the whole text."""
    end: int
    text: str = ""
    """The piece itself; empty if the vendor does not show it."""


class CitationRange(StrEnum):
    """What a vendor's citation speaks of."""

    BLOCK = "block"
    """All of the text that it belongs to."""
    PART = "part"
    """A range of characters of that text."""
    ANSWER = "answer"
    """A range of the text of the whole answer."""


class ToolRun(msgspec.Struct, frozen=True, gc=False):
    """One run of such a tool, or the half of it that a block tells."""

    family: Family
    id: str
    """Of the call. Empty: the vendor gives none, and the result follows the call."""
    name: str = ""
    """The tool's, if its family has several: those of a server."""
    arguments: Json | None = None
    """A JSON object. None: the block tells only what came of it."""
    is_open: bool = False
    """The block tells only what was asked; another one tells what came of it."""
    output: str | None = None
    """What the model was given to read, as text. None: the provider does not show it, or another block does."""
    media: tuple[Media, ...] = ()
    """Pictures, sounds and documents that the model is given beside the text, which names each of them."""
    pages: tuple[FoundPage, ...] = ()
    """What was found, of the families that find pages."""
    tools: tuple[Tool, ...] = ()
    """What was found, of the family that searches tools. Some providers tell no more than their names."""
    error: str = ""
    """Why it failed, in one word of the provider's; empty if it did not."""
    code: int = 0
    """The number of that, of HTTP or of MCP; 0 if it has none."""
    server: str = ""
    """The label of the server, of the family MCP."""
    approval: str = ""
    """The id under which the client was asked about it; empty if it was not."""
    state: str = ""
    """An envelope of ours (`conversation.envelope`) that travels with the run in the place of what only a provider can
    read. It comes back with it, and goes to no provider. Empty: there is none, or the dialect has no place for it."""
    goes_back: bool = False
    """The vendor wants the block back as it is: it signed or encrypted it, or only this dialect carries its text."""

    @property
    def is_result(self) -> bool:
        """Whether the block tells only what came of it."""
        return self.arguments is None

    def joined(self, result: ToolRun) -> ToolRun:
        """The whole run, of the half that was asked and its other half."""
        asked = {"arguments": self.arguments, "name": self.name or result.name, "server": self.server or result.server}
        goes_back = self.goes_back or result.goes_back
        return replace(result, id=self.id or result.id, is_open=False, goes_back=goes_back, **asked)


class AskedRuns(msgspec.Struct, eq=False):
    """Halves of runs that were asked for, until their other halves come. Each is looked at a few times at most."""

    _by_id: dict[tuple[Family, str], tuple[ToolRun, int]] = {}
    _by_family: dict[Family, list[tuple[ToolRun, int]]] = {}

    def copy(self) -> AskedRuns:
        made = AskedRuns()
        for run, place in self._by_id.values():
            made.add(run, place)
        return made

    def add(self, run: ToolRun, place: int = 0) -> None:
        """`place` is whatever the caller wants to find it by."""
        self._by_id[run.family, run.id] = run, place
        self._by_family.setdefault(run.family, []).append((run, place))

    def take(self, result: ToolRun) -> tuple[ToolRun, int] | None:
        """The half to which a result belongs, taken out. Without ids it is the last one of the same family."""
        if not result.is_result:
            return None
        found = self._by_id.pop((result.family, result.id), None) if result.id else None
        if found is None and result.id:
            found = self._by_id.pop((result.family, ""), None)
        if found is not None:
            return found
        waiting = self._by_family.get(result.family, []) if not result.id else []
        while waiting:
            last = waiting.pop()
            if self._by_id.pop((last[0].family, last[0].id), None) is not None:
                return last
        return None

    def rest(self) -> list[ToolRun]:
        """Those whose other half has not come."""
        return [run for run, _ in self._by_id.values()]


_TITLES = {
    Family.WEB_SEARCH: "web search",
    Family.WEB_FETCH: "page fetched",
    Family.CODE: "code run",
    Family.FILE_SEARCH: "file search",
    Family.TOOL_SEARCH: "tool search",
    Family.IMAGE: "picture",
}


def describe_run(run: ToolRun, cited: Mapping[str, Sequence[str]] = {}) -> str:
    """What was asked and what was found, as text for a model that does not know such runs. `cited`: sentences of the
    pages that an answer rests on, by their addresses."""
    title = f"{run.server}: {run.name}" if run.family is Family.MCP else _TITLES[run.family]
    lines = [f"[{title}{_describe_arguments(run.arguments)}]"]
    if run.output:
        lines.append(run.output)
    for number, page in enumerate(run.pages, 1):
        lines.append(f"{number}. {' - '.join(filter(None, (page.title, page.url, page.age)))}")
        lines += [text for text in (page.text, *cited.get(page.url, ())) if text]
    if run.tools:
        lines.append(f"Tools: {', '.join([tool.name for tool in run.tools])}")
    if run.error:
        lines.append(f"It failed: {run.error}")
    return "\n".join(lines)


def says_nothing(run: ToolRun) -> bool:
    """Whether a block tells of a run, and neither what was asked nor what came of it."""
    found = run.output or run.media or run.pages or run.tools or run.error or run.name or run.is_result or run.state
    return not found and not _describe_arguments(run.arguments).strip(": ")


def _describe_arguments(arguments: Json | None) -> str:
    """One argument as its words, several as JSON."""
    given = msgspec.json.decode(arguments) if arguments else {}
    if not isinstance(given, dict) or not given:
        return ""
    queries = given.get("queries")
    if isinstance(queries, list):
        return f": {'; '.join(map(str, queries))}"
    first = next(iter(given.values()))
    return f": {first}" if len(given) == 1 and isinstance(first, str) else f": {(arguments or b'').decode()}"


class WrittenTool(msgspec.Struct, frozen=True, gc=False):
    """A tool in a vendor's words."""

    json: Json = b""
    """The entry of the list of tools. Empty: it is declared by members alone."""
    members: Mapping[str, Json] = {}
    """Members at the top level of the request that declare it too. Lists of several tools are joined."""
    lost: tuple[str, ...] = ()
    """Names of settings that cannot be written."""
    kind: str = ""
    """What the dialect calls such an entry, if that is not the vendor's name of the tool."""


class Approval(msgspec.Struct, frozen=True, gc=False):
    """A question to the client whether a tool may be called, or its answer."""

    id: str
    """Of the question."""
    run: ToolRun | None = None
    """What is asked about. None: this is the answer."""
    is_given: bool = False
    """The client approves."""
    reason: str = ""
    """Why it does not, in its words."""


class ProviderToolCodec(msgspec.Struct, frozen=True):
    """Tools that the vendor of a dialect runs, and the blocks that tell of their runs, as all vendors mean them."""

    parse_tool: Callable[[NativeTool, Mapping[str, Any]], ProviderTool | None]
    """What a declared tool is for, also by members at the top level of the request, as `open_members` has opened them;
    None if no other vendor has the like."""
    render_tool: Callable[[ProviderTool, str], WrittenTool | None]
    """The declaration of a tool under the vendor's name (`type`, or the key of the entry) that the target takes; None
    if it cannot be declared so."""
    parse_run: Callable[[Opaque], ToolRun | None]
    """What a block tells of a run; None if it tells of none."""
    render_run: Callable[[ToolRun], tuple[Opaque, ...]]
    """The blocks that tell of a whole run; none if the dialect does not show runs."""
    parse_members: Callable[[Mapping[str, Json]], Mapping[str, tuple[ProviderTool, ...]]] = lambda members: {}
    """The tools that members at the top level of a request declare without an entry in the list, by these members."""
    members: frozenset[str] = frozenset()
    """The names of these members."""
    parse_ending: Callable[[Mapping[str, Json]], tuple[ToolRun, ...]] = lambda members: ()
    """The runs that members at the end of an answer tell of, if no block does."""
    render_ending: Callable[..., Mapping[str, Json]] = lambda runs, cited, spans=(): {}
    """The members at the end of an answer that tell of its runs, of the pages that it cites, and where it cites
    them (`Sequence[ToolRun]`, `Sequence[FoundPage]`, `Sequence[GroundedSpan]`)."""
    parse_spans: Callable[[Mapping[str, Json]], tuple[GroundedSpan, ...]] = lambda members: ()
    """Where an answer cites pages, by members at its end."""
    calls_limit: str = ""
    """The member at the top level of a request that bounds the runs of an answer; empty: the vendor has none."""
    cites: CitationRange = CitationRange.PART
    """What a citation speaks of."""
    cited: str = ""
    """The member of a text that lists what it cites, in a history; empty: the vendor wants no citations back."""
    render_usage: Callable[[Sequence[ToolRun]], Mapping[str, Json]] = lambda runs: {}
    """The members of the usage that count runs."""
    parse_choice: Callable[[Json], str] = lambda choice: ""
    """The tool (`ProviderTool.name`) that a choice names which only the dialect has; empty if it names none."""
    render_approval: Callable[[ToolRun], Opaque] | None = None
    """The block that asks the client about a call; None: the dialect has none."""
    parse_approval: Callable[[Opaque], Approval | None] = lambda block: None
    """A question of such a block, or the client's answer."""
    render_listing: Callable[[str, str, Sequence[Tool]], Opaque] | None = None
    """The block that shows the tools of a server, by an id and the server's label; None: the dialect has none."""
    parse_listing: Callable[[Opaque], str] = lambda block: ""
    """The label of the server whose tools a block shows; empty if it shows none."""
    open_members: Callable[[Mapping[str, Json]], Mapping[str, Any]] = lambda members: {}
    """What tools refer to of the members at the top level. It is opened once for all tools of a request."""
