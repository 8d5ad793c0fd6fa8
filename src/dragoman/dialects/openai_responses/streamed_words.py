"""Where the words of a Responses stream stand."""

from __future__ import annotations

import re

from dragoman.dialects.streamed_text import StreamedText, string_members

# What ends an item repeats its text, so only the pieces count. A call is named several times and has one end.
WORDS = StreamedText(
    string_members("delta"),
    re.compile(rb'"type"\s*+:\s*+"response\.(?:function_call_arguments|custom_tool_call_input)\.done"'),
)
