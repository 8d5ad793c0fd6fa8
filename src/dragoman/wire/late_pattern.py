"""A regular expression that is compiled when it is first searched for.

Only a refusal is searched for most of our patterns. Compiling them all took a thirtieth of the start.
"""

from __future__ import annotations

import re
from functools import cached_property


class LatePattern:
    """A pattern in its source, until it is needed. Letters count in both sizes."""

    def __init__(self, *sentences: str, flags: int = 0) -> None:
        """One of the sentences is looked for."""
        self._source = "|".join(sentences)
        self._flags = flags | re.IGNORECASE

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        return re.compile(self._source, self._flags)

    def search(self, text: str, at: int = 0) -> re.Match[str] | None:
        """The first match at or after a place of the text."""
        return self.compiled.search(text, at)
