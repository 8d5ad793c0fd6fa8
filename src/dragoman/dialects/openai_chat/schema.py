"""The published schema of Chat Completions: what a request may hold, and what is read of an answer."""

from __future__ import annotations

from typing import Annotated, final

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType

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
class ChatText(WireObject, tag="text"):
    text: JsonLiteral
    cache_control: Raw = ABSENT


@final
class ChatRefusalPart(WireObject, tag="refusal"):
    refusal: JsonLiteral
    cache_control: Raw = ABSENT


class ChatUrl(ClosedObject):
    url: Raw
    detail: str = "auto"


@final
class ChatImage(WireObject, tag="image_url"):
    image_url: ChatUrl | str
    cache_control: Raw = ABSENT


@final
class ChatVideo(WireObject, tag="video_url"):
    video_url: ChatUrl | str
    cache_control: Raw = ABSENT


@final
class ChatDocument(WireObject, tag="document_url"):
    document_url: ChatUrl | str
    cache_control: Raw = ABSENT


class ChatSound(ClosedObject):
    data: Raw
    format: str


@final
class ChatAudio(WireObject, tag="input_audio"):
    input_audio: ChatSound | Annotated[str, Meta(pattern=r"^[^{]")]
    cache_control: Raw = ABSENT


class ChatFileContent(ClosedObject):
    filename: Annotated[str | None, Holds(str)] = None
    file_data: Raw = ABSENT
    file_id: Raw = ABSENT


@final
class ChatFile(WireObject, tag="file"):
    file: ChatFileContent
    cache_control: Raw = ABSENT


ChatPart = ChatText | ChatRefusalPart | ChatImage | ChatVideo | ChatDocument | ChatAudio | ChatFile
PARTS = index_by_tag(ChatPart)
Content = str | list[ChatPart] | None


# Calls


class ChatCalled(WireObject):
    name: str
    arguments: Annotated[str, Meta(min_length=1)]


@final
class ChatFunctionCall(WireObject, tag="function"):
    id: Id
    function: ChatCalled


class ChatLegacyCall(WireObject):
    """The older `function_call`."""

    name: str
    arguments: str


@final
class ChatCustomCall(WireObject, tag="custom"):
    id: Id
    custom: Raw


# Messages


class ChatTurn(WireObject, tag_field="role"):
    content: Annotated[Raw, Holds(Content)]
    name: Annotated[str | UnsetType | None, Holds(Raw)] = UNSET
    parts: UnsetType = UNSET


@final
class ChatSystem(ChatTurn, tag="system"):
    """A system message."""


@final
class ChatDeveloper(ChatTurn, tag="developer"):
    """A developer's message."""


@final
class ChatUser(ChatTurn, tag="user"):
    """A user's message."""

    images: UnsetType = UNSET


@final
class ChatAssistant(WireObject, tag="assistant", tag_field="role"):
    content: Annotated[Raw, Holds(Content)] = ABSENT
    tool_calls: Annotated[
        list[ChatFunctionCall | ChatCustomCall] | UnsetType, Holds(list[ChatFunctionCall | ChatCustomCall] | None)
    ] = UNSET
    refusal: Annotated[UnsetType, Holds(str | None)] = UNSET
    function_call: Annotated[UnsetType, Holds(ChatLegacyCall | None)] = UNSET
    reasoning_content: Annotated[UnsetType, Holds(str | None)] = UNSET
    reasoning: Annotated[UnsetType, Holds(str | None)] = UNSET
    reasoning_details: Annotated[UnsetType, Holds(list[Raw] | None)] = UNSET
    parts: UnsetType = UNSET
    blocks: UnsetType = UNSET
    text: UnsetType = UNSET
    message: UnsetType = UNSET


@final
class ChatToolResult(WireObject, tag="tool", tag_field="role"):
    content: Annotated[Raw, Holds(str | list[ChatPart])]
    tool_call_id: Id


@final
class ChatFunctionResult(WireObject, tag="function", tag_field="role"):
    name: str
    content: Annotated[Raw, Holds(str | None)] = ABSENT


ChatMessage = ChatUser | ChatAssistant | ChatToolResult | ChatSystem | ChatDeveloper | ChatFunctionResult

decode_message = msgspec.json.Decoder(ChatMessage).decode
decode_messages = msgspec.json.Decoder(list[ChatMessage]).decode
decode_part = msgspec.json.Decoder(ChatPart).decode
decode_parts = msgspec.json.Decoder(list[ChatPart]).decode

open_message = open_decoder(ChatMessage)
open_part = open_decoder(ChatPart)

# Messages with anything that may stand in one


class ChatWireFunction(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    name: str
    arguments: Raw = ABSENT


class ChatWireCustom(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    name: str
    input: Raw = ABSENT


class ChatWireCall(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    id: str | None = None
    type: str | None = "function"
    function: ChatWireFunction | None = None
    custom: ChatWireCustom | None = None
    extra_content: Raw = ABSENT
    cache_control: Raw = ABSENT


class ChatWireMessage(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    role: str
    content: Raw = ABSENT
    name: str | UnsetType | None = UNSET
    tool_calls: list[ChatWireCall] | UnsetType | None = UNSET
    tool_call_id: str | UnsetType | None = UNSET
    refusal: Raw = ABSENT
    reasoning_content: Raw = ABSENT
    reasoning: Raw = ABSENT
    reasoning_details: Raw = ABSENT
    function_call: ChatWireFunction | UnsetType | None = UNSET
    audio: Raw = ABSENT
    annotations: Raw = ABSENT
    cache_control: Raw = ABSENT
    prefix: bool | UnsetType | None = UNSET
    partial: bool | UnsetType | None = UNSET
    extra_content: Raw = ABSENT
    images: Raw = ABSENT


# Tools


class ChatDeclared(WireObject):
    """A function that may be called."""

    name: Id
    description: str | UnsetType = UNSET
    parameters: JsonObject = ABSENT
    strict: bool | UnsetType = UNSET


class ChatDeclaredTool(WireObject):
    """A tool in Chat's own form."""

    type: str
    function: ChatDeclared
    cache_control: JsonObject = ABSENT


class ChatTool(WireObject):
    """A tool of any kind. What it must have depends on its type."""

    type: str | UnsetType = UNSET
    function: ChatDeclared | UnsetType = UNSET
    input_schema: UnsetType = UNSET
    inputSchema: UnsetType = UNSET  # noqa: N815
    toolSpec: UnsetType = UNSET  # noqa: N815
    name: Id | UnsetType = UNSET
    parameters: JsonObject = ABSENT
    cache_control: JsonObject = ABSENT


open_tool = open_decoder(ChatTool)
open_declared_tool = open_decoder(ChatDeclaredTool)


# Settings


class ChatNamed(ClosedObject):
    name: str


class ChatChoice(WireObject):
    """A choice of another type than `function` is not looked at."""

    type: str | UnsetType = UNSET
    function: ChatNamed | UnsetType = UNSET


class ChatNamedChoice(ClosedObject):
    function: ChatNamed
    type: str | UnsetType = UNSET


class ChatFormatSchema(ClosedObject):
    name: Annotated[str, Meta(min_length=1)]
    description: str | UnsetType = UNSET
    schema: JsonObject = ABSENT
    strict: bool | None = None


class ChatFormat(ClosedObject):
    type: str
    json_schema: ChatFormatSchema | UnsetType = UNSET
    grammar: Raw | UnsetType = UNSET
    schema: Annotated[Raw, Holds(dict[str, Raw] | str)] = ABSENT


class ChatStreamOptions(ClosedObject):
    include_usage: bool | UnsetType = UNSET
    include_obfuscation: bool | UnsetType = UNSET


EffortWord = Annotated[str, Meta(pattern=r"^[a-z][a-z_-]{0,31}$")]
"""A word. One that is not known here may be newer."""


# Answers: as much of them as is read, since servers add and leave out what they like


class ChatFunctionDelta(msgspec.Struct, gc=False):
    name: str | None = None
    arguments: Raw = ABSENT
    input: Raw = ABSENT


class ChatCallDelta(msgspec.Struct, gc=False):
    index: int | None = None
    id: str | None = None
    type: str | None = None
    function: ChatFunctionDelta | None = None
    custom: ChatFunctionDelta | None = None
    extra_content: Raw = ABSENT


class ChatDelta(msgspec.Struct, gc=False):
    content: Raw = ABSENT
    reasoning_content: Raw = ABSENT
    reasoning: Raw = ABSENT
    reasoning_text: Raw = ABSENT
    reasoning_details: Raw = ABSENT
    tool_calls: list[ChatCallDelta] | None = None
    function_call: ChatFunctionDelta | None = None
    refusal: Raw = ABSENT
    annotations: Raw = ABSENT
    audio: Raw = ABSENT
    images: Raw = ABSENT
    extra_content: Raw = ABSENT
    executed_tools: Raw = ABSENT


class ChatChoiceDelta(msgspec.Struct, gc=False):
    index: int | None = None
    delta: ChatDelta | None = None
    message: ChatDelta | None = None
    text: Raw = ABSENT
    finish_reason: str | None = None
    logprobs: Raw = ABSENT
    usage: Raw = ABSENT


class ChatChunk(msgspec.Struct, gc=False):
    id: str | int | None = None
    choices: list[ChatChoiceDelta] | None = None
    usage: Raw = ABSENT
    error: Raw = ABSENT
    x_groq: Raw = ABSENT


class ChatChoices(msgspec.Struct, gc=False):
    """The choices of a chunk, with all members."""

    choices: list[dict[str, Raw]]


class GlancedFunction(msgspec.Struct, gc=False):
    name: str
    arguments: str | dict[str, Raw] | None = None


class GlancedCall(msgspec.Struct, gc=False):
    id: str | None = None
    function: GlancedFunction | None = None


class GlancedMessage(msgspec.Struct, gc=False):
    """The members of a message that decide why it stopped, and those that clients read without a look at their type."""

    content: str | list[dict[str, Raw]] | None = None
    refusal: str | None = None
    tool_calls: list[GlancedCall] | None = None
    function_call: Raw = ABSENT


class GlancedChoice(msgspec.Struct, gc=False):
    finish_reason: str
    message: GlancedMessage
    native_finish_reason: str | None = None
    index: int = 0


class GlancedAnswer(msgspec.Struct, gc=False):
    """The members of a relayed whole answer that matter to us."""

    choices: Annotated[list[GlancedChoice], Meta(min_length=1)]
    usage: Raw = ABSENT
    error: Raw = ABSENT
    x_groq: Raw = ABSENT


class GlancedUsage(msgspec.Struct, gc=False):
    """The counts that clients read."""

    prompt_tokens: int
    completion_tokens: int = 0


class ChatHead(msgspec.Struct, gc=False):
    """Members that are the same in every chunk."""

    model: str | None = None
    created: int | float | None = None
    system_fingerprint: str | None = None
    service_tier: str | None = None


HEAD_KEYS = frozenset({"id", "object", "model", "created", "system_fingerprint", "service_tier"})
READ_KEYS = HEAD_KEYS | {"choices", "usage", "error", "obfuscation", "p", "padding"}
CHOICE_KEYS = frozenset({"index", "delta", "message", "text", "finish_reason", "logprobs", "usage"})

decode_chunk = msgspec.json.Decoder(ChatChunk).decode
decode_choices = msgspec.json.Decoder(ChatChoices).decode
decode_glanced = msgspec.json.Decoder(GlancedAnswer).decode
decode_glanced_usage = msgspec.json.Decoder(GlancedUsage).decode
decode_head = msgspec.json.Decoder(ChatHead).decode


# A whole answer that lacks nothing


class WholeFunction(msgspec.Struct, gc=False):
    arguments: str


class WholeCall(msgspec.Struct, gc=False):
    type: Raw
    id: Annotated[str, Meta(min_length=1)]
    function: WholeFunction | None = None


class WholeMessage(msgspec.Struct, gc=False):
    role: Raw
    content: Raw
    refusal: Raw
    tool_calls: list[WholeCall] = []
    annotations: list[Raw] = []


class WholeLogprobs(msgspec.Struct, gc=False):
    content: Raw
    refusal: Raw


class WholeChoice(msgspec.Struct, gc=False):
    message: WholeMessage
    logprobs: WholeLogprobs | None


class WholeAnswer(msgspec.Struct, gc=False):
    id: Raw
    object: Raw
    created: Raw
    model: Raw
    choices: list[WholeChoice]


decode_whole = msgspec.json.Decoder(WholeAnswer).decode
