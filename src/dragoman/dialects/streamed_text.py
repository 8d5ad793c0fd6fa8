"""Where the model's words stand in a stream that is relayed as it is.

Such a stream is not parsed. What it says is only looked for, and only where its tokens must be estimated.
"""

from __future__ import annotations

import re

import msgspec

# Possessive: a text without an end is read once and never again.
_STRING = rb'\s*+:\s*+"((?:[^"\\]++|\\.)*+)"'


def string_members(*names: str) -> re.Pattern[bytes]:
    """Finds the contents of the strings that these members have, anywhere in a frame."""
    return re.compile(rb'"(?:%b)"%b' % ("|".join(names).encode(), _STRING), re.DOTALL)


class StreamedText(msgspec.Struct, frozen=True):
    """Patterns for the frames of a dialect: the texts that the model wrote, the calls that it made, each once, opaque
    state, where a stream has it once, and arguments, where they are no text."""

    text: re.Pattern[bytes]
    calls: re.Pattern[bytes]
    state: re.Pattern[bytes] | None = None
    arguments: re.Pattern[bytes] | None = None
