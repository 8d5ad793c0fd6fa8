"""The published schema of Ollama's chat: what a request may hold."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType

from dragoman.dialects.shared.raw_json import ABSENT
from dragoman.dialects.shared.wire_schema import Holds, Id, JsonObject, WireObject, open_decoder

Text = Annotated[Raw, Holds(str | None)]
Role = Annotated[str, Meta(pattern="^(?i:user|assistant|system|developer|tool)$")]


class OllamaCalled(WireObject, omit_defaults=True):
    name: str
    arguments: Annotated[Raw, Holds(dict[str, Raw] | None)] = ABSENT
    index: Annotated[int | None, Holds(Raw)] = None


class OllamaCall(WireObject, omit_defaults=True):
    function: OllamaCalled
    id: str | None = None
    type: Annotated[str | None, Holds(Raw)] = None


class OllamaMessage(WireObject):
    role: Annotated[str, Holds(Role)]
    content: Text = ABSENT
    thinking: Text = ABSENT
    images: Annotated[Raw, Holds(list[str] | None)] = ABSENT
    tool_calls: list[OllamaCall] | None = None
    tool_name: str | None = None
    tool_call_id: str | None = None
    parts: UnsetType = UNSET
    blocks: UnsetType = UNSET
    text: UnsetType = UNSET
    message: UnsetType = UNSET


message_decoder = msgspec.json.Decoder(OllamaMessage)
decode_messages = msgspec.json.Decoder(list[OllamaMessage]).decode

open_message = open_decoder(OllamaMessage)


# Tools


class OllamaDeclared(WireObject):
    """A function that may be called."""

    name: Id
    description: str | UnsetType = UNSET
    parameters: JsonObject = ABSENT


class OllamaTool(WireObject):
    function: OllamaDeclared
    type: str | UnsetType = UNSET


open_tool = open_decoder(OllamaTool)
