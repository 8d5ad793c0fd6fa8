"""The published schema of Converse: what a request may hold."""

from __future__ import annotations

from typing import Annotated, Literal, final

import msgspec
from msgspec import UNSET, Raw, UnsetType

from dragoman.dialects.shared.raw_json import ABSENT
from dragoman.dialects.shared.wire_schema import ClosedObject, Holds, Id, JsonLiteral, WireObject, open_decoder

Object = dict[str, Raw]

# Blocks


@final
class BedrockCall(WireObject):
    toolUseId: Id  # noqa: N815
    name: str
    input: Annotated[Raw, Holds(dict[str, Raw], needed=True)] = ABSENT
    type: Annotated[UnsetType, Holds(str)] = UNSET


@final
class BedrockOutput(WireObject):
    """A part of a result. Texts and JSON values are nearly all there is."""

    text: Raw = ABSENT
    json: Raw = ABSENT


@final
class BedrockResult(WireObject):
    toolUseId: Id  # noqa: N815
    content: Annotated[list[BedrockOutput], Holds(list[Object])]
    status: Annotated[Literal["success", "error"], Holds(str)] = "success"
    type: Annotated[UnsetType, Holds(str)] = UNSET


class BedrockPlace(WireObject):
    uri: str
    bucketOwner: str | UnsetType = UNSET  # noqa: N815


class BedrockSource(WireObject):
    bytes: str | UnsetType = UNSET
    s3Location: BedrockPlace | UnsetType = UNSET  # noqa: N815
    text: str | UnsetType = UNSET
    content: list[Object] | UnsetType = UNSET


class BedrockMedia(WireObject):
    source: BedrockSource
    context: str | UnsetType = UNSET
    citations: Object | UnsetType = UNSET


class BedrockCachePoint(WireObject):
    type: str
    ttl: str | UnsetType = UNSET


class BedrockGuardText(WireObject):
    text: str
    qualifiers: list[str] | UnsetType = UNSET


class BedrockGuard(WireObject):
    text: BedrockGuardText | UnsetType = UNSET
    image: Object | UnsetType = UNSET


@final
class BedrockBlock(WireObject):
    """A block. Exactly one member is there; one that is not known may be newer.

    The strict decode takes texts, calls and results.
    """

    text: JsonLiteral = ABSENT
    toolUse: BedrockCall | UnsetType = UNSET  # noqa: N815
    toolResult: BedrockResult | UnsetType = UNSET  # noqa: N815
    image: Annotated[UnsetType, Holds(BedrockMedia)] = UNSET
    document: Annotated[UnsetType, Holds(BedrockMedia)] = UNSET
    video: Annotated[UnsetType, Holds(BedrockMedia)] = UNSET
    audio: Annotated[UnsetType, Holds(BedrockMedia)] = UNSET
    reasoningContent: Annotated[UnsetType, Holds(Object)] = UNSET  # noqa: N815
    cachePoint: Annotated[UnsetType, Holds(BedrockCachePoint)] = UNSET  # noqa: N815
    guardContent: Annotated[UnsetType, Holds(BedrockGuard)] = UNSET  # noqa: N815
    type: UnsetType = UNSET
    functionCall: UnsetType = UNSET  # noqa: N815
    functionResponse: UnsetType = UNSET  # noqa: N815
    inlineData: UnsetType = UNSET  # noqa: N815


# Messages


@final
class BedrockTurn(WireObject):
    role: Literal["user", "assistant", "system"]
    content: list[BedrockBlock]
    tool_calls: UnsetType = UNSET


decode_turn = msgspec.json.Decoder(BedrockTurn).decode
decode_turns = msgspec.json.Decoder(list[BedrockTurn]).decode
decode_objects = msgspec.json.Decoder(list[Object]).decode

open_turn = open_decoder(BedrockTurn)
open_block = open_decoder(BedrockBlock)
open_system = open_decoder(list[BedrockBlock] | None)


# Tools


class BedrockToolSpec(WireObject):
    name: Id
    inputSchema: dict[str, Object]  # noqa: N815
    description: str | UnsetType = UNSET
    strict: bool | UnsetType = UNSET


class BedrockTool(ClosedObject):
    toolSpec: BedrockToolSpec | UnsetType = UNSET  # noqa: N815
    systemTool: Object | UnsetType = UNSET  # noqa: N815
    cachePoint: Object | UnsetType = UNSET  # noqa: N815


open_tool = open_decoder(BedrockTool)


# Settings


class BedrockJsonSchema(ClosedObject):
    schema: Raw
    name: str = ""
    description: Raw = ABSENT


class BedrockStructure(ClosedObject):
    jsonSchema: BedrockJsonSchema  # noqa: N815


class BedrockFormat(ClosedObject):
    type: str
    structure: BedrockStructure


decode_format = msgspec.json.Decoder(BedrockFormat).decode
