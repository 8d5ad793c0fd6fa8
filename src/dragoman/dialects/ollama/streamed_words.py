"""Where the words of an Ollama stream stand."""

from __future__ import annotations

import re

from dragoman.dialects.streamed_text import StreamedText, string_members

_FLAT = rb"\{[^{}]*+\}"
_NESTED = rb"\{(?:[^{}]++|\{(?:[^{}]++|%b)*+\})*+\}" % _FLAT

WORDS = StreamedText(
    string_members("content", "thinking", "name"),
    re.compile(rb'"function"\s*+:'),
    # Arguments are an object here. Three levels of it are found, which is nearly always all.
    arguments=re.compile(rb'"arguments"\s*+:\s*+(%b)' % _NESTED),
)
