"""Where the words of a Gemini stream stand."""

from __future__ import annotations

import re

from dragoman.dialects.streamed_text import StreamedText, string_members

_FLAT = rb"\{[^{}]*+\}"
_NESTED = rb"\{(?:[^{}]++|\{(?:[^{}]++|%b)*+\})*+\}" % _FLAT

WORDS = StreamedText(
    string_members("text", "name"),
    re.compile(rb'"functionCall"\s*+:'),
    string_members("thoughtSignature"),
    # Arguments are an object here. Three levels of it are found, which is nearly always all.
    re.compile(rb'"args"\s*+:\s*+(%b)' % _NESTED),
)
