"""Where the words of a Chat stream stand."""

from __future__ import annotations

import re

from dragoman.dialects.streamed_text import StreamedText, string_members

# A call has its name in its first chunk only. Texts of `reasoning_details` stand in `reasoning` too.
WORDS = StreamedText(
    string_members("content", "refusal", "reasoning", "reasoning_content", "name", "arguments", "input"),
    re.compile(rb'"name"\s*+:\s*+"[^"]'),
)
