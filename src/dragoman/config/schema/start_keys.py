"""Keys that are read once, at the start: a reload keeps what runs."""

from typing import Any

from msgspec import Meta


def at_start(description: str, **more: Any) -> Meta:
    """What a key that is read at the start is about."""
    return Meta(description=f"{description} Read at the start.", extra={"at_start": True}, **more)
