"""Reasoning that a model writes into its text, between `<think>` and `</think>`."""

from __future__ import annotations

_OPEN = "<think>"
_CLOSE = "</think>"


class ThinkTags:
    """Splits a growing text into reasoning and answer. Only a text that begins with the tag holds reasoning."""

    __slots__ = ("_held", "_state")

    def __init__(self) -> None:
        self._state = "before"
        self._held = ""

    def feed(self, text: str) -> list[tuple[bool, str]]:
        """The pieces in order; True for reasoning."""
        text = self._held + text
        self._held = ""
        pieces: list[tuple[bool, str]] = []
        if self._state == "before":
            text = self._opened(text)
        if self._state == "opened":
            text = text.lstrip("\n")
            if text:
                self._state = "inside"
        if self._state == "inside":
            text = self._closed(text, pieces)
        if self._state == "after":
            text = text.lstrip("\n")
            if text:
                self._state = "answer"
        if self._state == "answer" and text:
            pieces.append((False, text))
        return pieces

    def close(self) -> list[tuple[bool, str]]:
        """What was held because it might have been the start of a tag."""
        held, self._held = self._held, ""
        return [(self._state == "inside", held)] if held else []

    def _opened(self, text: str) -> str:
        start = text.lstrip()
        if start.startswith(_OPEN):
            self._state = "opened"
            return start[len(_OPEN) :]
        if _OPEN.startswith(start):
            self._held = text
            return ""
        self._state = "answer"
        return text

    def _closed(self, text: str, pieces: list[tuple[bool, str]]) -> str:
        thought, tag, rest = text.partition(_CLOSE)
        if tag:
            self._state = "after"
            thought = thought.rstrip("\n")
        else:
            keep = _overlap(thought)
            self._held, thought = thought[len(thought) - keep :], thought[: len(thought) - keep]
        if thought:
            pieces.append((True, thought))
        return rest


def _overlap(text: str) -> int:
    """How many characters at the end may still become the closing tag, with the line ends before it."""
    for size in range(min(len(_CLOSE) - 1, len(text)), 0, -1):
        if text.endswith(_CLOSE[:size]):
            break
    else:
        size = 0
    body = text[: len(text) - size]
    return size + len(body) - len(body.rstrip("\n"))
