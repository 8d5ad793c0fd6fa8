"""Tools that the model may call, and whether it must."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from dragoman.conversation.parts import CacheHint, Extras, Json, Origin


class Tool(msgspec.Struct, frozen=True, gc=False):
    """A function of the client's. `schema` is the JSON Schema of its arguments.

    Spellings: `wrapper`, the shape it came in where that is not its dialect's own; `schema_as`, the field that held
    the schema in a dialect with several. A `custom` tool takes plain text; `schema` then holds its format.
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


class NativeTool(msgspec.Struct, frozen=True, gc=False):
    """A tool that the provider itself runs (web search, code execution), kept verbatim."""

    kind: str
    json: Json
    origin: Origin
    at: int = -1


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
