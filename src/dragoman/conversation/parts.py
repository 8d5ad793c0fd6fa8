"""What a message is made of.

Parts are frozen values. A rule that leaves a part alone hands on the same object, and the writer of the client's own
dialect knows by that identity that nothing changed.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from enum import StrEnum
from typing import Any

import msgspec

from dragoman.conversation import literals

Json = bytes
"""A JSON value as its text, kept as it was written."""


class Origin(msgspec.Struct, frozen=True, gc=False):
    """Who made a piece of opaque state. What is not known is empty."""

    dialect: str
    provider: str = ""
    model: str = ""
    account: str = ""


OURS = Origin("dragoman")
"""The maker of what the gateway itself puts into a conversation. No target takes it as it is."""


class Extras(msgspec.Struct, frozen=True, gc=False):
    """Fields that are not ours to understand, with the dialect they came from. They are sent only to that dialect."""

    dialect: str
    fields: Mapping[str, Json]

    def only(self, fields: Mapping[str, Json]) -> Extras | None:
        """No more than these of them; None if that is nothing, and the same object if it is all."""
        if len(fields) == len(self.fields):
            return self
        return Extras(self.dialect, fields) if fields else None

    def without(self, names: Container[str]) -> Extras | None:
        """The others; None if there are none, and the same object if it has none of these."""
        return self.only({name: value for name, value in self.fields.items() if name not in names})


class CacheHint(msgspec.Struct, frozen=True, gc=False):
    """The client's wish that the prompt be cached up to here."""

    json: Json = b'{"type":"ephemeral"}'

    @property
    def is_breakpoint(self) -> bool:
        """Whether it is one as OpenAI's models have it since gpt-5.6: without a lifetime of its own."""
        return self.json.startswith(b'{"mode"')


BREAKPOINT_FIELD = "prompt_cache_breakpoint"
CONTEXT_FIELD = "context"
"""The member of a document with which a client tells the model what the document is."""


class Part(msgspec.Struct, frozen=True, gc=False, kw_only=True, repr_omit_defaults=True):
    """What every part may carry."""

    hint: CacheHint | None = None
    extras: Extras | None = None


class Opaque(Part, frozen=True, gc=False):
    """A provider's own block or state, kept verbatim: server tools, signatures, encrypted reasoning."""

    kind: str
    json: Json
    origin: Origin
    words: Json | None = None
    """What a block says, if it says it in words too: the transcript of a spoken answer."""
    meant: tuple[Part, ...] | None = None
    """The same as calls and results of functions, if the block belongs to a tool that the client runs. Empty: it says
    nothing that a target without such blocks needs."""
    declares: tuple[Any, ...] = ()
    """The tools (`Tool`, `NativeTool`) that may be called from here on, and which of the list may or may not be called
    any more (`ToolSwitch`)."""
    holds: tuple[Part, ...] = ()
    """The texts and pictures of a document that is made of them."""


REFERENCE = "item_reference"
"""The kind of a block that is nothing but the id of what its provider stores."""


class StateKind:
    """The kinds of opaque reasoning state: a JSON string that the provider handed out (a detail: the whole object)."""

    SIGNATURE = "signature"
    """Anthropic: proves a thinking block."""
    REDACTED = "redacted_thinking"
    """Anthropic: a thinking block that only the provider can read."""
    ENCRYPTED = "encrypted_content"
    """OpenAI Responses: a reasoning item that only the provider can read."""
    THOUGHT = "thought_signature"
    """Gemini: hangs on a call, a text, a thought or a picture."""
    UNSIGNED = "unsigned"
    """Dragoman: stands in place of a signature if nobody signed, and means nothing to any provider."""
    DETAIL = "reasoning_details"
    """Chat as OpenRouter speaks it: one entry of the list, verbatim."""


CHAT_FIELDS = ("reasoning_content", "reasoning", StateKind.DETAIL)
"""The fields of a Chat message in which providers hand out thinking and take it back."""
CONTENT_FIELD = "content.thinking"
"""Chat as Mistral speaks it: thinking is a part of the content. No dialect has a field of this name."""


class Text(Part, frozen=True, gc=False):
    """Words."""

    literal: bytes
    signature: Opaque | None = None
    """The state that some providers hang on a text."""

    @property
    def text(self) -> str:
        return literals.unquote(self.literal)

    @property
    def blank(self) -> bool:
        return literals.blank(self.literal)


NO_ID = "no-id"
"""The spelling of a call or a result that came without an id. Its id is made up."""
LEGACY = "function_call"
"""The spelling of a call, its result and a tool choice from the time before tools."""


class Call(Part, frozen=True, gc=False):
    """The model calls a tool."""

    id: str
    name: str
    arguments: Json
    """A JSON object, or a JSON string if the text was no object."""
    signature: Opaque | None = None
    custom: bool = False
    """Whether the tool takes plain text: then the arguments are always a string."""
    wire_form: str = ""
    """An older or shorter form that the call came in. Its id is then one that we made up."""


class Result(Part, frozen=True, gc=False):
    """The answer to one call."""

    call_id: str
    parts: tuple[Part, ...]
    is_error: bool = False
    name: str | None = None
    """The name of the tool, if given."""
    listed: bool = False
    """Whether its content was written as a list of parts."""
    custom: bool = False
    wire_form: str = ""
    """An older or shorter form, like that of its call."""


class Reasoning(Part, frozen=True, gc=False):
    """The model's thinking."""

    text: Text | None = None
    """What it says, if that is shown."""
    state: Opaque | None = None
    """The state that proves it, if there is any."""
    redacted: bool = False
    """Whether the provider hides its text."""
    field: str = ""
    """The spelling it came in."""


class MediaKind(StrEnum):
    IMAGE = "image"
    AUDIO = "audio"
    DOCUMENT = "document"
    VIDEO = "video"

    @classmethod
    def of(cls, media_type: str) -> MediaKind:
        """The kind of media that a type belongs to."""
        head = media_type.partition("/")[0]
        return cls(head) if head in ("image", "audio", "video") else cls.DOCUMENT


class Inline(msgspec.Struct, frozen=True, gc=False):
    """Bytes in the request."""

    media_type: str
    data: bytes
    """The JSON literal of their base64 text."""


class Remote(msgspec.Struct, frozen=True, gc=False):
    """A URL that the provider would have to fetch."""

    url: str
    media_type: str = ""


class Stored(msgspec.Struct, frozen=True, gc=False):
    """A file that was uploaded to a provider before: of use to that provider only."""

    id: str
    provider: str = ""
    media_type: str = ""


class Plain(msgspec.Struct, frozen=True, gc=False):
    """A document given as its text."""

    literal: bytes
    media_type: str = "text/plain"


BESIDE = "images"
"""The shape of a picture of the model's that stands beside the content of its turn, in a list of its own."""
UNTYPED = "untyped"
"""The shape of a file that is given by its address without a media type."""


class Media(Part, frozen=True, gc=False):
    """An image, a sound, a document or a film."""

    kind: MediaKind
    source: Inline | Remote | Stored | Plain
    title: str | None = None
    """The file's name."""
    detail: str | None = None
    """A JSON literal."""
    transcript: bytes | None = None
    """The JSON literal of the words of a sound."""
    signature: Opaque | None = None
    """The state that a provider hangs on a picture of its model's."""
    wire_form: str = ""
    """A shape of one vendor's, not its dialect's own."""


class Refusal(Part, frozen=True, gc=False):
    """The model's refusal, if the dialect tells it from other text."""

    literal: bytes


class Citation(Part, frozen=True, gc=False):
    """A source that the text before it rests on, as the provider wrote it."""

    json: Json
    origin: Origin
