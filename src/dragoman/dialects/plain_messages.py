"""What the plain parsers of all dialects share.

Nearly every client sends the same few forms: texts, calls, results and images with no other fields than those that they
need. Each dialect parses these in one short loop, in its own module `plain_messages`. A strict decode of just these
fields proves that nothing else is there, so that nothing else has to be looked for. Where it refuses, or where the
loop meets a form that it does not know, the loop gives up and the dialect's `message_parse` does the work.

The loops are written out and compare bytes as numbers: split into functions they cost twice as much. They also find
the traits of the messages, which otherwise cost a second walk.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec import Raw

from dragoman.conversation.messages import Message
from dragoman.conversation.parts import Part
from dragoman.conversation.traits import Trait, observe_ids, observe_message, observe_name, observe_roles

QUOTE, BACKSLASH, LIST, BRACE, END = b'"\\[{}'
"""First and last bytes of JSON values, as numbers."""

ALWAYS = int(Trait.ALWAYS)
CALLS = int(Trait.CALLS)
UNPAIRED = int(Trait.UNPAIRED)
LISTED = int(Trait.LISTED)
HINTS = int(Trait.HINTS)
MEDIA = int(Trait.MEDIA)
BLANK_TEXT = int(Trait.BLANK_TEXT)
MIXED_PARTS = int(Trait.MIXED_PARTS)
NO_PARTS = int(Trait.NO_PARTS)
REASONING = int(Trait.REASONING)
SIGNED = int(Trait.SIGNED)
RESULT_ERROR = int(Trait.RESULT_ERROR)
RESULT_PARTS = int(Trait.RESULT_PARTS)
PART_EXTRAS = int(Trait.PART_EXTRAS)
INLINE_SYSTEM = int(Trait.INLINE_SYSTEM)
LEGACY = int(Trait.LEGACY)


LONG = 64 * 1024
"""Content of this size holds a picture rather than words."""


def long_content(raw: Raw) -> bytes:
    """Long content, copied if it is a text. Of a list only the first byte is looked at, and pictures cost time."""
    return b"[" if memoryview(raw)[0] == LIST else bytes(raw)


class PlainMessages(msgspec.Struct, frozen=True, gc=False):
    """The messages, and the traits that `observe_messages` would find in them."""

    messages: tuple[Message, ...]
    traits: int


class PlainParts(msgspec.Struct, frozen=True, gc=False):
    """The parts of one message, and the traits that they show."""

    parts: tuple[Part, ...]
    traits: int


class Opening(msgspec.Struct, frozen=True, gc=False):
    """The system texts that stand in a field of their own, mostly one message, and what is to be seen in them."""

    messages: tuple[Message, ...] = ()
    traits: int = 0
    codes: str = ""


def opening_of(messages: tuple[Message, ...]) -> Opening:
    """The opening with its traits. The order of the roles is observed when the other messages are known."""
    if not messages:
        return Opening()
    traits = 0
    for message in messages:
        traits |= observe_message(message)
    return Opening(messages, traits, "s" * len(messages))


def finished(done: list[Message], traits: int, codes: list[str], ids: list[str], names: set[str]) -> PlainMessages:
    """The messages with the traits that show only when all of them are known."""
    if ids:
        traits |= CALLS | observe_ids(ids)
        for name in names:
            traits |= observe_name(name)
    return PlainMessages(tuple(done), traits | observe_roles("".join(codes)))


class _AnyObject(msgspec.Struct, gc=False):
    """Accepts any object and keeps nothing of it."""


check_object: Callable[[bytes | str], object] = msgspec.json.Decoder(_AnyObject).decode
"""Raises DecodeError or RecursionError where a text is not a JSON object."""
