"""A bar that tells how far a long file has been read, where someone is looking."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dragoman.cli.console import console, on_terminal
from dragoman.cli.request_files import Item, Source


@contextmanager
def watched(source: Source) -> Iterator[Iterator[Item]]:
    """The items of a source, counted on the error stream. A bar among our own output would be in the way."""
    if not source.lines or not on_terminal(sys.stderr) or on_terminal(sys.stdout):
        yield source.items
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console(err=True), transient=True) as bar:
        task = bar.add_task(source.name, total=source.size or None)
        yield _counted(source.items, lambda read: bar.advance(task, read))


def _counted(items: Iterator[Item], advance: Callable[[int], None]) -> Iterator[Item]:
    for item in items:
        yield item
        advance(item.read)
