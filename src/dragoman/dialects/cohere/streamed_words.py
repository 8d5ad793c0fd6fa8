"""Where the words of a Cohere stream stand."""

from __future__ import annotations

import re

from dragoman.dialects.streamed_text import StreamedText, string_members

WORDS = StreamedText(
    string_members("text", "thinking", "tool_plan", "arguments", "name"),
    re.compile(rb'"type"\s*+:\s*+"tool-call-start"'),
)
