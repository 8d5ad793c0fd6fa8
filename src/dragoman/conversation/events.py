"""An answer as it arrives.

    Started (TextDelta | ReasoningDelta | Signed | CallStarted CallDelta* CallEnded | RefusalDelta | Cited | MediaDelta
             | OpaqueBlock)* Stopped* Used* (Ended | Failed)

Each names its choice and its part. Parts of one choice are numbered from 0 in the order in which they begin; a part
ends when the next one begins or its choice stops, but calls may run side by side and end with CallEnded. Texts are JSON
literals: a delta is copied from one dialect to another and not decoded. Usage may come before or after the stop, and
more than once: the last word counts, field by field. Ended or Failed is the last event of every stream.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from dragoman.conversation.failures import Failure
from dragoman.conversation.literals import unquote
from dragoman.conversation.parts import Extras, Json, MediaKind, Opaque, Origin
from dragoman.conversation.replies import Stop, Usage


class Event(msgspec.Struct, frozen=True, gc=False, repr_omit_defaults=True):
    """The root of all events."""


class Started(Event, frozen=True, gc=False):
    """The head of an answer."""

    id: str = ""
    model: str = ""
    created: int | None = None
    fingerprint: str | None = None
    service_tier: str | None = None
    extras: Extras | None = None
    choice: int | None = None
    """The one that the provider begins with, which dialects with one choice show."""


class Delta(Event, frozen=True, gc=False):
    """A piece of text."""

    choice: int
    part: int
    literal: bytes
    """A JSON string literal, `text` the same decoded."""

    @property
    def text(self) -> str:
        return unquote(self.literal)


class TextDelta(Delta, frozen=True, gc=False):
    """A piece of the answer's text."""

    logprobs: Json | None = None
    """An array of tokens as OpenAI Chat writes them, on the delta that they belong to."""
    extras: Extras | None = None
    """Those of the part, on its first delta."""


class ReasoningDelta(Delta, frozen=True, gc=False):
    """A piece of the model's thinking."""

    field: str = ""
    """The spelling it came in: `reasoning_content`, `reasoning`, `summary` and others."""
    extras: Extras | None = None
    """Those of the part, on its first delta."""


class Signed(Event, frozen=True, gc=False):
    """Opaque state for a part: a reasoning part (which it opens if none is open), a text or a call."""

    choice: int
    part: int
    state: Opaque
    redacted: bool = False
    field: str = ""


class CallStarted(Event, frozen=True, gc=False):
    """A call begins."""

    choice: int
    part: int
    id: str
    name: str
    custom: bool = False
    extras: Extras | None = None
    made: bool = False
    """Whether the id is one of ours, because the provider gave none."""


class CallDelta(Delta, frozen=True, gc=False):
    """A fragment of the arguments' text."""


class CallEnded(Event, frozen=True, gc=False):
    choice: int
    part: int


class RefusalDelta(Delta, frozen=True, gc=False):
    """A piece of the model's words for why it does not answer."""


class Cited(Event, frozen=True, gc=False):
    """A citation for the text part it names."""

    choice: int
    part: int
    json: Json
    origin: Origin


class MediaDelta(Event, frozen=True, gc=False):
    """A piece of a picture or sound."""

    choice: int
    part: int
    kind: MediaKind
    media_type: str
    data: bytes
    """The JSON literal of base64 text."""
    transcript: bytes | None = None
    """The JSON literal of the words."""
    url: str = ""
    """Stands for the data if the provider gave an address."""
    extras: Extras | None = None


class OpaqueBlock(Event, frozen=True, gc=False):
    """A provider's own block, whole (server tools and their results)."""

    choice: int
    part: int
    opaque: Opaque


class Stopped(Event, frozen=True, gc=False):
    """The end of an answer."""

    choice: int
    reason: Stop
    word: str = ""
    """The provider's own word."""
    sequence: str | None = None
    """The stop string that was hit."""
    extras: Extras | None = None
    why: str = ""
    """The provider's own sentence about it."""


class Used(Event, frozen=True, gc=False):
    usage: Usage


class Ended(Event, frozen=True, gc=False):
    """The stream came to its proper end. What is known of the answer only now is said here, and not by `Started`."""

    service_tier: str | None = None
    extras: Extras | None = None


class Failed(Event, frozen=True, gc=False):
    """The stream broke, or the provider word so."""

    failure: Failure


_METHODS: Mapping[type[Event], str] = {
    Started: "_started",
    TextDelta: "_text",
    ReasoningDelta: "_reasoning",
    Signed: "_signed",
    CallStarted: "_call_started",
    CallDelta: "_call_delta",
    CallEnded: "_call_ended",
    RefusalDelta: "_refusal",
    Cited: "_cited",
    MediaDelta: "_media",
    OpaqueBlock: "_kept",
    Stopped: "_stopped",
    Used: "_used",
    Ended: "_ended",
    Failed: "_failed",
}


def methods_by_event(taker: type) -> Mapping[type[Event], Callable[[Any, Any], None]]:
    """The methods by which a class takes events. What it has no method for, it leaves out."""
    return {kind: getattr(taker, name, _leave_out) for kind, name in _METHODS.items()}


def _leave_out(taker: Any, event: Event) -> None:
    pass
