"""What was changed, in one line for a header or a log."""

from __future__ import annotations

from collections import Counter

from dragoman.conversation.changes import Change

LONGEST = 1024


def summary(changes: tuple[Change, ...]) -> bytes:
    """`late-system;n=2, call-id-form;n=1`, at most a kilobyte."""
    counted = Counter(change.rule for change in changes)
    words = ", ".join(f"{rule};n={count}" for rule, count in counted.items())
    return words.encode() if len(words) <= LONGEST else words[:LONGEST].rpartition(", ")[0].encode()
