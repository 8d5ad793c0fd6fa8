"""Tools that the model may call, and whether it must."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from dragoman.conversation.parts import CacheHint, Extras, Json, Origin

TOOLS = "tools"
"""What rules call the list of tools, whatever a dialect calls it."""


class Tool(msgspec.Struct, frozen=True, gc=False):
    """A function of the client's. `schema` is the JSON Schema of its arguments.

    Spellings: `wrapper`, the shape it came in where that is not its dialect's own; `schema_as`, the field that held
    the schema in a dialect with several. A `custom` tool takes plain text; `schema` then holds its format. `at` is the
    entry of the client's list that it stands in, `inner` its place among the tools of that entry.
    """

    name: str
    description: bytes | None = None
    schema: Json | None = None
    strict: bool | None = None
    custom: bool = False
    wrapper: str = ""
    schema_as: str = ""
    hint: CacheHint | None = None
    extras: Extras | None = None
    at: int = -1
    inner: int = -1

    @property
    def place(self) -> str:
        """Where a rule reports what it did to the tool."""
        return _place(self.at) if self.inner < 0 else f"{_place(self.at)}/{self.inner}"


class NativeTool(msgspec.Struct, frozen=True, gc=False):
    """A tool that the provider itself runs (web search, code execution), kept verbatim."""

    kind: str
    json: Json
    origin: Origin
    at: int = -1

    @property
    def place(self) -> str:
        """Where a rule reports what it did to the tool."""
        return _place(self.at)


def _place(at: int) -> str:
    """A tool that the client did not declare belongs to the whole list."""
    return f"{TOOLS}/{at}" if at >= 0 else TOOLS


class ChoiceMode(StrEnum):
    AUTO = "auto"
    NONE = "none"
    REQUIRED = "required"
    NAMED = "named"
    ALLOWED = "allowed"
    NATIVE = "native"


class ToolChoice(msgspec.Struct, frozen=True, gc=False):
    """May the model call a tool, must it, and which. `must` tells for ALLOWED whether one of `names` is a must.

    `json` keeps a choice that only its own dialect has (NATIVE).
    """

    mode: ChoiceMode
    names: tuple[str, ...] = ()
    must: bool = False
    json: Json | None = None
    origin: Origin | None = None
    spelled: str = ""
