"""Tools that a provider runs, as all vendors mean them: what a client declares, and what one run asked and found.

Dialects keep such tools and their blocks verbatim (`NativeTool`, `Opaque`). Only if one crosses to another vendor, or
is run by the gateway, is it read as these values and written in the other's form (`Dialect.provider_tools`).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from dragoman.conversation.parts import Json


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
    read_only: bool = False
    """Only tools that change nothing may be called."""
    approved: tuple[str, ...] | None = None
    """The tools that may be called without asking the client; None: all. Empty: each call is asked about."""
    deferred: bool = False
    """Its tools are found by searching, and not listed."""


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


class FoundPage(msgspec.Struct, frozen=True, gc=False):
    """A page, or a piece of one, that a run has found."""

    url: str
    title: str = ""
    text: str = ""
    """What it says, as far as the provider shows it."""
    age: str = ""
    """When it was written, in the provider's words."""


class ToolRun(msgspec.Struct, frozen=True, gc=False):
    """One run of such a tool, or the half of it that a block tells."""

    family: Family
    id: str
    """Of the call."""
    name: str = ""
    """The tool's, if its family has several: those of a server."""
    arguments: Json | None = None
    """A JSON object. None: the block tells only what came of it."""
    output: str | None = None
    """What the model was given to read, as text. None: the block tells only what was asked, or the provider does not
    show it."""
    pages: tuple[FoundPage, ...] = ()
    """What was found, of the families that find pages."""
    error: str = ""
    """Why it failed, in one word of the provider's; empty if it did not."""
    server: str = ""
    """The label of the server, of the family MCP."""
