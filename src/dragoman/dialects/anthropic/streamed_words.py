"""Where the words of an Anthropic stream stand."""

from __future__ import annotations

import re

from dragoman.dialects.streamed_text import StreamedText, string_members

WORDS = StreamedText(
    string_members("text", "thinking", "partial_json", "name"),
    re.compile(rb'"type"\s*+:\s*+"tool_use"'),
    string_members("signature"),
)
