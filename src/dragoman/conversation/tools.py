"""Tools that the model may call, and whether it must."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

import msgspec
from msgspec.structs import replace

from dragoman.conversation.parts import CacheHint, Extras, Json, Origin

TOOLS = "tools"
"""What rules call the list of tools, whatever a dialect calls it."""


class CallForm(msgspec.Struct, frozen=True, gc=False):
    """How the client's dialect writes a call of a tool that was declared to the target as a function."""

    name: str
    """The tool's name in the client's dialect."""
    kind: str = ""
    """The vendor's tool that is called, if its calls are items of their own."""
    custom: bool = False
    """The tool takes plain text."""
    fields: Mapping[str, Json] = {}
    """Further fields of the call, such as the namespace of its tool."""
    run: str = ""
    """The tool that the gateway runs if it is called, by the key of a `RunnableTool`; empty: the client answers."""

    def then(self, later: CallForm) -> CallForm:
        """The form of a tool that was changed twice."""
        custom, fields = self.custom or later.custom, {**later.fields, **self.fields}
        return CallForm(self.name, self.kind or later.kind, custom, fields, self.run or later.run)


class Tool(msgspec.Struct, frozen=True, gc=False):
    """A function of the client's."""

    name: str
    description: bytes | None = None
    schema: Json | None = None
    """The JSON Schema of its arguments. The format of a `custom` tool."""
    strict: bool | None = None
    custom: bool = False
    """It takes plain text."""
    wrapper: str = ""
    """The shape it came in, if that is not its dialect's own."""
    schema_as: str = ""
    """The field that held the schema, in a dialect with several."""
    hint: CacheHint | None = None
    extras: Extras | None = None
    at: int = -1
    """The entry of the client's list that it stands in."""
    inner: int = -1
    """Its place among the tools of that entry."""
    called: CallForm | None = None
    """How the client's dialect writes its calls, if the tool stands for one that is no function there."""

    @property
    def place(self) -> str:
        """Where a rule reports what it did to the tool."""
        return _place(self.at) if self.inner < 0 else f"{_place(self.at)}/{self.inner}"


class NativeTool(msgspec.Struct, frozen=True, gc=False):
    """A tool of a vendor's own, kept verbatim: one that the provider runs (web search, code execution), or one that the
    client runs and the model knows (a shell, an editor), or a namespace of tools."""

    kind: str
    json: Json
    origin: Origin
    at: int = -1
    meant: tuple[Tool, ...] | None = None
    """The same as functions, if the client runs it: for targets that do not know it. Empty: they need nothing."""
    hint: CacheHint | None = None
    """What is not in its JSON any more."""
    member: str = ""
    """The member of the request that declares it; empty: an entry of the list, or nobody."""

    @property
    def place(self) -> str:
        """Where a rule reports what it did to the tool."""
        return self.member or _place(self.at)


class ToolSwitch(msgspec.Struct, frozen=True, gc=False):
    """A change of the list of tools in the course of the conversation."""

    name: str
    """The tool of the list."""
    on: bool
    """Whether it may be called from here on."""


def _place(at: int) -> str:
    """A tool that the client did not declare belongs to the whole list."""
    return f"{TOOLS}/{at}" if at >= 0 else TOOLS


class ChoiceMode(StrEnum):
    AUTO = "auto"
    VALIDATED = "validated"
    """As `auto`, and every call fits its schema."""
    NONE = "none"
    REQUIRED = "required"
    NAMED = "named"
    ALLOWED = "allowed"
    NATIVE = "native"


_FORCED = (ChoiceMode.REQUIRED, ChoiceMode.NAMED)


class ToolChoice(msgspec.Struct, frozen=True, gc=False):
    """May the model call a tool, must it, and which."""

    mode: ChoiceMode
    names: tuple[str, ...] = ()
    must: bool = False
    """For ALLOWED: whether one of the named tools is a must."""
    json: Json | None = None
    """A choice that only its own dialect has (NATIVE)."""
    origin: Origin | None = None
    wire_form: str = ""
    """A way to write it that not all servers of its dialect take."""
    vendor: tuple[tuple[str, Json], ...] = ()
    """Tools of the vendor's own that may be called too (ALLOWED): the kind of each, and its entry."""

    @property
    def forces(self) -> bool:
        """Must the model call a tool?"""
        return self.mode in _FORCED or (self.mode is ChoiceMode.ALLOWED and self.must)

    def soften(self) -> ToolChoice:
        """The same choice, and the model may also call none."""
        return replace(self, must=False) if self.mode is ChoiceMode.ALLOWED else ToolChoice(ChoiceMode.AUTO)
