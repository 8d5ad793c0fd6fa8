"""Words in the client's own headers that a target refuses, such as the name of a beta that its cloud does not have."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase

from dragoman.conversation.changes import Loss, Note

Globs = Mapping[str, tuple[str, ...]]
MOST_NOTES = 20
"""How many words are named one by one. A header may hold thousands."""


def without_words(headers: Mapping[str, str], refused: Globs) -> tuple[Mapping[str, str], list[Note]]:
    """The headers without refused words, and what was left out. The same headers where nothing was."""
    kept, notes = dict(headers), list[Note]()
    for header, globs in refused.items():
        words = [word.strip() for word in headers.get(header, "").split(",") if word.strip()]
        taken = [word for word in words if not any(fnmatchcase(word, glob) for glob in globs)]
        if len(taken) == len(words):
            continue
        left_out = sorted({*words} - {*taken})
        notes += [
            Note(f"left out {word} of the header {header}", loses=Loss.METADATA, before=word)
            for word in left_out[:MOST_NOTES]
        ]
        kept[header] = ",".join(taken)
        if not taken:
            del kept[header]
    return (kept, notes) if notes else (headers, notes)
