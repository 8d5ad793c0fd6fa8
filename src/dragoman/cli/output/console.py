"""Output for people: errors in one line, tables for a terminal or a file."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import IO, TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console

# A request may contain control characters, which a terminal would execute.
_HIDDEN = {
    code: f"\\u{code:04x}" for code in (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029, *range(0x202A, 0x202F))
}
_KEPT_LINES = {**_HIDDEN, ord("\n"): "\n"}

ROWS = 200
"""The most rows of a table that are printed. Longer ones are better read as JSON."""


def printable(text: str) -> str:
    """The text in one line, with control characters escaped."""
    return text.translate(_HIDDEN)


def printable_lines(text: str) -> str:
    return text.translate(_KEPT_LINES)


def print_error(message: str) -> None:
    """Print `dragoman: WHERE: what (hint)` to standard error, always in one line."""
    print_note(f"dragoman: {printable(message)}")


def print_note(line: str) -> None:
    """Print a line to standard error. A progress bar moves down for it, which `click.echo` would not cause."""
    print(line, file=sys.stderr, flush=True)


def is_terminal(stream: IO[Any]) -> bool:
    return stream.isatty()


def print_table(
    head: Sequence[str], rows: Sequence[Sequence[str]], *, err: bool = False, always_head: bool = False
) -> None:
    """Print a table: with lines on a terminal, as aligned columns elsewhere. Those have a head only if asked for."""
    shown = [tuple(printable(cell) for cell in row) for row in rows[:ROWS]]
    if is_terminal(sys.stderr if err else sys.stdout):
        _draw(head, shown, err)
    else:
        _align([tuple(head), *shown] if always_head else shown, err)
    if len(rows) > ROWS:
        click.echo(f"… and {len(rows) - ROWS:,} more (--json prints all)", err=err)


def rich_console(err: bool = False) -> Console:
    from rich.console import Console

    return Console(stderr=err, highlight=False, soft_wrap=False)


def _draw(head: Sequence[str], rows: Sequence[Sequence[str]], err: bool) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for index, title in enumerate(head):
        table.add_column(title, style="cyan" if index == 0 else None, no_wrap=index == 0, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell, style=_STYLES.get(cell, "")) for cell in row))
    rich_console(err).print(table)


_STYLES = {
    "error": "bold red",
    "warning": "yellow",
    "content": "red",
    "authority": "yellow",
    "refuses": "red",
    "accepts": "green",
    "unknown": "yellow",
}


def _align(rows: Sequence[Sequence[str]], err: bool) -> None:
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        click.echo("  ".join(cells).rstrip(), err=err)


def print_json(body: bytes) -> None:
    """Print JSON, indented and coloured."""
    import msgspec
    from rich.highlighter import JSONHighlighter
    from rich.text import Text

    text = Text(printable_lines(msgspec.json.format(body, indent=2).decode()))
    JSONHighlighter().highlight(text)
    rich_console().print(text, soft_wrap=True)
