"""The published schema of Responses: what a request may hold."""

from __future__ import annotations

from typing import Annotated, Literal, final

import msgspec
from msgspec import UNSET, Raw, UnsetType

from dragoman.dialects.shared.raw_json import ABSENT
from dragoman.dialects.shared.wire_schema import (
    ClosedObject,
    Holds,
    Id,
    JsonLiteral,
    JsonObject,
    WireObject,
    index_by_tag,
    open_decoder,
)

# Parts


@final
class ResponsesInputText(WireObject, tag="input_text"):
    text: JsonLiteral


@final
class ResponsesOutputText(WireObject, tag="output_text"):
    text: JsonLiteral
    annotations: Annotated[Raw, Holds(list[dict[str, Raw]])] = ABSENT
    logprobs: Annotated[Raw, Holds(list[dict[str, Raw]])] = ABSENT


@final
class ResponsesBareText(WireObject, tag="text"):
    """A text as other dialects write it. Outputs of custom tools may hold it."""

    text: JsonLiteral


@final
class ResponsesRefusalPart(WireObject, tag="refusal"):
    refusal: JsonLiteral


@final
class ResponsesImage(WireObject, tag="input_image"):
    image_url: Annotated[Raw, Holds(str | None)] = ABSENT
    file_id: str | None = None
    detail: Annotated[str | UnsetType | None, Holds(str)] = UNSET
    filename: Annotated[str | None, Holds(Raw)] = None


@final
class ResponsesFile(WireObject, tag="input_file"):
    file_id: str | None = None
    file_data: Annotated[str | None, Holds(str)] = None
    file_url: Annotated[str | None, Holds(Raw)] = None
    filename: Annotated[str | None, Holds(str)] = None
    detail: Annotated[str | None, Holds(Raw)] = None


@final
class ResponsesAudio(WireObject, tag="input_audio"):
    input_audio: JsonObject


InputPart = ResponsesInputText | ResponsesImage | ResponsesFile | ResponsesAudio
OutputPart = ResponsesOutputText | ResponsesRefusalPart
AnyPart = InputPart | OutputPart | ResponsesBareText
PARTS = index_by_tag(AnyPart)


# Items


class ResponsesItem(WireObject, kw_only=True):
    """What an item of any kind may have. The last three belong to messages of other dialects."""

    id: str | UnsetType = UNSET
    status: str | UnsetType | None = UNSET
    parts: UnsetType = UNSET
    tool_calls: UnsetType = UNSET
    tool_call_id: UnsetType = UNSET


Word = Annotated[str | UnsetType, Holds(Raw)]
"""A text that is kept as it is, whatever it holds."""


class ResponsesTurn(ResponsesItem, kw_only=True):
    role: Literal["user", "assistant", "system", "developer"]
    content: Raw
    """A text, or a list of parts: of output parts for the assistant, else of input parts."""
    status: str | UnsetType = UNSET
    phase: Word = UNSET


@final
class ResponsesMessage(ResponsesTurn, tag="message"):
    """A message that says that it is one."""


@final
class ResponsesShortMessage(ResponsesTurn, kw_only=True):
    """A message, which need not say so."""

    type: Literal["message"] = "message"


@final
class ResponsesFunctionCall(ResponsesItem, tag="function_call", kw_only=True):
    call_id: Id
    name: str
    arguments: str
    namespace: str | UnsetType = UNSET


@final
class ResponsesCustomCall(ResponsesItem, tag="custom_tool_call", kw_only=True):
    call_id: Id
    name: str
    input: Raw
    namespace: str | UnsetType = UNSET


class ResponsesOutput(ResponsesItem, kw_only=True):
    call_id: Id
    output: Raw
    """A text, or a list of input parts. Parts of kinds that are not known here may be newer."""
    name: str | None = None


@final
class ResponsesFunctionOutput(ResponsesOutput, tag="function_call_output"):
    """What a function answered."""


@final
class ResponsesCustomOutput(ResponsesOutput, tag="custom_tool_call_output"):
    """What a custom tool answered."""


class ResponsesSummary(ClosedObject):
    """One text of a summary. A tag would let an entry without a type pass."""

    type: Literal["summary_text"]
    text: JsonLiteral


class ResponsesThought(ClosedObject):
    """One text of the reasoning itself."""

    type: Literal["reasoning_text"]
    text: JsonLiteral


NotNull = str | bool | int | float | list[Raw] | dict[str, Raw]


@final
class ResponsesReasoning(ResponsesItem, tag="reasoning", kw_only=True):
    status: str | UnsetType = UNSET
    summary: Annotated[Raw, Holds(list[ResponsesSummary])]
    content: Annotated[Raw, Holds(NotNull)] = ABSENT
    encrypted_content: Raw = ABSENT


Item = (
    ResponsesMessage
    | ResponsesFunctionCall
    | ResponsesFunctionOutput
    | ResponsesReasoning
    | ResponsesCustomCall
    | ResponsesCustomOutput
)

decode_item = msgspec.json.Decoder(Item).decode
decode_items = msgspec.json.Decoder(list[Item]).decode
decode_short_message = msgspec.json.Decoder(ResponsesShortMessage).decode
decode_input = msgspec.json.Decoder(list[ResponsesInputText | ResponsesImage]).decode
decode_output = msgspec.json.Decoder(list[OutputPart]).decode
decode_part = msgspec.json.Decoder(AnyPart).decode
decode_summary = msgspec.json.Decoder(list[ResponsesSummary]).decode
decode_thoughts = msgspec.json.Decoder(list[ResponsesThought]).decode

MEMBERS = frozenset([name for item in index_by_tag(Item).values() for name in item.__struct_encode_fields__])
"""What the schema names in items of any kind."""
OPEN_ITEMS = {kind: open_decoder(item) for kind, item in index_by_tag(Item).items()}
open_item = open_decoder(ResponsesItem)
open_message = open_decoder(ResponsesShortMessage)
open_input = open_decoder(str | list[InputPart])
open_output = open_decoder(str | list[OutputPart])
open_input_part = open_decoder(InputPart)
open_output_part = open_decoder(OutputPart)
open_summary = open_decoder(list[ResponsesSummary])


# Tools


class ResponsesTool(WireObject):
    """A tool of any kind. What it must have depends on its type."""

    type: str
    name: Id | UnsetType = UNSET
    function: UnsetType = UNSET
    parameters: Annotated[Raw, Holds(dict[str, Raw] | None)] = ABSENT
    description: str | None = None
    strict: bool | None = None
    defer_loading: bool | UnsetType = UNSET


class ResponsesDeclaredTool(WireObject, tag="function"):
    """A function in the form of Responses."""

    name: Id
    parameters: Annotated[Raw, Holds(dict[str, Raw] | None)]
    description: str | None = None
    strict: bool | None = None
    defer_loading: bool | UnsetType = UNSET


open_tool = open_decoder(ResponsesTool)
open_declared_tool = open_decoder(ResponsesDeclaredTool)


# Settings


class ResponsesChoice(WireObject):
    """A choice of another type than a function or a custom tool is not looked at."""

    type: str
    name: str | UnsetType = UNSET


class ResponsesStreamOptions(WireObject):
    include_obfuscation: bool | UnsetType = UNSET


class ResponsesReasoningConfig(WireObject):
    effort: str | None = None
    summary: str | None = None
    generate_summary: str | UnsetType = UNSET


class ResponsesFormat(WireObject):
    type: str
    name: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    schema: JsonObject = ABSENT
    strict: bool | None = None


class ResponsesTextConfig(WireObject):
    format: ResponsesFormat | UnsetType = UNSET
    verbosity: str | None = None
