"""A progress bar for long files, if standard error is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dragoman.cli.inputs.request_files import RequestItem, RequestSource
from dragoman.cli.output.console import is_terminal, rich_console


@contextmanager
def with_progress(source: RequestSource, *, prints_items: bool = True) -> Iterator[Iterator[RequestItem]]:
    """The items of a source, with a progress bar on standard error, unless what is printed about each of them goes to
    the same terminal."""
    if not source.lines or not is_terminal(sys.stderr) or (prints_items and is_terminal(sys.stdout)):
        yield source.items
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=rich_console(err=True), transient=True) as bar:
        task = bar.add_task(source.name, total=source.size or None)
        yield _with_advance(source.items, lambda read: bar.advance(task, read))


def _with_advance(items: Iterator[RequestItem], advance: Callable[[int], None]) -> Iterator[RequestItem]:
    for item in items:
        yield item
        advance(item.read)
