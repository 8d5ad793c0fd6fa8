"""Before and after: in one dialect as JSON, across dialects as the script of the conversation."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterator

import click
import msgspec

from dragoman.cli.console import clean, on_terminal
from dragoman.conversation.script import show
from dragoman.engine.adapt import Adapted, read
from dragoman.errors import MalformedRequest

LONGEST = 20_000
"""So many lines can be compared in reasonable time."""

_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


def tell_difference(request: bytes, adapted: Adapted, source: str) -> None:
    """Print what was changed, coloured on a terminal."""
    before, after = _sides(request, adapted, source)
    coloured = on_terminal(sys.stdout)
    for line in difference(before, after):
        text = clean(line)
        click.echo(click.style(text, fg=_COLOURS.get(text[:1])) if coloured else text)


def difference(before: str, after: str) -> Iterator[str]:
    """The lines of a unified difference."""
    old, new = before.split("\n"), after.split("\n")
    if max(len(old), len(new)) > LONGEST:
        raise MalformedRequest("too long to be compared line by line", hint="compare the bodies with --json instead")
    yield from difflib.unified_diff(old, new, "before", "after", lineterm="")


def _sides(request: bytes, adapted: Adapted, source: str) -> tuple[str, str]:
    ask = read(request, source=source)
    if ask.dialect != adapted.dialect:
        return show(ask.conversation), show(adapted.conversation)
    return _pretty(request), _pretty(adapted.body)


def _pretty(body: bytes) -> str:
    return msgspec.json.format(body, indent=2).decode("utf-8", "replace")
