"""A diff of a request before and after: as JSON in one dialect, in script notation across dialects."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable, Iterator

import click
import msgspec

from dragoman.cli.output.console import is_terminal, printable
from dragoman.conversation.notation.script import show
from dragoman.engine.compile.compiled_request import CompiledRequest
from dragoman.engine.library.adapt import read
from dragoman.errors import MalformedRequest

MAX_LINES = 20_000
"""More lines cannot be compared in reasonable time."""

_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


def request_diff(request: bytes, adapted: CompiledRequest, source: str) -> Iterator[str]:
    """The lines of the diff between a request and what became of it."""
    return unified_diff(*_sides(request, adapted, source))


def print_diff(lines: Iterable[str]) -> None:
    """Print a diff, coloured on a terminal."""
    coloured = is_terminal(sys.stdout)
    for line in lines:
        text = printable(line)
        click.echo(click.style(text, fg=_COLOURS.get(text[:1])) if coloured else text)


def unified_diff(before: str, after: str) -> Iterator[str]:
    """The lines of a unified diff."""
    old, new = before.split("\n"), after.split("\n")
    if max(len(old), len(new)) > MAX_LINES:
        raise MalformedRequest(
            "the request is too long to compare line by line", hint="compare the bodies with --json instead"
        )
    yield from difflib.unified_diff(old, new, "before", "after", lineterm="")


def _sides(request: bytes, adapted: CompiledRequest, source: str) -> tuple[str, str]:
    ask = read(request, source=source)
    if ask.dialect != adapted.dialect:
        return show(ask.conversation), show(adapted.conversation)
    return _pretty(request), _pretty(adapted.body)


def _pretty(body: bytes) -> str:
    return msgspec.json.format(body, indent=2).decode("utf-8", "replace")
