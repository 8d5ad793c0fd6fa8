"""The published schema of Cohere's Chat: what a request may hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, final

import msgspec
from msgspec import UNSET, Raw, UnsetType

from dragoman.conversation.messages import Role
from dragoman.dialects.shared.raw_json import ABSENT
from dragoman.dialects.shared.wire_schema import (
    ClosedObject,
    Holds,
    Id,
    JsonLiteral,
    JsonObject,
    WireObject,
    open_decoder,
)

# Parts


@final
class CohereText(WireObject, tag="text"):
    text: JsonLiteral


@final
class CohereThinking(WireObject, tag="thinking"):
    thinking: JsonLiteral


class CohereUrl(ClosedObject):
    url: Raw
    detail: Annotated[str | None, Holds(str)] = "auto"


@final
class CohereImage(WireObject, tag="image_url"):
    image_url: CohereUrl


class CohereContent(WireObject):
    """What a document holds."""

    data: Annotated[Raw, Holds(dict[str, Raw] | str)]
    id: str | None = None


@final
class CohereDocument(WireObject, tag="document"):
    document: Annotated[Raw, Holds(CohereContent)]


UserPart = CohereText | CohereImage
AssistantPart = CohereText | CohereThinking
ResultPart = CohereText | CohereDocument


# Messages


class CohereCalled(WireObject):
    name: str
    arguments: Annotated[Raw, Holds(str, needed=True)] = ABSENT


class CohereCall(WireObject):
    id: Annotated[str | None, Holds(Id, needed=True)] = None
    type: Annotated[str | None, Holds(Literal["function"], needed=True)] = None
    function: Annotated[CohereCalled | None, Holds(CohereCalled, needed=True)] = None


@final
class CohereSystem(WireObject, tag="system", tag_field="role"):
    content: Annotated[Raw, Holds(str | list[CohereText], needed=True)] = ABSENT
    parts: UnsetType = UNSET


@final
class CohereUser(WireObject, tag="user", tag_field="role"):
    content: Annotated[Raw, Holds(str | list[UserPart], needed=True)] = ABSENT
    parts: UnsetType = UNSET


@final
class CohereAssistant(WireObject, tag="assistant", tag_field="role"):
    content: Annotated[Raw, Holds(str | list[AssistantPart] | None)] = ABSENT
    tool_calls: list[CohereCall] | None = None
    tool_plan: Annotated[Raw, Holds(str | None)] = ABSENT
    citations: Annotated[Raw, Holds(list[Raw] | None)] = ABSENT
    parts: UnsetType = UNSET
    blocks: UnsetType = UNSET
    text: UnsetType = UNSET
    message: UnsetType = UNSET


@final
class CohereResult(WireObject, tag="tool", tag_field="role"):
    content: Annotated[Raw, Holds(str | list[ResultPart], needed=True)] = ABSENT
    tool_call_id: Annotated[str | None, Holds(Id, needed=True)] = None


CohereMessage = CohereUser | CohereAssistant | CohereResult | CohereSystem

decode_message = msgspec.json.Decoder(CohereMessage).decode
decode_messages = msgspec.json.Decoder(list[CohereMessage]).decode
decode_content = msgspec.json.Decoder(CohereContent).decode
decode_parts: Mapping[Any, Callable[[bytes], list[Any]]] = {
    CohereSystem: msgspec.json.Decoder(list[CohereText]).decode,
    CohereUser: msgspec.json.Decoder(list[UserPart]).decode,
    CohereAssistant: msgspec.json.Decoder(list[AssistantPart]).decode,
    CohereResult: msgspec.json.Decoder(list[ResultPart]).decode,
}

open_message = open_decoder(CohereMessage)
open_part = {
    Role.USER: open_decoder(UserPart),
    Role.ASSISTANT: open_decoder(AssistantPart),
    Role.TOOL: open_decoder(ResultPart),
    Role.SYSTEM: open_decoder(CohereText),
    Role.DEVELOPER: open_decoder(CohereText),
}


# Tools


class CohereDeclared(WireObject):
    """A function that may be called."""

    name: Id
    parameters: JsonObject
    description: str | UnsetType = UNSET


class CohereTool(WireObject, tag="function"):
    function: CohereDeclared


open_tool = open_decoder(CohereTool)


# Settings


class CohereThinkingConfig(ClosedObject):
    type: Literal["enabled", "disabled"]
    token_budget: int | None = None


class CohereFormat(ClosedObject):
    type: str
    json_schema: Annotated[Raw, Holds(dict[str, Raw] | None)] = ABSENT


class CohereCitationOptions(ClosedObject):
    mode: str | None = None
