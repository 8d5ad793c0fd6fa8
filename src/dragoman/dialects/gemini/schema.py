"""The published schema of Gemini: what a request may hold.

Each key may be spelled in camelCase or in snake_case. The strict decode takes the first, which nearly all clients
write; a part with other keys is given these first.
"""

# ruff: noqa: N815

from __future__ import annotations

import re
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Raw, UnsetType

from dragoman.dialects.shared.raw_json import ABSENT
from dragoman.dialects.shared.wire_schema import (
    BareBytes,
    ClosedObject,
    Holds,
    Id,
    JsonLiteral,
    WireObject,
    open_decoder,
)

_SNAKE = re.compile(r"_([a-z])")


def camel(name: str) -> str:
    """`any_of` → `anyOf`. Protocol buffers accept both spellings."""
    return _SNAKE.sub(lambda found: found[1].upper(), name) if "_" in name else name


# Parts

Checked = Annotated[str | None, Holds(Raw)]
"""A text that is looked at only when it is parsed, so that the error says where it stands."""
Members = Annotated[Raw, Holds(dict[str, Raw] | None)]
"""An object whose members are the client's own."""


class GeminiCall(WireObject):
    name: Id
    id: Checked = None
    args: Members = ABSENT


class GeminiResponse(WireObject):
    name: Annotated[str | None, Holds(Id)]
    id: Checked = None
    response: Members = ABSENT
    parts: Raw = ABSENT


class GeminiBlob(WireObject):
    """Bytes, or the address of a file."""

    data: BareBytes = ABSENT
    fileUri: Annotated[str | None, Holds(str)] = None
    mimeType: str | None = None
    displayName: Raw = ABSENT


class GeminiAnyBlob(GeminiBlob):
    """Bytes, or the address of a file, in both spellings."""

    file_uri: str | UnsetType = UNSET
    mime_type: str | None = None


Blob = Annotated[GeminiBlob | UnsetType, Holds(GeminiAnyBlob)]


class GeminiPart(ClosedObject):
    """The members that say what a part is, and the marks of thinking beside them."""

    text: JsonLiteral = ABSENT
    thought: bool | None = None
    thoughtSignature: Raw = ABSENT
    functionCall: GeminiCall | UnsetType = UNSET
    functionResponse: GeminiResponse | UnsetType = UNSET
    inlineData: Blob = UNSET
    fileData: Blob = UNSET


class GeminiAnyPart(GeminiPart):
    """A part in both spellings, and what else it may be or have."""

    thought_signature: Raw = ABSENT
    function_call: GeminiCall | UnsetType = UNSET
    function_response: GeminiResponse | UnsetType = UNSET
    inline_data: Blob = UNSET
    file_data: Blob = UNSET
    executable_code: Raw = ABSENT
    executableCode: Raw = ABSENT
    code_execution_result: Raw = ABSENT
    codeExecutionResult: Raw = ABSENT
    video_metadata: Raw = ABSENT
    videoMetadata: Raw = ABSENT
    media_resolution: Raw = ABSENT
    mediaResolution: Raw = ABSENT
    part_metadata: Raw = ABSENT
    partMetadata: Raw = ABSENT


# Contents


class GeminiContent(WireObject):
    parts: Annotated[list[GeminiPart], Holds(list[GeminiAnyPart] | GeminiAnyPart)]
    role: Annotated[str | None, Holds(Literal["user", "model", "system"] | None)] = None


class GeminiOutput(ClosedObject):
    """The response that most tools give: a text."""

    output: Raw


class GeminiTextResponse(GeminiResponse, kw_only=True):
    response: GeminiOutput  # type: ignore[assignment]


class GeminiUsualPart(GeminiPart):
    functionResponse: GeminiTextResponse | UnsetType = UNSET


class GeminiUsualContent(GeminiContent, kw_only=True):
    """A content whose responses have texts that can be decoded with it."""

    parts: list[GeminiUsualPart]  # type: ignore[assignment]


decode_content = msgspec.json.Decoder(GeminiContent).decode
decode_usual_contents = msgspec.json.Decoder(list[GeminiUsualContent]).decode
decode_part = msgspec.json.Decoder(GeminiPart).decode

open_content = open_decoder(GeminiContent)
open_part = open_decoder(GeminiAnyPart)


# Tools


class GeminiDeclaration(WireObject):
    name: Id
    description: str | UnsetType = UNSET
    input_schema: UnsetType = UNSET
    inputSchema: UnsetType = UNSET


Declarations = list[GeminiDeclaration] | GeminiDeclaration | None


class GeminiTool(WireObject):
    """A declaration of another dialect has one of the first members; Gemini's own entries have none."""

    type: UnsetType = UNSET
    function: UnsetType = UNSET
    name: UnsetType = UNSET
    input_schema: UnsetType = UNSET
    inputSchema: UnsetType = UNSET
    parameters: UnsetType = UNSET
    toolSpec: UnsetType = UNSET
    functionDeclarations: Declarations = None
    function_declarations: Declarations = None


open_tool = open_decoder(GeminiTool)


# Settings


class GeminiSafety(WireObject):
    """Protobuf takes the number of a word as well, and clients send it."""

    category: str | int | None = None
    threshold: str | int | None = None
    method: str | int | None = None


class GeminiThinkingConfig(ClosedObject):
    """The values are looked at when they are parsed."""

    includeThoughts: Raw = ABSENT
    include_thoughts: Raw = ABSENT
    thinkingBudget: Raw = ABSENT
    thinking_budget: Raw = ABSENT
    thinkingLevel: Raw = ABSENT
    thinking_level: Raw = ABSENT


class GeminiCallingConfig(WireObject):
    mode: str | int | UnsetType = UNSET
    allowedFunctionNames: list[str] | UnsetType = UNSET
    allowed_function_names: list[str] | UnsetType = UNSET


class GeminiToolConfig(WireObject):
    functionCallingConfig: GeminiCallingConfig | None = None
    function_calling_config: GeminiCallingConfig | None = None


class GeminiGenerationConfig(WireObject):
    responseMimeType: str | None = None
    response_mime_type: str | None = None
    thinkingConfig: GeminiThinkingConfig | None = None
    thinking_config: GeminiThinkingConfig | None = None
