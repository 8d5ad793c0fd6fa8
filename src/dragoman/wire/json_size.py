"""How many values and escapes a JSON text holds, without building any of them."""

from __future__ import annotations

_WINDOW = 1024 * 1024
_SEPARATORS = (b",", b"{", b"[")


def count_values(text: bytes, limit: int) -> int:
    """About how many values there are: commas and opening brackets outside of strings.

    Nothing is decoded and little is held, whatever the text is. Where even all commas and brackets together, those in
    strings included, are no more than the limit, the strings are not looked for.
    """
    most = _count(text)
    return most if most <= limit else _count_outside(text, limit)


def count_escapes(text: bytes, limit: int) -> int:
    """How many backslashes there are, in windows. Stops a window after the limit."""
    found = 0
    for start in range(0, len(text), _WINDOW):
        found += text.count(b"\\", start, start + _WINDOW)
        if found > limit:
            break
    return found


def _count(text: bytes) -> int:
    return sum(text.count(sign) for sign in _SEPARATORS)


def _count_outside(text: bytes, limit: int) -> int:
    """In windows, so that other threads can run in between. Stops a window after the limit."""
    found, inside, escaped = 0, False, False
    for start in range(0, len(text), _WINDOW):
        window = text[start + escaped : start + _WINDOW]  # the first byte may belong to an escape before it
        escaped = (len(window) - len(window.rstrip(b"\\"))) % 2 == 1
        pieces = window.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')
        found += _count(b"".join(pieces[1::2] if inside else pieces[::2]))
        inside ^= len(pieces) % 2 == 0
        if found > limit:
            break
    return found
