"""How many values and escapes a JSON text holds, without building any of them."""

from __future__ import annotations

import re

LARGE = 96 * 1024
"""Bytes from which on a body is worked on beside the event loop. An agent's turn is mostly shorter, and takes 2 ms."""
SHORT = 4 * 1024
"""Bytes of a body that is not looked at: if it holds nothing but tiny values, it takes some 40 ms."""
MANY_VALUES = 1_500
"""Commas from which on a body is worked on beside the event loop, even if it is short. One that fits no schema takes up
to 30 microseconds, whatever its length."""
_WINDOW = 1024 * 1024
_SEPARATORS = b",{["
_BRACKETS = re.compile(rb"[\[\]{}]")
_LOG_PROBABILITIES = frozenset({b"logprobs", b"logprobsResult"})
_LONGEST_NAME = 32


def is_heavy(body: bytes) -> bool:
    """Whether a body may take long: it is large, or holds many values. Commas in texts count too: to tell them apart
    would cost more than the work beside the loop. Taking them out costs a third of counting them, and ends early."""
    size = len(body)
    return size > LARGE or (size > SHORT and size - len(body.replace(b",", b"", MANY_VALUES + 1)) > MANY_VALUES)


def count_values(text: bytes, limit: int) -> int:
    """About how many values there are: commas and opening brackets outside of strings.

    Nothing is decoded and little is held, whatever the text is. If even all commas and brackets together, those in
    strings included, are no more than the limit, the strings are not looked for.
    """
    most = count_separators(text)
    return most if most <= limit else _count_outside(text, limit)


def count_escapes(text: bytes, limit: int) -> int:
    """How many backslashes there are, in windows. Stops a window after the limit."""
    found = 0
    for start in range(0, len(text), _WINDOW):
        found += text.count(b"\\", start, start + _WINDOW)
        if found > limit:
            break
    return found


def count_read_values(text: bytes, limit: int) -> int:
    """How many values an answer holds without its log probabilities: with twenty for each token it holds little else,
    and they are passed on as text."""
    found = count_values(text, limit)
    return found if found <= limit else _count_read(text, limit)


def _count_read(text: bytes, limit: int) -> int:
    """In windows. A string that goes over the end of a window is begun again in the next one."""
    found = depth = 0
    begun, is_named, escaped = b"", False, False
    for start in range(0, len(text), _WINDOW):
        window = text[start + escaped : start + _WINDOW]
        escaped = (len(window) - len(window.rstrip(b"\\"))) % 2 == 1
        pieces = (begun + window.replace(b"\\\\", b"").replace(b'\\"', b"")).split(b'"')
        begun = b'"' + pieces.pop()[:_LONGEST_NAME] if len(pieces) % 2 == 0 else b""
        for place, piece in enumerate(pieces):
            if place % 2:
                is_named = piece in _LOG_PROBABILITIES
                continue
            value = piece.lstrip(b" \t\r\n:") if is_named else piece
            if is_named and not value:
                continue  # the window ends between the name and its value
            if depth or (is_named and value[:1] in (b"[", b"{")):
                depth, value = _skip(value, depth)
            is_named = False
            found += count_separators(value)
        if found > limit:
            break
    return found


def _skip(text: bytes, depth: int) -> tuple[int, bytes]:
    """The depth of brackets after a stretch without strings, and what of it stands after the outermost one."""
    closing = text.count(b"]") + text.count(b"}")
    if depth > closing:
        return depth + text.count(b"[") + text.count(b"{") - closing, b""
    for bracket in _BRACKETS.finditer(text):
        depth += 1 if bracket[0] in b"[{" else -1
        if depth == 0:
            return 0, text[bracket.end() :]
    return depth, b""


def count_separators(text: bytes) -> int:
    """All commas and opening brackets, those in strings included: there are no more values than that."""
    found = 0
    for start in range(0, len(text), _WINDOW):
        window = text[start : start + _WINDOW]
        found += len(window) - len(window.translate(None, _SEPARATORS))
    return found


def _count_outside(text: bytes, limit: int) -> int:
    """In windows, so that other threads can run in between. Stops a window after the limit."""
    found, inside, escaped = 0, False, False
    for start in range(0, len(text), _WINDOW):
        window = text[start + escaped : start + _WINDOW]  # the first byte may belong to an escape before it
        escaped = (len(window) - len(window.rstrip(b"\\"))) % 2 == 1
        pieces = window.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')
        found += count_separators(b"".join(pieces[1::2] if inside else pieces[::2]))
        inside ^= len(pieces) % 2 == 0
        if found > limit:
            break
    return found
