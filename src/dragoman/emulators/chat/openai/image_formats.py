"""Image formats by their first bytes."""

from __future__ import annotations

import base64
import binascii

_MAGIC = ((b"\x89PNG", "png"), (b"\xff\xd8\xff", "jpeg"), (b"GIF8", "gif"))


def sniff_image(url: str) -> str | None:
    """The format of a base64 data URL: "png", "jpeg", "gif", "webp"; "" for any other; None if unknown.

    Only the first bytes are decoded, because recordings truncate long data.
    """
    head, comma, text = url.partition(",")
    if not comma or not head.endswith(";base64"):
        return None
    try:
        start = base64.b64decode(text[:32] + "=" * (-len(text[:32]) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None
    if len(start) < 12:
        return None
    if start[:4] == b"RIFF" and start[8:12] == b"WEBP":
        return "webp"
    return next((name for magic, name in _MAGIC if start.startswith(magic)), "")
